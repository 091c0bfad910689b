/* Limits of tries; see throttle.h. */
#include "web/access/throttle.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "core/clock.h"
#include "core/hash_map.h"

#define SECOND_NS ((uint64_t)1000000000)

enum { BOTH, ADDRESS, NAME, KINDS };
static const unsigned limits[KINDS] = {5, 20, 100};

int throttle_init(struct throttle *t)
{
	memset(t, 0, sizeof(*t));
	(void)pthread_mutex_init(&t->lock, NULL);
	return getrandom(&t->key, sizeof(t->key), 0) == sizeof(t->key) ? 0 : -errno;
}

static struct throttle_place *place(struct throttle *t, int kind, const char *name,
				    const char *address)
{
	uint64_t h = hash_more(t->key, &limits[kind], sizeof(limits[kind]));

	if (kind != ADDRESS)
		h = hash_more(h, name, strlen(name) + 1);
	if (kind != NAME)
		h = hash_more(h, address, strlen(address) + 1);
	return &t->places[h % THROTTLE_PLACES];
}

unsigned throttle_wait(struct throttle *t, const char *name, const char *address)
{
	uint64_t now = clock_boottime_ns();
	unsigned wait = 0;

	pthread_mutex_lock(&t->lock);
	for (int kind = 0; kind < KINDS; kind++) {
		const struct throttle_place *p = place(t, kind, name, address);

		if (p->until_ns > now && p->failures >= limits[kind]) {
			unsigned s = (unsigned)((p->until_ns - now) / SECOND_NS) + 1;

			wait = s > wait ? s : wait;
		}
	}
	pthread_mutex_unlock(&t->lock);
	return wait;
}

void throttle_failed(struct throttle *t, const char *name, const char *address)
{
	uint64_t now = clock_boottime_ns();

	pthread_mutex_lock(&t->lock);
	for (int kind = 0; kind < KINDS; kind++) {
		struct throttle_place *p = place(t, kind, name, address);

		if (p->until_ns <= now)
			*p = (struct throttle_place){.until_ns = now + THROTTLE_S * SECOND_NS};
		p->failures++;
	}
	pthread_mutex_unlock(&t->lock);
}
