/*
 * Sample files: what is written is what is read, and whatever happens to a file costs what
 * docs/samples.md says and no more. Readings are compared as lines of text, so that a value, a name
 * or a time that was never written cannot hide.
 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "formats/samplecode.h"
#include "formats/samplefile.h"

static const struct sample_metric three[] = {
	{"ticks", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "ticks"},
	{"rss", UNIT_BYTES, KIND_GAUGE, AGG_MAX, 4096, "memory"},
	{"heat", UNIT_CELSIUS, KIND_GAUGE, AGG_NONE, 0.001, NULL},
};

static const struct samplefile_head head_one = {.host = (char *)"one",
						.boot = (char *)"11111111-2222",
						.job = (char *)"42",
						.run = (char *)"7",
						.period_ns = 1000000000,
						.boottime_ns = 5000000000,
						.realtime_ns = 1700000000000000000};
static const struct samplefile_head head_two = {.host = (char *)"two",
						.boot = (char *)"33333333-4444",
						.period_ns = 1,
						.boottime_ns = 9000000000,
						.realtime_ns = 1700000009000000000};

/* ---- lines ------------------------------------------------------------------------------------
 */

struct lines {
	char **list;
	size_t count, cap;
};

static void lines_release(struct lines *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i]);
	free(l->list);
	*l = (struct lines){0};
}
#define _cleanup_lines_ _cleanup_(lines_release)

static void add_line(struct lines *l, struct strbuf *text)
{
	GROW(l->list, l->count, l->cap);
	l->list[l->count++] = strbuf_take(text);
}

/* A reading as a line: "host source time: kind name facts [m=value ...] ..." */
static void reading_line(struct lines *l, const char *host, const char *source,
			 const struct sample_set *s)
{
	struct strbuf out = STRBUF_INIT;

	strbuf_addf(&out, "%s %s %llu:", host, source, (unsigned long long)s->time_ns);
	for (size_t i = 0; i < s->row_count; i++) {
		const struct entity *e = &s->entities[s->rows[i].entity];

		strbuf_addf(&out, " %s %s %s[", entity_kind_name(e->kind), e->name,
			    e->facts ? e->facts : "-");
		for (unsigned m = 0; m < s->metric_count; m++)
			if (s->rows[i].present >> m & 1)
				strbuf_addf(&out, "%s=%lld ", s->metrics[m].name,
					    (long long)s->values[i * s->metric_count + m]);
		strbuf_addch(&out, ']');
	}
	add_line(l, &out);
}

/* ---- writing and reading back -----------------------------------------------------------------
 */

/* A writer into memory, and the lines that a reader should make of it. */
struct made {
	int fd;
	struct samplewriter *w;
	struct samplefile_head head;
	struct sample_set sets[4];
	unsigned numbers[4];
	struct lines lines;
	uint64_t seed;
};

static void made_init(struct made *m, const struct samplefile_head *head)
{
	*m = (struct made){.head = *head, .seed = 88172645463325252ull};
	m->fd = memfd_create("samples", MFD_CLOEXEC);
	assert_true(m->fd >= 0);
	assert_int_equal(fcntl(m->fd, F_SETFL, O_APPEND), 0);
	m->w = samplewriter_open(m->fd, head);
}

static void made_release(struct made *m)
{
	if (m->w)
		assert_int_equal(samplewriter_close(m->w, "done"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(m->sets); i++)
		sample_release(&m->sets[i]);
	lines_release(&m->lines);
	close(m->fd);
}

static const char *source_name(unsigned i)
{
	static const char *const names[] = {"alpha", "beta", "gamma", "delta"};

	return names[i];
}

static void made_source(struct made *m, unsigned i, const struct sample_metric *columns, size_t n)
{
	sample_init(&m->sets[i], columns, n);
	m->numbers[i] = samplewriter_source(m->w, source_name(i), i + 1, &m->sets[i]);
}

static uint64_t below(struct made *m, uint64_t limit)
{
	return (random_next(&m->seed) >> 11) % limit;
}

static int64_t random_value(struct made *m, int64_t old)
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
static void random_reading(struct made *m, unsigned i, unsigned entities)
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
			sample_fact(s, e, "state", below(m, 2) ? "on" : "off = \"x\"");
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

static void add_reading(struct made *m, unsigned i)
{
	reading_line(&m->lines, m->head.host, source_name(i), &m->sets[i]);
	samplewriter_add(m->w, m->numbers[i], &m->sets[i]);
}

static void flush(struct made *m)
{
	assert_int_equal(samplewriter_flush(m->w, false), 0);
}

static void content(const struct made *m, struct strbuf *out)
{
	struct stat st;

	assert_int_equal(fstat(m->fd, &st), 0);
	strbuf_reset(out);
	strbuf_grow(out, (size_t)st.st_size);
	assert_int_equal(pread(m->fd, out->buf, (size_t)st.st_size, 0), st.st_size);
	out->len = (size_t)st.st_size;
	out->buf[out->len] = 0;
}

static void open_bytes(struct samplefile *f, const void *data, size_t n)
{
	struct strbuf why = STRBUF_INIT;

	assert_int_equal(samplefile_open(f, memory_file(data, n), &why), 0);
	strbuf_release(&why);
}

/* Adds the readings that there are now. */
static void read_lines(struct samplefile *f, struct lines *l)
{
	int r;

	while ((r = samplefile_next(f)) > 0) {
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

static void assert_same_lines(const struct lines *got, const struct lines *want)
{
	for (size_t i = 0; i < got->count && i < want->count; i++)
		assert_string_equal(got->list[i], want->list[i]);
	assert_int_equal(got->count, want->count);
}

/* Each line is one of those wanted, in their order; missing[] counts those left out, by source. */
static void assert_some_lines(const struct lines *got, const struct lines *want, size_t missing[4],
			      const char *what, size_t where)
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

/* ---- round trips ------------------------------------------------------------------------------
 */

static void every_event_once(void **state)
{
	struct samplefile f;
	struct made m;

	(void)state;
	made_init(&m, &head_one);
	made_source(&m, 0, three, 3);
	struct sample_set *s = &m.sets[0];
	sample_begin(s);
	s->time_ns = 6500000000;
	uint32_t e = sample_entity(s, ENTITY_GPU, "gpu \"0\"");
	sample_fact(s, e, "model", "A = B");
	sample_row(s, e);
	sample_put(s, 0, 5);
	sample_put(s, 2, -40500);
	sample_absent(s, 1, "no %s", "memory");
	samplewriter_add(m.w, m.numbers[0], s);
	samplewriter_clock(m.w, 7000000000, 1700000003000000000);
	assert_int_equal(samplewriter_flush(m.w, true), 0);
	assert_false(s->entities[e].fresh);
	assert_false(s->absences[0].fresh);
	assert_int_equal(samplewriter_close(m.w, "signal 15"), 0);
	m.w = NULL;
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	content(&m, &bytes);
	open_bytes(&f, bytes.buf, bytes.len);

	assert_int_equal(samplefile_next(&f), SAMPLE_HEAD);
	assert_string_equal(f.head.host, "one");
	assert_string_equal(f.head.boot, "11111111-2222");
	assert_string_equal(f.head.job, "42");
	assert_string_equal(f.head.run, "7");
	assert_int_equal(f.head.period_ns, 1000000000);
	assert_int_equal(f.head.boottime_ns, 5000000000);
	assert_int_equal(f.head.realtime_ns, 1700000000000000000);

	assert_int_equal(samplefile_next(&f), SAMPLE_SOURCE);
	assert_int_equal(f.source, 0);
	const struct samplefile_source *src = &f.sources[0];
	assert_string_equal(src->name, "alpha");
	assert_int_equal(src->every, 1);
	assert_int_equal(src->metric_count, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_string_equal(src->metrics[i].name, three[i].name);
		assert_int_equal(src->metrics[i].unit, three[i].unit);
		assert_int_equal(src->metrics[i].kind, three[i].kind);
		assert_int_equal(src->metrics[i].agg, three[i].agg);
		assert_true(src->metrics[i].scale == three[i].scale);
	}
	assert_string_equal(src->metrics[1].help, "memory");
	assert_null(src->metrics[2].help);

	assert_int_equal(samplefile_next(&f), SAMPLE_ENTITY);
	assert_int_equal(f.source, 0);
	assert_int_equal(src->entities[f.entity].kind, ENTITY_GPU);
	assert_string_equal(src->entities[f.entity].name, "gpu \"0\"");
	assert_string_equal(src->entities[f.entity].facts, "model=A = B\n");

	assert_int_equal(samplefile_next(&f), SAMPLE_ABSENT);
	assert_int_equal(f.metric, 1);
	assert_string_equal(f.reason, "no memory");

	assert_int_equal(samplefile_next(&f), SAMPLE_READING);
	assert_int_equal(f.reading.row_count, 1);
	assert_int_equal(f.reading.rows[0].present, 5);
	assert_int_equal(f.reading.values[0], 5);
	assert_int_equal(f.reading.values[2], -40500);
	assert_true(sample_value(&f.reading, 0, 2) == -40.5);
	assert_int_equal(f.reading.time_ns, 6500000000);
	assert_int_equal(f.time_us, 1700000001500000);

	assert_int_equal(samplefile_next(&f), SAMPLE_CLOCK);
	assert_int_equal(f.boottime_ns, 7000000000);
	assert_int_equal(f.realtime_ns, 1700000003000000000);
	assert_int_equal(samplefile_next(&f), SAMPLE_END);
	assert_string_equal(f.reason, "signal 15");
	assert_int_equal(samplefile_next(&f), 0);
	assert_int_equal(samplefile_next(&f), 0);
	assert_int_equal(f.damaged_bytes + f.damaged_places + f.skipped_readings, 0);
	samplefile_close(&f);
	samplefile_close(&f);
	made_release(&m);
}

static void sets_without_metrics_rows_or_texts(void **state)
{
	static const struct samplefile_head nothing = {0};
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	struct samplefile f;
	struct made m;

	(void)state;
	made_init(&m, &nothing);
	made_source(&m, 0, NULL, 0);
	made_source(&m, 1, three, 3);
	sample_begin(&m.sets[0]);
	sample_row(&m.sets[0], sample_entity(&m.sets[0], ENTITY_NODE, ""));
	samplewriter_add(m.w, 0, &m.sets[0]);
	sample_begin(&m.sets[1]);
	samplewriter_add(m.w, 1, &m.sets[1]);
	flush(&m);
	content(&m, &bytes);
	open_bytes(&f, bytes.buf, bytes.len);
	assert_int_equal(samplefile_next(&f), SAMPLE_HEAD);
	assert_null(f.head.host);
	assert_int_equal(samplefile_next(&f), SAMPLE_SOURCE);
	assert_int_equal(samplefile_next(&f), SAMPLE_SOURCE);
	assert_int_equal(samplefile_next(&f), SAMPLE_ENTITY);
	assert_string_equal(f.sources[0].entities[0].name, "");
	assert_int_equal(samplefile_next(&f), SAMPLE_READING);
	assert_int_equal(f.reading.row_count, 1);
	assert_int_equal(samplefile_next(&f), SAMPLE_READING);
	assert_int_equal(f.reading.row_count, 0);
	assert_int_equal(samplefile_next(&f), 0);
	samplefile_close(&f);
	made_release(&m);
}

static void random_readings(void **state)
{
	static struct sample_metric many[64];
	_cleanup_lines_ struct lines got = {0};
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	struct samplefile f;
	struct made m;

	(void)state;
	for (unsigned i = 0; i < 64; i++) {
		many[i] = three[i % 3];
		many[i].name = xasprintf("m%u", i);
	}
	made_init(&m, &head_one);
	made_source(&m, 0, three, 3);
	made_source(&m, 1, many, 64);
	made_source(&m, 2, many, 12);
	for (unsigned n = 0; n < 400; n++) {
		random_reading(&m, n % 3, 20);
		add_reading(&m, n % 3);
		if (!below(&m, 3))
			flush(&m);
	}
	flush(&m);
	content(&m, &bytes);
	open_bytes(&f, bytes.buf, bytes.len);
	read_lines(&f, &got);
	assert_same_lines(&got, &m.lines);
	assert_int_equal(f.damaged_bytes + f.damaged_places + f.skipped_readings, 0);
	samplefile_close(&f);
	made_release(&m);
	for (unsigned i = 0; i < 64; i++)
		free((char *)many[i].name);
}

/* What a whole reading says again is no news. */
static void entities_and_sources_are_told_once(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	unsigned events[SAMPLE_END + 1] = {0};
	struct samplefile f;
	struct made m;
	int r;

	(void)state;
	made_init(&m, &head_one);
	made_source(&m, 0, three, 3);
	for (unsigned n = 0; n < 300; n++) {
		struct sample_set *s = &m.sets[0];

		sample_begin(s);
		sample_row(s, sample_entity(s, ENTITY_CPU, "0"));
		sample_put(s, 0, n);
		if (n == 100)
			sample_fact(s, 0, "model", "new");
		if (n == 150)
			sample_absent(s, 2, "why not");
		samplewriter_add(m.w, 0, s);
		flush(&m);
	}
	content(&m, &bytes);
	open_bytes(&f, bytes.buf, bytes.len);
	while ((r = samplefile_next(&f)) > 0)
		events[r]++;
	assert_int_equal(events[SAMPLE_HEAD], 1);
	assert_int_equal(events[SAMPLE_SOURCE], 1);
	assert_int_equal(events[SAMPLE_ENTITY], 2);
	assert_int_equal(events[SAMPLE_READING], 300);
	samplefile_close(&f);
	made_release(&m);
}

/* A source that was opened again, with other columns under the same number. */
static void metrics_may_change(void **state)
{
	_cleanup_lines_ struct lines got = {0};
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	struct samplefile f;
	struct made m;

	(void)state;
	made_init(&m, &head_one);
	made_source(&m, 0, three, 3);
	for (unsigned n = 0; n < 60; n++) {
		if (n % 20 == 10) {
			uint64_t before = m.sets[0].time_ns;

			sample_release(&m.sets[0]);
			sample_init(&m.sets[0], three + n % 3, 1 + n % 2);
			m.sets[0].time_ns = before;
		}
		random_reading(&m, 0, 5);
		add_reading(&m, 0);
	}
	flush(&m);
	content(&m, &bytes);
	open_bytes(&f, bytes.buf, bytes.len);
	read_lines(&f, &got);
	assert_same_lines(&got, &m.lines);
	samplefile_close(&f);
	made_release(&m);
}

/* More than a frame holds: the reading comes in parts, and nothing of it is missing. */
static void a_large_reading_is_split(void **state)
{
	static struct sample_metric many[64];
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	struct samplefile f;
	struct made m;
	size_t rows = 0, parts = 0;
	const unsigned n = 20000;
	int r;

	(void)state;
	for (unsigned i = 0; i < 64; i++)
		many[i] = three[0];
	made_init(&m, &head_one);
	made_source(&m, 0, many, 64);
	struct sample_set *s = &m.sets[0];
	sample_begin(s);
	s->time_ns = 77;
	for (unsigned i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		/* asked for in this order each is new and at the end: no search */
		GROW(s->entities, s->entity_count, s->entity_cap);
		s->entities[s->entity_count++] = (struct entity){
			.kind = ENTITY_PROCESS, .name = xstrdup(name), .fresh = true};
		sample_row(s, i);
		for (unsigned k = 0; k < 64; k++)
			sample_put(s, k, INT64_MIN + (int64_t)i);
	}
	samplewriter_add(m.w, 0, s);
	flush(&m);
	content(&m, &bytes);
	open_bytes(&f, bytes.buf, bytes.len);
	while ((r = samplefile_next(&f)) > 0) {
		if (r != SAMPLE_READING)
			continue;
		parts++;
		assert_int_equal(f.reading.time_ns, 77);
		for (size_t i = 0; i < f.reading.row_count; i++, rows++) {
			assert_int_equal(f.reading.rows[i].entity, rows);
			for (unsigned k = 0; k < 64; k++)
				assert_int_equal(f.reading.values[i * 64 + k],
						 INT64_MIN + (int64_t)rows);
		}
	}
	assert_int_equal(rows, n);
	assert_true(parts > 1);
	samplefile_close(&f);
	made_release(&m);
}

/* ---- size -------------------------------------------------------------------------------------
 */

static const struct sample_metric process_metrics[] = {
	{"user_time", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 10000, "CPU time in user mode"},
	{"system_time", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 10000, "CPU time in the kernel"},
	{"rss", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 4096, "resident memory"},
	{"vsize", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "address space"},
	{"minor_faults", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "page faults without I/O"},
	{"major_faults", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "page faults with I/O"},
	{"threads", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, "threads"},
	{"read_chars", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "bytes read by calls"},
	{"write_chars", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "bytes written by calls"},
	{"read_calls", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "read calls"},
	{"run_time", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, "time on a CPU"},
	{"wait_time", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, "time waiting for a CPU"},
};

/* One second of a process: of three, one computes, one reads and writes files, one mostly waits. */
static void one_second(struct made *m, unsigned n, unsigned second, int64_t v[12])
{
	if (n % 3 == 0) {
		int64_t run = 1000000000 - (int64_t)below(m, 5000000);

		v[0] += 99 + (int64_t)below(m, 3);
		v[1] += below(m, 5) == 0;
		v[4] += below(m, 4) ? 0 : (int64_t)below(m, 300);
		v[10] += run;
		v[11] += (int64_t)below(m, 2000000);
	} else if (n % 3 == 1) {
		int64_t calls = (int64_t)below(m, 400);

		v[0] += (int64_t)below(m, 30);
		v[1] += (int64_t)below(m, 40);
		v[4] += (int64_t)below(m, 100);
		v[7] += calls * 65536 + (int64_t)below(m, 1000);
		v[8] += (int64_t)below(m, 50) * 4096;
		v[9] += calls + (int64_t)below(m, 5);
		v[10] += 300000000 + (int64_t)below(m, 100000000);
		v[11] += (int64_t)below(m, 50000000);
	} else if (below(m, 5) == 0) {
		v[9] += 1;
		v[10] += (int64_t)below(m, 200000);
		v[11] += (int64_t)below(m, 20000);
	}
	/* memory moves now and then */
	if (below(m, 4) == 0)
		v[2] += (int64_t)below(m, 2000) - 800;
	if ((second + n) % 60 == 0) {
		v[3] += 135168;
		v[6] = 1 + (int64_t)below(m, 16);
	}
}

#define PROCESSES 96
static void bytes_of_a_process_sample(void **state)
{
	static int64_t values[PROCESSES][12];
	const unsigned seconds = 640;
	struct made m;
	struct stat st;

	(void)state;
	made_init(&m, &head_one);
	sample_init(&m.sets[0], process_metrics, 12);
	m.numbers[0] = samplewriter_source(m.w, "process", 1, &m.sets[0]);
	struct sample_set *s = &m.sets[0];
	for (unsigned n = 0; n < PROCESSES; n++) {
		for (unsigned k = 0; k < 12; k++)
			values[n][k] = (int64_t)below(&m, 1000000000);
		values[n][6] = 1;
	}
	for (unsigned second = 0; second < seconds; second++) {
		sample_begin(s);
		s->time_ns = 1000000000ull * second + below(&m, 100000);
		for (unsigned n = 0; n < PROCESSES; n++) {
			char name[32], args[64];

			snprintf(name, sizeof(name), "%u.%u", 400000 + n, 8812345 + n);
			uint32_t e = sample_entity(s, ENTITY_PROCESS, name);
			snprintf(args, sizeof(args), "/opt/model/bin/ocean --rank %u", n);
			sample_fact(s, e, "exe", "ocean");
			sample_fact(s, e, "args", args);
			one_second(&m, n, second, values[n]);
			sample_row(s, e);
			for (unsigned k = 0; k < 12; k++)
				sample_put(s, k, values[n][k]);
		}
		samplewriter_add(m.w, 0, s);
		flush(&m);
	}
	assert_int_equal(fstat(m.fd, &st), 0);
	double each = (double)st.st_size / ((double)seconds * PROCESSES);
	print_message("%.1f bytes a process-sample with 12 metrics (%u processes, %u readings)\n",
		      each, PROCESSES, seconds);
	assert_true(each <= 24);
	made_release(&m);
}

/* ---- damage -----------------------------------------------------------------------------------
 */

/* A small file with two sources, one read half as often, and several whole readings of both. */
static void make_small(struct made *m, struct strbuf *bytes)
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
			samplewriter_clock(m->w, head_one.boottime_ns + 77,
					   head_one.realtime_ns + 77);
		flush(m);
	}
	content(m, bytes);
}

/* Offsets of the frames of a sound file, and its end. */
static size_t frames_of(const struct strbuf *bytes, size_t *at, size_t max)
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

static void check_damage(const struct made *m, const struct strbuf *bytes, size_t where,
			 const char *what, size_t at_most)
{
	_cleanup_lines_ struct lines got = {0};
	struct samplefile f;
	size_t missing[4];

	open_bytes(&f, bytes->buf, bytes->len);
	read_lines(&f, &got);
	assert_some_lines(&got, &m->lines, missing, what, where);
	for (unsigned s = 0; s < 4; s++)
		if (missing[s] > at_most)
			fail_msg("%s %zu: %zu readings of %s lost", what, where, missing[s],
				 source_name(s));
	assert_true(f.damaged_bytes <= bytes->len);
	samplefile_close(&f);
}

static void damage_at_every_byte(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	for (size_t i = 4; i < bytes.len; i++) {
		char before = bytes.buf[i];

		bytes.buf[i] = (char)(before ^ 0xff);
		check_damage(&m, &bytes, i, "byte", SMP_WHOLE_EVERY);
		if (i % 4 == 0) {
			bytes.buf[i] = (char)(before ^ 1 << i / 4 % 8);
			check_damage(&m, &bytes, i, "bit of byte", SMP_WHOLE_EVERY);
		}
		bytes.buf[i] = before;
	}
	made_release(&m);
}

/* The first bytes are how a file is known; without them a head further on will do. */
static void damage_of_the_first_bytes(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT, why = STRBUF_INIT;
	struct samplefile f;
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	for (size_t i = 0; i < 4; i++) {
		bytes.buf[i] = (char)(bytes.buf[i] ^ 0x20);
		check_damage(&m, &bytes, i, "byte", SMP_WHOLE_EVERY);
		bytes.buf[i] = (char)(bytes.buf[i] ^ 0x20);
	}
	/* where there is none, it is anybody's file */
	bytes.buf[0] = 'Q';
	assert_int_equal(samplefile_open(&f, memory_file(bytes.buf, 2000), &why), -EBADMSG);
	assert_text(&why, "is no sample file");
	made_release(&m);
}

static void a_frame_that_is_gone(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	size_t at[2048];
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	size_t n = frames_of(&bytes, at, ARRAY_SIZE(at));
	for (size_t i = 0; i < n; i++) {
		_cleanup_strbuf_ struct strbuf less = STRBUF_INIT;

		strbuf_add(&less, bytes.buf, at[i]);
		strbuf_add(&less, bytes.buf + at[i + 1], bytes.len - at[i + 1]);
		if (i) /* else it does not begin like a sample file: not our matter here */
			check_damage(&m, &less, i, "without frame", SMP_WHOLE_EVERY);
		/* and one that is there twice */
		strbuf_reset(&less);
		strbuf_add(&less, bytes.buf, at[i + 1]);
		strbuf_add(&less, bytes.buf + at[i], bytes.len - at[i]);
		check_damage(&m, &less, i, "twice frame", SMP_WHOLE_EVERY);
	}
	made_release(&m);
}

static void blocks_of_zeros(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT, all = STRBUF_INIT;
	struct made m;

	(void)state;
	make_small(&m, &all);
	for (size_t i = 4; i + 512 < all.len; i += 97) {
		strbuf_reset(&bytes);
		strbuf_add(&bytes, all.buf, all.len);
		memset(bytes.buf + i, 0, 512);
		check_damage(&m, &bytes, i, "zeros", SMP_WHOLE_EVERY + 40);
	}
	made_release(&m);
}

static void damage_is_booked(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	_cleanup_lines_ struct lines got = {0};
	size_t at[2048];
	struct samplefile f;
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	size_t n = frames_of(&bytes, at, ARRAY_SIZE(at)), i = n / 2;
	while ((unsigned char)bytes.buf[at[i] + 4] != SMP_READING)
		i++;
	bytes.buf[at[i] + SMP_HEADER + 3] ^= 4;
	open_bytes(&f, bytes.buf, bytes.len);
	read_lines(&f, &got);
	assert_int_equal(f.damaged_places, 1);
	assert_int_equal(f.damaged_bytes, at[i + 1] - at[i]);
	assert_int_equal(f.skipped_readings + 1, m.lines.count - got.count);
	samplefile_close(&f);
	made_release(&m);
}

/* ---- files that grow --------------------------------------------------------------------------
 */

static void truncation_at_every_length(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	/* every length at the start, where all kinds of frames are, and at the end */
	for (size_t n = 0; n<bytes.len; n += n> 1200 && n + 1200 < bytes.len ? 7 : 1) {
		_cleanup_lines_ struct lines got = {0};
		struct samplefile f;
		struct strbuf why = STRBUF_INIT;
		int fd = memory_file(bytes.buf, n);

		assert_int_equal(samplefile_open(&f, fd, &why), 0);
		read_lines(&f, &got);
		for (size_t i = 0; i < got.count; i++)
			assert_string_equal(got.list[i], m.lines.list[i]);
		assert_int_equal(f.damaged_bytes + f.damaged_places + f.skipped_readings, 0);
		/* the rest comes later, in two steps */
		size_t middle = n + (bytes.len - n) / 3;
		assert_int_equal(pwrite(fd, bytes.buf + n, middle - n, (off_t)n),
				 (ssize_t)(middle - n));
		read_lines(&f, &got);
		assert_int_equal(pwrite(fd, bytes.buf + middle, bytes.len - middle, (off_t)middle),
				 (ssize_t)(bytes.len - middle));
		read_lines(&f, &got);
		assert_same_lines(&got, &m.lines);
		assert_int_equal(f.damaged_bytes + f.damaged_places + f.skipped_readings, 0);
		samplefile_close(&f);
		strbuf_release(&why);
	}
	made_release(&m);
}

/* Cut off, and then another file behind it: now it is damage. */
static void a_torn_frame_with_more_behind_it(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	_cleanup_lines_ struct lines got = {0};
	struct strbuf why = STRBUF_INIT;
	struct samplefile f;
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	size_t cut = bytes.len - 5;
	int fd = memory_file(bytes.buf, cut);
	assert_int_equal(samplefile_open(&f, fd, &why), 0);
	read_lines(&f, &got);
	assert_int_equal(got.count, m.lines.count - 1);
	assert_int_equal(f.damaged_places, 0);
	assert_int_equal(write(fd, bytes.buf, bytes.len), (ssize_t)bytes.len);
	read_lines(&f, &got);
	assert_int_equal(f.damaged_places, 1);
	assert_true(f.damaged_bytes > 0 && f.damaged_bytes < 200);
	assert_int_equal(got.count, 2 * m.lines.count - 1);
	for (size_t i = 0; i < m.lines.count; i++)
		assert_string_equal(got.list[m.lines.count - 1 + i], m.lines.list[i]);
	samplefile_close(&f);
	strbuf_release(&why);
	made_release(&m);
}

static void reading_beside_the_writer(void **state)
{
	_cleanup_lines_ struct lines got = {0};
	struct strbuf why = STRBUF_INIT;
	struct samplefile f;
	struct made m;

	(void)state;
	made_init(&m, &head_one);
	made_source(&m, 0, three, 3);
	made_source(&m, 1, three, 2);
	assert_int_equal(samplefile_open(&f, fcntl(m.fd, F_DUPFD_CLOEXEC, 0), &why), 0);
	for (unsigned n = 0; n < 300; n++) {
		random_reading(&m, n % 2, 6);
		add_reading(&m, n % 2);
		if (n % 3 == 0) {
			flush(&m);
			read_lines(&f, &got);
			assert_same_lines(&got, &m.lines);
		}
	}
	samplefile_close(&f);
	strbuf_release(&why);
	made_release(&m);
}

/* ---- files of several hosts -------------------------------------------------------------------
 */

static void make_other(struct made *m, struct strbuf *bytes)
{
	made_init(m, &head_two);
	m->seed = 4711;
	made_source(m, 0, three, 3);
	made_source(m, 1, three, 2);
	m->sets[0].time_ns = m->sets[1].time_ns = 9000000000;
	for (unsigned n = 0; n < 200; n++) {
		random_reading(m, n % 2, 3);
		add_reading(m, n % 2);
		flush(m);
	}
	content(m, bytes);
}

static void concatenated_files(void **state)
{
	_cleanup_strbuf_ struct strbuf one = STRBUF_INIT, two = STRBUF_INIT, all = STRBUF_INIT;
	_cleanup_lines_ struct lines got = {0};
	struct samplefile f;
	struct made a, b;

	(void)state;
	make_small(&a, &one);
	make_other(&b, &two);
	strbuf_add(&all, one.buf, one.len);
	strbuf_add(&all, two.buf, two.len);
	strbuf_add(&all, one.buf, one.len);
	open_bytes(&f, all.buf, all.len);
	read_lines(&f, &got);
	assert_int_equal(got.count, 2 * a.lines.count + b.lines.count);
	for (size_t i = 0; i < got.count; i++) {
		size_t n = a.lines.count, k = b.lines.count;

		assert_string_equal(got.list[i], i < n       ? a.lines.list[i]
						 : i < n + k ? b.lines.list[i - n]
							     : a.lines.list[i - n - k]);
	}
	assert_int_equal(f.damaged_bytes + f.skipped_readings, 0);
	samplefile_close(&f);
	made_release(&a);
	made_release(&b);
}

/* The second head is damaged: what is behind it must not pass for the first host's. */
static void a_damaged_head_in_the_middle(void **state)
{
	_cleanup_strbuf_ struct strbuf one = STRBUF_INIT, two = STRBUF_INIT;
	size_t missing[4], at[2048];
	struct made a, b;

	(void)state;
	make_small(&a, &one);
	make_other(&b, &two);
	frames_of(&two, at, ARRAY_SIZE(at));
	for (size_t i = 0; i < at[1]; i++) {
		_cleanup_strbuf_ struct strbuf all = STRBUF_INIT;
		_cleanup_lines_ struct lines got = {0}, want = {0};
		struct samplefile f;

		two.buf[i] ^= 1;
		strbuf_add(&all, one.buf, one.len);
		strbuf_add(&all, two.buf, two.len);
		two.buf[i] ^= 1;
		open_bytes(&f, all.buf, all.len);
		read_lines(&f, &got);
		for (size_t k = 0; k < a.lines.count + b.lines.count; k++) {
			struct strbuf line = STRBUF_INIT;

			strbuf_addstr(&line, k < a.lines.count ? a.lines.list[k]
							       : b.lines.list[k - a.lines.count]);
			add_line(&want, &line);
		}
		assert_some_lines(&got, &want, missing, "head byte", i);
		assert_int_equal(missing[0], SMP_WHOLE_EVERY);
		assert_int_equal(missing[1], SMP_WHOLE_EVERY);
		samplefile_close(&f);
	}
	made_release(&a);
	made_release(&b);
}

/* ---- full disks -------------------------------------------------------------------------------
 */

static void a_limit_on_the_size_of_files(void **state)
{
	_cleanup_lines_ struct lines got = {0};
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	char path[256];
	struct rlimit before, small;
	uint64_t lost = 0;
	struct samplefile f;
	struct stat st, full;
	struct made m;
	int r;

	snprintf(path, sizeof(path), "%s/s.smp", (char *)*state);
	made_init(&m, &head_one);
	assert_int_equal(samplewriter_close(m.w, NULL), 0);
	close(m.fd);
	m.fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	m.w = samplewriter_open(m.fd, &head_one);
	made_source(&m, 0, three, 3);
	made_source(&m, 1, three, 2);
	for (unsigned n = 0; n < 20; n++) {
		random_reading(&m, n % 2, 8);
		add_reading(&m, n % 2);
		flush(&m);
	}
	/* room for a part of the next flush, then for none of it */
	assert_int_equal(fstat(m.fd, &st), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	for (unsigned n = 0; n < 6; n++) {
		struct lines none = {0};

		small = (struct rlimit){(rlim_t)st.st_size + (n % 2 ? 0 : 40), before.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
		random_reading(&m, n % 2, 8);
		reading_line(&none, "one", "lost", &m.sets[n % 2]);
		samplewriter_add(m.w, m.numbers[n % 2], &m.sets[n % 2]);
		r = samplewriter_flush(m.w, false);
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
		assert_int_equal(r, n % 2 ? -EFBIG : -ENOSPC);
		assert_int_equal(fstat(m.fd, &full), 0);
		assert_int_equal(full.st_size, st.st_size);
		lines_release(&none);
	}
	for (unsigned n = 0; n < 200; n++) {
		random_reading(&m, n % 2, 8);
		add_reading(&m, n % 2);
		flush(&m);
	}
	content(&m, &bytes);
	open_bytes(&f, bytes.buf, bytes.len);
	while ((r = samplefile_next(&f)) > 0) {
		if (r == SAMPLE_LOST)
			lost += f.count;
		else if (r == SAMPLE_READING)
			reading_line(&got, f.head.host, f.sources[f.source].name, &f.reading);
	}
	assert_int_equal(lost, 6);
	assert_same_lines(&got, &m.lines);
	assert_int_equal(f.damaged_bytes + f.skipped_readings, 0);
	samplefile_close(&f);
	made_release(&m);
}

/* From the very start: not even the head is there. */
static void a_disk_that_was_full_at_first(void **state)
{
	_cleanup_lines_ struct lines got = {0};
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	char path[256];
	struct rlimit before, none;
	struct samplefile f;
	struct made m;
	int r;

	snprintf(path, sizeof(path), "%s/s.smp", (char *)*state);
	made_init(&m, &head_one);
	assert_int_equal(samplewriter_close(m.w, NULL), 0);
	close(m.fd);
	m.fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	m.w = samplewriter_open(m.fd, &head_one);
	made_source(&m, 0, three, 3);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	r = samplewriter_flush(m.w, true);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r, -EFBIG);
	samplewriter_clock(m.w, head_one.boottime_ns, head_one.realtime_ns);
	random_reading(&m, 0, 8);
	add_reading(&m, 0);
	assert_int_equal(samplewriter_flush(m.w, true), 0);
	content(&m, &bytes);
	open_bytes(&f, bytes.buf, bytes.len);
	read_lines(&f, &got);
	assert_same_lines(&got, &m.lines);
	assert_int_equal(f.damaged_bytes, 0);
	samplefile_close(&f);
	made_release(&m);
}

static void a_device_that_is_full(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_APPEND | O_CLOEXEC);
	struct samplewriter *w = samplewriter_open(fd, &head_one);

	(void)state;
	assert_int_equal(samplewriter_flush(w, false), -ENOSPC);
	assert_int_equal(samplewriter_close(w, "x"), -ENOSPC);
	close(fd);
}

/* ---- hostile files ----------------------------------------------------------------------------
 */

static void raw_frame(struct strbuf *out, uint32_t session, unsigned type, const struct strbuf *p)
{
	unsigned char h[SMP_HEADER] = SMP_MAGIC;
	size_t at = out->len;

	h[4] = (unsigned char)type;
	smp_put_u24(h + 5, (uint32_t)p->len);
	strbuf_add(out, h, sizeof(h));
	strbuf_add(out, p->buf, p->len);
	unsigned char *frame = (unsigned char *)out->buf + at;
	pl_put_u32(frame + 8, smp_crc(session, frame, p->len));
}

static void put(struct strbuf *p, uint64_t v)
{
	unsigned char buf[PL_VARINT_MAX];

	strbuf_add(p, buf, (size_t)(pl_put_varint(buf, v) - buf));
}

static uint32_t raw_head(struct strbuf *out, unsigned version)
{
	struct strbuf p = STRBUF_INIT;

	put(&p, version);
	for (unsigned i = 0; i < 7; i++)
		put(&p, 0);
	uint32_t session = crc32c(0, p.buf, p.len);
	raw_frame(out, 0, SMP_HEAD, &p);
	strbuf_release(&p);
	return session;
}

static void raw_source(struct strbuf *out, uint32_t session, unsigned number, unsigned width)
{
	struct strbuf p = STRBUF_INIT;

	put(&p, number);
	put(&p, 0);
	strbuf_addstr(&p, "\x02x\x01");
	put(&p, width);
	for (unsigned i = 0; i < width; i++) {
		strbuf_addstr(&p, "\x02m\x02%\x02g\x02s");
		strbuf_add(&p, "\0\0\0\0\0\0\0\0", 9); /* scale, no help */
	}
	raw_frame(out, session, SMP_SOURCE, &p);
	strbuf_release(&p);
}

static void state_is_bounded(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct samplefile f;
	unsigned told = 0;
	int r;

	(void)state;
	uint32_t session = raw_head(&out, SMP_VERSION);
	for (unsigned i = 0; i < 6; i++) {
		struct strbuf p = STRBUF_INIT;

		raw_source(&out, session, i, 16);
		put(&p, i);
		put(&p, 1);
		put(&p, SMP_ENTITIES_MAX - 1); /* one entity, at the last place */
		strbuf_addstr(&p, "\x03\x02n");
		put(&p, 0);
		raw_frame(&out, session, SMP_ENTITIES, &p);
		strbuf_release(&p);
	}
	open_bytes(&f, out.buf, out.len);
	while ((r = samplefile_next(&f)) > 0)
		told += r == SAMPLE_ENTITY;
	assert_int_equal(r, 0);
	assert_true(told > 0 && told < 6);
	assert_true(f.buffer->state <= SMP_STATE_MAX);
	assert_int_equal(f.damaged_places, 6 - told);
	samplefile_close(&f);
}

/* Sound by their check sums, and senseless. */
static void senseless_frames(void **state)
{
	static const struct {
		unsigned type;
		const char *bytes;
		size_t n;
	} cases[] = {
#define CASE(type, literal) {type, literal, sizeof(literal) - 1}
		CASE(SMP_READING, "\x00\x01\x00\x00"),                 /* entity 0 never told */
		CASE(SMP_READING, "\x00\x01\x00\x02\x00"),             /* entity -1 */
		CASE(SMP_READING, "\x00\x01\x00\xff\xff\xff\xff\x0f"), /* cut off */
		CASE(SMP_READING, "\x00"),
		CASE(SMP_READING, ""),
		CASE(SMP_SOURCE, "\x80\x02\x00\x02x\x01\x00"),     /* source 256 */
		CASE(SMP_SOURCE, "\x00\x00\x02x\x01\x41"),         /* 65 metrics */
		CASE(SMP_SOURCE, "\x00\x00\x00\x01\x00"),          /* no name */
		CASE(SMP_SOURCE, "\x00\x00\x03x\x00\x01\x00"),     /* NUL in it */
		CASE(SMP_ENTITIES, "\x00\x01\x00\x00\x02n\x00"),   /* kind 0 */
		CASE(SMP_ENTITIES, "\x00\x01\x00\x03\x00\x00"),    /* no name */
		CASE(SMP_ENTITIES, "\x00\x01\x00\x03\x02n\x02x"),  /* facts without end of line */
		CASE(SMP_ENTITIES, "\x00\x01\x00\x03\x02n\x02\n"), /* nor key */
		CASE(SMP_ENTITIES, "\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x03\x02n\x00"),
		CASE(SMP_ABSENT, "\x00\x01\x41\x02n"),
		CASE(SMP_ABSENT, "\x00\x01\x01"),
		CASE(SMP_CLOCK, "\x80"),
		CASE(SMP_LOST, ""),
		CASE(SMP_END, "\x7f"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, p = STRBUF_INIT;
		struct samplefile f;
		int r;

		uint32_t session = raw_head(&out, SMP_VERSION);
		raw_source(&out, session, 0, 1);
		strbuf_add(&p, cases[i].bytes, cases[i].n);
		raw_frame(&out, session, cases[i].type, &p);
		strbuf_reset(&p);
		raw_frame(&out, session, 200, &p); /* of a kind that nobody knows */
		open_bytes(&f, out.buf, out.len);
		assert_int_equal(samplefile_next(&f), SAMPLE_HEAD);
		assert_int_equal(samplefile_next(&f), SAMPLE_SOURCE);
		if ((r = samplefile_next(&f)) != 0)
			fail_msg("case %zu gave event %d", i, r);
		if (f.damaged_places != 1)
			fail_msg("case %zu is no damage", i);
		samplefile_close(&f);
	}
}

static void files_that_are_none(void **state)
{
	struct strbuf why = STRBUF_INIT, out = STRBUF_INIT;
	struct samplefile f;
	int pipes[2];

	(void)state;
	assert_int_equal(samplefile_open(&f, memory_file("hello world, this is text", 25), &why),
			 -EBADMSG);
	assert_text(&why, "is no sample file");
	strbuf_reset(&why);
	assert_int_equal(samplefile_open(&f, memory_file("x", 1), &why), -EBADMSG);
	strbuf_reset(&why);
	raw_head(&out, 2);
	assert_int_equal(samplefile_open(&f, memory_file(out.buf, out.len), &why), -EBADMSG);
	assert_text(&why, "is of version 2, this program reads version 1");
	strbuf_reset(&why);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(samplefile_open(&f, pipes[0], &why), -EINVAL);
	assert_text(&why, "is no file");
	close(pipes[1]);
	/* one that has just been made */
	open_bytes(&f, "", 0);
	assert_int_equal(samplefile_next(&f), 0);
	samplefile_close(&f);
	open_bytes(&f, "PL", 2);
	assert_int_equal(samplefile_next(&f), 0);
	assert_int_equal(f.damaged_bytes, 0);
	samplefile_close(&f);
	strbuf_release(&why);
	strbuf_release(&out);
}

/* Beginnings of frames all over, each claiming megabytes: some seconds at most, not hours. */
static void false_beginnings(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	static const char begin[] = "PLS1\x01\xff\xff\x0f";
	struct samplefile f;

	(void)state;
	raw_head(&out, SMP_VERSION);
	while (out.len < 3u << 20)
		strbuf_add(&out, begin, 8);
	double before = cpu_seconds();
	open_bytes(&f, out.buf, out.len);
	assert_int_equal(samplefile_next(&f), SAMPLE_HEAD);
	assert_int_equal(samplefile_next(&f), 0);
	assert_true(f.damaged_bytes > 1u << 20);
	assert_true(cpu_seconds() - before < 20);
	samplefile_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_event_once),
		cmocka_unit_test(sets_without_metrics_rows_or_texts),
		cmocka_unit_test(random_readings),
		cmocka_unit_test(entities_and_sources_are_told_once),
		cmocka_unit_test(metrics_may_change),
		cmocka_unit_test(a_large_reading_is_split),
		cmocka_unit_test(bytes_of_a_process_sample),
		cmocka_unit_test(damage_at_every_byte),
		cmocka_unit_test(damage_of_the_first_bytes),
		cmocka_unit_test(a_frame_that_is_gone),
		cmocka_unit_test(blocks_of_zeros),
		cmocka_unit_test(damage_is_booked),
		cmocka_unit_test(truncation_at_every_length),
		cmocka_unit_test(a_torn_frame_with_more_behind_it),
		cmocka_unit_test(reading_beside_the_writer),
		cmocka_unit_test(concatenated_files),
		cmocka_unit_test(a_damaged_head_in_the_middle),
		cmocka_unit_test_setup_teardown(a_limit_on_the_size_of_files, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(a_disk_that_was_full_at_first, scratch_setup,
						scratch_teardown),
		cmocka_unit_test(a_device_that_is_full),
		cmocka_unit_test(state_is_bounded),
		cmocka_unit_test(senseless_frames),
		cmocka_unit_test(files_that_are_none),
		cmocka_unit_test(false_beginnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
