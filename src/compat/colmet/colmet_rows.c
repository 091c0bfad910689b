/* colmet's tables as a layout that sinks write; see row_layout.h. */
#include <string.h>

#include "compat/colmet/colmet_internal.h"

/* The Rust version's backends have other fields than the Python one's, and no table. */
static bool is_of_rust(const char *source)
{
	for (size_t i = 0; i < COLMET_RUST_END; i++)
		if (!strcmp(colmet_rust_tables[i].name, source))
			return true;
	return false;
}

const struct row_layout row_layout_colmet = {
	.name = "colmet",
	.tables = colmet_backends,
	.rows = colmet_records_from_reading,
	.text = colmet_text,
	.untabled = is_of_rust,
	.mapper_new = colmet_mapper_new,
	.mapper_free = colmet_mapper_free,
	.mapper_takes = colmet_mapper_takes,
	.mapper_add = colmet_mapper_add,
	.mapper_flush = colmet_mapper_flush,
};
