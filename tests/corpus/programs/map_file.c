/* map_file SECONDS FILE: reads bytes all over a mapped file that is not in the page cache: each
 * waits for the disk. */
#include "work.h"

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	int fd = open(word_of(argv, 2), O_RDONLY);
	struct stat st;
	uint64_t seed = 88172645463325252ULL;
	long sum = 0;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0)
		err(1, "%s", word_of(argv, 2));
	size_t size = (size_t)st.st_size;
	char *map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (map == MAP_FAILED)
		err(1, "mmap");
	while (now() < end) {
		madvise(map, size, MADV_DONTNEED);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		madvise(map, size, MADV_RANDOM); /* no reading ahead */
		for (int i = 0; i < 4000 && now() < end; i++) {
			seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
			sum += map[seed % size];
		}
	}
	work_result = (double)sum;
	return 0;
}
