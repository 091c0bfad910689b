/*
 * Limits how often somebody may try a password: for a name from an address, for an address, and for
 * a name. Counts tries in a fixed table, so that nobody can fill the memory. A network of IPv6
 * (/64) is one address. Thread safe.
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
		unsigned tries;
	} places[THROTTLE_PLACES];
};

int throttle_init(struct throttle *t);
/* Seconds to wait before the next try; 0: go on. The try is counted at once, or many at the same
 * time would all be allowed. */
unsigned throttle_begin(struct throttle *t, const char *name, const char *address);
/* It was the right password: the try does not count. */
void throttle_forgive(struct throttle *t, const char *name, const char *address);
