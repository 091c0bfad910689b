/*
 * libplimsoll.so: arrival. The constructor decides whether this process records (it does when
 * PLIMSOLL_OUTPUT, PAPIEX_OUTPUT or PAPIEX_OPTIONS is set) and where to, and has START written.
 *
 * Everything that we take from libc is a weak reference. Without glibc the library stays inert:
 * musl passes no arguments to constructors and ends its programs in other ways.
 */
#include "preload/guest.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/utsname.h>

struct guest guest;

extern const char *gnu_get_libc_version(void) __attribute__((weak));
extern int on_exit(void (*function)(int, void *), void *arg) __attribute__((weak));
extern int *__errno_location(void) __attribute__((weak, const));

void set_errno(int value)
{
	if (__errno_location)
		*__errno_location() = value;
}

long libc_result(long ret)
{
	if (ret > -4096 && ret < 0) {
		set_errno((int)-ret);
		return -1;
	}
	return ret;
}

enum who guest_who(int *ret_pid)
{
	if (!guest.active || guest.silent)
		return NOBODY;
	int pid = (int)sys0(__NR_getpid);
	if (ret_pid)
		*ret_pid = pid;
	return pid == guest.pid ? IMAGE : COPY;
}

void own_add(int pid, const struct own_io *io)
{
	if (guest.own_pid != pid) {
		guest.own = (struct own_io){0};
		guest.own_pid = pid;
	}
	__atomic_fetch_add(&guest.own.rchar, io->rchar, __ATOMIC_RELAXED);
	__atomic_fetch_add(&guest.own.wchar, io->wchar, __ATOMIC_RELAXED);
	__atomic_fetch_add(&guest.own.syscr, io->syscr, __ATOMIC_RELAXED);
	__atomic_fetch_add(&guest.own.syscw, io->syscw, __ATOMIC_RELAXED);
}

/* ---- the environment ------------------------------------------------------------------------ */

/* The variables that speak to us; NULL where unset. */
struct environment {
	const char *output, *tags, *events, *threads, *seccomp;
	const char *papiex_output, *papiex_options, *papiex_tags;
};

static const char *value_of(const char *entry, const char *name)
{
	return starts_with(entry, name) ? entry + str_len(name) : NULL;
}

static void read_environment(char **envp, struct environment *env)
{
	const char *v;

	for (; *envp; envp++) {
		const char *e = *envp;

		if (e[0] != 'P' || (e[1] != 'L' && e[1] != 'A'))
			continue;
		if ((v = value_of(e, "PLIMSOLL_OUTPUT=")))
			env->output = v;
		else if ((v = value_of(e, "PLIMSOLL_TAGS=")))
			env->tags = v;
		else if ((v = value_of(e, "PLIMSOLL_EVENTS=")))
			env->events = v;
		else if ((v = value_of(e, "PLIMSOLL_THREADS=")))
			env->threads = v;
		else if ((v = value_of(e, "PLIMSOLL_SECCOMP=")))
			env->seccomp = v;
		else if ((v = value_of(e, "PAPIEX_OUTPUT=")))
			env->papiex_output = v;
		else if ((v = value_of(e, "PAPIEX_OPTIONS=")))
			env->papiex_options = v;
		else if ((v = value_of(e, "PAPIEX_TAGS=")))
			env->papiex_tags = v;
	}
}

static enum thread_detail thread_detail(const char *s)
{
	if (!s)
		return THREADS_LIMITED;
	if (starts_with(s, "full"))
		return THREADS_FULL;
	if (starts_with(s, "basic"))
		return THREADS_BASIC;
	if (starts_with(s, "off"))
		return THREADS_OFF;
	return THREADS_LIMITED;
}

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

/* "<dir>/<hostname>.rec": a file that this host may create in a directory that it was given. */
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
 * A prepared file is "<job>/<host>.<boot>/<run>.rec". A launcher may have carried the variable to
 * another host; a file has one writing host only, so that one makes "<job>/<its name>.rec".
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

static bool choose_path(const struct environment *env)
{
	struct utsname uts;
	char suffix[32];

	if (!env->output && !env->papiex_output && !env->papiex_options)
		return false;
	if (sys1(__NR_uname, &uts) < 0)
		return false;
	for (size_t i = 0; i + 1 < sizeof(guest.hostname) && uts.nodename[i]; i++)
		guest.hostname[i] = (char)(uts.nodename[i] == '/' ? '_' : uts.nodename[i]);

	if (env->output && env->output[0]) {
		size_t n = str_len(env->output);

		if (n > 4 && !__builtin_memcmp(env->output + n - 4, ".rec", 4))
			return path_prepared(env->output, n);
		return path_in(env->output, n, ".rec");
	}
	if (env->papiex_output && env->papiex_output[0])
		return path_in(env->papiex_output, str_len(env->papiex_output), ".rec");
	format_path(suffix, sizeof(suffix), "-", (unsigned long)sys0(__NR_geteuid), ".rec");
	return path_in("/tmp", 4, suffix);
}

/*
 * A filter that a launcher put on before it executed this program may kill for any call that we
 * make. Those that were there when the job began (a container's) are counted in PLIMSOLL_SECCOMP;
 * with more than those we are in doubt and stay out.
 */
static bool filtered(const char *known)
{
	char buf[2048];
	uint64_t filters = 0, expected = 0;
	struct own_io own = {0};

	if (sys1(__NR_prctl, PR_GET_SECCOMP) != 2)
		return false;
	long n = read_file("/proc/self/status", buf, sizeof(buf), &own);
	own_add(guest.pid, &own);
	if (n <= 0 || !known || !proc_parse_status(buf, (size_t)n, "Seccomp_filters", &filters))
		return true;
	while (*known >= '0' && *known <= '9')
		expected = expected * 10 + (uint64_t)(*known++ - '0');
	return filters > expected;
}

static void at_exit(int status, void *arg)
{
	(void)arg;
	record_end(BY_EXIT_HANDLER, status);
}

__attribute__((constructor)) static void arrive(int argc, char **argv, char **envp)
{
	struct environment env = {0};

	resolve_next();
	if (!gnu_get_libc_version || !on_exit || !argv || !envp)
		return;
	read_environment(envp, &env);
	if (!choose_path(&env))
		return;
	guest.pid = (int)sys0(__NR_getpid);
	if (filtered(env.seccomp))
		return;
	guest.threads = thread_detail(env.threads);
	events_configure(env.events ? env.events : env.papiex_options);
	if (!record_start(argc, argv, envp, env.tags ? env.tags : env.papiex_tags))
		return;
	guest.active = true;
	events_begin();
	/* Registered before the loader registers its own, ours runs after all destructors. */
	on_exit(at_exit, NULL);
}
