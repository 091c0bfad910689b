/* Frames, and helpers without libc. record_output.c writes the frames. */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>

#include "core/crc32c.h"
#include "core/system/procparse.h"

/* The compiler calls these for loops and struct copies; hidden from other libraries. */
__attribute__((visibility("hidden"))) void *memcpy(void *restrict dst, const void *restrict src,
						   size_t n)
{
	unsigned char *d = dst;
	const unsigned char *s = src;

	while (n--)
		*d++ = *s++;
	return dst;
}

__attribute__((visibility("hidden"))) void *memset(void *dst, int c, size_t n)
{
	unsigned char *d = dst;

	while (n--)
		*d++ = (unsigned char)c;
	return dst;
}

__attribute__((visibility("hidden"))) int memcmp(const void *a, const void *b, size_t n)
{
	const unsigned char *p = a, *q = b;

	for (; n--; p++, q++)
		if (*p != *q)
			return *p - *q;
	return 0;
}

size_t str_len(const char *s)
{
	const char *p = s;

	while (*p)
		p++;
	return (size_t)(p - s);
}

bool starts_with(const char *s, const char *prefix)
{
	while (*prefix)
		if (*s++ != *prefix++)
			return false;
	return true;
}

void *map_pages(size_t size)
{
	long p = sys6(__NR_mmap, 0, (long)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

size_t format_path(char *buf, size_t size, const char *before, unsigned long number,
		   const char *after)
{
	char digits[20];
	size_t n = 0, used = 0;

	do
		digits[n++] = (char)('0' + number % 10);
	while (number /= 10);
	for (; *before && used + 1 < size; before++)
		buf[used++] = *before;
	while (n && used + 1 < size)
		buf[used++] = digits[--n];
	for (; *after && used + 1 < size; after++)
		buf[used++] = *after;
	buf[used] = 0;
	return used;
}

/* ---- files ---------------------------------------------------------------------------------- */

long read_file(const char *path, char *buf, size_t size, struct own_io *own)
{
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	long n = sys3(__NR_read, fd, buf, size);
	sys1(__NR_close, fd);
	own->syscr++;
	if (n > 0)
		own->rchar += (uint64_t)n;
	return n;
}

/* Reads in pieces; only the beginning of each line is needed. */
NOINLINE bool read_status(const char *name, uint64_t *ret, struct own_io *own)
{
	char buf[512], line[64];
	size_t used = 0;
	bool found = false;
	long n, fd = sys4(__NR_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return false;
	while (!found) {
		n = sys3(__NR_read, fd, buf, sizeof(buf));
		own->syscr++;
		if (n <= 0)
			break;
		own->rchar += (uint64_t)n;
		for (long i = 0; i < n && !found; i++) {
			if (used < sizeof(line))
				line[used++] = buf[i];
			if (buf[i] != '\n')
				continue;
			found = proc_parse_status(line, used, name, ret);
			used = 0;
		}
	}
	sys1(__NR_close, fd);
	return found;
}

bool read_hostname(void)
{
	struct utsname uts;

	if (sys1(__NR_uname, &uts) < 0)
		return false;
	for (size_t i = 0; i + 1 < sizeof(guest.hostname) && uts.nodename[i]; i++)
		guest.hostname[i] = (char)(uts.nodename[i] == '/' ? '_' : uts.nodename[i]);
	return true;
}

/* ---- signals -------------------------------------------------------------------------------- */

#define SIGNAL_BIT(sig) (1ull << ((sig)-1))

void hold_signals(struct held *h)
{
	uint64_t all = ~0ull;

	h->mask = 0;
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &all, &h->mask, sizeof(all));
}

void release_signals(const struct held *h)
{
	sys4(__NR_rt_sigprocmask, SIG_SETMASK, &h->mask, NULL, sizeof(h->mask));
}

/* Only a program that blocks SIGXFSZ can have one pending. */
static bool sigxfsz_pending(const struct held *h)
{
	uint64_t set = 0;

	if (h->mask & SIGNAL_BIT(SIGXFSZ))
		sys2(__NR_rt_sigpending, &set, sizeof(set));
	return set & SIGNAL_BIT(SIGXFSZ);
}

static bool beyond_limit(long fd, const struct iovec *iov, int count)
{
	struct rlimit limit;
	struct stat st;

	if (sys4(__NR_prlimit64, 0, RLIMIT_FSIZE, NULL, &limit) < 0 ||
	    sys2(__NR_fstat, fd, &st) < 0)
		return true;
	uint64_t size = (uint64_t)st.st_size;
	while (count--)
		size += iov[count].iov_len;
	return size > limit.rlim_cur;
}

/*
 * A write beyond RLIMIT_FSIZE raises SIGXFSZ, which is blocked and removed again. If the program
 * has one pending, they cannot be told apart, and we do not write.
 */
long write_held(const struct held *h, long fd, const struct iovec *iov, int count)
{
	uint64_t set = SIGNAL_BIT(SIGXFSZ);
	struct timespec zero = {0, 0};

	if (sigxfsz_pending(h) && beyond_limit(fd, iov, count))
		return -EFBIG;
	long n = sys3(__NR_writev, fd, iov, count);
	if (n == -EFBIG)
		sys4(__NR_rt_sigtimedwait, &set, NULL, &zero, sizeof(set));
	return n;
}

/* ---- frames --------------------------------------------------------------------------------- */

void put_text(struct fields *f, enum metric_id id, const char *s, size_t n)
{
	if ((size_t)(f->end - f->p) < n + 2 + PL_VARINT_MAX)
		return;
	put_bytes_key(f, id, n);
	memcpy(f->p, s, n);
	f->p += n;
}

bool frame(unsigned char *header, enum pl_record_type type, unsigned flags, const struct iovec *iov,
	   int count)
{
	size_t size = 0;

	for (int i = 1; i < count; i++)
		size += iov[i].iov_len;
	if (size > PL_RECORD_MAX)
		return false;
	pl_put_u32(header, PL_RECORD_MAGIC);
	pl_put_u16(header + 4, (uint16_t)type);
	pl_put_u16(header + 6, (uint16_t)flags);
	pl_put_u32(header + 8, (uint32_t)size);
	uint32_t crc = crc32c(0, header + 4, 8);
	for (int i = 1; i < count; i++)
		crc = crc32c(crc, iov[i].iov_base, iov[i].iov_len);
	pl_put_u32(header + 12, crc);
	return true;
}

void make_frame(unsigned char *to, enum pl_record_type type, unsigned flags, const void *payload,
		size_t n)
{
	struct iovec iov[2] = {{0}, {(void *)payload, n}};

	if (frame(to, type, flags, iov, 2))
		memcpy(to + PL_RECORD_HEADER, payload, n);
}

size_t emit_fields(const struct held *h, enum pl_record_type type, unsigned flags,
		   unsigned char *buf, const struct fields *f)
{
	struct iovec iov[2] = {{0}, {buf, (size_t)(f->p - buf)}};

	return emit(h, type, flags, iov, 2);
}
