/* The feed stdout: every row is a line, once, and a pipe that nobody reads loses nothing. */
#include "sink_harness.h"

#include <errno.h>
#include <poll.h>

#include "core/text/text.h"
#include "core/value.h"

extern const struct sink sink_stdout;

static const struct harness_plan plan = {
	.nodes = 2, .entries = 6, .readings = 5, .jobs = 3, .processes = 2};

/* ---- the standard output, in a file or a pipe, while a test wants it ---- */

static int saved = -1;

static void redirect(int fd)
{
	fflush(stdout);
	saved = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	assert_true(saved >= 0);
	assert_int_equal(dup2(fd, STDOUT_FILENO), STDOUT_FILENO);
}

static void restore(void)
{
	assert_int_equal(dup2(saved, STDOUT_FILENO), STDOUT_FILENO);
	close(saved);
}

static void read_all(int fd, struct strbuf *out)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) > 0)
		strbuf_add(out, piece, (size_t)n);
}

/* ---- lines ---- */

struct search {
	struct value **lines;
	size_t count, missing;
	const char *text;
};

static bool same(const struct value *line, const struct harness_expected *x)
{
	_cleanup_strbuf_ struct strbuf time = STRBUF_INIT, job = STRBUF_INIT;
	const char *of = value_get_str(line, "job");

	text_add_time(&time, x->time_us, true);
	if (x->job)
		strbuf_addf(&job, "%u", x->job);
	return !strcmp(value_get_str(line, "time"), time.buf) &&
	       !strcmp(value_get_str(line, "host"), x->host) &&
	       !strcmp(value_get_str(line, "source"), x->source) &&
	       !strcmp(value_get_str(line, "entity"), x->entity) && !strcmp(of ? of : "", job.buf);
}

static void find_json(void *user, const struct harness_expected *x)
{
	struct search *s = user;
	size_t found = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct value *v;

		if (!same(s->lines[i], x))
			continue;
		v = value_get(value_get(s->lines[i], "values"), x->metric);
		if (!v)
			continue;
		found++;
		double got = v->kind == VALUE_INT ? (double)v->integer : v->real;
		if (got != x->value)
			fail_msg("%s %s %s: got %g, want %g", x->host, x->source, x->metric, got,
				 x->value);
	}
	if (found != 1)
		s->missing++;
}

static void jsonl_has_every_value_once(void **state)
{
	const struct sink_options o = {.target = "jsonl"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	struct search s = {0};
	uint64_t position;
	int fd = memory_file("", 0);

	(void)state;
	redirect(fd);
	void *feed = harness_start(&sink_stdout, &o, &position);
	harness_must(&sink_stdout, feed, &plan, 1, 4, true);
	/* those since the last commit may come again, and are not written again */
	harness_must(&sink_stdout, feed, &plan, 5, 6, false);
	harness_must(&sink_stdout, feed, &plan, 5, 6, true);
	sink_stdout.close(feed);
	restore();
	assert_int_equal(position, 0);
	lseek(fd, 0, SEEK_SET);
	read_all(fd, &text);
	close(fd);
	s.lines = xcalloc(1000, sizeof(*s.lines));
	for (char *p = text.buf, *end; (end = strchr(p, '\n')); p = end + 1) {
		assert_true(s.count < 1000);
		assert_int_equal(value_from_json(p, (size_t)(end - p), &s.lines[s.count++], &why),
				 0);
	}
	/* a node, three jobs and six processes, five times in six entries */
	assert_int_equal(s.count, 6 * 5 * 10);
	assert_true(harness_expect(&plan, 6, find_json, &s) > 500);
	assert_int_equal(s.missing, 0);
	for (size_t i = 0; i < s.count; i++)
		value_free(s.lines[i]);
	free(s.lines);
}

static void csv_is_one_line_a_row(void **state)
{
	const struct sink_options o = {.target = "csv"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t position;
	int fd = memory_file("", 0);

	(void)state;
	redirect(fd);
	void *feed = harness_start(&sink_stdout, &o, &position);
	harness_must(&sink_stdout, feed, &plan, 1, 1, true);
	sink_stdout.close(feed);
	restore();
	lseek(fd, 0, SEEK_SET);
	read_all(fd, &text);
	close(fd);
	assert_true(str_prefix(text.buf, "time,host,source,kind,entity,job,values\n"));
	assert_contains(text.buf, "\n2027-01-15T08:00:01.000000Z,node1,group,job,1001,1001,"
				  "cpu_time=1007 memory=");
	assert_contains(text.buf, "\n2027-01-15T08:00:04.000000Z,node1,process,process,302.77,1001,"
				  "rss=");
	size_t lines = 0;
	for (const char *p = text.buf; (p = strchr(p, '\n')); p++)
		lines++;
	assert_int_equal(lines, 1 + 5 * 10);
}

/* ---- names that do harm ---- */

#define TITLE "x\033]0;owned\007"

static void open_hostile(const char *source, struct sample_file *f)
{
	static const struct sample_metric named[] = {
		{TITLE, UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, ""},
		{"=2+3", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, ""}};
	const struct sample_file_head head = {.host = (char *)"=1+1", .boot = (char *)"b"};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sample_set set;
	int fd = memfd_create("batch", MFD_CLOEXEC);

	assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	struct sample_writer *w = sample_writer_open(fd, &head);
	sample_init(&set, named, 2);
	unsigned number = sample_writer_source(w, source, 1, &set);
	sample_begin(&set);
	sample_row(&set, sample_entity(&set, ENTITY_PROCESS, TITLE));
	sample_put(&set, 0, 7);
	sample_put(&set, 1, 8);
	sample_writer_add(w, number, &set);
	sample_release(&set);
	assert_int_equal(sample_writer_close(w, NULL), 0);
	if (sample_file_open(f, fd, &why) < 0)
		fail_msg("%s", why.buf);
}

/* What one such reading is on this descriptor. */
static void show_hostile(const char *form, const char *source, int fd)
{
	const struct sink_options o = {.target = form};
	const struct batch_name name = {.node = "n", .boot = 1, .number = 1};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sample_file f;
	uint64_t position;

	open_hostile(source, &f);
	redirect(fd);
	void *feed = harness_start(&sink_stdout, &o, &position);
	int r = sink_stdout.batch(feed, 1, &name, &f, &why);
	r = r < 0 ? r : sink_stdout.commit(feed, 1, &why);
	sink_stdout.close(feed);
	restore();
	sample_file_close(&f);
	assert_int_equal(r, 0);
}

static void formulas_are_texts(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int fd = memory_file("", 0);

	(void)state;
	show_hostile("csv", "cpu", fd);
	lseek(fd, 0, SEEK_SET);
	read_all(fd, &text);
	close(fd);
	/* a file has the bytes, except that nothing is computed */
	assert_contains(text.buf, ",'=1+1,cpu,process," TITLE ",,");
}

static void a_terminal_is_not_controlled(void **state)
{
	static const char *const forms_of[] = {"csv", "text", "jsonl"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(forms_of); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

		assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
		int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
		assert_true(slave >= 0);
		show_hostile(forms_of[i], "cpu", slave);
		read_all(master, &text);
		close(slave);
		close(master);
		assert_contains(text.buf, "owned");
		assert_null(strchr(text.buf, '\033'));
		assert_null(strchr(text.buf, '\007'));
	}
}

/* A pipe that is full: not now; once somebody reads everything is there once. */
static void nobody_reads(void **state)
{
	static const struct harness_plan many = {
		.nodes = 1, .entries = 4, .readings = 100, .jobs = 10};
	const struct sink_options o = {.target = "jsonl"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	uint64_t position;
	int ends[2], r = 0;

	(void)state;
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	redirect(ends[1]);
	void *feed = harness_start(&sink_stdout, &o, &position);
	r = harness_batches(&sink_stdout, feed, &many, 1, 4, NULL, &why);
	if (r == 0)
		r = sink_stdout.commit(feed, 4, &why);
	restore();
	assert_int_equal(r, -EAGAIN);
	assert_string_equal(why.buf, "nobody reads standard output");
	redirect(ends[1]);
	for (int i = 0; r == -EAGAIN && i < 1000; i++) {
		read_all(ends[0], &text);
		r = harness_batches(&sink_stdout, feed, &many, 1, 4, NULL, &why);
		if (r == 0)
			r = sink_stdout.commit(feed, 4, &why);
	}
	sink_stdout.close(feed);
	restore();
	assert_int_equal(r, 0);
	read_all(ends[0], &text);
	size_t lines = 0, whole = 0;
	for (const char *p = text.buf, *end; (end = strchr(p, '\n')); p = end + 1) {
		lines++;
		whole += str_prefix(p, "{\"time\":") && end[-1] == '}' && end[-2] == '}';
	}
	assert_int_equal(lines, 4 * 100 * 11);
	assert_int_equal(whole, lines);
	close(ends[0]);
	close(ends[1]);
}

static void other_forms_are_refused(void **state)
{
	const struct sink_options o = {.target = "xml"};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position = 0;
	void *feed = NULL;

	(void)state;
	assert_int_equal(sink_stdout.open(&o, &feed, &position, &why), -EINVAL);
	assert_contains(why.buf, "'xml'");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jsonl_has_every_value_once),
		cmocka_unit_test(csv_is_one_line_a_row),
		cmocka_unit_test(formulas_are_texts),
		cmocka_unit_test(a_terminal_is_not_controlled),
		cmocka_unit_test(nobody_reads),
		cmocka_unit_test(other_forms_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
