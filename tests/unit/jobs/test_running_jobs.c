/* What of a job is still at work, and what is not done to it meanwhile. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "jobs/job_directory.h"

struct place {
	char dir[64], local[96], host_dir[80];
	struct job_directory j;
};

static void make_place(struct place *p)
{
	char host[65], boot[9], path[256];

	snprintf(p->dir, sizeof(p->dir), "/tmp/plimsoll-running-XXXXXX");
	assert_non_null(mkdtemp(p->dir));
	this_host(host, sizeof(host), boot);
	snprintf(p->host_dir, sizeof(p->host_dir), "%s.%s", host, boot);
	snprintf(p->local, sizeof(p->local), "%s/spool", p->dir);
	assert_int_equal(mkdir(p->local, 0700), 0);
	snprintf(path, sizeof(path), "%s/%s", p->local, p->host_dir);
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof(path), "%s/job", p->dir);
	assert_int_equal(mkdir(path, 0700), 0);
	p->j = (struct job_directory)JOB_DIRECTORY_INIT;
	p->j.path = xstrdup(path);
	p->j.id = xstrdup("1");
	p->j.fd = p->j.records = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(p->j.fd >= 0);
	p->j.local = xstrdup(p->local);
}

static void remove_place(struct place *p)
{
	assert_int_equal(fs_remove_tree(AT_FDCWD, p->dir), 0);
	job_directory_release(&p->j);
}

/* A record file on the local disk, with the start of this process. */
static void add_records(struct place *p, const char *run, pid_t pid)
{
	char path[256], host[65], boot[9];
	struct record_writer w = RECORD_WRITER_INIT;

	this_host(host, sizeof(host), boot);
	snprintf(path, sizeof(path), "%s/%s/%s.rec", p->local, p->host_dir, run);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	record_writer_add_schema(&w);
	record_writer_begin(&w);
	record_writer_u64(&w, METRIC_BOOTTIME, clock_boottime_ns());
	record_writer_u64(&w, METRIC_REALTIME, (uint64_t)clock_realtime_us());
	record_writer_text(&w, METRIC_HOSTNAME, host, strlen(host));
	record_writer_text(&w, METRIC_BOOT_ID, boot, 8);
	record_writer_add(&w, PL_HOST, 0);
	record_writer_begin(&w);
	record_writer_u64(&w, METRIC_PID, (uint64_t)pid);
	record_writer_u64(&w, METRIC_BOOTTIME, clock_boottime_ns());
	record_writer_text(&w, METRIC_PATH, "/bin/x", 6);
	record_writer_add(&w, PL_START, 0);
	assert_int_equal(record_writer_flush(&w, fd), 0);
	record_writer_release(&w);
	close(fd);
}

static bool is_local(const struct place *p, const char *run)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s/%s.rec", p->local, p->host_dir, run);
	return access(path, F_OK) == 0;
}

static void records_stay_while_somebody_writes(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, names = STRBUF_INIT;
	char line[64];
	struct place p;
	pid_t child = fork();

	(void)state;
	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	make_place(&p);
	add_records(&p, "a", child);
	assert_int_equal(job_directory_running(&p.j, false, &names), 1);
	snprintf(line, sizeof(line), "x (pid %d)", (int)child);
	assert_string_equal(names.buf, line);
	assert_int_equal(job_directory_collect_ended(&p.j, &why), 0);
	assert_true(is_local(&p, "a"));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(job_directory_running(&p.j, true, NULL), 0);
	assert_int_equal(job_directory_collect_ended(&p.j, &why), 0);
	assert_false(is_local(&p, "a"));
	remove_place(&p);
}

static void callers_count_where_asked_for(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct place p;

	(void)state;
	make_place(&p);
	add_records(&p, "a", getppid());
	assert_int_equal(job_directory_running(&p.j, false, NULL), 0);
	assert_int_equal(job_directory_running(&p.j, true, NULL), 1);
	assert_int_equal(job_directory_collect_ended(&p.j, &why), 0);
	assert_true(is_local(&p, "a"));
	remove_place(&p);
}

static struct value *run_metadata(const char *host, int64_t pid, bool ended)
{
	struct value *v = value_new(VALUE_DICT);

	value_set(v, "host", value_str(host));
	value_set(v, "pid", value_int(pid));
	value_set(v, "start_us", value_int(clock_realtime_us()));
	if (ended)
		value_set(v, "end_us", value_int(clock_realtime_us()));
	return v;
}

static void check_run(const char *host, int64_t pid, bool ended, bool alive, bool over)
{
	_cleanup_value_ struct value *v = run_metadata(host, pid, ended);

	assert_int_equal(run_is_alive(v), alive);
	assert_int_equal(run_is_over(v), over);
}

static void runs_are_known_here_only(void **state)
{
	char host[65], boot[9];
	pid_t gone = fork();

	(void)state;
	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	this_host(host, sizeof(host), boot);
	check_run(host, getpid(), false, true, false);
	check_run(host, getpid(), true, false, true);
	check_run(host, gone, false, false, true);
	check_run("elsewhere", gone, false, false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_stay_while_somebody_writes),
		cmocka_unit_test(callers_count_where_asked_for),
		cmocka_unit_test(runs_are_known_here_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
