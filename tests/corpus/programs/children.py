"""children SECONDS short|long: starts one child after the other. short: each ends at once; long: each computes 0.5 s."""
import subprocess
import sys
import work

while work.now() < work.seconds():
    if sys.argv[2] == "short":
        subprocess.run(["/bin/true"], check=True)
    else:
        subprocess.run(["awk", "BEGIN { for (i = 0; i < 6000000; i++) x = x * 0.5 + i }"], check=True)
