/* Restricts a child step by step; see sandbox.h. The system call filter comes last, since the other
 * steps need calls that it refuses. */
#include "core/system/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/system/privileges.h"

#define FIRST_FD 3
#define EXIT_NO_MEMORY 70 /* xmalloc()'s */

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCHITECTURE AUDIT_ARCH_PPC64LE
#endif

#ifdef ARCHITECTURE
/* Open descriptors, memory, time and exit. */
static const unsigned allowed[] = {
	SYS_read,           SYS_pread64,         SYS_write, SYS_sendto,      SYS_recvfrom,
	SYS_lseek,          SYS_fstat,           SYS_close, SYS_brk,         SYS_munmap,
	SYS_mremap,         SYS_madvise,         SYS_futex, SYS_sched_yield, SYS_clock_gettime,
	SYS_getpid,         SYS_gettid,          SYS_exit,  SYS_exit_group,  SYS_rt_sigreturn,
	SYS_rt_sigprocmask, SYS_restart_syscall,
#if defined(__SANITIZE_ADDRESS__) /* looks where its stack is before whatever does not return */
	SYS_sigaltstack,
#endif
};
/* Executable memory would allow to run any code. */
static const unsigned allowed_unless_executable[] = {SYS_mmap, SYS_mprotect};

#define FIELD(name) ((unsigned)offsetof(struct seccomp_data, name))
#define LOAD(name) ((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, FIELD(name)))
#define ANSWER(value) ((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, value))
#define SKIP_UNLESS(value, n) ((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n))

static int filter_calls(void)
{
	struct sock_filter
		code[4 + 2 * ARRAY_SIZE(allowed) + 6 * ARRAY_SIZE(allowed_unless_executable) + 1];
	unsigned short n = 0;

	code[n++] = LOAD(arch);
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	code[n++] = ANSWER(SECCOMP_RET_KILL_PROCESS);
	code[n++] = LOAD(nr);
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++) {
		code[n++] = SKIP_UNLESS(allowed[i], 1);
		code[n++] = ANSWER(SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < ARRAY_SIZE(allowed_unless_executable); i++) {
		code[n++] = SKIP_UNLESS(allowed_unless_executable[i], 4);
		/* the half that has the bit, on machines of this byte order */
		code[n++] = LOAD(args[2]);
		code[n++] =
			(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 1, 0);
		code[n++] = ANSWER(SECCOMP_RET_ALLOW);
		code[n++] = ANSWER(SECCOMP_RET_ERRNO | EPERM);
	}
	code[n++] = ANSWER(SECCOMP_RET_ERRNO | EPERM);
	const struct sock_fprog program = {n, code};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0 ? -errno : 0;
}
#else
static int filter_calls(void)
{
	return -ENOSYS;
}
#endif

/* Moves the descriptors up first, since their targets may be in use. */
static int place_descriptors(const int *keep, size_t count)
{
	int moved[SANDBOX_FDS_MAX];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (count > SANDBOX_FDS_MAX || null < 0)
		return null < 0 ? -errno : -EINVAL;
	for (size_t i = 0; i < count; i++)
		if ((moved[i] = fcntl(keep[i], F_DUPFD_CLOEXEC, FIRST_FD + SANDBOX_FDS_MAX)) < 0)
			return -errno;
	for (int i = 0; i < FIRST_FD; i++)
		if (dup2(null, i) < 0)
			return -errno;
	for (size_t i = 0; i < count; i++)
		if (dup2(moved[i], FIRST_FD + (int)i) < 0)
			return -errno;
	unsigned first = FIRST_FD + (unsigned)count;
	if (syscall(SYS_close_range, first, ~0u, 0) == 0)
		return 0;
	struct rlimit open_max = {1024, 1024};
	(void)getrlimit(RLIMIT_NOFILE, &open_max);
	for (unsigned i = first; i < open_max.rlim_cur && i < 1u << 20; i++)
		close((int)i);
	return 0;
}

#if !defined(__SANITIZE_ADDRESS__)
/* Bytes that the process has mapped already. */
static uint64_t memory_mapped(void)
{
	unsigned long long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f) {
		if (fscanf(f, "%llu", &pages) != 1)
			pages = 0;
		fclose(f);
	}
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}
#endif

static int limit(int what, uint64_t value)
{
	struct rlimit now;

	if (getrlimit(what, &now) < 0)
		return -errno;
	if (value < now.rlim_max)
		now.rlim_max = value;
	now.rlim_cur = now.rlim_max;
	return setrlimit(what, &now) < 0 ? -errno : 0;
}

static int set_limits(const struct sandbox_limits *l)
{
	int r = 0;

#if !defined(__SANITIZE_ADDRESS__) /* which maps terabytes */
	r = limit(RLIMIT_AS, memory_mapped() + l->memory);
#endif
	if (r == 0)
		r = limit(RLIMIT_CORE, 0);
	if (r == 0)
		r = limit(RLIMIT_FSIZE, 0);
	if (r == 0)
		r = limit(RLIMIT_NOFILE, 0);
	if (r == 0)
		r = limit(RLIMIT_CPU, l->cpu_s);
	return r;
}

static void reset_signals(void)
{
	static const int from_terminal[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGPIPE};
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		(void)signal(i, SIG_DFL);
	for (size_t i = 0; i < ARRAY_SIZE(from_terminal); i++)
		(void)signal(from_terminal[i], SIG_IGN);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
}

int sandbox_enter(const int *keep, size_t count, const struct sandbox_limits *limits)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	reset_signals();
	int r = place_descriptors(keep, count);
	if (r == 0)
		r = set_limits(limits);
	if (r == 0)
		r = privileges_keep(0);
	return r == 0 ? filter_calls() : r;
}

void sandbox_describe_end(int status, struct strbuf *out)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		strbuf_addstr(out, "signal 9: it exceeded its CPU time limit or was killed");
	else if (WIFSIGNALED(status))
		strbuf_addf(out, "signal %d, %s", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (WEXITSTATUS(status) == EXIT_NO_MEMORY)
		strbuf_addstr(out, "it exceeded its memory limit");
	else if (WEXITSTATUS(status) == SANDBOX_FAILED)
		strbuf_addstr(out, "this system cannot restrict it, see seccomp(2)");
	else
		strbuf_addf(out, "exit status %d", WEXITSTATUS(status));
}

void sandbox_say_reader_died(const char *path, const char *format, int status, struct strbuf *why)
{
	strbuf_addf(why, "'%s': cannot be read as %s (the reader died: ", path, format);
	sandbox_describe_end(status, why);
	strbuf_addstr(why, "); the file is damaged or malicious");
}
