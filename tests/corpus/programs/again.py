"""again SECONDS FILE: reads a whole file again and again through the page cache."""
import sys
import work

while work.now() < work.seconds():
    with open(sys.argv[2], "rb") as file:
        while file.read(1 << 20) and work.now() < work.seconds():
            pass
