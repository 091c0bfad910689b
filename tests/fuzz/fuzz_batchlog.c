/*
 * The last segment of a log as somebody or something left it: opened, which may cut it, read,
 * appended to and read again. Once as it is, once with the check sums of its entries put right.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc32c.h"
#include "core/files/fs.h"
#include "plimsoll/record.h"
#include "transport/log/commit_log.h"
#include "transport/log/commit_log_internal.h"

#define ID 0x1122334455667788ull

static char path[64];

static void remove_path(void)
{
	(void)rmdir(path);
}

static char *work_dir(void)
{

	if (!path[0]) {
		snprintf(path, sizeof(path), "%s/plimsoll-fuzz-XXXXXX",
			 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
		REQUIRE(mkdtemp(path));
		REQUIRE(atexit(remove_path) == 0);
	}
	return path;
}

static void clear(const char *dir)
{
	const char *slash = strrchr(dir, '/');
	_cleanup_free_ char *parent = xstrndup(dir, (size_t)(slash - dir));
	int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(fs_remove_tree(fd, slash + 1) == 0);
	close(fd);
}

static uint64_t read_log(struct commit_log *l, uint64_t *count)
{
	struct commit_log_reader *r = commit_log_read_from(l, 1);
	uint64_t last = 0, number;
	const void *p;
	size_t n;
	int got;

	*count = 0;
	while ((got = commit_log_reader_next(r, &p, &n, &number)) > 0) {
		REQUIRE(number > last && n <= COMMIT_LOG_ENTRY_MAX);
		last = number;
		++*count;
	}
	REQUIRE(got == 0 && last < commit_log_next_number(l));
	commit_log_reader_close(r);
	return last;
}

static void use_log(const uint8_t *data, size_t size)
{
	_cleanup_free_ char *dir = xasprintf("%s/log", work_dir());
	_cleanup_free_ char *file = xasprintf("%s/%020d.log", dir, 1);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct commit_log_options o = {.dir = dir};
	struct commit_log *l;
	uint64_t before, after, number;

	REQUIRE(mkdir(dir, 0700) == 0);
	int fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	close(fd);
	REQUIRE(commit_log_open(&l, &o, &why) == 0);
	uint64_t last = read_log(l, &before);
	REQUIRE(commit_log_append(l, "more", 4, &number) == 0 && number > last);
	REQUIRE(commit_log_sync(l) == 0);
	REQUIRE(read_log(l, &after) == number && after == before + 1);
	commit_log_close(l);
	/* what was recovered once needs no recovery any more */
	REQUIRE(commit_log_open(&l, &o, &why) == 0);
	(void)read_log(l, &after);
	REQUIRE(after == before + 1);
	commit_log_close(l);
	clear(dir);
}

static void repair(uint8_t *p, size_t n)
{
	uint32_t seed = log_seed(ID);

	if (n < LOG_HEADER)
		return;
	log_put_header(p, ID, 1);
	p += LOG_HEADER;
	n -= LOG_HEADER;
	while (n >= LOG_ENTRY) {
		size_t size = pl_get_u32(p + 8) % 4096;

		if (memcmp(p, LOG_ENTRY_MAGIC, 4) != 0) {
			p++;
			n--;
			continue;
		}
		if (size > n - LOG_ENTRY)
			size = n - LOG_ENTRY;
		pl_put_u32(p + 8, (uint32_t)size);
		pl_put_u32(p + 4, crc32c(seed, p + 8, LOG_ENTRY - 8 + size));
		p += LOG_ENTRY + size;
		n -= LOG_ENTRY + size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ uint8_t *copy = xmalloc(size + 1);

	use_log(data, size);
	if (size)
		memcpy(copy, data, size);
	repair(copy, size);
	use_log(copy, size);
	return 0;
}
