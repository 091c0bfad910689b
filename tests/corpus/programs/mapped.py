"""mapped SECONDS FILE: looks up records all over a mapped file that is not in the page cache."""
import mmap
import os
import random
import sys
import work

random.seed(1)
fd = os.open(sys.argv[2], os.O_RDONLY)
total = 0
while work.now() < work.seconds():
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as records:
        records.madvise(mmap.MADV_RANDOM)
        for _ in range(2000):
            total += records[random.randrange(len(records))]
            if work.now() > work.seconds():
                break
