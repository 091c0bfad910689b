/* Checked allocation, strict number parsing, small string tests. */
#include "core/util.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void (*last_resort)(void *user);
static void *last_resort_user;

void at_out_of_memory(void (*call)(void *user), void *user)
{
	last_resort = call;
	last_resort_user = user;
}

static void *check(void *p)
{
	void (*call)(void *user) = last_resort;

	if (!p) {
		fputs("plimsoll: out of memory\n", stderr);
		last_resort = NULL;
		if (call)
			call(last_resort_user);
		exit(70);
	}
	return p;
}

void *xmalloc(size_t size)
{
	return check(malloc(size ? size : 1));
}

void *xcalloc(size_t count, size_t size)
{
	return check(calloc(count ? count : 1, size ? size : 1));
}

void *xreallocarray(void *ptr, size_t count, size_t size)
{
	return check(reallocarray(ptr, count ? count : 1, size));
}

char *xstrdup(const char *s)
{
	return check(strdup(s));
}

char *xstrndup(const char *s, size_t n)
{
	return check(strndup(s, n));
}

char *xasprintf(const char *fmt, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, fmt);
	int n = vasprintf(&s, fmt, ap);
	va_end(ap);
	return check(n < 0 ? NULL : s);
}

int parse_u64(const char *s, uint64_t *ret)
{
	char *end;

	if (!s || *s < '0' || *s > '9')
		return -EINVAL;
	errno = 0;
	unsigned long long v = strtoull(s, &end, 10);
	if (errno)
		return -errno;
	if (*end)
		return -EINVAL;
	*ret = v;
	return 0;
}

int parse_i64(const char *s, int64_t *ret)
{
	char *end;

	if (!s || !((*s >= '0' && *s <= '9') || (*s == '-' && s[1] >= '0' && s[1] <= '9')))
		return -EINVAL;
	errno = 0;
	long long v = strtoll(s, &end, 10);
	if (errno)
		return -errno;
	if (*end)
		return -EINVAL;
	*ret = v;
	return 0;
}

int parse_pid(const char *s, int *ret)
{
	int64_t v;
	int r = parse_i64(s, &v);

	if (r == 0 && (v <= 0 || v > INT32_MAX))
		r = -ERANGE;
	if (r == 0)
		*ret = (int)v;
	return r;
}

int shell_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int shell_error_status(int error)
{
	return error == ENOENT ? 127 : 126;
}

int parse_duration_ns(const char *s, uint64_t *ret)
{
	static const struct {
		const char *suffix;
		double ns;
	} units[] = {{"", 1e9},  {"ns", 1},   {"us", 1e3},   {"ms", 1e6},
		     {"s", 1e9}, {"m", 6e10}, {"h", 3.6e12}, {"d", 8.64e13}};
	char *end;

	if (!s || !((*s >= '0' && *s <= '9') || *s == '.'))
		return -EINVAL;
	if (s[0] == '0' && (s[1] | 32) == 'x')
		return -EINVAL;
	errno = 0;
	double v = strtod(s, &end);
	if (errno)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(end, units[i].suffix)) {
			if (!(v * units[i].ns < 9e18))
				return -ERANGE;
			*ret = (uint64_t)(v * units[i].ns);
			return 0;
		}
	return -EINVAL;
}

int parse_size(const char *s, uint64_t *ret)
{
	static const char units[] = "KMGT";
	size_t n = strlen(s);
	unsigned shift = 0;

	const char *unit = n > 1 ? strchr(units, s[n - 1] == 'k' ? 'K' : s[n - 1]) : NULL;
	if (unit && *unit)
		shift = 10 * (unsigned)(unit - units + 1);
	_cleanup_free_ char *number = xstrndup(s, n - (shift != 0));
	uint64_t v;
	int r = parse_u64(number, &v);
	if (r == 0 && v > UINT64_MAX >> shift)
		r = -ERANGE;
	if (r == 0)
		*ret = v << shift;
	return r;
}

int output_error(FILE *f)
{
	errno = 0;
	if (fflush(f) == 0 && !ferror(f))
		return 0;
	return errno ? -errno : -EIO;
}

bool str_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool str_suffix(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}

const char *env_lookup(const char *name)
{
	return getenv(name);
}

bool str_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool raise_file_limit(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0 || l.rlim_cur >= l.rlim_max)
		return false;
	l.rlim_cur = l.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &l) == 0;
}
