/*
 * Making records and appending them, and the few things one needs without a libc. A record is one
 * writev to a file opened with O_APPEND: atomic among the writers of one host, and complete on disk
 * order when the call returns, so SIGKILL loses nothing that was written.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "core/crc32c.h"
#include "core/procparse.h"

/* The compiler turns loops and struct copies into calls of these; hidden, so nobody else sees
 * them. */
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

/* ---- clocks and files ----------------------------------------------------------------------- */

uint64_t clock_ns(int clock)
{
	struct timespec ts;

	if (sys2(__NR_clock_gettime, clock, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t now_boottime_ns(void)
{
	return clock_ns(CLOCK_BOOTTIME);
}

uint64_t now_realtime_us(void)
{
	return clock_ns(CLOCK_REALTIME) / 1000;
}

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

/* Only a program that blocks SIGXFSZ itself can have one pending. */
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
 * A write beyond RLIMIT_FSIZE raises SIGXFSZ, which is held back, and taken away again. With one
 * of the program's own pending the two could not be told apart: then there is no such write.
 */
static long write_held(const struct held *h, long fd, const struct iovec *iov, int count)
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

/* Fills in the header for iov[1..count-1]; false when the payload is longer than a reader takes. */
static bool frame(unsigned char *header, enum pl_record_type type, unsigned flags,
		  const struct iovec *iov, int count)
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

static const char schema[] =
#define METRIC(id, symbol, name, ...) #id " " name "\n"
#include "core/metrics.def"
#undef METRIC
	;

static void write_frame(const struct held *h, long fd, enum pl_record_type type,
			struct iovec iov[2], struct own_io *own)
{
	unsigned char header[PL_RECORD_HEADER];

	iov[0] = (struct iovec){header, sizeof(header)};
	if (!frame(header, type, 0, iov, 2))
		return;
	long n = write_held(h, fd, iov, 2);
	if (n > 0) {
		own->wchar += (uint64_t)n;
		own->syscw++;
	}
}

/* The first frames of a file that no command of ours prepared. */
static NOINLINE void emit_preamble(const struct held *h, long fd)
{
	struct own_io own = {0};
	unsigned char buf[256];
	char text[64];
	struct iovec iov[2] = {{0}, {(void *)schema, sizeof(schema) - 1}};
	struct fields f = {buf, buf + sizeof(buf)};

	write_frame(h, fd, PL_SCHEMA, iov, &own);
	put_u64(&f, METRIC_BOOTTIME, now_boottime_ns());
	put_u64(&f, METRIC_REALTIME, now_realtime_us());
	put_u64(&f, METRIC_PROCDEV, guest.procdev);
	put_text(&f, METRIC_HOSTNAME, guest.hostname, str_len(guest.hostname));
	long n = read_file("/proc/sys/kernel/random/boot_id", text, sizeof(text), &own);
	if (n > 1)
		put_text(&f, METRIC_BOOT_ID, text, (size_t)n - 1);
	n = read_file("/proc/sys/kernel/task_delayacct", text, sizeof(text), &own);
	if (n > 0)
		put_u64(&f, METRIC_TASK_DELAYACCT, text[0] == '1');
	iov[1] = (struct iovec){buf, (size_t)(f.p - buf)};
	write_frame(h, fd, PL_HOST, iov, &own);
	own_add(guest.pid, &own);
}

/* O_NONBLOCK: a FIFO that somebody put there must not stop the program. */
static long open_records(const struct held *h)
{
	long flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	struct stat st;

	if (!guest.create)
		return sys4(__NR_openat, AT_FDCWD, guest.path, flags, 0);
	long fd = sys4(__NR_openat, AT_FDCWD, guest.path, flags | O_CREAT, 0600);
	if (fd < 0)
		return fd;
	if (sys2(__NR_fstat, fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != (uid_t)sys0(__NR_geteuid)) {
		sys1(__NR_close, fd);
		return -EPERM;
	}
	if (!st.st_size)
		emit_preamble(h, fd);
	return fd;
}

static size_t append(const struct held *h, const struct iovec *iov, int count)
{
	long fd = open_records(h);
	if (fd < 0)
		return 0;
	long n = write_held(h, fd, iov, count);
	sys1(__NR_close, fd);
	return n > 0 ? (size_t)n : 0;
}

size_t emit(const struct held *h, enum pl_record_type type, unsigned flags, struct iovec *iov,
	    int count)
{
	unsigned char header[PL_RECORD_HEADER];

	iov[0] = (struct iovec){header, sizeof(header)};
	return frame(header, type, flags, iov, count) ? append(h, iov, count) : 0;
}

void make_frame(unsigned char *to, enum pl_record_type type, unsigned flags, const void *payload,
		size_t n)
{
	struct iovec iov[2] = {{0}, {(void *)payload, n}};

	if (frame(to, type, flags, iov, 2))
		memcpy(to + PL_RECORD_HEADER, payload, n);
}

size_t emit_raw(const struct held *h, const void *frames, size_t n)
{
	struct iovec iov = {(void *)frames, n};

	return append(h, &iov, 1);
}

size_t emit_fields(const struct held *h, enum pl_record_type type, unsigned flags,
		   unsigned char *buf, const struct fields *f)
{
	struct iovec iov[2] = {{0}, {buf, (size_t)(f->p - buf)}};

	return emit(h, type, flags, iov, 2);
}
