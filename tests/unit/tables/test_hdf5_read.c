/*
 * Reading of HDF5 files: what colmet's own collector wrote, with the columns that it had; and files
 * that are damaged, cut or something else, which give one line and nothing worse.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "tables/hdf5/hdf5_file.h"

static const struct hdf5_functions *h;

static int load(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	(void)state;
	h = hdf5_module(&why);
	if (!h)
		fail_msg("%s", why.buf);
	return 0;
}

static char *captured_path(void)
{
	char *path = xasprintf("%s/../shared/data/colmet/pycollector_zlib9_small.hdf5",
			       getenv("PL_SOURCE"));

	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* ---- what the captured file has
 * ------------------------------------------------------------------ */

static int list_table(void *user, const struct hdf5_table *t)
{
	strbuf_addf(user, "%s/%s %llu rows %zu columns\n", t->job, t->name,
		    (unsigned long long)t->rows, t->column_count);
	for (size_t i = 0; i < t->column_count; i++) {
		assert_true(t->columns[i].type != HDF5_OTHER);
		if (i)
			assert_true(strcmp(t->columns[i - 1].name, t->columns[i].name) < 0);
	}
	return 0;
}

static void colmets_own_file(void **state)
{
	_cleanup_free_ char *path = captured_path();
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, text = STRBUF_INIT, one = STRBUF_INIT;
	struct hdf5_file *f;

	(void)state;
	if (!path)
		skip_because("no sample data beside the project");
	if (h->open(path, &f, &why) < 0)
		fail_msg("%s", why.buf);
	assert_int_equal(h->tables(f, NULL, list_table, &text, &why), 0);
	assert_text(&text, "0/procstats_default 4 rows 68 columns\n"
			   "0/temperaturestats_default 4 rows 6 columns\n"
			   "1000/jobprocstats_default 4 rows 12 columns\n"
			   "1000/taskstats_default 4 rows 34 columns\n"
			   "1001/jobprocstats_default 4 rows 12 columns\n"
			   "1001/taskstats_default 4 rows 34 columns\n");
	assert_int_equal(h->tables(f, "1001", list_table, &one, &why), 0);
	assert_text(&one, "1001/jobprocstats_default 4 rows 12 columns\n"
			  "1001/taskstats_default 4 rows 34 columns\n");
	h->close(f);
}

static int print_row(void *user, uint64_t row, const struct hdf5_value *v)
{
	strbuf_addf(user, "%llu:", (unsigned long long)row);
	for (int i = 0; i < 6; i++)
		if (!v[i].present)
			strbuf_addstr(user, " none");
		else if (v[i].s)
			strbuf_addf(user, " '%.*s'", (int)v[i].n, v[i].s);
		else
			strbuf_addf(user, " %.9g", v[i].d);
	strbuf_addch(user, '\n');
	return row == 1 ? -ECANCELED : 0;
}

/* Values as h5py shows them. */
static void rows_of_colmets_own_file(void **state)
{
	static const char *const task[] = {
		"timestamp", "cpu_run_real_total", "hostname", "job_id", "VmRSS", "ac_btime"};
	static const char *const proc[] = {"loadavg_1min",   "loadavg_15min",
					   "involved_jobs",  "meminfo_memfree",
					   "metric_backend", "meminfo_hardwarecorrupted"};
	_cleanup_free_ char *path = captured_path();
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, text = STRBUF_INIT;
	struct hdf5_file *f;

	(void)state;
	if (!path)
		skip_because("no sample data beside the project");
	assert_int_equal(h->open(path, &f, &why), 0);
	assert_int_equal(h->rows(f, "1001", "taskstats_default", task, 6, print_row, &text, &why),
			 -ECANCELED);
	assert_text(&text, "0: 1.79470988e+09 661238061 'vm' 1001 none 1.79470988e+09\n"
			   "1: 1.79470988e+09 1.03322333e+09 'vm' 1001 none 1.79470988e+09\n");
	strbuf_reset(&text);
	assert_int_equal(h->rows(f, "0", "procstats_default", proc, 6, print_row, &text, &why),
			 -ECANCELED);
	assert_true(str_prefix(text.buf, "0: 2.45000005 0.419999987 none 18998328 "
					 "'procstats_default' -1\n1: "));
	assert_text(&why, "");
	assert_int_equal(h->rows(f, "7", "taskstats_default", task, 6, print_row, &text, &why),
			 -ENOENT);
	assert_contains(why.buf, "table /job_7/taskstats_default: no such table");
	h->close(f);
}

/* ---- what cannot be read
 * ------------------------------------------------------------------------- */

static int take_nothing(void *user, uint64_t row, const struct hdf5_value *v)
{
	(void)row;
	*(double *)user += v[0].d + (double)v[1].n;
	return 0;
}

struct names {
	char job[64][HDF5_JOB_MAX + 1], table[64][HDF5_NAME_MAX + 1];
	size_t count;
};

static int note_table(void *user, const struct hdf5_table *t)
{
	struct names *n = user;

	if (n->count < 64) {
		snprintf(n->job[n->count], sizeof(n->job[0]), "%s", t->job);
		snprintf(n->table[n->count++], sizeof(n->table[0]), "%s", t->name);
	}
	return 0;
}

enum outcome { WHOLE, REFUSED, DIED, OUTCOMES };

/* Every refusal is one line with the file in it. */
static enum outcome outcome_of(int r, const struct strbuf *why)
{
	if (r >= 0)
		return WHOLE;
	assert_true(why->len && !strchr(why->buf, '\n'));
	if (!strstr(why->buf, "the reader died"))
		return REFUSED;
	assert_contains(why->buf, "/x': cannot be read as HDF5 (the reader died: ");
	return DIED;
}

/* Reads everything, in this process: whatever the file does, it does it to the reader. */
static enum outcome read_everything(const char *path)
{
	static const char *const columns[] = {"timestamp", "hostname"};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct names names = {.count = 0};
	struct hdf5_file *f;
	double sum = 0;

	int r = h->open(path, &f, &why);
	if (r < 0)
		return outcome_of(r, &why);
	enum outcome worst = outcome_of(h->tables(f, NULL, note_table, &names, &why), &why);
	/* one that is damaged does not hide the others */
	for (size_t i = 0; i < names.count && worst != DIED; i++) {
		strbuf_reset(&why);
		r = h->rows(f, names.job[i], names.table[i], columns, 2, take_nothing, &sum, &why);
		enum outcome o = outcome_of(r, &why);
		worst = o > worst ? o : worst;
	}
	if (worst == DIED)
		assert_int_equal(h->tables(f, NULL, note_table, &names, &why), -EBADMSG);
	h->close(f);
	/* nobody is left behind */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	return worst;
}

static void damaged_files(void **state)
{
	_cleanup_free_ char *path = captured_path(), *copy = xasprintf("%s/x", (char *)*state);
	_cleanup_free_ unsigned char *data = xmalloc(1 << 20);
	unsigned outcomes[OUTCOMES] = {0};

	if (!path)
		skip_because("no sample data beside the project");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, data, 1 << 20);
	close(fd);
	assert_true(n > 90000 && n < 1 << 20);
	for (ssize_t at = 0; at < n; at += 512) {
		data[at] ^= 0xff;
		write_file(copy, data, (size_t)n);
		data[at] ^= 0xff;
		outcomes[read_everything(copy)]++;
	}
	/* cut anywhere */
	for (ssize_t size = 0; size < n; size += 4999) {
		write_file(copy, data, (size_t)size);
		assert_int_equal(read_everything(copy), REFUSED);
	}
	print_message("%u read, %u refused, the library died of %u\n", outcomes[WHOLE],
		      outcomes[REFUSED], outcomes[DIED]);
	assert_true(outcomes[WHOLE] > 20 && outcomes[REFUSED] > 2);
	assert_true(outcomes[DIED] * 20 < outcomes[WHOLE] + outcomes[REFUSED]);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

/* Some bytes at a time become something else, always the same ones: mostly where the library keeps
 * its own numbers, which is at the begin of what it allocates. */
static void files_of_strangers(void **state)
{
	_cleanup_free_ char *path = captured_path(), *copy = xasprintf("%s/x", (char *)*state);
	_cleanup_free_ unsigned char *data = xmalloc(1 << 20), *made = xmalloc(1 << 20);
	uint64_t seed = UINT64_C(0x9e3779b97f4a7c15);
	unsigned outcomes[OUTCOMES] = {0};

	if (!path)
		skip_because("no sample data beside the project");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, data, 1 << 20);
	close(fd);
	for (unsigned round = 0; round < 400; round++) {
		memcpy(made, data, (size_t)n);
		for (uint64_t i = 1 + next_random(&seed) % 8; i; i--) {
			size_t at = (size_t)(next_random(&seed) % (uint64_t)n);

			at = round % 2 ? at % 8192 : at;
			made[at] = (unsigned char)next_random(&seed);
		}
		write_file(copy, made, (size_t)n);
		outcomes[read_everything(copy)]++;
	}
	print_message("%u read, %u refused, the library died of %u\n", outcomes[WHOLE],
		      outcomes[REFUSED], outcomes[DIED]);
	assert_true(outcomes[WHOLE] > 20 && outcomes[REFUSED] > 20);
}

/* ---- the reader
 * ---------------------------------------------------------------------------------- */

static pid_t reader_of_this_process(void)
{
	_cleanup_free_ char *path = xasprintf("/proc/self/task/%d/children", (int)getpid());
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	int pid = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	return pid;
}

static void assert_status_line(pid_t pid, const char *line)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/status", (int)pid),
			    *text = xcalloc(1, 8192);
	_cleanup_fclose_ FILE *f = fopen(path, "re");

	assert_non_null(f);
	assert_true(fread(text, 1, 8191, f) > 0);
	assert_contains(text, line);
}

/* The file, the socket and nothing else. */
static void the_reader_has_no_rights(void **state)
{
	_cleanup_free_ char *path = captured_path();
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct hdf5_file *f;
	unsigned count = 0;

	(void)state;
	if (!path)
		skip_because("no sample data beside the project");
	assert_int_equal(h->open(path, &f, &why), 0);
	pid_t pid = reader_of_this_process();
	assert_status_line(pid, "\nNoNewPrivs:\t1\n");
	assert_status_line(pid, "\nSeccomp:\t2\n");
	assert_status_line(pid, "\nCapEff:\t0000000000000000\n");
	assert_status_line(pid, "\nCapPrm:\t0000000000000000\n");
	if (geteuid() == 0) {
		_cleanup_free_ char *fds = xasprintf("/proc/%d/fd", (int)pid);
		DIR *d = opendir(fds);

		assert_non_null(d);
		for (struct dirent *e; (e = readdir(d));)
			count += e->d_name[0] != '.';
		closedir(d);
		assert_int_equal(count, 5);
	}
	h->close(f);
}

static void the_reader_dies(void **state)
{
	static const char *const columns[] = {"timestamp", "hostname"};
	_cleanup_free_ char *path = captured_path();
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct names names = {.count = 0};
	struct hdf5_file *f;
	double sum = 0;

	(void)state;
	if (!path)
		skip_because("no sample data beside the project");
	assert_int_equal(h->open(path, &f, &why), 0);
	assert_int_equal(kill(reader_of_this_process(), SIGSEGV), 0);
	assert_int_equal(
		h->rows(f, "1001", "taskstats_default", columns, 2, take_nothing, &sum, &why),
		-EBADMSG);
	assert_contains(why.buf,
			"cannot be read as HDF5 (the reader died: signal 11, Segmentation");
	assert_null(strchr(why.buf, '\n'));
	assert_int_equal(h->tables(f, NULL, note_table, &names, &why), -EBADMSG);
	h->close(f);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void something_else(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/x", (char *)*state);
	struct hdf5_file *f;

	assert_int_equal(h->open(path, &f, &why), -ENOENT);
	strbuf_reset(&why);
	assert_int_equal(h->open(*state, &f, &why), -EINVAL);
	assert_contains(why.buf, "is not a regular file");
	strbuf_reset(&why);
	write_file(path, "#!/bin/sh\n", 10);
	assert_int_equal(h->open(path, &f, &why), -EBADMSG);
	assert_contains(why.buf, "/x': not an HDF5 file, or damaged: ");
	assert_null(strchr(why.buf, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(colmets_own_file),
		cmocka_unit_test(rows_of_colmets_own_file),
		cmocka_unit_test_setup_teardown(damaged_files, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(files_of_strangers, scratch_setup,
						scratch_teardown),
		cmocka_unit_test(the_reader_has_no_rights),
		cmocka_unit_test(the_reader_dies),
		cmocka_unit_test_setup_teardown(something_else, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
