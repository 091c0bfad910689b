/*
 * System calls without libc. The library is linked -nostdlib and must not touch errno, so it talks
 * to the kernel directly; results are the kernel's own, negative errno on failure.
 */
#pragma once

#include <asm/unistd.h>

#if defined(__x86_64__)
#include "preload/sys_x86_64.h"
#elif defined(__aarch64__)
#include "preload/sys_aarch64.h"
#else
#error "no system call layer for this architecture: add src/preload/sys_<arch>.h"
#endif

#define sys0(n) sys6(n, 0, 0, 0, 0, 0, 0)
#define sys1(n, a) sys6(n, (long)(a), 0, 0, 0, 0, 0)
#define sys2(n, a, b) sys6(n, (long)(a), (long)(b), 0, 0, 0, 0)
#define sys3(n, a, b, c) sys6(n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define sys4(n, a, b, c, d) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define sys5(n, a, b, c, d, e) sys6(n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
