/* The list of formats of tables. */
#include <string.h>

#include "tables/table.h"

#define FRAME_FORMAT(symbol) extern const struct frame_format frame_##symbol;
#include "tables/table_formats.def"
#undef FRAME_FORMAT

const struct frame_format *const frame_formats[] = {
#define FRAME_FORMAT(symbol) &frame_##symbol,
#include "tables/table_formats.def"
#undef FRAME_FORMAT
	NULL,
};

const struct frame_format *frame_format_by_name(const char *name)
{
	for (const struct frame_format *const *f = frame_formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}
