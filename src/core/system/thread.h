/* Threads that leave signals to the thread that waits for them, and what threads wait for. */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Starts a thread with all signals blocked. stack: its size in bytes, 0 for the default. 0 or a
 * negative errno. */
int thread_start(pthread_t *ret, size_t stack, void *(*run)(void *user), void *user);

/* A condition whose timed waits are until a time of CLOCK_MONOTONIC: somebody may set the other
 * clock back by hours. */
void thread_cond_init(pthread_cond_t *c);
