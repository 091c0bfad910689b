a = 1
b = 'no end
