/*
 * What a sample of many processes costs, in microseconds a process: the sources `process` and
 * `process_memory` as the sampler calls them, the bare reading of the same files by kept
 * descriptors (the floor), and psutil. Every round runs each variant once, so that whatever else
 * the machine does falls on all of them alike.
 *
 *     sampling PROCESSES ROUNDS [PYTHON SCRIPT]
 *
 * starts so many processes, nearly all asleep and two busy now and then, and prints a line for each
 * variant: name, minimum and median. The script reads the numbers of the processes from its input,
 * then for each line with the number of a variant takes one sample and answers with its
 * nanoseconds.
 */
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/system/procparse.h"
#include "sources/source.h"

#define BUSY 2
#define PYTHON_VARIANTS 3
/* Rounds that are not counted: files are opened, and who sleeps shows after some. */
#define WARM_UP 4

struct bench {
	int count, rounds;
	pid_t *pids;
	struct job_processes watch;
	int (*fds)[3];
	FILE *to, *from; /* the Python script; NULL: there is none */
};

/* One source, open. */
struct sampled {
	const struct source *source;
	struct sample_set set;
	void *state;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* ---- the processes --------------------------------------------------------------------------- */

static _Noreturn void asleep(bool busy)
{
	volatile unsigned long x = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		if (!busy)
			pause();
		for (int i = 0; i < 1000000; i++)
			x += (unsigned long)i;
		usleep(20000);
	}
}

static uint64_t start_of(pid_t pid)
{
	char path[64], buf[2048];
	struct proc_stat st;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf));
	if (n <= 0 || !proc_parse_stat(buf, (size_t)n, &st))
		die(path);
	close(fd);
	return st.f[STAT_STARTTIME];
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct job_process *)a)->pid - ((const struct job_process *)b)->pid;
}

static void start_processes(struct bench *b)
{
	static char self[] = "/proc/self/exe", busy[] = "busy", sleeper[] = "asleep";
	extern char **environ;

	b->pids = calloc((size_t)b->count, sizeof(*b->pids));
	b->watch.list = calloc((size_t)b->count, sizeof(*b->watch.list));
	b->watch.count = (size_t)b->count;
	for (int i = 0; i < b->count; i++) {
		char *argv[] = {self, i < BUSY ? busy : sleeper, NULL};

		if (posix_spawn(&b->pids[i], self, NULL, NULL, argv, environ) != 0)
			die("posix_spawn");
	}
	usleep(200000);
	for (int i = 0; i < b->count; i++)
		b->watch.list[i] = (struct job_process){.pid = b->pids[i],
							.ppid = getpid(),
							.starttime = start_of(b->pids[i]),
							.rank = -1};
	qsort(b->watch.list, b->watch.count, sizeof(*b->watch.list), by_pid);
}

/* ---- variants -------------------------------------------------------------------------------- */

static void open_floor(struct bench *b)
{
	static const char *const names[] = {"stat", "io", "schedstat"};

	b->fds = calloc((size_t)b->count, sizeof(*b->fds));
	for (int i = 0; i < b->count; i++)
		for (int k = 0; k < 3; k++) {
			char path[64];

			snprintf(path, sizeof(path), "/proc/%d/%s", b->pids[i], names[k]);
			b->fds[i][k] = open(path, O_RDONLY | O_CLOEXEC);
			if (b->fds[i][k] < 0)
				die(path);
		}
}

static double run_floor(struct bench *b)
{
	char buf[2048];
	double begin = now_us();

	for (int i = 0; i < b->count; i++)
		for (int k = 0; k < 3; k++)
			if (pread(b->fds[i][k], buf, sizeof(buf), 0) <= 0)
				die("pread");
	return now_us() - begin;
}

static void open_source(struct sampled *s, const char *name, const struct source_context *ctx)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	s->source = source_find(name);
	sample_init(&s->set, s->source->metrics, s->source->metric_count);
	if (s->source->open(ctx, &s->set, &s->state, &why) < 0) {
		fprintf(stderr, "%s: %s\n", name, why.buf);
		exit(1);
	}
}

static double run_source(struct bench *b, struct sampled *s)
{
	double begin = now_us();

	sample_begin(&s->set);
	if (s->source->read(s->state, &s->set) < 0)
		die(s->source->name);
	double took = now_us() - begin;
	if (s->set.row_count != (size_t)b->count + 1) {
		fprintf(stderr, "%s: %zu rows\n", s->source->name, s->set.row_count);
		exit(1);
	}
	return took;
}

static void open_python(struct bench *b, char *python, char *script)
{
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		die("pipe");
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(to[0], 0);
		dup2(from[1], 1);
		execlp(python, python, script, (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	b->to = fdopen(to[1], "w");
	b->from = fdopen(from[0], "r");
	for (int i = 0; i < b->count; i++)
		fprintf(b->to, "%d ", b->pids[i]);
	fprintf(b->to, "\n");
}

/* Microseconds, or below 0 when the script is not there any more. */
static double run_python(struct bench *b, int variant)
{
	long long ns;

	if (fprintf(b->to, "%d\n", variant) < 0 || fflush(b->to) != 0 ||
	    fscanf(b->from, "%lld", &ns) != 1)
		return -1;
	return (double)ns / 1e3;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print_variant(const struct bench *b, const char *name, double *times)
{
	qsort(times, (size_t)b->rounds, sizeof(*times), ascending);
	printf("%s\t%.2f\t%.2f\n", name, times[0] / b->count, times[b->rounds / 2] / b->count);
}

static const char *const names[] = {
	"floor: three files read, nothing taken",
	"process",
	"process, nobody skipped",
	"process and process_memory",
	"the same, nobody skipped",
	"psutil: CPU, I/O, threads",
	"psutil: the same and memory_full_info",
	"psutil: the same, context switches, descriptors",
};
#define VARIANTS ARRAY_SIZE(names)

enum { SKIP, ALL, KINDS };

/* Each once; the first reading of all opens files. */
static bool run_round(struct bench *b, struct sampled process[KINDS], struct sampled memory[KINDS],
		      double t[VARIANTS])
{
	size_t v = 0;

	t[v++] = run_floor(b);
	for (int k = 0; k < KINDS; k++)
		t[v++] = run_source(b, &process[k]);
	for (int k = 0; k < KINDS; k++)
		t[v++] = run_source(b, &process[k]) + run_source(b, &memory[k]);
	for (int k = 0; k < PYTHON_VARIANTS; k++)
		t[v++] = b->to ? run_python(b, k) : 0;
	return t[v - 1] >= 0;
}

int main(int argc, char **argv)
{
	struct bench b = {.rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0};
	struct source_context ctx[KINDS * 2] = {
		{.root = "", .watch = &b.watch, .option = "no-exits"},
		{.root = "", .watch = &b.watch, .option = "no-exits,no-skip"},
		{.root = "", .watch = &b.watch},
		{.root = "", .watch = &b.watch, .option = "no-skip"}};
	struct sampled process[KINDS], memory[KINDS];
	double *times[VARIANTS], t[VARIANTS];

	if (argc == 2)
		asleep(!strcmp(argv[1], "busy"));
	b.count = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
	if (b.count < BUSY || b.rounds < 1 || b.count > 100000 || b.rounds > 100000) {
		fprintf(stderr, "usage: sampling PROCESSES ROUNDS [PYTHON SCRIPT]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	start_processes(&b);
	for (int k = 0; k < KINDS; k++) {
		open_source(&process[k], "process", &ctx[k]);
		open_source(&memory[k], "process_memory", &ctx[KINDS + k]);
	}
	open_floor(&b);
	if (argc > 4)
		open_python(&b, argv[3], argv[4]);
	for (size_t v = 0; v < VARIANTS; v++)
		times[v] = calloc((size_t)b.rounds, sizeof(double));
	for (int round = -WARM_UP; round < b.rounds; round++) {
		if (!run_round(&b, process, memory, t)) {
			fprintf(stderr, "the Python script ended\n");
			return 1;
		}
		for (size_t v = 0; v < VARIANTS && round >= 0; v++)
			times[v][round] = t[v];
	}
	for (size_t v = 0; v < VARIANTS; v++)
		if (v < VARIANTS - PYTHON_VARIANTS || b.to)
			print_variant(&b, names[v], times[v]);
	for (int i = 0; i < b.count; i++)
		kill(b.pids[i], SIGKILL);
	if (b.to)
		fclose(b.to);
	while (wait(NULL) > 0)
		;
	for (int k = 0; k < KINDS; k++) {
		process[k].source->close(process[k].state);
		memory[k].source->close(memory[k].state);
		sample_release(&process[k].set);
		sample_release(&memory[k].set);
	}
	return 0;
}
