/* The list of feeds, and what they have in common. */
#include <string.h>

#include "core/text/secrets.h"
#include "sinks/sink.h"

#define FEED(symbol) extern const struct feed feed_##symbol;
#include "sinks/sinks.def"
#undef FEED

const struct feed *const feeds[] = {
#define FEED(symbol) &feed_##symbol,
#include "sinks/sinks.def"
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

char *feed_shown(const char *sink)
{
	size_t kind = strcspn(sink, ":");

	/* a part of an address that blanks were in */
	if (memchr(sink, '@', kind))
		return xasprintf(MASKED "%s", strrchr(sink, '@'));
	_cleanup_free_ char *target = secrets_shown(sink[kind] ? sink + kind + 1 : sink);
	return sink[kind] ? xasprintf("%.*s:%s", (int)kind, sink, target) : xstrdup(target);
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
