/* The list of sources. */
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
