/*
 * Histories of nodes, a collector and its sinks under faults, drawn from seeds:
 *     histories [--seed N] [--same] [--count N] [--seconds N] [--sinks LIST] [--seeds FILE] ...
 * In each, calls on the machines' disks fail (EIO, ENOSPC, EROFS, EMFILE, ...) or do half of what
 * they should, processes are killed at such calls or at any moment, ended and begun again, and the
 * power goes, so that only what was synced is left. Then everything is healed, and every sample
 * that was safe with a node must be in each sink once, or be counted as lost. A seed says what is
 * done; when threads meet is not in it, so that one that failed may take some runs to fail again.
 */
#include "histories.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <sys/wait.h>

#include "core/clock.h"

#define JOBS_MAX 64
#define FAILURES_MAX 5

static const char *const usage =
	"histories [--seed N] [--same] [--count N] [--seconds N] [--sinks LIST] [--jobs N]\n"
	"          [--seeds FILE] [--keep] [--show]\n"
	"  --seed N      the first (1); --same: and no other\n"
	"  --count N     so many (1, without end with --seconds)\n"
	"  --seconds N   for so long\n"
	"  --sinks LIST  only these: store,hdf5,csv,elastic,clickhouse,remote-write\n"
	"  --jobs N      so many at a time\n"
	"  --seeds FILE  those first\n"
	"  --keep        leaves directories of failures there\n"
	"  --show        shows the others, too\n";

struct run {
	char *dir;
	bool sinks[SINK_KINDS], keep, same, show;
	unsigned jobs, failures;
	uint64_t done;
	struct job {
		pid_t pid;
		uint64_t seed;
		char *dir;
	} list[JOBS_MAX];
};
static volatile sig_atomic_t stopped;

static void on_signal(int signal)
{
	stopped = signal;
}

/* The end of a file, or all of it. */
static void show_file(const char *dir, const char *name, unsigned most)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name), *line = NULL;
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	unsigned count = 0, i = 0;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0)
		count++;
	if (f)
		rewind(f);
	while (f && getline(&line, &cap, f) > 0)
		if (i++ + most >= count)
			printf("    %s", line);
}

static void report(struct run *r, const struct job *j, int status)
{
	r->failures++;
	printf("seed %llu failed%s:\n", (unsigned long long)j->seed,
	       WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? ", it did not end" : "");
	show_file(j->dir, "told", UINT_MAX / 2);
	printf("  what the parts said:\n");
	show_file(j->dir, "said", 20);
	printf("  again: histories --seed %llu --same --count 20%s%s\n",
	       (unsigned long long)j->seed, r->keep ? "; in " : "", r->keep ? j->dir : "");
	fflush(stdout);
}

/* Waits for one that ends. */
static void reap(struct run *r)
{
	int status;
	pid_t pid = wait(&status);

	for (unsigned i = 0; i < r->jobs; i++) {
		struct job *j = &r->list[i];

		if (j->pid != pid || pid <= 0)
			continue;
		bool failed = status != 0 && !stopped;
		if (failed)
			report(r, j, status);
		else if (r->show)
			show_file(j->dir, "told", UINT_MAX / 2);
		if (failed && r->keep)
			free(j->dir);
		else
			scratch_remove(j->dir);
		*j = (struct job){0};
		r->done++;
	}
}

static unsigned running(const struct run *r)
{
	unsigned n = 0;

	for (unsigned i = 0; i < r->jobs; i++)
		n += r->list[i].pid > 0;
	return n;
}

static void begin_history(struct run *r, uint64_t seed)
{
	struct job *j = r->list;

	while (running(r) == r->jobs && !stopped)
		reap(r);
	if (stopped || r->failures >= FAILURES_MAX)
		return;
	while (j->pid)
		j++;
	*j = (struct job){.seed = seed, .dir = xasprintf("%s/XXXXXX", r->dir)};
	assert_non_null(mkdtemp(j->dir));
	fflush(stdout);
	j->pid = fork();
	assert_true(j->pid >= 0);
	if (!j->pid) {
		signal(SIGTERM, SIG_DFL);
		signal(SIGINT, SIG_DFL);
		play(seed, j->dir, r->sinks);
	}
}

static void end_all(struct run *r)
{
	for (unsigned i = 0; i < r->jobs && stopped; i++)
		if (r->list[i].pid)
			kill(r->list[i].pid, SIGKILL);
	while (running(r))
		reap(r);
	if (!r->keep || !r->failures)
		scratch_remove(r->dir);
}

static void play_file(struct run *r, const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	_cleanup_free_ char *line = NULL;
	unsigned long long seed;
	size_t cap = 0;

	if (!f) {
		fprintf(stderr, "cannot read '%s': %s\n", path, strerror(errno));
		exit(2);
	}
	while (getline(&line, &cap, f) > 0)
		if (sscanf(line, "%llu", &seed) == 1)
			begin_history(r, seed);
}

static void choose_sinks(struct run *r, char *list)
{
	memset(r->sinks, 0, sizeof(r->sinks));
	for (char *save = NULL, *p = strtok_r(list, ",", &save); p;
	     p = strtok_r(NULL, ",", &save)) {
		unsigned k = 0;

		while (k < SINK_KINDS && strcmp(p, sink_names[k]) != 0)
			k++;
		if (k == SINK_KINDS) {
			fprintf(stderr, "there is no sink '%s'\n%s", p, usage);
			exit(2);
		}
		r->sinks[k] = true;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, 's'},    {"count", required_argument, NULL, 'c'},
		{"seconds", required_argument, NULL, 't'}, {"sinks", required_argument, NULL, 'k'},
		{"jobs", required_argument, NULL, 'j'},    {"seeds", required_argument, NULL, 'f'},
		{"same", no_argument, NULL, 'e'},          {"keep", no_argument, NULL, 'K'},
		{"show", no_argument, NULL, 'v'},          {0}};
	uint64_t seed = 1, count = 0, seconds = 0, jobs = 8, begin = clock_boottime_ns();
	const char *seeds = NULL;
	struct run r = {.sinks = {true, true, true, true, true, true}};
	int o;

	while ((o = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		uint64_t *number = o == 's'   ? &seed
				   : o == 'c' ? &count
				   : o == 't' ? &seconds
					      : &jobs;

		if (o == 'k')
			choose_sinks(&r, optarg);
		else if (o == 'f')
			seeds = optarg;
		else if (o == 'e')
			r.same = true;
		else if (o == 'K')
			r.keep = true;
		else if (o == 'v')
			r.show = true;
		else if (o == '?' || parse_u64(optarg, number) < 0 || !jobs || jobs > JOBS_MAX) {
			fputs(usage, stderr);
			return 2;
		}
	}
	scratch_in_memory();
	r.dir = scratch_make();
	r.jobs = (unsigned)jobs;
	count = count ? count : seconds ? UINT64_MAX : 1;
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	if (seeds)
		play_file(&r, seeds);
	for (uint64_t i = 0; i < count && !stopped && r.failures < FAILURES_MAX &&
			     (!seconds || clock_boottime_ns() - begin < seconds * 1000000000);
	     i++)
		begin_history(&r, r.same ? seed : seed + i);
	end_all(&r);
	printf("%llu histories in %llu s, %u failed\n", (unsigned long long)r.done,
	       (unsigned long long)((clock_boottime_ns() - begin) / 1000000000), r.failures);
	return r.failures || stopped ? 1 : 0;
}
