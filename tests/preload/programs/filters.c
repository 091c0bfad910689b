/*
 * Programs that put a seccomp filter on themselves which kills for every system call but the few
 * that they need. `filters MODE`, or `filters launch|open PROGRAM [ARGUMENT...]`.
 */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "host.h"

#define CALLS_MAX 64

/* Allows the calls of a list that ends with -1; everything else gets the other action. */
static struct sock_fprog *make_filter(const int *calls, uint32_t otherwise)
{
	static struct sock_filter code[CALLS_MAX + 3];
	static struct sock_fprog program = {0, code};
	unsigned n = 0, count = 0;

	while (calls[count] >= 0)
		count++;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < count; i++)
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (uint32_t)calls[i], count - i, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	return &program;
}

static const int few[] = {SYS_write, SYS_exit_group, -1};

static void say(const char *text)
{
	write(1, text, strlen(text));
}

static void by_prctl(const int *calls)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		  make_filter(calls, SECCOMP_RET_KILL_PROCESS)) != 0)
		say("no filter\n");
}

static void by_syscall(const int *calls, unsigned flags)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags,
		    make_filter(calls, SECCOMP_RET_KILL_PROCESS)) != 0)
		say("no filter\n");
}

static int mode_prctl(char **argv)
{
	(void)argv;
	by_prctl(few);
	say("prctl: behind the filter\n");
	return 31;
}

static int mode_syscall(char **argv)
{
	(void)argv;
	by_syscall(few, 0);
	say("syscall: behind the filter\n");
	return 32;
}

/* syscall(SYS_prctl) is a third way */
static int mode_syscall_prctl(char **argv)
{
	(void)argv;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		    make_filter(few, SECCOMP_RET_KILL_PROCESS), 0, 0) != 0)
		say("no filter\n");
	say("syscall(prctl): behind the filter\n");
	_exit(33);
}

static int mode_strict(char **argv)
{
	(void)argv;
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		say("no strict mode\n");
	say("strict: only read, write and exit\n");
	syscall(SYS_exit, 34); /* exit_group is not among them */
	return 1;
}

static int mode_strict_syscall(char **argv)
{
	(void)argv;
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL) != 0)
		say("no strict mode\n");
	say("strict: only read, write and exit\n");
	syscall(SYS_exit, 35);
	return 1;
}

/* What libseccomp asks the kernel when it is loaded: no filter at all, which is refused. Programs
 * that end by the bare system call, as those of Go do, make no other record. */
static int mode_probe(char **argv)
{
	(void)argv;
	int wrong = syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == 0 || errno != EINVAL;
	wrong += syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) == 0 || errno != EFAULT;
	wrong += prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0 || errno != EFAULT;
	wrong += syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0;
	wrong += prctl(PR_SET_SECCOMP, 77, NULL) == 0 || errno != EINVAL;
	if (wrong)
		return 1;
	say("probed\n");
	syscall(SYS_exit, 36);
	return 1;
}

/* A filter that the kernel refuses is none: the program is recorded to its end. */
static int mode_refused(char **argv)
{
	struct sock_fprog none = {0, NULL};

	(void)argv;
	int r = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none);
	printf("prctl %d errno %d\n", r, errno);
	r = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &none);
	printf("syscall %d errno %d\n", r, errno);
	return 36;
}

/* Somebody who does break its own filter dies as it would. */
static int mode_broken(char **argv)
{
	(void)argv;
	by_prctl(few);
	say("about to open a file\n");
	open("/dev/null", O_RDONLY);
	return 37;
}

/* ---- everything that we stand in for, behind a filter
 * -------------------------------------------- */

static const int many[] = {SYS_write,
			   SYS_exit_group,
			   SYS_exit,
			   SYS_clone,
			   SYS_clone3,
			   SYS_vfork,
			   SYS_wait4,
			   SYS_waitid,
			   SYS_execve,
			   SYS_execveat,
			   SYS_mmap,
			   SYS_munmap,
			   SYS_mprotect,
			   SYS_madvise,
			   SYS_brk,
			   SYS_futex,
			   SYS_set_robust_list,
			   SYS_rseq,
			   SYS_rt_sigprocmask,
			   SYS_prctl,
			   SYS_prlimit64,
			   SYS_rt_sigaction,
			   SYS_getrandom,
			   -1};

static void *nothing(void *arg)
{
	return arg;
}

static int mode_everything(char **argv)
{
	char *args[] = {"true", NULL}, *none[] = {NULL};
	siginfo_t info;
	pthread_t t;
	int status;

	(void)argv;
	by_syscall(many, 0);
	pid_t pid = fork();
	if (!pid)
		_exit(1);
	waitpid(pid, &status, 0);
	say(WEXITSTATUS(status) == 1 ? "waitpid\n" : "waitpid fails\n");
	pid = vfork();
	if (!pid)
		_exit(2);
	waitid(P_PID, (id_t)pid, &info, WEXITED);
	say(info.si_status == 2 ? "waitid\n" : "waitid fails\n");
	pid = fork();
	if (!pid) {
		execve("/no/such/file", args, none);
		execv("/no/such/file", args);
		execvp("/no/such/file", args);
		exit(3);
	}
	wait4(pid, &status, 0, NULL);
	say(WEXITSTATUS(status) == 3 ? "exec\n" : "exec fails\n");
	say(pthread_create(&t, NULL, nothing, NULL) == 0 && pthread_join(t, NULL) == 0
		    ? "thread\n"
		    : "thread fails\n");
	say(prctl(PR_SET_NAME, "behind") == 0 ? "prctl\n" : "prctl fails\n");
	say(syscall(SYS_write, 1, "syscall ", 8) == 8 ? "works\n" : "fails\n");
	return 38;
}

/* A thread that began before the filter was there and ends behind it. */
static int pipes[2];
static volatile int begun;

static void *until_told(void *arg)
{
	char c;

	begun = 1;
	read(pipes[0], &c, 1);
	return arg;
}

static int mode_thread_ends(char **argv)
{
	static const int calls[] = {SYS_write,          SYS_read,   SYS_exit_group,
				    SYS_exit,           SYS_futex,  SYS_madvise,
				    SYS_rt_sigprocmask, SYS_munmap, -1};
	pthread_t t;

	(void)argv;
	pipe(pipes);
	pthread_create(&t, NULL, until_told, NULL);
	while (!begun)
		usleep(100);
	by_syscall(calls, SECCOMP_FILTER_FLAG_TSYNC);
	write(pipes[1], "x", 1);
	say(pthread_join(t, NULL) == 0 ? "joined\n" : "not joined\n");
	return 39;
}

/* A thread that was created before the filter was there and begins behind it, most of the time: one
 * processor has to do with both. */
static int mode_thread_begins(char **argv)
{
	int killed = 0;
	cpu_set_t one;
	pthread_t t;

	(void)argv;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	for (int i = 0; i < 200; i++) {
		pid_t pid = fork();

		if (!pid) {
			pthread_create(&t, NULL, nothing, NULL);
			by_syscall(many, SECCOMP_FILTER_FLAG_TSYNC);
			_exit(pthread_join(t, NULL));
		}
		killed += wait_for(pid) != 0;
	}
	printf("killed %d\n", killed);
	return 42;
}

/* A child closes its own door, not its parent's. */
static int mode_child(char **argv)
{
	(void)argv;
	pid_t pid = fork();
	if (!pid) {
		by_prctl(few);
		say("child behind the filter\n");
		_exit(5);
	}
	printf("child %d\n", wait_for(pid));
	return 40;
}

/* The same on its parent's memory: `vfork execv|syscall|_exit|killed|failed`. */
static int mode_vfork(char **argv)
{
	static const int calls[] = {SYS_execve, SYS_write, SYS_exit_group, -1};
	static char *program[] = {"/no/such/file", NULL};
	const char *how = argv[0];
	int status = 0;

	fflush(stdout);
	pid_t pid = vfork();
	if (!pid) {
		by_prctl(calls);
		if (!strcmp(how, "execv"))
			execv("/bin/true", program); /* is killed by the filter */
		if (!strcmp(how, "syscall"))
			syscall(SYS_execve, "/bin/true", program, NULL);
		if (!strcmp(how, "failed"))
			execv("/no/such/file", program);
		if (!strcmp(how, "killed"))
			syscall(SYS_getppid);
		_exit(6);
	}
	printf("child %d, filters here %d\n", wait_for(pid), prctl(PR_GET_SECCOMP) != 0);
	fflush(stdout);
	pid = fork();
	if (!pid)
		_exit(9);
	printf("another %d\n", wait_for(pid));
	return 44;
}

/* ---- launchers ------------------------------------------------------------------------------- */

/* What the loader, a small program that writes and returns, and asking who one is need. */
static int mode_launch(char **argv)
{
	static const int calls[] = {SYS_execve,
				    SYS_brk,
				    SYS_mmap,
				    SYS_munmap,
				    SYS_mprotect,
				    SYS_access,
				    SYS_openat,
				    SYS_read,
				    SYS_pread64,
				    SYS_close,
				    SYS_newfstatat,
				    SYS_fstat,
				    SYS_arch_prctl,
				    SYS_set_tid_address,
				    SYS_set_robust_list,
				    SYS_rseq,
				    SYS_prlimit64,
				    SYS_getrandom,
				    SYS_write,
				    SYS_exit_group,
				    SYS_uname,
				    SYS_getpid,
				    SYS_prctl,
				    -1};

	by_prctl(calls);
	execv(argv[0], argv);
	return 126;
}

/* A filter that allows everything, as a container's does for what a job needs. */
static int mode_open(char **argv)
{
	static const int forbidden_none[] = {-1};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
		  make_filter(forbidden_none, SECCOMP_RET_ALLOW)))
		return 125;
	execvp(argv[0], argv);
	return 126;
}

/* A program that needs next to nothing. */
static int mode_small(char **argv)
{
	(void)argv;
	say("small program\n");
	return 41;
}

static const struct mode modes[] = {
	{"prctl", mode_prctl},
	{"syscall", mode_syscall},
	{"syscall_prctl", mode_syscall_prctl},
	{"strict", mode_strict},
	{"strict_syscall", mode_strict_syscall},
	{"refused", mode_refused},
	{"probe", mode_probe},
	{"broken", mode_broken},
	{"everything", mode_everything},
	{"thread_ends", mode_thread_ends},
	{"thread_begins", mode_thread_begins},
	{"child", mode_child},
	{"vfork", mode_vfork},
	{"launch", mode_launch},
	{"open", mode_open},
	{"small", mode_small},
};
MAIN(modes)
