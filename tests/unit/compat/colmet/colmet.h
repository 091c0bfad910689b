/* What the tests of colmet's messages share: the captured ones, records of our own, and what a
 * message became. */
#pragma once

#include "unit.h"

#include <errno.h>

#include "compat/colmet/colmet.h"

/* A captured message, which lies beside the project; NULL where it does not. */
static inline char *captured(const char *name, size_t *ret)
{
	_cleanup_free_ char *path =
		xasprintf("%s/../shared/data/colmet/%s", getenv("PL_SOURCE"), name);
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	if (!f)
		return NULL;
	char *data = xmalloc(65536);
	*ret = fread(data, 1, 65536, f);
	return data;
}

/* What a message became, as text: "host source entity metric=value ... fact=value" lines. */
struct taken {
	struct strbuf text;
	size_t batches;
};
#define TAKEN_INIT                  \
	{                           \
		.text = STRBUF_INIT \
	}

static inline void taken_reading(struct taken *t, const struct sample_file *f)
{
	const struct sample_set *s = &f->reading;

	for (size_t i = 0; i < s->row_count; i++) {
		const struct entity *e = &s->entities[s->rows[i].entity];

		strbuf_addf(&t->text, "%s %s %s %s %lld", f->head.host, f->sources[f->source].name,
			    entity_kind_name(e->kind), e->name, (long long)f->time_us);
		for (unsigned m = 0; m < s->metric_count; m++)
			if (s->rows[i].present >> m & 1)
				strbuf_addf(&t->text, " %s=%lld", s->metrics[m].name,
					    (long long)s->values[i * s->metric_count + m]);
		if (e->metadata)
			strbuf_addf(&t->text, " %.*s", (int)strcspn(e->metadata, "\n"),
				    e->metadata);
		strbuf_addch(&t->text, '\n');
	}
}

/* Packs a batch and unpacks it again, as a collector does. */
static inline void take_batch(void *user, struct batcher *b, const char *host)
{
	_cleanup_strbuf_ struct strbuf packed = STRBUF_INIT, why = STRBUF_INIT;
	struct batch_name name = {.boot = 7, .number = 1};
	struct taken *t = user;
	struct sample_file f;
	int r;

	snprintf(name.node, sizeof(name.node), "%s", host);
	assert_int_equal(batcher_take(b, &name, &packed), 0);
	assert_int_equal(batch_open(&f, packed.buf, packed.len, &why), 0);
	while ((r = sample_file_next(&f)) > 0)
		if (r == SAMPLE_READING)
			taken_reading(t, &f);
	assert_int_equal(r, 0);
	assert_int_equal(f.damaged_places, 0);
	sample_file_close(&f);
	t->batches++;
}

/* A record with a value of its own in every field. */
static inline void make_record(struct fixed_row *r, const struct row_table *b, uint64_t job,
			       uint64_t time_s)
{
	*r = (struct fixed_row){.table = b, .job = job, .time_s = time_s};
	snprintf(r->host, sizeof(r->host), "node-1.site");
	for (size_t i = 0; i < b->field_count; i++)
		if (b->fields[i].type == ROW_F32)
			r->values[i].f = 0.25f * (float)(i + 1);
		else if (b->fields[i].type != ROW_TEXT)
			r->values[i].i = (int64_t)(1000 * i + job);
		else
			snprintf(r->involved, sizeof(r->involved), "[1000, 1001]");
}
