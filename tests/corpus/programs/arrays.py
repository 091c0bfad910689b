"""arrays SECONDS: makes a large array, writes to it once and throws it away, again and again."""
import mmap
import work

SIZE = 32 << 20
while work.now() < work.seconds():
    with mmap.mmap(-1, SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as array:
        array.madvise(mmap.MADV_NOHUGEPAGE)
        array[::4096] = bytes(SIZE // 4096)
