/* The list of feeds, and what they have in common. */
#include <string.h>

#include "sinks/feed.h"

#define FEED(symbol) extern const struct feed feed_##symbol;
#include "sinks/feeds.def"
#undef FEED

const struct feed *const feeds[] = {
#define FEED(symbol) &feed_##symbol,
#include "sinks/feeds.def"
#undef FEED
	NULL,
};

const struct feed *feed_find(const char *name)
{
	for (const struct feed *const *f = feeds; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

bool feed_job_of(const struct entity *e, const char **ret, size_t *ret_size)
{
	if (e->kind == ENTITY_JOB) {
		*ret = e->name;
		*ret_size = strlen(e->name);
		return true;
	}
	return entity_fact(e, "job", ret, ret_size) && *ret_size;
}
