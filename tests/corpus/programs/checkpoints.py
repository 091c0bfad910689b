"""checkpoints SECONDS FILE: writes a checkpoint of 4 MiB, makes it durable and renames it, again and again."""
import os
import sys
import work

data = bytes(4 << 20)
while work.now() < work.seconds():
    fd = os.open(sys.argv[2] + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(fd, data)
    os.fsync(fd)
    os.close(fd)
    os.rename(sys.argv[2] + ".new", sys.argv[2])
os.unlink(sys.argv[2])
