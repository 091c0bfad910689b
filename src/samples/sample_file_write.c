/*
 * Writes sample files; see sample_file.h and docs/samples.md. Frames gather in memory and are
 * appended by one write. A short write is truncated: the file is ours alone, so its old end is
 * known. The reader then lacks frames, so every source is written again from the start.
 */
#include "samples/sample_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "samples/sample_file_internal.h"

#define SPLIT_AT (8u << 20)     /* larger payloads are split into several frames */
#define GATHER_MAX (256u << 20) /* more unflushed bytes are lost */
#define TAKE_MAX (48u << 20)    /* the same in memory */

struct written {
	char *name;
	unsigned every;
	const struct sample_metric *metrics; /* as written; for comparison only */
	size_t metric_count;
	unsigned readings;       /* since the source was written */
	bool known;              /* the source is written, or will be with the next flush */
	uint32_t chain;          /* number of its next frame */
	uint64_t last_time;      /* of the set before */
	size_t absences_written; /* absences of the set that are written */
	int64_t *last;           /* by entity: the values of its last row */
	uint64_t *last_present;
	uint32_t *stamp; /* by entity: the number of the set with its last row */
	uint32_t reading;
	size_t cap; /* entities */
};

struct sample_writer {
	int fd; /* -1: into memory */
	struct strbuf out;
	size_t frame; /* begin of the current frame */
	struct strbuf head;
	uint32_t session;
	struct written *sources;
	size_t source_count;
	unsigned since_head; /* sets since the head was written */
	bool has_clock;
	uint64_t boottime_ns;
	int64_t realtime_ns;
	bool failed;             /* the last flush failed: the reader may lack even the head */
	uint64_t gathered, lost; /* sets not yet flushed; lost sets not yet reported */
};

/* ---- frames ---- */

static void add_signed(struct strbuf *sb, int64_t v)
{
	strbuf_add_varint(sb, zigzag(v));
}

/* A text of at most max bytes: its length plus one, 0: none. */
static void add_text(struct strbuf *sb, const char *s, size_t max)
{
	size_t n = s ? strnlen(s, max) : 0;

	strbuf_add_varint(sb, s ? n + 1 : 0);
	strbuf_add(sb, s ? s : "", n);
}

/* Metadata are lines; writes complete ones only. */
static void add_metadata(struct strbuf *sb, const char *metadata)
{
	size_t n = metadata ? strnlen(metadata, SMP_METADATA_MAX) : 0;

	while (n && metadata[n - 1] != '\n')
		n--;
	strbuf_add_varint(sb, n ? n + 1 : 0);
	strbuf_add(sb, n ? metadata : "", n);
}

static void begin_frame(struct sample_writer *w, enum smp_type type)
{
	unsigned char h[SMP_HEADER] = SMP_MAGIC;

	h[4] = (unsigned char)type;
	w->frame = w->out.len;
	strbuf_add(&w->out, h, sizeof(h));
}

static void end_frame(struct sample_writer *w)
{
	unsigned char *h = (unsigned char *)w->out.buf + w->frame;
	size_t n = w->out.len - w->frame - SMP_HEADER;
	bool head = h[4] == SMP_HEAD || h[4] == SMP_REPEAT;

	smp_put_u24(h + 5, (uint32_t)n);
	pl_put_u32(h + 8, smp_crc(head ? 0 : w->session, h, n));
}

/* Frames of a source are numbered, so that a reader notices a missing one. */
static void begin_source_frame(struct sample_writer *w, unsigned source, enum smp_type type)
{
	struct written *s = &w->sources[source];

	begin_frame(w, type);
	strbuf_add_varint(&w->out, source);
	strbuf_add_varint(&w->out, s->chain);
	s->chain = (s->chain + 1) % SMP_CHAIN_END;
}

static void add_clock(struct sample_writer *w)
{
	begin_frame(w, SMP_CLOCK);
	strbuf_add_varint(&w->out, w->boottime_ns);
	add_signed(&w->out, w->realtime_ns);
	end_frame(w);
}

static void add_head(struct sample_writer *w, enum smp_type type)
{
	begin_frame(w, type);
	strbuf_add(&w->out, w->head.buf, w->head.len);
	end_frame(w);
	w->since_head = 0;
	if (w->has_clock)
		add_clock(w);
}

/* After a failure, first writes the number of lost sets. */
static void begin_gathering(struct sample_writer *w)
{
	if (w->out.len || !w->failed)
		return;
	add_head(w, SMP_REPEAT);
	if (!w->lost)
		return;
	begin_frame(w, SMP_LOST);
	strbuf_add_varint(&w->out, w->lost);
	end_frame(w);
}

/* Drops what was gathered. */
static void forget_gathered(struct sample_writer *w)
{
	strbuf_reset(&w->out);
	w->failed = true;
	w->lost += w->gathered;
	w->gathered = 0;
	for (size_t i = 0; i < w->source_count; i++)
		w->sources[i].known = false;
}

/* ---- sources and entities ---- */

static void add_source(struct sample_writer *w, unsigned source, const struct sample_set *set)
{
	struct written *s = &w->sources[source];

	if (w->since_head >= SMP_WHOLE_EVERY && w->fd >= 0)
		add_head(w, SMP_REPEAT);
	begin_source_frame(w, source, SMP_SOURCE);
	add_text(&w->out, s->name, SMP_NAME_MAX);
	strbuf_add_varint(&w->out, s->every);
	strbuf_add_varint(&w->out, set->metric_count);
	for (size_t i = 0; i < set->metric_count; i++) {
		const struct sample_metric *m = &set->metrics[i];
		unsigned char scale[8];
		uint64_t bits;

		memcpy(&bits, &m->scale, sizeof(bits));
		pl_put_u64(scale, bits);
		add_text(&w->out, m->name, SMP_NAME_MAX);
		add_text(&w->out, metric_unit_name(m->unit), SMP_NAME_MAX);
		add_text(&w->out, metric_kind_name(m->kind), SMP_NAME_MAX);
		add_text(&w->out, metric_agg_name(m->agg), SMP_NAME_MAX);
		strbuf_add(&w->out, scale, sizeof(scale));
		add_text(&w->out, m->help, SMP_NAME_MAX);
	}
	end_frame(w);
	if (s->metric_count != set->metric_count)
		s->cap = 0; /* rows have another width: the old ones are invalid */
	s->metrics = set->metrics;
	s->metric_count = set->metric_count;
	s->known = true;
	s->readings = 0;
	s->last_time = 0;
	s->absences_written = 0;
}

static void make_room(struct written *s, size_t places)
{
	size_t cap = s->cap ? s->cap : 16;

	if (places <= s->cap)
		return;
	while (cap < places)
		cap *= 2;
	s->last = xreallocarray(s->last, cap, (s->metric_count + 1) * sizeof(*s->last));
	s->last_present = xreallocarray(s->last_present, cap, sizeof(*s->last_present));
	s->stamp = xreallocarray(s->stamp, cap, sizeof(*s->stamp));
	for (size_t i = s->cap; i < cap; i++)
		s->stamp[i] = s->reading;
	s->cap = cap;
}

/* Writes all entities, or new ones; each begins without values. */
static void add_entities(struct sample_writer *w, unsigned source, struct sample_set *set, bool all)
{
	struct written *s = &w->sources[source];
	size_t places = set->entity_count < SMP_ENTITIES_MAX ? set->entity_count : SMP_ENTITIES_MAX;
	bool open = false;
	size_t before = 0;

	make_room(s, places);
	for (size_t i = 0; i < places; i++) {
		struct entity *e = &set->entities[i];

		if (!e->kind || (!all && !e->fresh))
			continue;
		if (open && w->out.len - w->frame > SPLIT_AT) {
			end_frame(w);
			open = false;
		}
		if (!open) {
			begin_source_frame(w, source, SMP_ENTITIES);
			before = 0;
			open = true;
		}
		strbuf_add_varint(&w->out, i - before);
		before = i;
		strbuf_add_varint(&w->out, (uint64_t)e->kind);
		add_text(&w->out, e->name, SMP_NAME_MAX);
		add_metadata(&w->out, e->metadata);
		e->fresh = false;
		s->last_present[i] = 0;
		memset(s->last + i * s->metric_count, 0, s->metric_count * sizeof(*s->last));
	}
	if (open)
		end_frame(w);
}

static void add_absences(struct sample_writer *w, unsigned source, struct sample_set *set)
{
	struct written *s = &w->sources[source];

	for (; s->absences_written < set->absence_count; s->absences_written++) {
		struct sample_absence *a = &set->absences[s->absences_written];

		begin_source_frame(w, source, SMP_ABSENT);
		strbuf_add_varint(&w->out, a->metric);
		add_text(&w->out, a->reason, SMP_NAME_MAX);
		end_frame(w);
		a->fresh = false;
	}
}

/* ---- readings ---- */

static void add_row(struct sample_writer *w, struct written *s, const struct sample_row *row,
		    const int64_t *values, uint32_t *entity)
{
	int64_t *last = s->last + row->entity * s->metric_count;
	bool same = row->present == s->last_present[row->entity];
	uint64_t changed = 0;

	for (unsigned m = 0; m < s->metric_count; m++)
		if (row->present >> m & 1 && values[m] != last[m])
			changed |= (uint64_t)1 << m;
	strbuf_add_varint(&w->out, zigzag((int64_t)row->entity - *entity) << 1 | !same);
	*entity = row->entity + 1;
	if (!same)
		strbuf_add_varint(&w->out, row->present);
	strbuf_add_varint(&w->out, changed);
	for (unsigned m = 0; m < s->metric_count; m++) {
		if (!(changed >> m & 1))
			continue;
		add_signed(&w->out, smp_minus(values[m], last[m]));
		last[m] = values[m];
	}
	s->last_present[row->entity] = row->present;
}

static void begin_reading(struct sample_writer *w, unsigned source, uint64_t time_ns)
{
	struct written *s = &w->sources[source];

	begin_source_frame(w, source, SMP_READING);
	add_signed(&w->out, smp_minus((int64_t)time_ns, (int64_t)s->last_time));
	s->last_time = time_ns;
}

static void add_rows(struct sample_writer *w, unsigned source, const struct sample_set *set)
{
	struct written *s = &w->sources[source];
	uint64_t known = s->metric_count < 64 ? ((uint64_t)1 << s->metric_count) - 1 : UINT64_MAX;
	uint32_t entity = 0;

	s->reading++;
	begin_reading(w, source, set->time_ns);
	for (size_t i = 0; i < set->row_count; i++) {
		struct sample_row row = set->rows[i];

		/* one row per existing entity */
		if (row.entity >= set->entity_count || row.entity >= s->cap ||
		    !set->entities[row.entity].kind || s->stamp[row.entity] == s->reading)
			continue;
		if (w->out.len - w->frame > SPLIT_AT) {
			end_frame(w);
			begin_reading(w, source, set->time_ns);
			entity = 0;
		}
		s->stamp[row.entity] = s->reading;
		row.present &= known;
		add_row(w, s, &row, set->values + i * set->metric_count, &entity);
	}
	end_frame(w);
}

/* ---- for callers ---- */

struct sample_writer *sample_writer_open(int fd, const struct sample_file_head *head)
{
	struct sample_writer *w = xcalloc(1, sizeof(*w));

	*w = (struct sample_writer){.fd = fd, .out = STRBUF_INIT, .head = STRBUF_INIT};
	strbuf_add_varint(&w->head, SMP_VERSION);
	add_text(&w->head, head->host, SMP_NAME_MAX);
	add_text(&w->head, head->boot, SMP_NAME_MAX);
	add_text(&w->head, head->job, SMP_NAME_MAX);
	add_text(&w->head, head->run, SMP_NAME_MAX);
	strbuf_add_varint(&w->head, head->period_ns);
	strbuf_add_varint(&w->head, head->boottime_ns);
	add_signed(&w->head, head->realtime_ns);
	w->session = crc32c_bulk(0, w->head.buf, w->head.len);
	add_head(w, SMP_HEAD);
	return w;
}

unsigned sample_writer_source(struct sample_writer *w, const char *name, unsigned every,
			      const struct sample_set *set)
{
	unsigned source = (unsigned)w->source_count;

	w->sources = xreallocarray(w->sources, w->source_count + 1, sizeof(*w->sources));
	w->sources[w->source_count++] = (struct written){.name = xstrdup(name), .every = every};
	if (w->fd >= 0 && source < SMP_SOURCES_MAX && set->metric_count <= SAMPLE_METRICS_MAX) {
		begin_gathering(w);
		add_source(w, source, set);
	}
	return source;
}

void sample_writer_add(struct sample_writer *w, unsigned source, struct sample_set *set)
{
	struct written *s = &w->sources[source];

	if (source >= SMP_SOURCES_MAX || set->metric_count > SAMPLE_METRICS_MAX)
		return;
	if (w->out.len > (w->fd < 0 ? TAKE_MAX : GATHER_MAX))
		forget_gathered(w);
	begin_gathering(w);
	w->gathered++;
	bool again = w->fd >= 0 && s->readings >= SMP_WHOLE_EVERY;
	bool all = !s->known || again || s->metrics != set->metrics ||
		   s->metric_count != set->metric_count;
	if (all)
		add_source(w, source, set);
	add_entities(w, source, set, all);
	add_absences(w, source, set);
	add_rows(w, source, set);
	s->readings++;
	w->since_head++;
}

void sample_writer_clock(struct sample_writer *w, uint64_t boottime_ns, int64_t realtime_ns)
{
	w->has_clock = true;
	w->boottime_ns = boottime_ns;
	w->realtime_ns = realtime_ns;
	if (!w->out.len && w->failed)
		begin_gathering(w); /* writes the clocks, too */
	else
		add_clock(w);
}

size_t sample_writer_size(const struct sample_writer *w)
{
	return w->out.len;
}

void sample_writer_take(struct sample_writer *w, struct strbuf *out)
{
	strbuf_add(out, w->out.buf, w->out.len);
	strbuf_reset(&w->out);
	w->gathered = w->lost = 0;
	w->failed = w->has_clock = false;
	for (size_t i = 0; i < w->source_count; i++) {
		w->sources[i].known = false;
		w->sources[i].chain = 0;
	}
	add_head(w, SMP_HEAD);
}

int sample_writer_flush(struct sample_writer *w, bool sync)
{
	struct stat st;
	int r = 0;

	if (!w->out.len && !sync)
		return 0;
	bool known = fstat(w->fd, &st) == 0 && S_ISREG(st.st_mode);
	if (w->out.len)
		r = fs_write_once(w->fd, w->out.buf, w->out.len, -1);
	if (r == 0 && sync)
		r = fs_sync(w->fd);
	if (r < 0) {
		/* if that fails too, readers skip the incomplete frame */
		if (known && ftruncate(w->fd, st.st_size) < 0)
			r = -errno;
		forget_gathered(w);
		return r;
	}
	strbuf_reset(&w->out);
	w->gathered = w->lost = 0;
	w->failed = false;
	return 0;
}

static void free_writer(struct sample_writer *w)
{
	for (size_t i = 0; i < w->source_count; i++) {
		free(w->sources[i].name);
		free(w->sources[i].last);
		free(w->sources[i].last_present);
		free(w->sources[i].stamp);
	}
	free(w->sources);
	strbuf_release(&w->out);
	strbuf_release(&w->head);
	free(w);
}

int sample_writer_close(struct sample_writer *w, const char *reason)
{
	int r = 0;

	if (w->fd >= 0) {
		begin_gathering(w);
		begin_frame(w, SMP_END);
		add_text(&w->out, reason, SMP_NAME_MAX);
		end_frame(w);
		r = sample_writer_flush(w, false);
	}
	free_writer(w);
	return r;
}
