/*
 * Reading of HDF5 files: what colmet's own collector wrote, with the columns that it had; and files
 * that are damaged, cut or something else, which give one line and nothing worse.
 */
#include "unit.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "formats/colmet_hdf5.h"

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
	assert_contains(why.buf, "table /job_7/taskstats_default: there is no such table");
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

static struct hdf5_file *reading;

static int read_table(void *user, const struct hdf5_table *t)
{
	const char *columns[] = {"timestamp", "hostname"};

	/* one that is damaged does not hide the others */
	(void)h->rows(reading, t->job, t->name, columns, 2, take_nothing, user,
		      &(struct strbuf)STRBUF_INIT);
	return 0;
}

/* Reads everything; a child's work. 0: all of it, 1: something could not be read, with a line. */
static int read_everything(const char *path)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	double sum = 0;

	if (h->open(path, &reading, &why) < 0)
		return why.len && !strchr(why.buf, '\n') ? 1 : 2;
	int r = h->tables(reading, NULL, read_table, &sum, &why);
	if (r < 0 && (!why.len || strchr(why.buf, '\n')))
		return 2;
	h->close(reading);
	return r < 0;
}

static int in_a_child(const char *path)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		const struct rlimit memory = {(rlim_t)2 << 30, (rlim_t)2 << 30}, none = {0, 0};

#ifdef __SANITIZE_ADDRESS__
		(void)memory;
#else
		setrlimit(RLIMIT_AS, &memory);
#endif
		setrlimit(RLIMIT_CORE, &none);
		alarm(20);
		_exit(read_everything(path));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void damaged_files(void **state)
{
	_cleanup_free_ char *path = captured_path(), *copy = xasprintf("%s/x", (char *)*state);
	_cleanup_free_ unsigned char *data = xmalloc(1 << 20);
	unsigned whole = 0, refused = 0, died = 0;

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
		int status = in_a_child(copy);
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
			fail_msg("byte %zd: no end", at);
		died += WIFSIGNALED(status);
		assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) < 2);
		whole += WIFEXITED(status) && WEXITSTATUS(status) == 0;
		refused += WIFEXITED(status) && WEXITSTATUS(status) == 1;
	}
	/* cut anywhere */
	for (ssize_t size = 0; size < n; size += 4999) {
		write_file(copy, data, (size_t)size);
		assert_int_equal(in_a_child(copy), 1 << 8);
	}
	print_message("%u read, %u refused, the library died of %u\n", whole, refused, died);
	assert_true(whole > 20 && refused > 2);
	assert_true(died * 20 < whole + refused);
}

static void something_else(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/x", (char *)*state);
	struct hdf5_file *f;

	assert_int_equal(h->open(path, &f, &why), -ENOENT);
	strbuf_reset(&why);
	assert_int_equal(h->open(*state, &f, &why), -EINVAL);
	assert_contains(why.buf, "is no file");
	strbuf_reset(&why);
	write_file(path, "#!/bin/sh\n", 10);
	assert_int_equal(h->open(path, &f, &why), -EBADMSG);
	assert_contains(why.buf, "/x': no HDF5 file, or damaged: ");
	assert_null(strchr(why.buf, '\n'));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(colmets_own_file),
		cmocka_unit_test(rows_of_colmets_own_file),
		cmocka_unit_test_setup_teardown(damaged_files, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(something_else, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
