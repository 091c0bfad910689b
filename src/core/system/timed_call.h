/* Calling what may never return: a library of a driver that hangs must not hang us. */
#ifndef PL_CORE_SYSTEM_TIMED_CALL_H
#define PL_CORE_SYSTEM_TIMED_CALL_H

#include <stdbool.h>
#include <stdint.h>

/* Calls the function in a thread of its own. False when it has not returned in time: the thread and
 * all that it was given must then be left alone for good. */
bool call_within(void (*function)(void *user), void *user, uint64_t ns);

#endif
