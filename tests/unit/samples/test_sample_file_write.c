/*
 * Sample files: what is written is what is read, in few bytes, also when a disk was full meanwhile.
 */
#include "samplefile.h"

#include <errno.h>
#include <sys/resource.h>

/* ---- round trips ----------------------------------------------------------------------------- */

static void every_event_once(void **state)
{
	struct sample_file f;
	struct made m;

	(void)state;
	made_init(&m, &head_one);
	made_source(&m, 0, three, 3);
	struct sample_set *s = &m.sets[0];
	sample_begin(s);
	s->time_ns = 6500000000;
	uint32_t e = sample_entity(s, ENTITY_GPU, "gpu \"0\"");
	sample_set_metadata(s, e, "model", "A = B");
	sample_row(s, e);
	sample_put(s, 0, 5);
	sample_put(s, 2, -40500);
	sample_absent(s, 1, "no %s", "memory");
	sample_writer_add(m.w, m.numbers[0], s);
	sample_writer_clock(m.w, 7000000000, 1700000003000000000);
	assert_int_equal(sample_writer_flush(m.w, true), 0);
	assert_false(s->entities[e].fresh);
	assert_false(s->absences[0].fresh);
	assert_int_equal(sample_writer_close(m.w, "signal 15"), 0);
	m.w = NULL;
	open_made(&f, &m);

	assert_int_equal(sample_file_next(&f), SAMPLE_HEAD);
	assert_string_equal(f.head.host, "one");
	assert_string_equal(f.head.boot, "11111111-2222");
	assert_string_equal(f.head.job, "42");
	assert_string_equal(f.head.run, "7");
	assert_int_equal(f.head.period_ns, 1000000000);
	assert_int_equal(f.head.boottime_ns, 5000000000);
	assert_int_equal(f.head.realtime_ns, 1700000000000000000);

	assert_int_equal(sample_file_next(&f), SAMPLE_SOURCE);
	assert_int_equal(f.source, 0);
	const struct sample_file_source *src = &f.sources[0];
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

	assert_int_equal(sample_file_next(&f), SAMPLE_ENTITY);
	assert_int_equal(f.source, 0);
	assert_int_equal(src->entities[f.entity].kind, ENTITY_GPU);
	assert_string_equal(src->entities[f.entity].name, "gpu \"0\"");
	assert_string_equal(src->entities[f.entity].metadata, "model=A = B\n");

	assert_int_equal(sample_file_next(&f), SAMPLE_ABSENT);
	assert_int_equal(f.metric, 1);
	assert_string_equal(f.reason, "no memory");

	assert_int_equal(sample_file_next(&f), SAMPLE_READING);
	assert_int_equal(f.reading.row_count, 1);
	assert_int_equal(f.reading.rows[0].present, 5);
	assert_int_equal(f.reading.values[0], 5);
	assert_int_equal(f.reading.values[2], -40500);
	assert_true(sample_value(&f.reading, 0, 2) == -40.5);
	assert_int_equal(f.reading.time_ns, 6500000000);
	assert_int_equal(f.time_us, 1700000001500000);

	assert_int_equal(sample_file_next(&f), SAMPLE_CLOCK);
	assert_int_equal(f.boottime_ns, 7000000000);
	assert_int_equal(f.realtime_ns, 1700000003000000000);
	assert_int_equal(sample_file_next(&f), SAMPLE_END);
	assert_string_equal(f.reason, "signal 15");
	assert_int_equal(sample_file_next(&f), 0);
	assert_int_equal(sample_file_next(&f), 0);
	assert_int_equal(f.damaged_bytes + f.damaged_places + f.skipped_readings, 0);
	sample_file_close(&f);
	sample_file_close(&f);
	made_release(&m);
}

static void sets_without_metrics_rows_or_texts(void **state)
{
	static const struct sample_file_head nothing = {0};
	struct sample_file f;
	struct made m;

	(void)state;
	made_init(&m, &nothing);
	made_source(&m, 0, NULL, 0);
	made_source(&m, 1, three, 3);
	sample_begin(&m.sets[0]);
	sample_row(&m.sets[0], sample_entity(&m.sets[0], ENTITY_NODE, ""));
	sample_writer_add(m.w, 0, &m.sets[0]);
	sample_begin(&m.sets[1]);
	sample_writer_add(m.w, 1, &m.sets[1]);
	flush(&m);
	open_made(&f, &m);
	assert_int_equal(sample_file_next(&f), SAMPLE_HEAD);
	assert_null(f.head.host);
	assert_int_equal(sample_file_next(&f), SAMPLE_SOURCE);
	assert_int_equal(sample_file_next(&f), SAMPLE_SOURCE);
	assert_int_equal(sample_file_next(&f), SAMPLE_ENTITY);
	assert_string_equal(f.sources[0].entities[0].name, "");
	assert_int_equal(sample_file_next(&f), SAMPLE_READING);
	assert_int_equal(f.reading.row_count, 1);
	assert_int_equal(sample_file_next(&f), SAMPLE_READING);
	assert_int_equal(f.reading.row_count, 0);
	assert_int_equal(sample_file_next(&f), 0);
	sample_file_close(&f);
	made_release(&m);
}

static void random_readings(void **state)
{
	static struct sample_metric many[64];
	_cleanup_lines_ struct lines got = {0};
	struct sample_file f;
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
	open_made(&f, &m);
	read_lines(&f, &got);
	assert_same_lines(&got, &m.lines);
	assert_int_equal(f.damaged_bytes + f.damaged_places + f.skipped_readings, 0);
	sample_file_close(&f);
	made_release(&m);
	for (unsigned i = 0; i < 64; i++)
		free((char *)many[i].name);
}

/* What a whole reading says again is no news. */
static void entities_and_sources_are_told_once(void **state)
{
	unsigned events[SAMPLE_END + 1] = {0};
	struct sample_file f;
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
			sample_set_metadata(s, 0, "model", "new");
		if (n == 150)
			sample_absent(s, 2, "why not");
		sample_writer_add(m.w, 0, s);
		flush(&m);
	}
	open_made(&f, &m);
	while ((r = sample_file_next(&f)) > 0)
		events[r]++;
	assert_int_equal(events[SAMPLE_HEAD], 1);
	assert_int_equal(events[SAMPLE_SOURCE], 1);
	assert_int_equal(events[SAMPLE_ENTITY], 2);
	assert_int_equal(events[SAMPLE_READING], 300);
	sample_file_close(&f);
	made_release(&m);
}

/* A source that was opened again, with other columns under the same number. */
static void metrics_may_change(void **state)
{
	_cleanup_lines_ struct lines got = {0};
	struct sample_file f;
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
	open_made(&f, &m);
	read_lines(&f, &got);
	assert_same_lines(&got, &m.lines);
	sample_file_close(&f);
	made_release(&m);
}

/* More than a frame holds: the reading comes in parts, and nothing of it is missing. */
static void a_large_reading_is_split(void **state)
{
	static struct sample_metric many[64];
	struct sample_file f;
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
	sample_writer_add(m.w, 0, s);
	flush(&m);
	open_made(&f, &m);
	while ((r = sample_file_next(&f)) > 0) {
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
	sample_file_close(&f);
	made_release(&m);
}

/* ---- size ------------------------------------------------------------------------------------ */

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
	m.numbers[0] = sample_writer_source(m.w, "process", 1, &m.sets[0]);
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
			sample_set_metadata(s, e, "exe", "ocean");
			sample_set_metadata(s, e, "args", args);
			one_second(&m, n, second, values[n]);
			sample_row(s, e);
			for (unsigned k = 0; k < 12; k++)
				sample_put(s, k, values[n][k]);
		}
		sample_writer_add(m.w, 0, s);
		flush(&m);
	}
	assert_int_equal(fstat(m.fd, &st), 0);
	double each = (double)st.st_size / ((double)seconds * PROCESSES);
	print_message("%.1f bytes a process-sample with 12 metrics (%u processes, %u readings)\n",
		      each, PROCESSES, seconds);
	assert_true(each <= 24);
	made_release(&m);
}

/* ---- full disks ------------------------------------------------------------------------------ */

/* A writer into a file of this directory. */
static void made_on_disk(struct made *m, const char *dir)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/s.smp", dir);
	made_init(m, &head_one);
	assert_int_equal(sample_writer_close(m->w, NULL), 0);
	close(m->fd);
	m->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	m->w = sample_writer_open(m->fd, &head_one);
}

static void a_limit_on_the_size_of_files(void **state)
{
	_cleanup_lines_ struct lines got = {0};
	struct rlimit before, small;
	uint64_t lost = 0;
	struct sample_file f;
	struct stat st, full;
	struct made m;
	int r;

	made_on_disk(&m, *state);
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
		sample_writer_add(m.w, m.numbers[n % 2], &m.sets[n % 2]);
		r = sample_writer_flush(m.w, false);
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
	open_made(&f, &m);
	while ((r = sample_file_next(&f)) > 0) {
		if (r == SAMPLE_LOST)
			lost += f.count;
		else if (r == SAMPLE_READING)
			reading_line(&got, f.head.host, f.sources[f.source].name, &f.reading);
	}
	assert_int_equal(lost, 6);
	assert_same_lines(&got, &m.lines);
	assert_int_equal(f.damaged_bytes + f.skipped_readings, 0);
	sample_file_close(&f);
	made_release(&m);
}

/* From the very start: not even the head is there. */
static void a_disk_that_was_full_at_first(void **state)
{
	_cleanup_lines_ struct lines got = {0};
	struct rlimit before, none;
	struct sample_file f;
	struct made m;
	int r;

	made_on_disk(&m, *state);
	made_source(&m, 0, three, 3);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	none = (struct rlimit){0, before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	r = sample_writer_flush(m.w, true);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r, -EFBIG);
	sample_writer_clock(m.w, head_one.boottime_ns, head_one.realtime_ns);
	random_reading(&m, 0, 8);
	add_reading(&m, 0);
	assert_int_equal(sample_writer_flush(m.w, true), 0);
	open_made(&f, &m);
	read_lines(&f, &got);
	assert_same_lines(&got, &m.lines);
	assert_int_equal(f.damaged_bytes, 0);
	sample_file_close(&f);
	made_release(&m);
}

static void a_device_that_is_full(void **state)
{
	int fd = open("/dev/full", O_WRONLY | O_APPEND | O_CLOEXEC);
	struct sample_writer *w = sample_writer_open(fd, &head_one);

	(void)state;
	assert_int_equal(sample_writer_flush(w, false), -ENOSPC);
	assert_int_equal(sample_writer_close(w, "x"), -ENOSPC);
	close(fd);
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
		cmocka_unit_test_setup_teardown(a_limit_on_the_size_of_files, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(a_disk_that_was_full_at_first, scratch_setup,
						scratch_teardown),
		cmocka_unit_test(a_device_that_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
