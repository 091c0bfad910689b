/*
 * libplimsoll.so and libpapiex.so: arrival. The constructor asks the sink whether this process
 * records, and where to, and has START written.
 *
 * Everything that we take from libc is a weak reference. Without glibc the library stays inert:
 * musl passes no arguments to constructors and ends its programs in other ways.
 */
#include "preload/guest.h"

#include <sys/prctl.h>

/* glibc 2.17, of CentOS 7: with an older one nothing is recorded. */
#define OLDEST_MINOR 17

struct guest guest;

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

/* The first process of another pid namespace, made by the first one of this: they have one number.
 * It has memory of its own. */
static NOINLINE void become_copy(void)
{
	guest.pid = guest.own_pid = 0;
	threads_forget();
}

/* Its child may have mounted a /proc over the one that both see, which does not show this process.
 */
static NOINLINE bool is_in_other_space(void)
{
	uint64_t ns = guest.first_pidns ? space_of_caller() : 0;

	return ns && ns != guest.first_pidns;
}

enum who guest_who(int *ret_pid)
{
	if (!guest.active || guest.silent)
		return NOBODY;
	int pid = (int)sys0(__NR_getpid);
	if (pid == 1 && guest.pid == 1 && is_in_other_space())
		become_copy();
	if (ret_pid)
		*ret_pid = pid;
	return pid == guest.pid ? IMAGE : COPY;
}

/* ---- the environment ------------------------------------------------------------------------ */

static const char *value_of(const char *entry, const char *name)
{
	return starts_with(entry, name) ? entry + str_len(name) : NULL;
}

static void read_environment(char **envp, struct environment *env)
{
	const char *v;

	env->all = envp;
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
		else if ((v = value_of(e, "PLIMSOLL_CONTEXT=")))
			env->context = v;
		else if ((v = value_of(e, "PLIMSOLL_PIDNS=")))
			env->pidns = v;
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

/*
 * A filter that a launcher put on before it executed this program may kill for any call that we
 * make. Those that were there when the job began (a container's) are counted in PLIMSOLL_SECCOMP;
 * with more than those we are in doubt and stay out.
 */
static bool filtered(const char *known)
{
	uint64_t filters = 0, expected = 0;
	struct own_io own = {0};

	if (sys1(__NR_prctl, PR_GET_SECCOMP) != 2)
		return false;
	bool counted = read_status("Seccomp_filters", &filters, &own);
	own_add(guest.pid, &own);
	if (!counted || !known)
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
	if (libc_minor() < OLDEST_MINOR || !on_exit || !argv || !envp)
		return;
	read_environment(envp, &env);
	if (!sink_choose(&env))
		return;
	guest.pid = guest.image_pid = (int)sys0(__NR_getpid);
	guest.first_pidns = guest.pid == 1 ? space_of_caller() : 0;
	if (filtered(env.seccomp))
		return;
	guest.threads = thread_detail(env.threads);
	space_configure(env.pidns);
	events_configure(env.events);
	if (!record_start(argc, argv, envp, env.tags))
		return;
	guest.active = true;
	reach_begin();
	events_begin();
	fork_begin();
	/* Registered before the loader registers its own, ours runs after all destructors. */
	on_exit(at_exit, NULL);
}
