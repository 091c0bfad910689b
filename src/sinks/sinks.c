/* The list of sinks, and what they have in common. */
#include <string.h>

#include "core/text/secrets.h"
#include "sinks/sink.h"

#define SINK(symbol) extern const struct sink sink_##symbol;
#include "sinks/sinks.def"
#undef SINK

const struct sink *const sinks[] = {
#define SINK(symbol) &sink_##symbol,
#include "sinks/sinks.def"
#undef SINK
	NULL,
};

const struct sink *sink_find(const char *name)
{
	for (const struct sink *const *f = sinks; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

char *sink_shown(const char *sink)
{
	size_t kind = strcspn(sink, ":");

	/* part of an address that contained blanks */
	if (memchr(sink, '@', kind))
		return xasprintf(MASKED "%s", strrchr(sink, '@'));
	_cleanup_free_ char *target = secrets_shown(sink[kind] ? sink + kind + 1 : sink);
	return sink[kind] ? xasprintf("%.*s:%s", (int)kind, sink, target) : xstrdup(target);
}

bool sink_job_of(const struct entity *e, const char **ret, size_t *ret_size)
{
	if (e->kind == ENTITY_JOB) {
		*ret = e->name;
		*ret_size = strlen(e->name);
		return true;
	}
	return entity_metadata(e, "job", ret, ret_size) && *ret_size;
}
