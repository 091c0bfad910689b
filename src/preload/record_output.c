/*
 * The output of libplimsoll.so: one record file per run and host. A record is one writev() with
 * O_APPEND: atomic among the writers of a host, and complete when the call returns, so that SIGKILL
 * loses nothing that was written.
 *
 * A process records when PLIMSOLL_OUTPUT is set, or a name for it of another tool (guest.c).
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

/* ---- where the records go ------------------------------------------------------------------- */

static bool path_add(size_t *used, const char *s, size_t n)
{
	if (*used + n >= sizeof(guest.path))
		return false;
	__builtin_memcpy(guest.path + *used, s, n);
	*used += n;
	guest.path[*used] = 0;
	return true;
}

/* "<dir>/<hostname>.rec": a file that this host creates in the given directory. */
static bool path_in(const char *dir, size_t n, const char *suffix)
{
	size_t used = 0;

	while (n > 1 && dir[n - 1] == '/')
		n--;
	guest.create = true;
	return path_add(&used, dir, n) && path_add(&used, "/", 1) &&
	       path_add(&used, guest.hostname, str_len(guest.hostname)) &&
	       path_add(&used, suffix, str_len(suffix));
}

/*
 * A prepared file is "<job>/<host>.<boot>/<run>.rec". A launcher may have passed the variable to
 * another host. Only one host writes a file, so the other one creates "<job>/<its name>.rec".
 */
static bool path_prepared(const char *file, size_t n)
{
	size_t host = str_len(guest.hostname), used = 0;
	size_t end = n; /* of the directory's name */

	while (end && file[end] != '/')
		end--;
	size_t begin = end;
	while (begin && file[begin - 1] != '/')
		begin--;
	if (begin > 1 && end - begin > 9 && file[end - 9] == '.' &&
	    (end - begin - 9 != host || __builtin_memcmp(file + begin, guest.hostname, host) != 0))
		return path_in(file, begin - 1, ".rec");
	return path_add(&used, file, n);
}

bool output_choose(struct environment *env)
{
	char suffix[32];

	if (!env->output && !env->other_output && !env->other_options)
		return false;
	if (env->context && context_is_other(env->context, env->all))
		return false;
	if (!read_hostname())
		return false;
	if (!env->events)
		env->events = env->other_options;
	if (!env->tags)
		env->tags = env->other_tags;

	if (env->output && env->output[0]) {
		size_t n = str_len(env->output);

		if (n > 4 && !__builtin_memcmp(env->output + n - 4, ".rec", 4))
			return path_prepared(env->output, n);
		return path_in(env->output, n, ".rec");
	}
	if (env->other_output && env->other_output[0])
		return path_in(env->other_output, str_len(env->other_output), ".rec");
	format_path(suffix, sizeof(suffix), "-", (unsigned long)sys0(__NR_geteuid), ".rec");
	return path_in("/tmp", 4, suffix);
}

/* ---- appending ------------------------------------------------------------------------------ */

static const char schema[] =
#define METRIC(id, symbol, name, ...) #id " " name "\n"
#include "core/metrics/metrics.def"
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

/* The first frames of a file that our command did not prepare. */
static NOINLINE void emit_preamble(const struct held *h, long fd)
{
	struct own_io own = {0};
	unsigned char buf[256];
	char text[64];
	struct iovec iov[2] = {{0}, {(void *)schema, sizeof(schema) - 1}};
	struct fields f = {buf, buf + sizeof(buf)};

	write_frame(h, fd, PL_SCHEMA, iov, &own);
	put_u64(&f, METRIC_BOOTTIME, now_boottime_ns(guest.pid, &own));
	put_u64(&f, METRIC_REALTIME, clock_ns(CLOCK_REALTIME) / 1000);
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
	own_add((int)sys0(__NR_getpid), &own);
}

/* O_NONBLOCK: a FIFO in its place must not block the program. */
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
	size_t size = 0;
	for (int i = 0; i < count; i++)
		size += iov[i].iov_len;
	long n = write_held(h, fd, iov, count);
	if (n < (long)size)
		sys2(__NR_fchmod, fd, PL_MODE_CUT); /* needs no disk space */
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

size_t emit_raw(const struct held *h, const void *frames, size_t n)
{
	struct iovec iov = {(void *)frames, n};

	return append(h, &iov, 1);
}
