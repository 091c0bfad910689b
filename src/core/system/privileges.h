/*
 * Capabilities of the process: a daemon keeps those that its work needs and gives up the others,
 * for good and before it has threads.
 */
#ifndef PL_CORE_SYSTEM_PRIVILEGES_H
#define PL_CORE_SYSTEM_PRIVILEGES_H

#include <stdint.h>

#include "core/strbuf.h"

/* As the kernel numbers them. */
#define PRIVILEGE_DAC_READ_SEARCH (UINT64_C(1) << 2)
#define PRIVILEGE_NET_ADMIN (UINT64_C(1) << 12)
#define PRIVILEGE_SYS_RAWIO (UINT64_C(1) << 17)
#define PRIVILEGE_SYS_PTRACE (UINT64_C(1) << 19)
#define PRIVILEGE_PERFMON (UINT64_C(1) << 38)

/* Those that are permitted to this thread now. */
uint64_t privileges_held(void);
/* Keeps what is held of these and nothing else; what is executed later gains none either. 0 or a
 * negative errno. */
int privileges_keep(uint64_t wanted);
/* Are there rights that the one who called the program has not: capabilities of its file, or a set
 * user or group? */
bool privileges_borrowed(void);
/* Gives those back for good: no capability is left, and the user and group are the caller's. What
 * is executed later is as if the caller had executed it. 0 or a negative errno. */
int privileges_return(void);
/* Names with blanks between, "none" when there are none. */
void privileges_text(uint64_t set, struct strbuf *out);

#endif
