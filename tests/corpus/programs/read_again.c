/*
 * read_again SECONDS FILE read|map: goes through a whole file again and again. If it fits into
 * memory the kernel reads it once; below a memory limit that is smaller it is read from disk each
 * time.
 */
#include "work.h"

int main(int argc, char **argv)
{
	(void)argc;
	double end = now() + seconds_of(argv);
	int fd = open(word_of(argv, 2), O_RDONLY), maps = strcmp(word_of(argv, 3), "map") == 0;
	static char buffer[1 << 20];
	struct stat st;
	long sum = 0;

	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size == 0)
		err(1, "%s", word_of(argv, 2));
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	char *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		err(1, "mmap");
	while (now() < end) {
		for (off_t at = 0; maps && at < st.st_size && now() < end; at += 4096)
			sum += map[at];
		lseek(fd, 0, SEEK_SET);
		while (!maps && read(fd, buffer, sizeof(buffer)) > 0 && now() < end)
			sum += buffer[0];
	}
	work_result = (double)sum;
	return 0;
}
