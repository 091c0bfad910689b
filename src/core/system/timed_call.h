/* Calls a function that may hang, such as that of a driver library. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Calls the function in a new thread. False: it has not returned in time; then the thread and its
 * data must never be touched again. */
bool call_within(void (*function)(void *user), void *user, uint64_t ns);
