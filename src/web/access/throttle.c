/* Limits of tries; see throttle.h. */
#include "web/access/throttle.h"

#include <arpa/inet.h>
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

/* The address as it is counted. */
static size_t network(const char *address, unsigned char ret[64])
{
	struct in6_addr v6;
	size_t n = strlen(address);

	if (inet_pton(AF_INET6, address, &v6) == 1 && !IN6_IS_ADDR_V4MAPPED(&v6)) {
		for (size_t i = 0; i < 8; i++)
			ret[i] = v6.s6_addr[i];
		return 8;
	}
	n = n < 64 ? n : 64;
	for (size_t i = 0; i < n; i++)
		ret[i] = (unsigned char)address[i];
	return n;
}

static struct throttle_place *place(struct throttle *t, int kind, const char *name,
				    const char *address)
{
	uint64_t h = hash_more(t->key, &limits[kind], sizeof(limits[kind]));
	unsigned char from[64];

	if (kind != ADDRESS)
		h = hash_more(h, name, strlen(name) + 1);
	if (kind != NAME)
		h = hash_more(h, from, network(address, from));
	return &t->places[h % THROTTLE_PLACES];
}

static unsigned wait_of(const struct throttle_place *p, unsigned limit, uint64_t now)
{
	if (p->until_ns <= now || p->tries < limit)
		return 0;
	return (unsigned)((p->until_ns - now) / SECOND_NS) + 1;
}

static void count(struct throttle_place *p, uint64_t now)
{
	if (p->until_ns <= now)
		*p = (struct throttle_place){.until_ns = now + THROTTLE_S * SECOND_NS};
	p->tries++;
}

unsigned throttle_begin(struct throttle *t, const char *name, const char *address)
{
	uint64_t now = clock_boottime_ns();
	unsigned wait = 0;

	pthread_mutex_lock(&t->lock);
	for (int kind = 0; kind < KINDS; kind++) {
		unsigned s = wait_of(place(t, kind, name, address), limits[kind], now);

		wait = s > wait ? s : wait;
	}
	for (int kind = 0; !wait && kind < KINDS; kind++)
		count(place(t, kind, name, address), now);
	pthread_mutex_unlock(&t->lock);
	return wait;
}

void throttle_forgive(struct throttle *t, const char *name, const char *address)
{
	pthread_mutex_lock(&t->lock);
	for (int kind = 0; kind < KINDS; kind++) {
		struct throttle_place *p = place(t, kind, name, address);

		p->tries -= p->tries > 0;
	}
	pthread_mutex_unlock(&t->lock);
}
