/*
 * Sample files that a test writes, and the readings in them as lines of text, so that a value, a
 * name or a time that was never written cannot hide.
 */
#pragma once

#include "unit.h"

#include "samples/sample_file.h"
#include "samples/sample_file_internal.h"

static const struct sample_metric three[] = {
	{"ticks", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "ticks"},
	{"rss", UNIT_BYTES, KIND_GAUGE, AGG_MAX, 4096, "memory"},
	{"heat", UNIT_CELSIUS, KIND_GAUGE, AGG_NONE, 0.001, NULL},
};

static const struct sample_file_head head_one = {.host = (char *)"one",
						 .boot = (char *)"11111111-2222",
						 .job = (char *)"42",
						 .run = (char *)"7",
						 .period_ns = 1000000000,
						 .boottime_ns = 5000000000,
						 .realtime_ns = 1700000000000000000};
static const struct sample_file_head head_two = {.host = (char *)"two",
						 .boot = (char *)"33333333-4444",
						 .period_ns = 1,
						 .boottime_ns = 9000000000,
						 .realtime_ns = 1700000009000000000};

/* ---- lines ----------------------------------------------------------------------------------- */

struct lines {
	char **list;
	size_t count, cap;
};

static inline void lines_release(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i]);
	free(l->list);
	*l = (struct lines){0};
}
#define _cleanup_lines_ _cleanup_(lines_release)

static inline void add_line(struct lines *l, struct strbuf *text)
{
	GROW(l->list, l->count, l->cap);
	l->list[l->count++] = strbuf_take(text);
}

/* A reading as a line: "host source time: kind name metadata [m=value ...] ..." */
static inline void reading_line(struct lines *l, const char *host, const char *source,
				const struct sample_set *s)
{
	struct strbuf out = STRBUF_INIT;

	strbuf_addf(&out, "%s %s %llu:", host, source, (unsigned long long)s->time_ns);
	for (size_t i = 0; i < s->row_count; i++) {
		const struct entity *e = &s->entities[s->rows[i].entity];

		strbuf_addf(&out, " %s %s %s[", entity_kind_name(e->kind), e->name,
			    e->metadata ? e->metadata : "-");
		for (unsigned m = 0; m < s->metric_count; m++)
			if (s->rows[i].present >> m & 1)
				strbuf_addf(&out, "%s=%lld ", s->metrics[m].name,
					    (long long)s->values[i * s->metric_count + m]);
		strbuf_addch(&out, ']');
	}
	add_line(l, &out);
}

/* ---- writing and reading back ---------------------------------------------------------------- */

/* A writer into memory, and the lines that a reader should make of it. */
struct made {
	int fd;
	struct sample_writer *w;
	struct sample_file_head head;
	struct sample_set sets[4];
	unsigned numbers[4];
	struct lines lines;
	uint64_t seed;
};

static inline void made_init(struct made *m, const struct sample_file_head *head)
{
	*m = (struct made){.head = *head, .seed = 88172645463325252ull};
	m->fd = memfd_create("samples", MFD_CLOEXEC);
	assert_true(m->fd >= 0);
	assert_int_equal(fcntl(m->fd, F_SETFL, O_APPEND), 0);
	m->w = sample_writer_open(m->fd, head);
}

static inline void made_release(struct made *m)
{
	if (m->w)
		assert_int_equal(sample_writer_close(m->w, "done"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(m->sets); i++)
		sample_release(&m->sets[i]);
	lines_release(&m->lines);
	close(m->fd);
}

static inline const char *source_name(unsigned i)
{
	static const char *const names[] = {"alpha", "beta", "gamma", "delta"};

	return names[i];
}

static inline void made_source(struct made *m, unsigned i, const struct sample_metric *columns,
			       size_t n)
{
	sample_init(&m->sets[i], columns, n);
	m->numbers[i] = sample_writer_source(m->w, source_name(i), i + 1, &m->sets[i]);
}

static inline uint64_t below(struct made *m, uint64_t limit)
{
	return (random_next(&m->seed) >> 11) % limit;
}

static inline int64_t random_value(struct made *m, int64_t old)
{
	switch (below(m, 8)) {
	case 0:
		return INT64_MIN;
	case 1:
		return INT64_MAX;
	case 2:
		return -(int64_t)below(m, 1000000);
	case 3:
		return (int64_t)random_next(&m->seed);
	case 4:
		return 0;
	default:
		return (int64_t)((uint64_t)old + below(m, 2000));
	}
}

/* Fills a reading at random: entities come, go and change, their places are taken by others. */
static inline void random_reading(struct made *m, unsigned i, unsigned entities)
{
	struct sample_set *s = &m->sets[i];
	uint64_t before = s->time_ns;

	sample_begin(s);
	s->time_ns = before + 1000000000 + below(m, 1000);
	for (unsigned n = 0; n < entities; n++) {
		char name[32];

		if (!below(m, 4))
			continue;
		snprintf(name, sizeof(name), "e%u.%llu", n,
			 (unsigned long long)(s->time_ns / (20000000000ull * (n + 1))));
		uint32_t e = sample_entity(s, n % 3 ? ENTITY_PROCESS : ENTITY_CPU, name);
		if (!below(m, 10))
			sample_set_metadata(s, e, "state", below(m, 2) ? "on" : "off = \"x\"");
		sample_row(s, e);
		int64_t old = (int64_t)s->time_ns;
		for (unsigned k = 0; k < s->metric_count; k++)
			if (below(m, 8))
				sample_put(s, k, old = random_value(m, old));
	}
	for (uint32_t e = 0; e < s->entity_count; e++)
		if (s->entities[e].kind && !below(m, 30))
			sample_end(s, e);
}

static inline void add_reading(struct made *m, unsigned i)
{
	reading_line(&m->lines, m->head.host, source_name(i), &m->sets[i]);
	sample_writer_add(m->w, m->numbers[i], &m->sets[i]);
}

static inline void flush(struct made *m)
{
	assert_int_equal(sample_writer_flush(m->w, false), 0);
}

static inline void content(const struct made *m, struct strbuf *out)
{
	struct stat st;

	assert_int_equal(fstat(m->fd, &st), 0);
	strbuf_reset(out);
	strbuf_grow(out, (size_t)st.st_size);
	assert_int_equal(pread(m->fd, out->buf, (size_t)st.st_size, 0), st.st_size);
	out->len = (size_t)st.st_size;
	out->buf[out->len] = 0;
}

static inline void open_bytes(struct sample_file *f, const void *data, size_t n)
{
	struct strbuf why = STRBUF_INIT;

	assert_int_equal(sample_file_open(f, memory_file(data, n), &why), 0);
	strbuf_release(&why);
}

/* A reader of what was written so far. */
static inline void open_made(struct sample_file *f, const struct made *m)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;

	content(m, &bytes);
	open_bytes(f, bytes.buf, bytes.len);
}

/* Adds the readings that there are now. */
static inline void read_lines(struct sample_file *f, struct lines *l)
{
	int r;

	while ((r = sample_file_next(f)) > 0) {
		assert_true(r <= SAMPLE_END);
		if (r != SAMPLE_READING)
			continue;
		reading_line(l, f->head.host, f->sources[f->source].name, &f->reading);
		int64_t us = (f->head.realtime_ns +
			      (int64_t)(f->reading.time_ns - f->head.boottime_ns)) /
			     1000;
		assert_int_equal(f->time_us, us);
	}
	assert_int_equal(r, 0);
}

static inline void assert_same_lines(const struct lines *got, const struct lines *want)
{
	for (size_t i = 0; i < got->count && i < want->count; i++)
		assert_string_equal(got->list[i], want->list[i]);
	assert_int_equal(got->count, want->count);
}

/* Each line is one of those wanted, in their order; missing[] counts those left out, by source. */
static inline void assert_some_lines(const struct lines *got, const struct lines *want,
				     size_t missing[4], const char *what, size_t where)
{
	size_t w = 0;

	memset(missing, 0, 4 * sizeof(*missing));
	for (size_t g = 0; g <= got->count; g++) {
		while (w < want->count &&
		       (g == got->count || strcmp(got->list[g], want->list[w]) != 0)) {
			for (unsigned s = 0; s < 4; s++)
				if (strstr(want->list[w], source_name(s)))
					missing[s]++;
			w++;
		}
		if (g < got->count && w++ >= want->count)
			fail_msg("%s %zu: never written: %s", what, where, got->list[g]);
	}
}

/* A small file with two sources, one read half as often, and several whole readings of both. */
static inline void make_small(struct made *m, struct strbuf *bytes)
{
	made_init(m, &head_one);
	made_source(m, 0, three, 3);
	made_source(m, 1, three + 1, 1);
	m->sets[0].time_ns = m->sets[1].time_ns = 5000000000;
	for (unsigned n = 0; n < 150; n++) {
		random_reading(m, 0, 2);
		add_reading(m, 0);
		if (n % 2 == 0) {
			random_reading(m, 1, 1);
			add_reading(m, 1);
		}
		if (n == 40)
			sample_writer_clock(m->w, head_one.boottime_ns + 77,
					    head_one.realtime_ns + 77);
		flush(m);
	}
	content(m, bytes);
}

/* Offsets of the frames of a sound file, and its end. */
static inline size_t frames_of(const struct strbuf *bytes, size_t *at, size_t max)
{
	size_t n = 0, offset = 0;

	while (offset < bytes->len) {
		assert_true(n + 1 < max);
		at[n++] = offset;
		offset += SMP_HEADER + smp_get_u24((unsigned char *)bytes->buf + offset + 5);
	}
	assert_int_equal(offset, bytes->len);
	at[n] = offset;
	return n;
}
