/* The list of formats of tables. */
#include <string.h>

#include "tables/table.h"

#define TABLE_FORMAT(symbol) extern const struct table_format table_##symbol;
#include "tables/table_formats.def"
#undef TABLE_FORMAT

const struct table_format *const table_formats[] = {
#define TABLE_FORMAT(symbol) &table_##symbol,
#include "tables/table_formats.def"
#undef TABLE_FORMAT
	NULL,
};

const struct table_format *table_format_by_name(const char *name)
{
	for (const struct table_format *const *f = table_formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}
