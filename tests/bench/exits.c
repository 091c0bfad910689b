/*
 * A storm of task exits in a job, and how many of them were booked on it:
 *     bench-exits [TASKS [WORKERS]]
 * The tasks are threads, made as fast as can be; PL_PROCESSES=1 makes them
 * processes. Prints one line: exits, seconds, exits a second, booked, losses of both kinds, CPU
 * microseconds of the receiver an exit, and how many were known by BPF. Needs root and a cpuacct
 * group; PL_BPF=DIR has the BPF program loaded, and the job in this mount of version 2.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/util.h"
#include "jobs/discovery/cgroup_jobs.h"
#include "sources/exits/exits.h"
#include "sources/exits/exits_bpf.h"

#define AT_ONCE 16

static void *nothing(void *unused)
{
	return unused;
}

static void make_threads(int count)
{
	pthread_t t[AT_ONCE];
	pthread_attr_t a;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 16384);
	for (int i = 0; i < count; i += AT_ONCE) {
		for (int k = 0; k < AT_ONCE; k++)
			if (pthread_create(&t[k], &a, nothing, NULL))
				_exit(3);
		for (int k = 0; k < AT_ONCE; k++)
			pthread_join(t[k], NULL);
	}
}

static void make_processes(int count)
{
	for (int i = 0; i < count; i++) {
		int pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

static bool enter(const char *dir)
{
	_cleanup_free_ char *path = xasprintf("%s/cgroup.procs", dir);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd >= 0 && write(fd, "0", 1) == 1;
}

static double own_cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int storm(const char *dir, int tasks, int workers, bool processes)
{
	int failed = 0;

	for (int i = 0; i < workers; i++)
		if (fork() == 0) {
			if (!enter(dir))
				_exit(2);
			if (processes)
				make_processes(tasks / workers);
			else
				make_threads(tasks / workers);
			_exit(0);
		}
	for (int i = 0, status; i < workers; i++)
		failed += wait(&status) < 0 || status != 0;
	return failed;
}

int main(int argc, char **argv)
{
	int tasks = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 200000;
	int workers = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 2;
	const char *version2 = getenv("PL_BPF");
	const char *const roots[] = {version2 ? version2 : "/sys/fs/cgroup/cpuacct"};
	_cleanup_free_ char *dir = xasprintf("%s/plimsoll-bench-%d", roots[0], (int)getpid());
	const char *const patterns[] = {"^plimsoll-bench-([0-9]+)$"};
	struct cgroup_jobs_options jo = {.root = "",
					 .roots = roots,
					 .root_count = 1,
					 .patterns = patterns,
					 .pattern_count = 1};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct exits_options eo = {0};
	struct exits_losses losses;
	struct exit_sums sums = {0};
	struct exits *e = NULL;

	if ((version2 && exits_bpf_open(&eo.bpf, &why) < 0) || mkdir(dir, 0755) < 0 ||
	    cgroup_jobs_open(&eo.jobs, &jo, &why) < 0 || exits_open(&e, &eo, &why) < 0) {
		fprintf(stderr, "bench-exits: %s\n", why.len ? why.buf : strerror(errno));
		(void)rmdir(dir);
		return 1;
	}
	(void)cgroup_jobs_update(eo.jobs);
	struct job *job = cgroup_jobs_count(eo.jobs) ? cgroup_jobs_at(eo.jobs, 0) : NULL;
	if (job)
		exits_adopt(e, job);
	double cpu = own_cpu();
	uint64_t begin = clock_boottime_ns();
	int failed = job ? storm(dir, tasks, workers, getenv("PL_PROCESSES") != NULL) : 1;
	double seconds = (double)(clock_boottime_ns() - begin) * 1e-9;
	exits_sync(e);
	if (job)
		(void)exits_of(e, job->number, &sums);
	exits_losses(e, &losses);
	printf("%d %.3f %.0f %llu %llu %llu %.2f %llu\n", tasks + workers, seconds, tasks / seconds,
	       (unsigned long long)sums.tasks, (unsigned long long)losses.taskstats,
	       (unsigned long long)losses.cnproc, (own_cpu() - cpu) / tasks,
	       (unsigned long long)losses.by_bpf);
	exits_close(e);
	cgroup_jobs_close(eo.jobs);
	for (int i = 0; i < 100 && rmdir(dir) < 0; i++)
		usleep(10000);
	return failed || sums.tasks != (uint64_t)(tasks + workers);
}
