/*
 * Programs that install a seccomp filter: any of our calls could kill the program afterwards, so we
 * write an END before and nothing later. libseccomp uses prctl() or syscall(), which is also used
 * for raw exit, exec and ptrace.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/prctl.h>

/* used by the assembly below */
long special_syscall(long number, long a, long b, long c, long d, long e, long f);

static long real_syscall(long number, const long *a)
{
	if (!NEXT(syscall))
		return libc_result(sys6(number, a[0], a[1], a[2], a[3], a[4], a[5]));
	return next.syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int real_prctl(const long *a)
{
	if (!NEXT(prctl))
		return (int)libc_result(sys5(__NR_prctl, a[0], a[1], a[2], a[3], a[4]));
	return next.prctl((int)a[0], a[1], a[2], a[3], a[4]);
}

/* Other threads must be silent before the filter is active. */
static long install_filter(long number, const long *a, bool by_prctl)
{
	bool silent = guest.silent;
	int pid = 0;
	enum who who = guest_who(&pid);

	record_end(BY_SILENCE, 0);
	if (!silent)
		guest.silent_pid = who == COPY ? pid : 0;
	__atomic_store_n(&guest.silent, true, __ATOMIC_SEQ_CST);
	if (!silent)
		await_endings(true);
	long r = by_prctl ? real_prctl(a) : real_syscall(number, a);
	if (r < 0) {
		guest.silent = silent;
		record_resume();
	}
	return r;
}

bool silence_lift(void)
{
	if (!guest.silent || !guest.silent_pid)
		return false;
	__atomic_store_n(&guest.silent, false, __ATOMIC_SEQ_CST);
	return true;
}

void silence_back(bool lifted)
{
	if (lifted)
		__atomic_store_n(&guest.silent, true, __ATOMIC_SEQ_CST);
}

/* libseccomp tests the kernel by calls that fail: no filter, a wrong mode, strict mode with flags.
 * These install no filter. */
static bool is_mode(long mode, long filter)
{
	return mode == SECCOMP_MODE_STRICT || (mode == SECCOMP_MODE_FILTER && filter);
}

EXPORT int prctl(int option, ...)
{
	va_list ap;
	long a[6] = {option};

	va_start(ap, option);
	for (int i = 1; i < 5; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (option == PR_SET_SECCOMP && is_mode(a[1], a[2]))
		return (int)install_filter(__NR_prctl, a, true);
	return real_prctl(a);
}

static long copy(long number, const long *a)
{
	if (number == __NR_clone && !makes_copy((unsigned long)a[0]))
		return real_syscall(number, a);
	before_copy();
	long pid = real_syscall(number, a);
	if (pid)
		after_copy();
	else
		begin_copy();
	return pid;
}

/*
 * The few calls that syscall() passes to C. All others go directly to libc in the assembly below,
 * and so does SYS_clone with flags or a stack that share memory or descriptors: the child may run
 * on its parent's stack, which C would write to.
 */
__attribute__((used)) long special_syscall(long number, long a, long b, long c, long d, long e,
					   long f)
{
	long args[6] = {a, b, c, d, e, f};
	bool recorded = false, lifted = false;
	struct reach reach = {0};
	char *const *envp;

	switch (number) {
	case __NR_seccomp:
		if (a == SECCOMP_SET_MODE_STRICT ? !(unsigned)b && !c
						 : a == SECCOMP_SET_MODE_FILTER && c)
			return install_filter(number, args, false);
		break;
	case __NR_prctl:
		if (a == PR_SET_SECCOMP && is_mode(b, c))
			return install_filter(number, args, false);
		break;
	case __NR_ptrace:
		note_trace((int)a);
		break;
	case __NR_clone:
#ifdef __NR_fork
	case __NR_fork:
#endif
		return copy(number, args);
	case __NR_exit_group:
		record_end(BY_EXIT, (int)a);
		lifted = silence_lift();
		break;
	case __NR_chroot:
	case __NR_pivot_root:
		record_end(BY_ROOT, 0);
		recorded = true;
		break;
	case __NR_execve:
		recorded = record_exec((const char *)a, (char *const *)b);
		envp = (char *const *)args[2];
		REACHABLE(&reach, envp);
		args[2] = (long)envp;
		lifted = silence_lift();
		break;
	case __NR_execveat:
		recorded = record_exec((const char *)b, (char *const *)c);
		envp = (char *const *)args[3];
		REACHABLE(&reach, envp);
		args[3] = (long)envp;
		lifted = silence_lift();
		break;
	default:
		break;
	}
	long r = real_syscall(number, args);
	silence_back(lifted);
	reach_release(&reach);
	if (recorded && r < 0)
		record_resume();
	if (number == __NR_setns && r == 0)
		note_setns();
	return r;
}

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)

/* clang-format off */
#if defined(__x86_64__)
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	endbr64\n"
	"	cmp $" NUMBER(__NR_seccomp) ", %edi\n"
	"	je special_syscall\n"
	"	cmp $" NUMBER(__NR_prctl) ", %edi\n"
	"	je special_syscall\n"
	"	cmp $" NUMBER(__NR_ptrace) ", %edi\n"
	"	je special_syscall\n"
	"	cmp $" NUMBER(__NR_setns) ", %edi\n"
	"	je special_syscall\n"
	"	cmp $" NUMBER(__NR_exit_group) ", %edi\n"
	"	je special_syscall\n"
	"	cmp $" NUMBER(__NR_execve) ", %edi\n"
	"	je special_syscall\n"
	"	cmp $" NUMBER(__NR_execveat) ", %edi\n"
	"	je special_syscall\n"
	"	cmp $" NUMBER(__NR_chroot) ", %edi\n"
	"	je special_syscall\n"
	"	cmp $" NUMBER(__NR_pivot_root) ", %edi\n"
	"	je special_syscall\n"
	"	cmp $" NUMBER(__NR_fork) ", %edi\n"
	"	je special_syscall\n"
	"	cmp $" NUMBER(__NR_clone) ", %edi\n"
	"	jne 1f\n"
	"	test $(" NUMBER(CLONE_VM) " | " NUMBER(CLONE_FILES) "), %esi\n"
	"	jnz 1f\n"
	"	test %rdx, %rdx\n"
	"	jz special_syscall\n"
	"1:	mov next_syscall(%rip), %r11\n"
	"	test %r11, %r11\n"
	"	jz special_syscall\n"
	"	jmp *%r11\n"
	".size syscall, .-syscall\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, %function\n"
	"syscall:\n"
	"	cmp w0, #" NUMBER(__NR_seccomp) "\n"
	"	b.eq special_syscall\n"
	"	cmp w0, #" NUMBER(__NR_prctl) "\n"
	"	b.eq special_syscall\n"
	"	cmp w0, #" NUMBER(__NR_ptrace) "\n"
	"	b.eq special_syscall\n"
	"	cmp w0, #" NUMBER(__NR_setns) "\n"
	"	b.eq special_syscall\n"
	"	cmp w0, #" NUMBER(__NR_exit_group) "\n"
	"	b.eq special_syscall\n"
	"	cmp w0, #" NUMBER(__NR_execve) "\n"
	"	b.eq special_syscall\n"
	"	cmp w0, #" NUMBER(__NR_execveat) "\n"
	"	b.eq special_syscall\n"
	"	cmp w0, #" NUMBER(__NR_chroot) "\n"
	"	b.eq special_syscall\n"
	"	cmp w0, #" NUMBER(__NR_pivot_root) "\n"
	"	b.eq special_syscall\n"
	"	cmp w0, #" NUMBER(__NR_clone) "\n"
	"	b.ne 1f\n"
	"	tbnz w1, #8, 1f\n"  /* CLONE_VM */
	"	tbnz w1, #10, 1f\n" /* CLONE_FILES */
	"	cbz x2, special_syscall\n"
	"1:	adrp x16, next_syscall\n"
	"	ldr x16, [x16, :lo12:next_syscall]\n"
	"	cbz x16, special_syscall\n"
	"	br x16\n"
	".size syscall, .-syscall\n");
#endif
/* clang-format on */
