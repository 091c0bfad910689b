/* direct_read SECONDS FILE [N]: N threads read blocks of 256 KiB anywhere in a file, past the page
 * cache. */
#include "work.h"

enum { BLOCK = 256 << 10 };
static double end;
static int fd;
static off_t blocks;

static void *body(void *number)
{
	uint64_t seed = 88172645463325252ULL + (uint64_t)(intptr_t)number;
	void *buffer;

	if (posix_memalign(&buffer, 4096, BLOCK) != 0)
		errx(1, "no memory");
	while (now() < end) {
		seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
		if (pread(fd, buffer, BLOCK, (off_t)(seed % (uint64_t)blocks) * BLOCK) <= 0)
			err(1, "read");
	}
	free(buffer);
	return number;
}

int main(int argc, char **argv)
{
	(void)argc;
	struct stat st;

	end = now() + seconds_of(argv);
	fd = open(word_of(argv, 2), O_RDONLY | O_DIRECT);
	if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < BLOCK)
		err(1, "%s", word_of(argv, 2));
	blocks = st.st_size / BLOCK;
	start_threads(*word_of(argv, 3) ? count_of(argv, 3) : 1, body);
	return 0;
}
