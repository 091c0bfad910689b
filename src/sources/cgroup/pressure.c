/*
 * Time that tasks waited for CPU, memory, I/O or interrupts, from /proc/pressure. "some": at least
 * one task waited; "full": all that could have run. Prefer the totals: the averages are the
 * kernel's, over ten seconds. Kernels with the accounting disabled have no directory, or return
 * EOPNOTSUPP on read.
 */
#include "sources/cgroup/pressure.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "sources/key_value_file.h"
#include "sources/source.h"

enum { CPU, MEMORY, IO, IRQ, RESOURCES };
static const char *const resources[RESOURCES] = {"cpu", "memory", "io", "irq"};

/* The lines of the files, with two metrics each: total and average. irq has one line. */
static const struct {
	unsigned resource;
	bool full;
} lines[] = {
	{CPU, false}, {CPU, true}, {MEMORY, false}, {MEMORY, true},
	{IO, false},  {IO, true},  {IRQ, true},
};
/* Reading the four files takes 20 us; read again if it took much longer, but not too often. */
#define MOMENT_NS 300000u
#define TRIES 4u
#define METRICS (2 * ARRAY_SIZE(lines))

#define PAIR(name, text)                                                            \
	{name, UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 1, "time in which " text}, \
	{                                                                           \
		name "_avg10", UNIT_PERCENT, KIND_GAUGE, AGG_MAX, 0.01,             \
			"part of the last ten seconds in which " text               \
	}

static const struct sample_metric columns[METRICS] = {
	PAIR("cpu_some", "a task waited for a CPU"),
	PAIR("cpu_full", "all tasks waited for a CPU"),
	PAIR("memory_some", "a task waited for memory"),
	PAIR("memory_full", "all tasks waited for memory"),
	PAIR("io_some", "a task waited for I/O"),
	PAIR("io_full", "all tasks waited for I/O"),
	PAIR("irq_full", "all tasks waited for interrupts to be served"),
};

struct pressure {
	struct cached_file files[RESOURCES];
	bool reported;
};

void psi_parse(struct words text, struct psi *ret)
{
	struct words line, word;

	*ret = (struct psi){0};
	while (line_next(&text, &line)) {
		struct psi_line *l = NULL;

		if (!word_next(&line, &word))
			continue;
		if (word_is(&word, "some"))
			l = &ret->some;
		else if (word_is(&word, "full"))
			l = &ret->full;
		else
			continue;
		while (word_next(&line, &word)) {
			if (word_begins(&word, "total=")) {
				word.p += strlen("total=");
				l->has_total = number_next(&word, &l->total_us);
			} else if (word_begins(&word, "avg10=")) {
				l->has_avg10 = hundredths(&word, &l->avg10);
			}
		}
	}
}

const char *psi_reason(int error, const char *path, struct strbuf *why)
{
	static const char remedy[] = "add psi=1 to the kernel's command line and boot again";

	if (error == -EOPNOTSUPP) {
		strbuf_addstr(why, "the kernel supports it, but it is disabled");
		return remedy;
	}
	if (error == -ENOENT) {
		strbuf_addf(why,
			    "there is no '%s': the kernel is older than 4.20, or has it disabled",
			    path);
		return remedy;
	}
	strbuf_addf(why, "cannot read '%s': %s", path, strerror(-error));
	return NULL;
}

static void put_line(struct sample_set *set, unsigned first, const struct psi_line *l)
{
	if (l->has_total)
		sample_put(set, first, (int64_t)l->total_us);
	if (l->has_avg10)
		sample_put(set, first + 1, (int64_t)l->avg10);
}

static void tell_absent(struct sample_set *set, const int *results)
{
	for (unsigned m = 0; m < METRICS; m++) {
		const char *what = resources[lines[m / 2].resource];
		int r = results[lines[m / 2].resource];

		if (put_already(set, m))
			continue;
		if (r == 0)
			sample_absent(set, m, "/proc/pressure/%s of this kernel has no such line",
				      what);
		else
			sample_absent(set, m, "/proc/pressure/%s: %s", what,
				      r == -ENOENT       ? "not in this kernel"
				      : r == -EOPNOTSUPP ? "disabled; add psi=1 to the kernel's "
							   "command line to enable it"
							 : strerror(-r));
	}
}

/*
 * Reads all files as close to one moment as possible: a total must not grow by more than the time
 * between two readings. They are read again if we lost the CPU or waited for a kernel lock.
 */
static void read_files(struct pressure *p, struct sample_set *set, int results[RESOURCES])
{
	uint64_t before = set->time_ns, after;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		for (unsigned i = 0; i < RESOURCES; i++)
			results[i] = cached_file_read(&p->files[i]);
		after = clock_boottime_ns();
		sample_between(set, before, after);
		if (after - before <= MOMENT_NS)
			break;
		before = after;
	}
}

static int read_all(void *state, struct sample_set *set)
{
	struct pressure *p = state;
	struct psi psi[RESOURCES] = {0};
	int results[RESOURCES], first = 0;
	bool good = false;

	read_files(p, set, results);
	for (unsigned i = 0; i < RESOURCES; i++) {
		first = first ? first : results[i];
		good |= results[i] == 0;
		if (results[i] == 0)
			psi_parse(cached_file_words(&p->files[i]), &psi[i]);
	}
	if (!good)
		return first;
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	for (unsigned i = 0; i < ARRAY_SIZE(lines); i++) {
		const struct psi *r = &psi[lines[i].resource];

		put_line(set, 2 * i, lines[i].full ? &r->full : &r->some);
	}
	if (!p->reported)
		tell_absent(set, results);
	p->reported = true;
	return 0;
}

static void close_all(void *state)
{
	struct pressure *p = state;

	for (unsigned i = 0; i < RESOURCES; i++)
		cached_file_release(&p->files[i]);
	free(p);
}

/* Opens the files; sets the remedy if none can be read. */
static int open_files(const struct source_context *ctx, struct pressure **ret, struct strbuf *why,
		      const char **remedy)
{
	struct pressure *p = xcalloc(1, sizeof(*p));
	int first = 0;

	for (unsigned i = 0; i < RESOURCES; i++) {
		cached_file_init(&p->files[i], "%s/proc/pressure/%s", ctx->root, resources[i]);
		int r = cached_file_read(&p->files[i]);
		if (r == 0)
			*ret = p;
		else if (!first)
			first = r;
	}
	if (*ret)
		return 0;
	*remedy = psi_reason(first, p->files[0].file.path, why);
	close_all(p);
	return first;
}

static int open_all(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why)
{
	struct pressure *p = NULL;
	const char *remedy;
	int r = open_files(ctx, &p, why, &remedy);

	(void)set;
	if (r == 0)
		*state = p;
	return r;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	struct pressure *p = NULL;
	int r = open_files(ctx, &p, &report->detail, &report->remedy);
	const char *comma = "";

	if (r < 0)
		return r;
	strbuf_addstr(&report->detail, "waiting for ");
	for (unsigned i = 0; i < RESOURCES; i++) {
		if (!p->files[i].len)
			continue;
		strbuf_addf(&report->detail, "%s%s", comma, resources[i]);
		comma = ", ";
	}
	close_all(p);
	return 0;
}

const struct source source_pressure = {
	.name = "pressure",
	.help = "time that tasks waited for CPU, memory or I/O",
	.probe = probe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.open = open_all,
	.read = read_all,
	.close = close_all,
};
