/*
 * Programs that close the door: once a seccomp filter is on, any call of ours could end the
 * program, so a last snapshot is written before it and nothing afterwards. libseccomp and friends
 * come through prctl() or syscall(); the latter is also the way of raw exits and raw execs.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdarg.h>
#include <sys/prctl.h>

/* called from the assembly below */
long special_syscall(long number, long a, long b, long c, long d, long e, long f);
long failed_syscall(long ret);

static long install_filter(long number, const long *a)
{
	record_end(BY_SILENCE, 0);
	long r = sys6(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (r >= 0)
		guest.silent = true;
	return libc_result(r);
}

EXPORT int prctl(int option, ...)
{
	va_list ap;
	long a[6] = {option};

	va_start(ap, option);
	for (int i = 1; i < 5; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (option == PR_SET_SECCOMP)
		return (int)install_filter(__NR_prctl, a);
	return (int)libc_result(sys5(__NR_prctl, a[0], a[1], a[2], a[3], a[4]));
}

/*
 * The few calls that syscall() hands to C. All others never leave the assembly below: a child made
 * by syscall(SYS_clone) may share its parent's stack, which C would write to.
 */
__attribute__((used)) long special_syscall(long number, long a, long b, long c, long d, long e,
					   long f)
{
	const long args[6] = {a, b, c, d, e, f};

	switch (number) {
	case __NR_seccomp:
		if (a == SECCOMP_SET_MODE_STRICT || a == SECCOMP_SET_MODE_FILTER)
			return install_filter(number, args);
		break;
	case __NR_prctl:
		if (a == PR_SET_SECCOMP)
			return install_filter(number, args);
		break;
	case __NR_exit_group:
		record_end(BY_EXIT, (int)a);
		break;
	case __NR_execve:
	case __NR_execveat:
		record_end(BY_EXEC, 0);
		break;
	default:
		break;
	}
	return libc_result(sys6(number, a, b, c, d, e, f));
}

__attribute__((used)) long failed_syscall(long ret)
{
	return libc_result(ret);
}

#define TEXT(x) #x
#define NUMBER(x) TEXT(x)

#if defined(__x86_64__)
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	endbr64\n"
	"	cmp $" NUMBER(
		__NR_seccomp) ", %edi\n"
			      "	je special_syscall\n"
			      "	cmp $" NUMBER(
				      __NR_prctl) ", %edi\n"
						  "	je special_syscall\n"
						  "	cmp $" NUMBER(
							  __NR_exit_group) ", %edi\n"
									   "	je special_syscall\n"
									   "	cmp $" NUMBER(
										   __NR_execve) ", %edi\n"
												"	je special_syscall\n"
												"	cmp $" NUMBER(
													__NR_execveat) ", %edi\n"
														       "	je special_syscall\n"
														       "	mov %rdi, %rax\n"
														       "	mov %rsi, %rdi\n"
														       "	mov %rdx, %rsi\n"
														       "	mov %rcx, %rdx\n"
														       "	mov %r8, %r10\n"
														       "	mov %r9, %r8\n"
														       "	mov 8(%rsp), %r9\n"
														       "	syscall\n"
														       "	cmp $-4095, %rax\n"
														       "	jae 1f\n"
														       "	ret\n"
														       "1:	mov %rax, %rdi\n"
														       "	jmp failed_syscall\n"
														       ".size syscall, .-syscall\n");
#elif defined(__aarch64__)
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, %function\n"
	"syscall:\n"
	"	cmp w0, #" NUMBER(
		__NR_seccomp) "\n"
			      "	b.eq special_syscall\n"
			      "	cmp w0, #" NUMBER(
				      __NR_prctl) "\n"
						  "	b.eq special_syscall\n"
						  "	cmp w0, #" NUMBER(
							  __NR_exit_group) "\n"
									   "	b.eq special_syscall\n"
									   "	cmp w0, #" NUMBER(
										   __NR_execve) "\n"
												"	b.eq special_syscall\n"
												"	cmp w0, #" NUMBER(
													__NR_execveat) "\n"
														       "	b.eq special_syscall\n"
														       "	uxtw x8, w0\n"
														       "	mov x0, x1\n"
														       "	mov x1, x2\n"
														       "	mov x2, x3\n"
														       "	mov x3, x4\n"
														       "	mov x4, x5\n"
														       "	mov x5, x6\n"
														       "	svc #0\n"
														       "	cmn x0, #4095\n"
														       "	b.cs failed_syscall\n"
														       "	ret\n"
														       ".size syscall, .-syscall\n");
#endif
