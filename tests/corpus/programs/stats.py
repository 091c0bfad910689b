"""stats SECONDS DIR: looks for files along a path, as an interpreter does for modules: most are not there."""
import os
import sys
import work

places = [os.path.join(sys.argv[2], "lib%d" % i, "site", "module%d.py" % j) for i in range(20) for j in range(20)]
for i in range(20):
    os.makedirs(os.path.join(sys.argv[2], "lib%d" % i, "site"), exist_ok=True)
stat = os.path.exists
while work.now() < work.seconds():
    for place in places:
        stat(place)
