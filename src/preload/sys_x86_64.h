/* x86-64: number in rax, arguments in rdi rsi rdx r10 r8 r9, rcx and r11 are lost. */
#pragma once

static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static inline unsigned long long cycle_count(void)
{
	return __builtin_ia32_rdtsc();
}
