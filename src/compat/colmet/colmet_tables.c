/* The ten backends of colmet's Python version: colmet.def as tables, once as fields of a record and
 * once as metrics of a reading. */
#include <string.h>

#include "compat/colmet/colmet_internal.h"

#define BACKEND(symbol, ...) static const struct row_field fields_of_##symbol[] = {
#define FIELD(label, text, form, bytes) \
	{.name = (label), .type = (form), .size = (bytes), .unit = (text)},
#define U64(label, text, ...) FIELD(label, text, ROW_U64, 8)
#define I64(label, text, ...) FIELD(label, text, ROW_I64, 8)
#define U32(label, text, ...) FIELD(label, text, ROW_U32, 4)
#define F32(label, text, ...) FIELD(label, text, ROW_F32, 4)
#define TEXT(label, text, ...) FIELD(label, text, ROW_TEXT, ROW_JOBS_TEXT)
#define END(symbol) \
	}           \
	;
#include "compat/colmet/colmet.def"
#undef FIELD

#define BACKEND(symbol, ...) const struct sample_metric colmet_metrics_of_##symbol[] = {
#define FIELD(label, text, measure, sort, total, factor, phrase) \
	{.name = (label),                                        \
	 .unit = UNIT_##measure,                                 \
	 .kind = KIND_##sort,                                    \
	 .agg = AGG_##total,                                     \
	 .scale = (factor),                                      \
	 .help = (phrase)},
#define U64 FIELD
#define I64 FIELD
#define U32 FIELD
#define F32 FIELD
#define TEXT(...)
#define END(symbol) \
	}           \
	;
#include "compat/colmet/colmet.def"
#undef FIELD

/* How large records are: each as a struct without gaps, a member a line of the table. */
#define MEMBER_OF(line) field_##line
#define MEMBER(line) MEMBER_OF(line)
#define BACKEND(symbol, ...) struct __attribute__((packed)) layout_of_##symbol {
#define U64(...) uint64_t MEMBER(__LINE__);
#define I64(...) int64_t MEMBER(__LINE__);
#define U32(...) uint32_t MEMBER(__LINE__);
#define F32(...) float MEMBER(__LINE__);
#define TEXT(...) char MEMBER(__LINE__)[ROW_JOBS_TEXT];
#define END(symbol) \
	}           \
	;
#include "compat/colmet/colmet.def"

const struct row_table colmet_backends[] = {
#define BACKEND(symbol, label, by_job)                           \
	{.name = (label),                                        \
	 .per_job = (by_job),                                    \
	 .fields = fields_of_##symbol,                           \
	 .field_count = ARRAY_SIZE(fields_of_##symbol),          \
	 .metrics = colmet_metrics_of_##symbol,                  \
	 .metric_count = ARRAY_SIZE(colmet_metrics_of_##symbol), \
	 .record_size = COLMET_HEAD + sizeof(struct layout_of_##symbol)},
#define U64(...)
#define I64(...)
#define U32(...)
#define F32(...)
#define TEXT(...)
#define END(symbol)
#include "compat/colmet/colmet.def"
	{.name = NULL},
};

const struct row_table *colmet_backend(const char *name, size_t size)
{
	for (const struct row_table *b = colmet_backends; b->name; b++)
		if (strlen(b->name) == size && !memcmp(b->name, name, size))
			return b;
	return NULL;
}

/* ---- the layout that sinks write; see row_layout.h ------------------------------------------- */

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
