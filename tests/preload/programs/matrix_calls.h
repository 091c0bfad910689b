/* The calls of matrix.c: each says what came of it. */
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <threads.h>

#include "host.h"

extern char **environ;
extern int pivot_root(const char *, const char *);

#define SENTINEL 4242
#define PATTERN 0x55
#define MISSING "/no/such/file"

#if !defined(__GLIBC__) || __GLIBC_MINOR__ < 34
#define execveat(...) (int)syscall(SYS_execveat, __VA_ARGS__)
#define _Fork fork
#endif

static char self[4096], said[8192];
static size_t said_size;

static void say(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	int n = vsnprintf(said + said_size, sizeof(said) - said_size, format, ap);
	va_end(ap);
	if (n > 0 && said_size + (size_t)n < sizeof(said))
		said_size += (size_t)n;
}

static void flush_said(void)
{
	if (said_size && write(1, said, said_size) < 0)
		_exit(98);
	said_size = 0;
}

/* ---- memory that a call is given, and memory beside it -------------------------------------- */

static struct {
	unsigned char front[64];
	int status;
	siginfo_t info;
	struct rusage usage;
	char *argv[4];
	unsigned char back[64];
} given;

static void give(void)
{
	memset(&given, PATTERN, sizeof(given));
	given.argv[0] = "matrix";
	given.argv[1] = "arrived";
	given.argv[2] = "word";
	given.argv[3] = NULL;
}

static int beside_is_whole(void)
{
	int whole = !strcmp(given.argv[0], "matrix") && !strcmp(given.argv[1], "arrived") &&
		    !strcmp(given.argv[2], "word") && !given.argv[3];

	for (size_t i = 0; i < sizeof(given.front); i++)
		whole &= given.front[i] == PATTERN && given.back[i] == PATTERN;
	return whole;
}

static void say_result(const char *what, long result, int error)
{
	say("%s: %ld", what, result);
	if (error != SENTINEL)
		say(" errno %d", error);
	say("%s\n", beside_is_whole() ? "" : " MEMORY CHANGED");
}

#define CALL(what, expression)                 \
	do {                                   \
		errno = SENTINEL;              \
		long r_ = (long)(expression);  \
		say_result((what), r_, errno); \
	} while (0)

/* ---- the calls ------------------------------------------------------------------------------ */

/* A child that is certainly over, so that no wait has to sleep. */
static pid_t dead_child(int status)
{
	pid_t pid = fork();
	siginfo_t info;

	if (!pid)
		_exit(status);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	return pid;
}

static void call__exit(void)
{
	_exit(61);
}

static void call__Exit(void)
{
	_Exit(62);
}

static void call_quick_exit(void)
{
	quick_exit(63);
}

static void call_chroot(void)
{
	CALL("missing", chroot(MISSING));
	CALL("null", chroot(NULL));
	CALL("the same", chroot("/"));
}

/* What goes on is a process of its own, and nobody waits for it. */
static void call_daemon(void)
{
	said_size = 0;
	CALL("daemon", daemon(1, 1));
	flush_said();
	_exit(3);
}

/* Each child ends with 21 and says nothing. */
static int copy_body(void *arg)
{
	(void)arg;
	_exit(21);
}

static void call__Fork(void)
{
	pid_t pid = _Fork();

	if (!pid)
		copy_body(NULL);
	CALL("child", wait_for(pid));
}

static void call_clone(void)
{
	static char stack[65536];
	void *top = stack + sizeof(stack);

	CALL("bad flags", clone(copy_body, top, CLONE_THREAD, NULL));
	CALL("child", wait_for(clone(copy_body, top, SIGCHLD, NULL)));
	CALL("borrowed", wait_for(clone(copy_body, top, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL)));
}

static void call_execl(void)
{
	CALL("missing", execl(MISSING, "x", "1", NULL));
	flush_said();
	execl(self, "matrix", "arrived", "execl", NULL);
}

static void call_execle(void)
{
	CALL("missing", execle(MISSING, "x", "1", NULL, environ));
	flush_said();
	execle(self, "matrix", "arrived", "execle", NULL, environ);
}

static void call_execlp(void)
{
	CALL("missing", execlp("no-such-program-anywhere", "x", "1", NULL));
	flush_said();
	execlp("sh", "sh", "-c", "exit 7", NULL);
}

static void call_execv(void)
{
	CALL("missing", execv(MISSING, given.argv));
	flush_said();
	execv(self, given.argv);
}

static void call_execve(void)
{
	CALL("missing", execve(MISSING, given.argv, environ));
	CALL("bad arguments", execve(self, (char **)8, environ));
	flush_said();
	execve(self, given.argv, environ);
}

static void call_execveat(void)
{
	CALL("missing", execveat(AT_FDCWD, MISSING, given.argv, environ, 0));
	CALL("bad directory", execveat(900, "x", given.argv, environ, 0));
	flush_said();
	execveat(AT_FDCWD, self, given.argv, environ, 0);
}

static void call_execvp(void)
{
	CALL("missing", execvp("no-such-program-anywhere", given.argv));
	flush_said();
	execvp("sh", (char *[]){"sh", "-c", "exit 7", NULL});
}

static void call_execvpe(void)
{
	CALL("missing", execvpe("no-such-program-anywhere", given.argv, environ));
	flush_said();
	execvpe("sh", (char *[]){"sh", "-c", "exit 7", NULL}, environ);
}

static void call_fexecve(void)
{
	CALL("closed", fexecve(900, given.argv, environ));
	flush_said();
	fexecve(open(self, O_RDONLY | O_CLOEXEC), given.argv, environ);
}

static void call_fclose(void)
{
	FILE *full = fopen("/dev/full", "w");

	fputs("x", full);
	CALL("full", fclose(full));
	CALL("empty", fclose(fopen("/dev/null", "r")));
	CALL("a pipe", fclose(popen("exit 3", "r")));
}

static void call_pclose(void)
{
	CALL("status", pclose(popen("exit 3", "r")));
	CALL("killed", pclose(popen("kill -9 $$", "r")));
}

static void call_pivot_root(void)
{
	CALL("missing", pivot_root(MISSING, MISSING));
	CALL("bad pointers", pivot_root((char *)8, (char *)8));
}

static void call_prctl(void)
{
	char name[16] = "";

	CALL("set name", prctl(PR_SET_NAME, "matrix"));
	CALL("get name", prctl(PR_GET_NAME, name));
	say("name %s\n", name);
	CALL("unknown", prctl(123456, 1, 2, 3, 4));
	CALL("bad filter", prctl(PR_SET_SECCOMP, 2, 8));
}

/* of <linux/filter.h>, which musl does not come with: everything is allowed */
static struct {
	unsigned short code;
	unsigned char yes, no;
	unsigned k;
} allow = {6, 0, 0, 0x7fff0000u};
static struct {
	unsigned short count;
	void *filter;
} filter = {1, &allow};

static void call_prctl_filter(void)
{
	CALL("no new privileges", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CALL("filter", prctl(PR_SET_SECCOMP, 2, &filter));
}

static void call_syscall_filter(void)
{
	CALL("no new privileges", syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CALL("filter", syscall(SYS_seccomp, 1, 0, &filter));
}

static void *posix_body(void *arg)
{
	return arg;
}

static int c11_body(void *arg)
{
	return (int)(long)arg;
}

static void call_pthread_create(void)
{
	void *result = NULL;
	pthread_attr_t attr;
	pthread_t t;

	CALL("create", pthread_create(&t, NULL, posix_body, (void *)17));
	CALL("join", pthread_join(t, &result));
	say("returned %ld\n", (long)result);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)1 << 46);
	CALL("too large", pthread_create(&t, &attr, posix_body, NULL));
}

static void call_thrd_create(void)
{
	int result = 0;
	thrd_t t;

	CALL("create", thrd_create(&t, c11_body, (void *)18) == thrd_success);
	CALL("join", thrd_join(t, &result) == thrd_success);
	say("returned %d\n", result);
}

/* A process has one tracer: where the cell is traced itself, its child gets none and ends. */
static void call_ptrace(void)
{
	static long word = 4711;

	CALL("nobody", ptrace(PTRACE_PEEKDATA, -1, &word, NULL));
	CALL("a stranger", ptrace(PTRACE_CONT, 1, NULL, NULL));
	pid_t pid = fork();
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
			raise(SIGSTOP);
		_exit(5);
	}
	CALL("first wait", waitpid(pid, &given.status, 0) == pid);
	if (!WIFSTOPPED(given.status))
		return;
	CALL("read", ptrace(PTRACE_PEEKDATA, pid, &word, NULL));
	CALL("read nothing", ptrace(PTRACE_PEEKDATA, pid, (void *)8, NULL));
	CALL("go on", ptrace(PTRACE_CONT, pid, NULL, NULL));
	CALL("second wait", waitpid(pid, &given.status, 0) == pid);
	say("status %x\n", given.status);
}

static void call_setns(void)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	CALL("nothing", setns(-1, 0));
	CALL("the same", setns(fd, 0));
	close(fd);
}

static void call_syscall(void)
{
	CALL("getpid", syscall(SYS_getpid) == getpid());
	CALL("close", syscall(SYS_close, -1));
	CALL("unknown", syscall(100000));
	CALL("prctl", syscall(SYS_prctl, PR_SET_SECCOMP, 2, 8, 0, 0));
	CALL("seccomp", syscall(SYS_seccomp, 1, 0x4000, 8));
	CALL("ptrace", syscall(SYS_ptrace, PTRACE_CONT, 1, 0, 0));
	CALL("setns", syscall(SYS_setns, -1, 0));
	CALL("chroot", syscall(SYS_chroot, MISSING));
	CALL("pivot_root", syscall(SYS_pivot_root, MISSING, MISSING));
	CALL("execve", syscall(SYS_execve, MISSING, given.argv, environ));
	CALL("execveat", syscall(SYS_execveat, AT_FDCWD, MISSING, given.argv, environ, 0));
}

static void call_syscall_clone(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	if (!pid)
		copy_body(NULL);
	CALL("child", wait_for(pid));
}

static void call_syscall_exit_group(void)
{
	syscall(SYS_exit_group, 64);
}

static void call_syscall_execve(void)
{
	syscall(SYS_execve, self, given.argv, environ);
}

static void call_system(void)
{
	CALL("status", system("exit 4"));
	CALL("killed", system("kill -9 $$"));
	CALL("no command", system(NULL));
}

static void say_status(void)
{
	say("status %x usage %lx %s\n", given.status,
	    given.usage.ru_nsignals ? given.usage.ru_maxrss : 0,
	    given.usage.ru_minflt > 0 ? "given" : "none");
}

static void call_wait(void)
{
	CALL("no child", wait(&given.status));
	say("untouched %x\n", given.status);
	pid_t pid = dead_child(11);
	CALL("child", wait(&given.status) == pid);
	say_status();
	pid = dead_child(12);
	CALL("no status", wait(NULL) == pid);
	say_status();
}

static void call_wait3(void)
{
	CALL("no child", wait3(&given.status, 0, &given.usage));
	say_status();
	pid_t pid = dead_child(13);
	CALL("child", wait3(&given.status, 0, &given.usage) == pid);
	say_status();
}

static void call_wait4(void)
{
	CALL("no child", wait4(-1, &given.status, 0, &given.usage));
	say_status();
	pid_t pid = dead_child(14);
	CALL("child", wait4(pid, &given.status, 0, &given.usage) == pid);
	say_status();
}

static void call_waitid(void)
{
	CALL("no child", waitid(P_ALL, 0, &given.info, WEXITED));
	say("signo %x code %x\n", given.info.si_signo, given.info.si_code);
	pid_t pid = dead_child(15);
	CALL("child", waitid(P_PID, (id_t)pid, &given.info, WEXITED));
	say("signo %d errno %d code %d status %d pid %d\n", given.info.si_signo,
	    given.info.si_errno, given.info.si_code, given.info.si_status,
	    given.info.si_pid == pid);
}

static void call_waitpid(void)
{
	CALL("no child", waitpid(-1, &given.status, 0));
	say("untouched %x\n", given.status);
	pid_t pid = dead_child(16);
	CALL("bad options", waitpid(pid, &given.status, 0x40));
	CALL("child", waitpid(pid, &given.status, 0) == pid);
	say_status();
}
