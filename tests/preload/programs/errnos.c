/*
 * Calls every function that libplimsoll.so stands in for, in ways that succeed and ways that fail,
 * and prints what each returned and left in errno. `errnos calls` or `errnos bad_pointers`.
 */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <threads.h>

#include "host.h"

extern char **environ;

#define SENTINEL 4242

/* of <linux/seccomp.h>, which musl does not come with */
#define SECCOMP_MODE_FILTER 2
#define SECCOMP_SET_MODE_FILTER 1
#define SECCOMP_GET_ACTION_AVAIL 2
#define SECCOMP_RET_ALLOW 0x7fff0000u

/* One row: the expression's value, and errno unless the call left it alone. */
#define ROW(what, expression)                                       \
	do {                                                        \
		errno = SENTINEL;                                   \
		long r_ = (long)(expression);                       \
		int e_ = errno;                                     \
		if (e_ == SENTINEL)                                 \
			printf("%s: %ld\n", what, r_);              \
		else                                                \
			printf("%s: %ld errno %d\n", what, r_, e_); \
		fflush(stdout);                                     \
	} while (0)

/* A row for something that ends the process or replaces it: in a child. */
#define ENDING(what, expression)                                          \
	do {                                                              \
		fflush(stdout);                                           \
		pid_t pid_ = fork();                                      \
		if (!pid_) {                                              \
			errno = SENTINEL;                                 \
			(void)(expression);                               \
			printf("%s: came back, errno %d\n", what, errno); \
			fflush(stdout);                                   \
			_exit(99);                                        \
		}                                                         \
		printf("%s: status %d\n", what, wait_for(pid_));          \
	} while (0)

#if !defined(__GLIBC__) || __GLIBC_MINOR__ < 34
#define execveat(...) syscall(SYS_execveat, __VA_ARGS__)
#define _Fork fork
#endif

static char *args[] = {"true", NULL};

static pid_t child(int status)
{
	fflush(stdout);
	pid_t pid = fork();

	if (!pid)
		_exit(status);
	return pid;
}

/* A child that is certainly over, so that no wait has to sleep. */
static pid_t dead_child(int status)
{
	pid_t pid = child(status);
	siginfo_t info;

	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	return pid;
}

/* A tracer reads a word of its child's memory, lets it go on and sees its end. */
static void trace_rows(void)
{
	static long word = 4711;
	int status;

	ROW("ptrace CONT of a stranger", ptrace(PTRACE_CONT, 1, NULL, NULL));
	ROW("ptrace PEEKDATA of nobody", ptrace(PTRACE_PEEKDATA, -1, &word, NULL));
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(5);
	}
	ROW("waitpid, stopped", waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	ROW("ptrace PEEKDATA", ptrace(PTRACE_PEEKDATA, pid, &word, NULL));
	ROW("ptrace PEEKDATA of nothing", ptrace(PTRACE_PEEKDATA, pid, (void *)8, NULL));
	ROW("ptrace CONT", ptrace(PTRACE_CONT, pid, NULL, NULL));
	ROW("waitpid, ended", waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
}

static void exec_rows(void)
{
	char *huge = malloc(200000);
	char *too_long[] = {"true", huge, NULL};
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC),
	    text = open("plain.txt", O_RDWR | O_CREAT, 0755);

	memset(huge, 'x', 199999);
	huge[199999] = 0;
	dprintf(text, "exit 5\n");
	close(text);

	ROW("execve missing", execve("/no/such/file", args, environ));
	ROW("execve directory", execve("/", args, environ));
	ROW("execve not executable", execve("/etc/passwd", args, environ));
	ROW("execve no format", execve("plain.txt", args, environ));
	ROW("execve argument too long", execve("/bin/true", too_long, environ));
	ROW("execve empty name", execve("", args, environ));
	ROW("execve not a directory", execve("/etc/passwd/x", args, environ));
	ROW("execve null name", execve(NULL, args, environ));
	ROW("execve bad name", execve((char *)8, args, environ));
	ROW("execve bad arguments", execve("/bin/true", (char **)8, environ));
	ROW("execv missing", execv("/no/such/file", args));
	ROW("execv no format", execv("plain.txt", args));
	ROW("execvp missing", execvp("no-such-program-anywhere", args));
	ROW("execvp missing path", execvp("/no/such/file", args));
	ROW("execvp empty name", execvp("", args));
	ROW("execvp not executable", execvp("/etc/passwd", args));
	ROW("execvpe missing", execvpe("no-such-program-anywhere", args, environ));
	ROW("execveat bad directory", execveat(900, "true", args, environ, 0));
	ROW("execveat missing", execveat(AT_FDCWD, "no-such-file", args, environ, 0));
	ROW("execveat bad flags", execveat(AT_FDCWD, "/bin/true", args, environ, 0x40000000));
	ROW("execveat bad empty path", execveat(900, "", args, environ, AT_EMPTY_PATH));
	ROW("fexecve negative", fexecve(-1, args, environ));
	ROW("fexecve closed", fexecve(900, args, environ));
	ROW("fexecve terminal", fexecve(1, args, environ));
	ENDING("fexecve null arguments", fexecve(fd, NULL, environ));
	ENDING("fexecve null environment", fexecve(fd, args, NULL));
	ROW("execl missing", execl("/no/such/file", "x", "1", "2", NULL));
	ROW("execlp missing", execlp("no-such-program-anywhere", "x", "1", NULL));
	ROW("execle missing", execle("/no/such/file", "x", "1", NULL, environ));

	ENDING("execve", execve("/bin/true", args, environ));
	ENDING("execve null arguments", execve("/bin/true", NULL, environ));
	ENDING("execv", execv("/bin/false", args));
	ENDING("execvp", execvp("true", args));
	ENDING("execvp of a script without interpreter", execvp("./plain.txt", args));
	ENDING("execvpe", execvpe("false", args, environ));
	ENDING("execveat", execveat(AT_FDCWD, "/bin/false", args, environ, 0));
	ENDING("execveat descriptor", execveat(fd, "", args, environ, AT_EMPTY_PATH));
	ENDING("fexecve", fexecve(fd, args, environ));
	ENDING("execl", execl("/bin/sh", "sh", "-c", "exit $1", "x", "41", NULL));
	ENDING("execlp", execlp("sh", "sh", "-c", "exit $1", "x", "42", NULL));
	ENDING("execle", execle("/bin/sh", "sh", "-c", "exit $(($1 + ${#VARIABLE}))", "x", "40",
				NULL, (char *[]){"VARIABLE=123", NULL}));
	close(fd);
	free(huge);
}

static int same_child(pid_t pid, pid_t got)
{
	return got == pid ? 1 : got < 0 ? -1 : 0;
}

static void on_alarm(int sig)
{
	(void)sig;
}

static void interrupt_soon(void)
{
	struct sigaction sa = {.sa_handler = on_alarm};

	sigaction(SIGALRM, &sa, NULL);
	ualarm(2000, 2000);
}

static void wait_rows(void)
{
	struct rusage ru;
	siginfo_t info;
	int status = -1;
	pid_t pid;

	memset(&info, 0x55, sizeof(info));
	ROW("wait without children", wait(&status));
	ROW("waitpid without children", waitpid(-1, &status, 0));
	ROW("waitpid stranger", waitpid(1, &status, 0));
	ROW("waitpid bad options", waitpid(-1, &status, 0x40));
	ROW("waitpid impossible group", waitpid(INT32_MIN, &status, 0));
	ROW("wait3 without children", wait3(&status, 0, &ru));
	ROW("wait4 without children", wait4(-1, &status, 0, &ru));
	ROW("waitid without children", waitid(P_ALL, 0, &info, WEXITED));
	ROW("waitid no options", waitid(P_ALL, 0, &info, 0));
	printf("signo %x code %x pid %x\n", info.si_signo, info.si_code, info.si_pid);
	ROW("waitid bad type", waitid(99, 0, &info, WEXITED));
	printf("status untouched: %d\n", status);

	pid = dead_child(3);
	ROW("wait", same_child(pid, wait(&status)));
	printf("status %x\n", status);
	pid = dead_child(4);
	ROW("wait without status", same_child(pid, wait(NULL)));
	pid = dead_child(5);
	ROW("waitpid", same_child(pid, waitpid(pid, &status, 0)));
	printf("status %x\n", status);
	pid = dead_child(6);
	ROW("wait3", same_child(pid, wait3(&status, 0, NULL)));
	printf("status %x\n", status);
	pid = dead_child(7);
	memset(&ru, 0xff, sizeof(ru));
	ROW("wait4", same_child(pid, wait4(pid, &status, 0, &ru)));
	printf("status %x usage %d\n", status, ru.ru_minflt > 0 && ru.ru_utime.tv_sec == 0);
	pid = dead_child(8);
	memset(&info, 0xff, sizeof(info));
	ROW("waitid", waitid(P_PID, (id_t)pid, &info, WEXITED));
	printf("signo %d errno %d code %d status %d pid %d uid %d\n", info.si_signo, info.si_errno,
	       info.si_code, info.si_status, info.si_pid == pid, info.si_uid == getuid());
	pid = dead_child(9);
	ROW("waitid without information", waitid(P_PID, (id_t)pid, NULL, WEXITED));

	/* a child that is still there: nothing to take, and nothing may be written */
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	status = 77;
	memset(&ru, 0x55, sizeof(ru));
	ROW("waitpid nobody yet", waitpid(pid, &status, WNOHANG));
	ROW("wait4 nobody yet", wait4(pid, &status, WNOHANG, &ru));
	printf("status untouched: %d usage %lx\n", status, ru.ru_maxrss);
	memset(&info, 0x55, sizeof(info));
	ROW("waitid nobody yet", waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG));
	printf("signo %d code %d pid %d\n", info.si_signo, info.si_code, info.si_pid);
	interrupt_soon();
	memset(&info, 0x55, sizeof(info));
	ROW("waitpid interrupted", waitpid(pid, &status, 0));
	ROW("wait4 interrupted", wait4(pid, &status, 0, &ru));
	ROW("wait interrupted", wait(&status));
	ROW("wait3 interrupted", wait3(&status, 0, &ru));
	ROW("waitid interrupted", waitid(P_PID, (id_t)pid, &info, WEXITED));
	ualarm(0, 0);
	printf("status untouched: %d pid %x code %x\n", status, info.si_pid, info.si_code);
	kill(pid, SIGSTOP);
	ROW("waitpid stopped", same_child(pid, waitpid(pid, &status, WUNTRACED)));
	printf("status %x\n", status);
	kill(pid, SIGCONT);
	ROW("waitid continued", waitid(P_PID, (id_t)pid, &info, WCONTINUED));
	printf("code %d status %d\n", info.si_code, info.si_status);
	kill(pid, SIGKILL);
	ROW("waitpid killed", same_child(pid, waitpid(pid, &status, 0)));
	printf("status %x\n", status);

	signal(SIGCHLD, SIG_IGN);
	child(3);
	ROW("wait with SIGCHLD ignored", wait(&status));
	signal(SIGCHLD, SIG_DFL);
}

static void kernel_rows(void)
{
	char name[16];

	ROW("prctl set name", prctl(PR_SET_NAME, "errnos"));
	ROW("prctl get name", prctl(PR_GET_NAME, name));
	ROW("prctl get dumpable", prctl(PR_GET_DUMPABLE));
	ROW("prctl unknown", prctl(123456, 1, 2, 3, 4));
	ROW("prctl bad pointer", prctl(PR_GET_NAME, 8));
	ROW("prctl bad arguments", prctl(PR_SET_NO_NEW_PRIVS, 1, 1, 1, 1));
	ROW("prctl seccomp bad mode", prctl(PR_SET_SECCOMP, 77, 0));
	ROW("prctl seccomp bad pointer", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 8));
	ROW("syscall getpid", syscall(SYS_getpid) == getpid());
	ROW("syscall six arguments",
	    syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != -1);
	ROW("syscall six arguments failing",
	    syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, 900, 0));
	ROW("syscall unknown", syscall(100000));
	ROW("syscall negative", syscall(-1));
	ROW("syscall close", syscall(SYS_close, -1));
	ROW("syscall large result", syscall(SYS_lseek, -1, 1L << 40, SEEK_SET));
	ROW("syscall execve missing", syscall(SYS_execve, "/no/such/file", args, environ));
	ROW("syscall execveat missing",
	    syscall(SYS_execveat, AT_FDCWD, "no-such-file", args, environ, 0));
	ROW("syscall prctl", syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0));
	ROW("syscall prctl bad filter",
	    syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, 8, 0, 0));
	ROW("syscall seccomp bad operation", syscall(SYS_seccomp, 99, 0, NULL));
	ROW("syscall seccomp bad flags", syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0x4000, 8));
	ROW("syscall seccomp available",
	    syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &(uint32_t){SECCOMP_RET_ALLOW}));
	ENDING("syscall exit_group", syscall(SYS_exit_group, 51));
	ENDING("syscall exit", syscall(SYS_exit, 52));
	ENDING("syscall execve", syscall(SYS_execve, "/bin/false", args, environ));
}

static void shell_rows(void)
{
	FILE *f = popen("exit 3", "r");

	fflush(stdout);
	ROW("system", system("exit 4"));
	ROW("system killed", system("kill -9 $$"));
	ROW("system without a command", system(NULL));
	ROW("pclose", pclose(f));
	ROW("pclose killed", pclose(popen("kill -9 $$", "r")));
	ROW("fclose", fclose(fopen("/dev/null", "r")));
	f = fopen("/dev/full", "w");
	fputs("x", f);
	ROW("fclose full", fclose(f));
}

static void *thread_body(void *arg)
{
	return arg;
}

static int c11_body(void *arg)
{
	return (int)(long)arg;
}

static void thread_rows(void)
{
	pthread_attr_t attr;
	pthread_t t;
	thrd_t c11;
	void *ret;
	int result;

	for (int i = 0; i < 3; i++) {
		ROW("pthread_create", pthread_create(&t, NULL, thread_body, (void *)17));
		ROW("pthread_join", pthread_join(t, &ret));
		printf("returned %ld\n", (long)ret);
		ROW("thrd_create", thrd_create(&c11, c11_body, (void *)18) == thrd_success);
		ROW("thrd_join", thrd_join(c11, &result) == thrd_success);
		printf("returned %d\n", result);
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, (size_t)1 << 46);
	ROW("pthread_create too large", pthread_create(&t, &attr, thread_body, NULL));
}

static int copy_body(void *arg)
{
	_exit((int)(long)arg);
}

static void copy_rows(void)
{
	static char stack[65536];
	void *top = stack + sizeof(stack);

	fflush(stdout);
	pid_t pid = _Fork();
	if (!pid)
		_exit(53);
	ROW("_Fork", wait_for(pid));
	ROW("clone without a stack", clone(copy_body, NULL, SIGCHLD, NULL));
	ROW("clone bad flags", clone(copy_body, top, CLONE_THREAD, NULL));
	ROW("clone", wait_for(clone(copy_body, top, SIGCHLD, (void *)54)));
	ROW("clone with its parent's descriptors",
	    wait_for(clone(copy_body, top, CLONE_FILES | SIGCHLD, (void *)55)));
	ROW("clone on its parent's memory",
	    wait_for(clone(copy_body, top, CLONE_VM | CLONE_VFORK | SIGCHLD, (void *)56)));
	ROW("syscall clone bad flags", syscall(SYS_clone, CLONE_THREAD, 0, 0, 0, 0));
	ENDING("syscall clone",
	       syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) ? _exit(wait_for(-1)) : _exit(57));
}

static void end_rows(void)
{
	ENDING("_exit", _exit(61));
	ENDING("_exit large", _exit(0x12345));
	ENDING("_exit negative", _exit(-1));
	ENDING("_Exit", _Exit(62));
	ENDING("quick_exit", quick_exit(63));
	ENDING("daemon", (daemon(1, 1), _exit(64)));
	ROW("setns of nothing", setns(-1, 0));
	ROW("setns of no namespace", setns(0, 0));
	ROW("syscall setns", (int)syscall(SYS_setns, -1, 0));
	ROW("chroot missing", chroot("/nonexistent"));
	ROW("chroot null", chroot(NULL));
	ROW("pivot_root missing", (int)syscall(SYS_pivot_root, "/nonexistent", "/nonexistent"));
	ROW("syscall chroot", (int)syscall(SYS_chroot, "/nonexistent"));
	ENDING("exit", exit(65));
}

static int mode_calls(char **argv)
{
	(void)argv;
	exec_rows();
	trace_rows();
	wait_rows();
	kernel_rows();
	shell_rows();
	thread_rows();
	copy_rows();
	end_rows();
	return 0;
}

/* Pointers that the kernel answers with EFAULT, after it has taken the child. */
static int mode_bad_pointers(char **argv)
{
	int status;

	(void)argv;
	for (int i = 0; i < 5; i++) {
		fflush(stdout);
		pid_t pid = fork();
		if (pid) {
			printf("status %d\n", wait_for(pid));
			continue;
		}
		pid_t own = dead_child(i + 1);
		switch (i) {
		case 0:
			ROW("wait", wait((int *)8));
			break;
		case 1:
			ROW("waitpid", waitpid(own, (int *)8, 0));
			break;
		case 2:
			ROW("wait3", wait3((int *)8, 0, NULL));
			break;
		case 3:
			ROW("wait4 usage", wait4(own, &status, 0, (struct rusage *)8));
			break;
		default:
			ROW("waitid", waitid(P_PID, (id_t)own, (siginfo_t *)8, WEXITED));
		}
		ROW("afterwards", waitpid(own, NULL, WNOHANG) > 0);
		_exit(0);
	}
	return 0;
}

static const struct mode modes[] = {{"calls", mode_calls}, {"bad_pointers", mode_bad_pointers}};
MAIN(modes)
