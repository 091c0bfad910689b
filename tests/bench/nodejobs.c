/*
 * What a reading of all jobs of a node costs, in microseconds of CPU: makes groups of version 1
 * with real processes in them, asleep or each job with one that is busy, and reads a source on them
 * as the node daemon does. For root.
 *
 *     bench-nodejobs SOURCE JOBS PROCESSES [busy] [ROUNDS]
 *
 * prints minimum, median and maximum of a reading, the median of an update of the list, and the
 * resident memory of this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sources/source.h"

static const char *const hierarchies[] = {"cpuacct", "cpu",     "memory", "blkio",
					  "cpuset",  "freezer", "pids"};
static char top[64];
static pid_t *pids;
static size_t pid_count;
static int jobs;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void write_to(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(path);
	close(fd);
}

static void copy_down(const char *dir, const char *file)
{
	char from[256], to[256], text[256] = "";

	snprintf(from, sizeof(from), "/sys/fs/cgroup/cpuset/%s", file);
	snprintf(to, sizeof(to), "%s/%s", dir, file);
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		die(from);
	close(fd);
	write_to(to, text);
}

static void make_dir(size_t h, const char *below)
{
	char dir[256];

	snprintf(dir, sizeof(dir), "/sys/fs/cgroup/%s/%s%s", hierarchies[h], top, below);
	if (mkdir(dir, 0755) < 0)
		die(dir);
	if (!strcmp(hierarchies[h], "cpuset")) {
		copy_down(dir, "cpuset.cpus");
		copy_down(dir, "cpuset.mems");
	}
}

static void join(int job)
{
	char path[256];

	for (size_t h = 0; h < ARRAY_SIZE(hierarchies); h++) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup/%s/%s/uid_0/job_%d/cgroup.procs",
			 hierarchies[h], top, 7000000 + job);
		write_to(path, "0\n");
	}
}

static void start(int job, bool busy)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		join(job);
		/* a little every 10 ms, so that all of them together fit on any machine */
		for (;;) {
			if (!busy)
				pause();
			usleep(10000);
			char *p = malloc(65536);
			memset(p, 1, 65536);
			__asm__ volatile("" : : "r"(p) : "memory");
			free(p);
		}
	}
	pids[pid_count++] = pid;
}

static void clean_up(void)
{
	char dir[256];

	for (size_t i = 0; i < pid_count; i++)
		kill(pids[i], SIGKILL);
	for (size_t i = 0; i < pid_count; i++)
		waitpid(pids[i], NULL, 0);
	for (size_t h = 0; h < ARRAY_SIZE(hierarchies); h++) {
		for (int i = 0; i < jobs; i++) {
			snprintf(dir, sizeof(dir), "/sys/fs/cgroup/%s/%s/uid_0/job_%d",
				 hierarchies[h], top, 7000000 + i);
			for (int k = 0; k < 100 && rmdir(dir) < 0 && errno == EBUSY; k++)
				usleep(10000);
		}
		snprintf(dir, sizeof(dir), "/sys/fs/cgroup/%s/%s/uid_0", hierarchies[h], top);
		rmdir(dir);
		*strrchr(dir, '/') = 0;
		rmdir(dir);
	}
}

static double cpu_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static long rss_kb(void)
{
	char text[4096] = "";
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		close(fd);
	const char *p = strstr(text, "VmRSS:");
	return p ? strtol(p + 6, NULL, 10) : 0;
}

static void measure(const char *name, int processes, bool busy, int rounds)
{
	const struct source *s = source_find(name);
	struct cgroup_jobs_options o = {.root = ""};
	struct strbuf why = STRBUF_INIT;
	struct source_context ctx = {.root = ""};
	struct sample_set set;
	void *state = NULL;
	double *reads = calloc((size_t)rounds, sizeof(*reads));
	double *updates = calloc((size_t)rounds, sizeof(*updates));

	if (!s || !s->needs_jobs || cgroup_jobs_open(&ctx.jobs, &o, &why) < 0)
		die(name);
	for (int i = 0; i < 5; i++)
		(void)cgroup_jobs_update(ctx.jobs);
	sample_init(&set, s->metrics, s->metric_count);
	if (s->open(&ctx, &set, &state, &why) < 0)
		die(why.buf);
	for (int i = -3; i < rounds; i++) {
		usleep(50000);
		double a = cpu_us();
		(void)cgroup_jobs_update(ctx.jobs);
		double b = cpu_us();
		sample_begin(&set);
		(void)s->read(state, &set);
		double c = cpu_us();
		if (i >= 0) {
			updates[i] = b - a;
			reads[i] = c - b;
		}
	}
	size_t rows = set.row_count;
	qsort(reads, (size_t)rounds, sizeof(*reads), by_value);
	qsort(updates, (size_t)rounds, sizeof(*updates), by_value);
	printf("%s: %zu jobs x %d processes%s: reading %.0f / %.0f / %.0f us, update %.1f us, "
	       "RSS %ld kB\n",
	       name, rows, processes, busy ? ", busy" : "", reads[0], reads[rounds / 2],
	       reads[rounds - 1], updates[rounds / 2], rss_kb());
	s->close(state);
	sample_release(&set);
	cgroup_jobs_close(ctx.jobs);
	strbuf_release(&why);
	free(reads);
	free(updates);
}

int main(int argc, char **argv)
{
	if (argc < 4)
		die("bench-nodejobs SOURCE JOBS PROCESSES [busy] [ROUNDS]");
	int processes = (int)strtol(argv[3], NULL, 10);
	bool busy = argc > 4 && !strcmp(argv[4], "busy");
	int rounds = argc > 4 + busy ? (int)strtol(argv[4 + busy], NULL, 10) : 32;

	jobs = (int)strtol(argv[2], NULL, 10);
	if (jobs < 1 || processes < 1 || rounds < 1 || jobs * processes > 100000)
		die("numbers");
	pids = calloc((size_t)(jobs * processes), sizeof(*pids));
	snprintf(top, sizeof(top), "slurm_bench%d", (int)getpid());
	for (size_t h = 0; h < ARRAY_SIZE(hierarchies); h++) {
		char below[64];

		make_dir(h, "");
		make_dir(h, "/uid_0");
		for (int i = 0; i < jobs; i++) {
			snprintf(below, sizeof(below), "/uid_0/job_%d", 7000000 + i);
			make_dir(h, below);
		}
	}
	atexit(clean_up);
	for (int i = 0; i < jobs; i++)
		for (int k = 0; k < processes; k++)
			start(i, busy && !k);
	usleep(500000);
	measure(argv[1], processes, busy, rounds);
	return 0;
}
