"""unbuffered SECONDS FILE: writes a few bytes at a time, each by a call of the kernel."""
import os
import sys
import work

file = open(sys.argv[2], "wb", buffering=0)
while work.now() < work.seconds():
    for i in range(2000):
        file.write(b"3.14\n")
    file.seek(0)
file.close()
os.unlink(sys.argv[2])
