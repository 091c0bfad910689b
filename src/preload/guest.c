/*
 * The preload libraries: the constructor decides whether and where this process records,
 * and writes START.
 *
 * All references to libc are weak. Without glibc the library does nothing: musl passes no arguments
 * to constructors and ends programs differently.
 */
#include "preload/guest.h"

#include <sys/prctl.h>

/* glibc 2.17 (CentOS 7); with an older one nothing is recorded. */
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

/* The first process of another pid namespace, forked by the first one of this: both have pid 1. It
 * has its own memory. */
static NOINLINE void become_copy(void)
{
	guest.pid = guest.own_pid = 0;
	threads_forget();
}

/* Its child may have mounted another /proc, which does not show this process.
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

static void read_environment(char **envp, struct environment *env)
{
	const struct {
		char name[20];
		const char **value;
	} rows[] = {
		{"PLIMSOLL_OUTPUT=", &env->output},       {"PLIMSOLL_TAGS=", &env->tags},
		{"PLIMSOLL_EVENTS=", &env->events},       {"PLIMSOLL_THREADS=", &env->threads},
		{"PLIMSOLL_SECCOMP=", &env->seccomp},     {"PLIMSOLL_CONTEXT=", &env->context},
		{"PLIMSOLL_PIDNS=", &env->pidns},         {"PAPIEX_OUTPUT=", &env->other_output},
		{"PAPIEX_OPTIONS=", &env->other_options}, {"PAPIEX_TAGS=", &env->other_tags},
	};

	env->all = envp;
	for (; *envp; envp++) {
		const char *e = *envp;

		if (e[0] != 'P' || (e[1] != 'L' && e[1] != 'A'))
			continue;
		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
			if (starts_with(e, rows[i].name))
				*rows[i].value = e + str_len(rows[i].name);
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
 * A seccomp filter that a launcher installed before the exec may kill the program for any of our
 * calls. PLIMSOLL_SECCOMP has the number of filters at the start of the job (a container's); with
 * more we do not record.
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
	if (!output_choose(&env))
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
	/* registered before the loader's handler, so it runs after all destructors */
	on_exit(at_exit, NULL);
}
