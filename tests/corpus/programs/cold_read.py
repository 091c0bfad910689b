"""cold_read SECONDS FILE: reads a file from its begin to its end, of which nothing is in the page cache."""
import os
import sys
import work

fd = os.open(sys.argv[2], os.O_RDONLY)
size = os.fstat(fd).st_size
while work.now() < work.seconds():
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # no reading ahead
    at = 0
    while at < size and work.now() < work.seconds():
        at += len(os.pread(fd, 1 << 17, at))
