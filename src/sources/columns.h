/* Rows of a source's table of metrics, of the kinds that several sources have. */
#ifndef PL_SOURCES_COLUMNS_H
#define PL_SOURCES_COLUMNS_H

#include "samples/sample.h"

#define COLUMN(n, unit, kind, scale, text)                        \
	{                                                         \
		n, UNIT_##unit, KIND_##kind, AGG_SUM, scale, text \
	}
#define COUNT(n, text) COLUMN(n, COUNT, COUNTER, 1, text)
#define BYTES(n, text) COLUMN(n, BYTES, COUNTER, 1, text)
#define LEVEL(n, text) COLUMN(n, COUNT, GAUGE, 1, text)
/* scale: microseconds to one of what is counted */
#define TIME_COLUMN(n, scale, text) COLUMN(n, MICROSECONDS, COUNTER, scale, text)

#endif
