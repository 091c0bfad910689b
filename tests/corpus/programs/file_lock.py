"""file_lock SECONDS N FILE: N processes compute while they hold one file lock (flock)."""
import fcntl
import multiprocessing
import os
import sys
import work


def body():
    with open(sys.argv[3], "a") as file:
        while work.now() < work.seconds():
            fcntl.flock(file, fcntl.LOCK_EX)
            work.compute(10)
            fcntl.flock(file, fcntl.LOCK_UN)


processes = [multiprocessing.Process(target=body) for _ in range(int(sys.argv[2]))]
for p in processes:
    p.start()
for p in processes:
    p.join()
os.unlink(sys.argv[3])
