/*
 * Limits how often somebody may try a password: for a name from an address, for an address, and for
 * a name. Counts failures in a fixed table, so that nobody can fill the memory. Thread safe.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define THROTTLE_PLACES 4096
#define THROTTLE_S 300

struct throttle {
	pthread_mutex_t lock;
	uint64_t key; /* random: nobody can choose who shares a place */
	struct throttle_place {
		uint64_t until_ns; /* boot time when the count is forgotten */
		unsigned failures;
	} places[THROTTLE_PLACES];
};

int throttle_init(struct throttle *t);
/* Seconds to wait before the next try; 0: go on. */
unsigned throttle_wait(struct throttle *t, const char *name, const char *address);
void throttle_failed(struct throttle *t, const char *name, const char *address);
