/*
 * Messages of colmet's nodes become batches. First every byte is checked and the contents are
 * listed; then the list is put in order, by host, source, time and job; only then values are taken.
 * So a message is taken whole or not at all. Back from readings to records is the other half.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compat/colmet/colmet_internal.h"

/* A batch is given away at this size: it must fit when it does not compress, too. */
#define BATCH_FULL ((size_t)4 << 20)
#define US 1000000

/* ---- what is in a message ------------------------------------------------------------------- */

static int scan_python(const unsigned char *p, size_t n, struct colmet_items *items,
		       struct strbuf *why)
{
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));
	const unsigned char *at = p, *end = p + n;

	for (;;) {
		const unsigned char *begin = at;
		int got = colmet_unpack(&at, end, r, why);

		if (got < 0)
			strbuf_addf(why, ", at byte %zu", (size_t)(begin - p));
		if (got <= 0)
			return got;
		if (items->count >= COLMET_ITEMS_MAX) {
			strbuf_addstr(why, "too many records");
			return -EBADMSG;
		}
		GROW(items->list, items->count, items->cap);
		items->list[items->count++] =
			(struct colmet_item){.source = (uint32_t)(r->table - colmet_backends),
					     .host = (const char *)begin + 255,
					     .host_size = (uint32_t)strlen(r->host),
					     .job = r->job,
					     .time_us = (int64_t)r->time_s * US,
					     .p = begin};
	}
}

static int compare_hosts(const struct colmet_item *a, const struct colmet_item *b)
{
	if (a->host_size != b->host_size)
		return a->host_size < b->host_size ? -1 : 1;
	return memcmp(a->host, b->host, a->host_size);
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int compare_items(const void *left, const void *right)
{
	const struct colmet_item *a = left, *b = right;
	int r = compare_hosts(a, b);

	r = r ? r : COMPARE(a->source, b->source);
	r = r ? r : COMPARE(a->time_us, b->time_us);
	r = r ? r : COMPARE(a->job, b->job);
	return r ? r : COMPARE(a->p, b->p);
}

static bool same_reading(const struct colmet_item *a, const struct colmet_item *b)
{
	return !compare_hosts(a, b) && a->source == b->source && a->time_us == b->time_us;
}

/* What the bytes alone do not show. */
static int check_items(const struct colmet_items *items, struct strbuf *why)
{
	size_t hosts = items->count > 0;

	for (size_t i = 1; i < items->count; i++) {
		const struct colmet_item *a = &items->list[i - 1], *b = &items->list[i];

		hosts += compare_hosts(a, b) != 0;
		if (b->source < COLMET_RUST_SOURCES && same_reading(a, b) && a->job == b->job) {
			strbuf_addf(why, "two records of %s for job %" PRIu64,
				    colmet_backends[b->source].name, b->job);
			return -EBADMSG;
		}
	}
	if (hosts > COLMET_HOSTS_MAX) {
		strbuf_addf(why, "records of %zu hosts in one message", hosts);
		return -EBADMSG;
	}
	return 0;
}

/* ---- taking --------------------------------------------------------------------------------- */

/* What becomes of a message: one batcher at a time, its sources made known as they come. */
struct inbox {
	struct batcher *b;
	char host[256];
	unsigned numbers[COLMET_RUST_SOURCES + COLMET_RUST_END];
	bool known[COLMET_RUST_SOURCES + COLMET_RUST_END];
	void (*take)(void *user, struct batcher *b, const char *host);
	void *user;
};

static void give(struct inbox *in)
{
	if (in->b)
		in->take(in->user, in->b, in->host);
	batcher_free(in->b);
	in->b = NULL;
}

/* Times of readings are since 1970: both clocks of the head stand at 0. */
static void begin_batch(struct inbox *in, const struct colmet_item *item)
{
	memcpy(in->host, item->host, item->host_size);
	in->host[item->host_size] = 0;
	memset(in->known, 0, sizeof(in->known));
	in->b = batcher_new(&(struct sample_file_head){.host = in->host});
}

/* Entities of a reading come sorted and once each: they need not be looked for. */
static void begin_row(struct sample_set *set, uint64_t job)
{
	char name[24];

	snprintf(name, sizeof(name), "%" PRIu64, job);
	GROW(set->entities, set->entity_count, set->entity_cap);
	set->entities[set->entity_count++] = (struct entity){.kind = job ? ENTITY_JOB : ENTITY_NODE,
							     .name = xstrdup(job ? name : "node"),
							     .fresh = true};
	sample_row(set, (uint32_t)set->entity_count - 1);
}

static void put_record(struct sample_set *set, struct fixed_row *r)
{
	const struct row_table *b = r->table;

	for (unsigned i = 0; i < b->metric_count; i++)
		if (r->absent >> i & 1)
			continue;
		else if (b->fields[i].type == ROW_F32)
			sample_put(set, i, round_i64((double)r->values[i].f * 1e6));
		else
			sample_put(set, i, r->values[i].i);
	colmet_close_list(r->involved);
	if (*r->involved)
		sample_set_metadata(set, set->rows[set->row_count - 1].entity, "involved_jobs",
				    r->involved);
}

/* Adds the items of one reading. */
static void add_reading(struct inbox *in, const struct colmet_item *items, size_t count,
			const unsigned char *end, enum colmet_dialect dialect,
			struct fixed_row *scratch)
{
	_cleanup_(sample_release) struct sample_set set = {0};
	_cleanup_strbuf_ struct strbuf none = STRBUF_INIT;
	uint32_t source = items->source;
	const char *name;

	if (source < COLMET_RUST_SOURCES) {
		const struct row_table *b = &colmet_backends[source];

		sample_init(&set, b->metrics, b->metric_count);
		name = b->name;
	} else {
		const struct colmet_rust_table *t =
			&colmet_rust_tables[source - COLMET_RUST_SOURCES];

		sample_init(&set, t->metrics, t->metric_count);
		name = t->name;
	}
	set.time_ns = (uint64_t)items->time_us * 1000;
	for (size_t i = 0; i < count; i++) {
		const unsigned char *p = items[i].p;

		if (!i || items[i].job != items[i - 1].job)
			begin_row(&set, items[i].job);
		if (source >= COLMET_RUST_SOURCES)
			colmet_rust_put(&items[i], dialect, end, &set);
		else if (colmet_unpack(&p, end, scratch, &none) > 0)
			put_record(&set, scratch);
	}
	if (!in->known[source]) {
		in->numbers[source] = batcher_source(in->b, name, 1, &set);
		in->known[source] = true;
	}
	batcher_add(in->b, in->numbers[source], &set);
}

int colmet_read(const void *p, size_t n, enum colmet_dialect *ret_dialect,
		void (*take)(void *user, struct batcher *b, const char *host), void *user,
		struct strbuf *why)
{
	_cleanup_free_ struct fixed_row *scratch = xmalloc(sizeof(*scratch));
	const unsigned char *bytes = p, *end = n ? bytes + n : bytes;
	struct inbox in = {.take = take, .user = user};
	struct colmet_items items = {0};
	int r;

	*ret_dialect = COLMET_PYTHON;
	if (n && ((*bytes & 0xf0) == 0x80 || *bytes == 0xde || *bytes == 0xdf))
		r = colmet_rust_scan(bytes, n, &items, ret_dialect, why);
	else
		r = n ? scan_python(bytes, n, &items, why) : 0;
	if (r == 0 && items.count) {
		qsort(items.list, items.count, sizeof(*items.list), compare_items);
		r = check_items(&items, why);
	}
	for (size_t i = 0, next = 0; r == 0 && i < items.count; i = next) {
		const struct colmet_item *first = &items.list[i];

		for (next = i + 1; next < items.count && same_reading(first, &items.list[next]);)
			next++;
		if (in.b && (batcher_size(in.b) > BATCH_FULL || compare_hosts(first, first - 1)))
			give(&in);
		if (!in.b)
			begin_batch(&in, first);
		add_reading(&in, first, next - i, end, *ret_dialect, scratch);
	}
	give(&in);
	free(items.list);
	return r < 0 ? r : (int)items.count;
}

/* ---- back to records ------------------------------------------------------------------------ */

static void record_of_row(const struct sample_set *set, size_t row, const int *fields,
			  struct fixed_row *r)
{
	const struct row_table *b = r->table;
	const struct entity *e = &set->entities[set->rows[row].entity];
	const char *text;
	size_t size;

	for (size_t i = 0; i < b->field_count; i++)
		if (b->fields[i].type == ROW_F32)
			r->values[i].f = 0;
		else
			r->values[i].i = b->fields[i].type == ROW_I64 ? -1 : 0;
	r->absent = b->field_count < 64 ? ((uint64_t)1 << b->field_count) - 1 : UINT64_MAX;
	for (unsigned m = 0; m < set->metric_count; m++) {
		int f = fields[m];

		if (f < 0 || !(set->rows[row].present >> m & 1))
			continue;
		if (b->fields[f].type == ROW_F32)
			r->values[f].f = (float)sample_value(set, row, m);
		else
			r->values[f].i = set->values[row * set->metric_count + m];
		r->absent &= ~((uint64_t)1 << f);
	}
	r->involved[0] = 0;
	if (b->metric_count < b->field_count && entity_metadata(e, "involved_jobs", &text, &size) &&
	    size <= ROW_JOBS_TEXT) {
		memcpy(r->involved, text, size);
		r->involved[size] = 0;
		r->absent &= ~((uint64_t)1 << (b->field_count - 1));
	}
}

size_t colmet_records_from_reading(const char *host, const char *source,
				   const struct sample_set *set, int64_t time_us,
				   void (*take)(void *user, const struct fixed_row *r), void *user)
{
	const struct row_table *b = colmet_backend(source, strlen(source));
	_cleanup_free_ struct fixed_row *r = NULL;
	int fields[SAMPLE_METRICS_MAX];
	size_t count = 0;

	if (!b || time_us < 0)
		return 0;
	r = xmalloc(sizeof(*r));
	r->table = b;
	snprintf(r->host, sizeof(r->host), "%s", host);
	r->time_s = (uint64_t)time_us / US;
	for (size_t m = 0; m < set->metric_count; m++) {
		fields[m] = row_field_find(b, set->metrics[m].name);
		if (fields[m] >= 0 && b->fields[fields[m]].type == ROW_TEXT)
			fields[m] = -1;
	}
	for (size_t i = 0; i < set->row_count; i++) {
		const struct entity *e = &set->entities[set->rows[i].entity];

		r->job = 0;
		if (e->kind != ENTITY_NODE &&
		    (e->kind != ENTITY_JOB || !row_job_number(e->name, strlen(e->name), &r->job)))
			continue;
		record_of_row(set, i, fields, r);
		take(user, r);
		count++;
	}
	return count;
}
