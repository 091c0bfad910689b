/* The ten backends of colmet's Python version: colmet.def as tables, once as fields of a record and
 * once as metrics of a reading. */
#include <string.h>

#include "compat/colmet/colmet.h"

#define BACKEND(symbol, ...) static const struct colmet_field fields_of_##symbol[] = {
#define FIELD(label, text, form, bytes) \
	{.name = (label), .type = (form), .size = (bytes), .unit = (text)},
#define U64(label, text, ...) FIELD(label, text, COLMET_U64, 8)
#define I64(label, text, ...) FIELD(label, text, COLMET_I64, 8)
#define U32(label, text, ...) FIELD(label, text, COLMET_U32, 4)
#define F32(label, text, ...) FIELD(label, text, COLMET_F32, 4)
#define TEXT(label, text, ...) FIELD(label, text, COLMET_TEXT, COLMET_JOBS_TEXT)
#define END(symbol) \
	}           \
	;
#include "compat/colmet/colmet.def"
#undef BACKEND
#undef FIELD
#undef U64
#undef I64
#undef U32
#undef F32
#undef TEXT

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
#include "compat/colmet/colmet.def"
#undef BACKEND
#undef FIELD
#undef U64
#undef I64
#undef U32
#undef F32
#undef TEXT
#undef END

/* How large records are: each as a struct without gaps, a member a line of the table. */
#define MEMBER_OF(line) field_##line
#define MEMBER(line) MEMBER_OF(line)
#define BACKEND(symbol, ...) struct __attribute__((packed)) layout_of_##symbol {
#define U64(...) uint64_t MEMBER(__LINE__);
#define I64(...) int64_t MEMBER(__LINE__);
#define U32(...) uint32_t MEMBER(__LINE__);
#define F32(...) float MEMBER(__LINE__);
#define TEXT(...) char MEMBER(__LINE__)[COLMET_JOBS_TEXT];
#define END(symbol) \
	}           \
	;
#include "compat/colmet/colmet.def"
#undef BACKEND
#undef U64
#undef I64
#undef U32
#undef F32
#undef TEXT
#undef END

const struct colmet_backend colmet_backends[] = {
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

const struct colmet_backend *colmet_backend(const char *name, size_t size)
{
	for (const struct colmet_backend *b = colmet_backends; b->name; b++)
		if (strlen(b->name) == size && !memcmp(b->name, name, size))
			return b;
	return NULL;
}

int colmet_field(const struct colmet_backend *b, const char *name)
{
	for (size_t i = 0; i < b->field_count; i++)
		if (!strcmp(b->fields[i].name, name))
			return (int)i;
	return -1;
}

bool colmet_job_number(const char *id, size_t size, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;

	for (; i < size && id[i] >= '0' && id[i] <= '9'; i++) {
		unsigned digit = (unsigned)(id[i] - '0');

		if (v > ((uint64_t)INT64_MAX - digit) / 10)
			return false;
		v = v * 10 + digit;
	}
	if (!i || (i < size && id[i] != '.'))
		return false;
	*ret = v;
	return true;
}
