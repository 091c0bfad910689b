/*
 * Prints what src/jobs/discovery/job_processes.h finds, a JSON line an update; for tests and
 * measurements. job_processes_dump [option ...]
 *         --root DIR --pid PID --cgroup PATH --job [ID] --user --own-user   what to watch
 *         --count N --interval S     how many updates, and the time between (1, 0.1)
 *         --until N                  stop, and print, when N processes are there ten times in
 *                                    a row; fail after --count
 *         --until-over               print at each change, until the job is over
 *         --ready FILE               made after the first update
 *         --bench                    print microseconds of CPU for an update instead, first and
 * best
 */
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include <time.h>

#include "core/files/fs.h"
#include "core/text/json_writer.h"
#include "jobs/discovery/job_processes.h"

struct dump {
	struct job_processes_options o;
	int pids[256];
	unsigned count, until;
	bool until_n, until_over, bench;
	double interval;
	const char *ready;
};

static void add_file(struct json_writer *j, const char *root, int pid, const char *file)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/%d/%s", root, pid, file);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (fs_read(-100, path, 1 << 20, &text) < 0) {
		json_none(j, file);
		return;
	}
	for (size_t i = 0; i < text.len; i++)
		if (!text.buf[i] || text.buf[i] == '\n')
			text.buf[i] = ' ';
	while (text.len && text.buf[text.len - 1] == ' ')
		strbuf_cut(&text, text.len - 1);
	json_text(j, file, text.buf, text.len);
}

static void print(const struct dump *d, const struct job_processes *w)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_str(&j, "how", w->how);
	json_str(&j, "launcher", job_processes_launcher(w));
	json_bool(&j, "over", job_processes_over(w));
	json_begin_object(&j, "groups");
	for (size_t i = 0; i < w->group_count; i++)
		json_str(&j, w->groups[i].controller, w->groups[i].path);
	json_end_object(&j);
	json_begin_array(&j, "processes");
	for (size_t i = 0; i < w->count; i++) {
		const struct job_process *p = &w->list[i];

		json_begin_object(&j, NULL);
		json_i64(&j, "pid", p->pid);
		json_i64(&j, "ppid", p->ppid);
		json_u64(&j, "starttime", p->starttime);
		json_i64(&j, "rank", p->rank);
		json_bool(&j, "main", p->main);
		add_file(&j, d->o.root, p->pid, "comm");
		add_file(&j, d->o.root, p->pid, "cmdline");
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	json_write(&j, stdout);
	fflush(stdout);
}

static void nap(double seconds)
{
	struct timespec ts = {.tv_sec = (time_t)seconds,
			      .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&ts, NULL);
}

static double cpu_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec / 1e3;
}

static bool parse(struct dump *d, int argc, char **argv)
{
	enum { ROOT = 1, PID, CGROUP, JOB, USER, OWN, COUNT, INTERVAL, UNTIL, OVER, READY, BENCH };
	static const struct option options[] = {
		{"root", 1, NULL, ROOT},     {"pid", 1, NULL, PID},
		{"cgroup", 1, NULL, CGROUP}, {"job", 2, NULL, JOB},
		{"user", 0, NULL, USER},     {"own-user", 0, NULL, OWN},
		{"count", 1, NULL, COUNT},   {"interval", 1, NULL, INTERVAL},
		{"until", 1, NULL, UNTIL},   {"until-over", 0, NULL, OVER},
		{"ready", 1, NULL, READY},   {"bench", 0, NULL, BENCH},
		{NULL, 0, NULL, 0},
	};

	for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;)
		switch (c) {
		case ROOT:
			d->o.root = optarg;
			break;
		case PID:
			d->o.kind = JOB_PROCESSES_PIDS;
			if (d->o.pid_count < 256)
				d->pids[d->o.pid_count++] = (int)strtol(optarg, NULL, 10);
			break;
		case CGROUP:
			d->o.kind = JOB_PROCESSES_CGROUP;
			d->o.cgroup = optarg;
			break;
		case JOB:
			d->o.kind = JOB_PROCESSES_JOB;
			d->o.job = optarg;
			break;
		case USER:
			d->o.kind = JOB_PROCESSES_USER;
			break;
		case OWN:
			d->o.all_users = false;
			break;
		case COUNT:
			d->count = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case INTERVAL:
			d->interval = strtod(optarg, NULL);
			break;
		case UNTIL:
			d->until_n = true;
			d->until = (unsigned)strtoul(optarg, NULL, 10);
			break;
		case OVER:
			d->until_over = true;
			break;
		case READY:
			d->ready = optarg;
			break;
		case BENCH:
			d->bench = true;
			break;
		default:
			return false;
		}
	return optind == argc;
}

static int watch(const struct dump *d, struct job_processes *w)
{
	double best = 1e18, first = 0, sum = 0;
	size_t last = (size_t)-1;
	unsigned steady = 0; /* a fork that has not yet become another program counts, too */

	for (unsigned i = 0; i < d->count || d->until_over; i++) {
		double began = cpu_us();

		if (i)
			nap(d->interval);
		began = cpu_us();
		int r = job_processes_update(w);
		double took = cpu_us() - began;
		if (r < 0) {
			fprintf(stderr, "job_processes_dump: %s\n", strerror(-r));
			return 1;
		}
		if (!i)
			first = took;
		else
			sum += took;
		if (i && took < best)
			best = took;
		if (!i && d->ready)
			fclose(fopen(d->ready, "w"));
		steady = w->count == d->until ? steady + 1 : 0;
		bool done = d->until_n && steady >= 10;
		if (!d->bench && (!d->until_n || done) &&
		    (!d->until_over || last != w->count || job_processes_over(w)))
			print(d, w);
		last = w->count;
		if (done || (d->until_over && job_processes_over(w)))
			return 0;
	}
	if (d->bench)
		printf("%zu processes, first update %.1f us, later %.1f us on average, %.1f at best\n",
		       w->count, first, d->count > 1 ? sum / (d->count - 1) : 0, best);
	if (d->until_n)
		print(d, w);
	return d->until_n;
}

int main(int argc, char **argv)
{
	struct dump d = {.o = {.root = "", .all_users = true}, .count = 1, .interval = 0.1};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct job_processes w;

	d.o.pids = d.pids;
	if (!parse(&d, argc, argv))
		return 2;
	int r = job_processes_open(&w, &d.o, &why);
	if (r < 0) {
		fprintf(stderr, "job_processes_dump: %s\n", why.buf);
		return 1;
	}
	r = watch(&d, &w);
	job_processes_close(&w);
	return r;
}
