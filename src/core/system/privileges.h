/*
 * Capabilities of the process: a daemon keeps those that it needs and drops the others for good,
 * before it starts threads.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

/* As the kernel numbers them. */
#define PRIVILEGE_DAC_READ_SEARCH (UINT64_C(1) << 2)
#define PRIVILEGE_NET_ADMIN (UINT64_C(1) << 12)
#define PRIVILEGE_SYS_RAWIO (UINT64_C(1) << 17)
#define PRIVILEGE_SYS_PTRACE (UINT64_C(1) << 19)
#define PRIVILEGE_PERFMON (UINT64_C(1) << 38)

/* The permitted capabilities of this thread. */
uint64_t privileges_held(void);
/* Keeps only these capabilities, also in programs that are executed later. 0 or a negative errno.
 */
int privileges_keep(uint64_t wanted);
/* Does the program have privileges that its caller has not: file capabilities, setuid or setgid? */
bool privileges_borrowed(void);
/* Drops those for good: no capabilities, and the caller's user and group, also in programs that are
 * executed later. 0 or a negative errno. */
int privileges_return(void);
/* Adds the names, separated by blanks, or "none". */
void privileges_text(uint64_t set, struct strbuf *out);
