def f(x="y"):
    return {"z": [x, """
a = 1
"""]}
a = f()
b = os.environ["HOME"] + "/x"
c = f"{a}"; d = 1
e += [1]
if a == 1: b = 2
