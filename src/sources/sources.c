/* The list of sources. */
#include <string.h>

#include "sources/source.h"

#define SOURCE(symbol) extern const struct source source_##symbol;
#include "sources/sources.def"
#undef SOURCE

const struct source *const sources[] = {
#define SOURCE(symbol) &source_##symbol,
#include "sources/sources.def"
#undef SOURCE
	NULL,
};

const struct source *source_find(const char *name)
{
	for (const struct source *const *s = sources; *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}
