/*
 * Writes a sample file whose values are known: reading k (from 0) of a host with -n processes has
 *
 *   process p<i>.<100+i>  usertime  counter, us, raw in 1/100 s: 100 * k * (i + 1) + i
 *                         rss       gauge, bytes: 1000000 * (i + 1) + 4096 * (k % 10)
 *   node                  load      gauge, raw in 1/1000: k - 5
 *                         rx_bytes  counter: 1000 * k, begins again at 0 when k is -z
 *   gpu 0                 power     gauge, W, in every fourth reading only
 *
 * at start + k * period seconds. Process 1 is there only from reading 10 to 19, and its place is
 * then taken by another, "late.1". Metric system.entropy is absent with a reason.
 *
 * With -t: values are lines on standard input, in the order of their times, and those of a source
 * and a time beside each other are one reading:
 *
 *   SECONDS SOURCE METRIC UNIT KIND AGGREGATION ENTITY-KIND ENTITY VALUE [FACT=VALUE]
 *
 * With -m: processes with 12 metrics of a usual mix instead, for figures.
 *
 * With -w: what `where` reads of a host with -n processes, 1000.99840000 and following: the
 * sources process, waits, system and network, of the job and of each process, for figures.
 */
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "samples/sample_file.h"

static const struct sample_metric process_metrics[] = {
	{"usertime", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 10000, "CPU time in user mode"},
	{"rss", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "resident memory"},
};
static const struct sample_metric system_metrics[] = {
	{"load", UNIT_NONE, KIND_GAUGE, AGG_MAX, 0.001, "processes that want to run"},
	{"rx_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "bytes received"},
	{"entropy", UNIT_COUNT, KIND_GAUGE, AGG_NONE, 0, "bits of entropy"},
};
static const struct sample_metric gpu_metrics[] = {
	{"power", UNIT_WATTS, KIND_GAUGE, AGG_SUM, 0.001, "power drawn"},
};

static const struct sample_metric mix_metrics[] = {
	{"usertime", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 10000, "CPU time in user mode"},
	{"systemtime", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 10000, "CPU time in the kernel"},
	{"rss", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 4096, "resident memory"},
	{"vms", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "address space"},
	{"minflt", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "page faults without I/O"},
	{"majflt", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "page faults with I/O"},
	{"num_threads", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, "threads"},
	{"rchar", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "bytes read by calls"},
	{"wchar", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "bytes written by calls"},
	{"syscr", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "read calls"},
	{"time_oncpu", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, "time on a CPU"},
	{"time_waiting", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, "time waiting for a CPU"},
};

struct plan {
	const char *host, *job, *run;
	double start, period;
	long count, processes, reset;
	bool extremes, mix, text, whole;
};

static uint64_t seed = 88172645463325252ull;

static int64_t below(uint64_t limit)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return (int64_t)((seed * 0x2545f4914f6cdd1dull >> 11) % limit);
}

/* One second of a process: of three, one computes, one reads and writes, one mostly waits. */
static void one_second(long i, long k, int64_t v[12])
{
	if (i % 3 == 0) {
		v[0] += 99 + below(3);
		v[1] += below(5) == 0;
		v[4] += below(4) ? 0 : below(300);
		v[10] += 1000000000 - below(5000000);
		v[11] += below(2000000);
	} else if (i % 3 == 1) {
		int64_t calls = below(400);

		v[0] += below(30);
		v[1] += below(40);
		v[4] += below(100);
		v[7] += calls * 65536 + below(1000);
		v[8] += below(50) * 4096;
		v[9] += calls + below(5);
		v[10] += 300000000 + below(100000000);
		v[11] += below(50000000);
	} else if (below(5) == 0) {
		v[9] += 1;
		v[10] += below(200000);
		v[11] += below(20000);
	}
	if (below(4) == 0)
		v[2] += below(2000) - 800;
	if ((k + i) % 60 == 0) {
		v[3] += 135168;
		v[6] = 1 + below(16);
	}
}

static void read_mix(struct sample_set *s, const struct plan *p, long k, int64_t (*values)[12])
{
	for (long i = 0; i < p->processes; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%ld.%ld", 400000 + i, 8812345 + i);
		sample_row(s, sample_entity(s, ENTITY_PROCESS, name));
		one_second(i, k, values[i]);
		for (unsigned m = 0; m < 12; m++)
			sample_put(s, m, values[i][m]);
	}
}

static void read_processes(struct sample_set *s, const struct plan *p, long k)
{
	for (long i = 0; i < p->processes; i++) {
		char name[64], exe[64];

		if (i == 1 && (k < 10 || k > 19))
			continue;
		snprintf(name, sizeof(name), "p%ld.%ld", i, 100 + i);
		snprintf(exe, sizeof(exe), "prog\"%ld\"", i);
		uint32_t e = sample_entity(s, ENTITY_PROCESS, name);
		sample_set_metadata(s, e, "exe", exe);
		sample_row(s, e);
		sample_put(s, 0, 100 * k * (i + 1) + i);
		sample_put(s, 1, 1000000 * (i + 1) + 4096 * (k % 10));
		if (i == 1 && k == 19)
			sample_end(s, e);
	}
	if (p->processes > 1 && k > 21) {
		sample_row(s, sample_entity(s, ENTITY_PROCESS, "late.1"));
		sample_put(s, 1, k);
	}
}

static void read_system(struct sample_set *s, const struct plan *p, long k)
{
	sample_row(s, sample_entity(s, ENTITY_NODE, "node"));
	sample_put(s, 0, k - 5);
	sample_put(s, 1,
		   p->extremes                 ? (k % 2 ? INT64_MAX - k : INT64_MIN + k)
		   : p->reset && k >= p->reset ? 1000 * (k - p->reset)
					       : 1000 * k);
	sample_absent(s, 2, "the kernel does not say");
}

static void begin(struct sample_set *s, const struct plan *p, long k)
{
	sample_begin(s);
	s->time_ns = (uint64_t)(p->period * 1e9 * (double)k);
}

static int write_mix(struct sample_writer *w, const struct plan *p)
{
	int64_t(*values)[12] = xcalloc((size_t)p->processes, sizeof(*values));
	struct sample_set s;
	int r = 0;

	for (long i = 0; i < p->processes; i++)
		for (unsigned m = 0; m < 12; m++)
			values[i][m] = m == 6 ? 1 : below(1000000000);
	sample_init(&s, mix_metrics, 12);
	unsigned n = sample_writer_source(w, "process", 1, &s);
	for (long k = 0; k < p->count && r == 0; k++) {
		begin(&s, p, k);
		s.time_ns += (uint64_t)below(100000);
		read_mix(&s, p, k, values);
		sample_writer_add(w, n, &s);
		r = sample_writer_flush(w, false);
	}
	sample_release(&s);
	free(values);
	return r;
}

/* ---- the sources of a whole job ------------------------------------------------------------- */

/* A metric, and the most that it grows in a second, of one process; gauges: their value. */
struct whole_metric {
	struct sample_metric m;
	int64_t most;
};
#define WHOLE(name, unit, kind, most)                                                \
	{                                                                            \
		{name, UNIT_##unit, KIND_##kind, AGG_SUM, 0, "of a whole job"}, most \
	}

static const struct whole_metric whole_process[] = {
	WHOLE("usertime", MICROSECONDS, COUNTER, 800000),
	WHOLE("systemtime", MICROSECONDS, COUNTER, 40000),
	WHOLE("time_waiting", NANOSECONDS, COUNTER, 100000000),
	WHOLE("minflt", COUNT, COUNTER, 500),
	WHOLE("majflt", COUNT, COUNTER, 2),
	WHOLE("rchar", BYTES, COUNTER, 2000000),
	WHOLE("wchar", BYTES, COUNTER, 1000000),
	WHOLE("syscr", COUNT, COUNTER, 300),
	WHOLE("syscw", COUNT, COUNTER, 100),
	WHOLE("read_bytes", BYTES, COUNTER, 1000000),
	WHOLE("write_bytes", BYTES, COUNTER, 1000000),
	WHOLE("rss", BYTES, GAUGE, 400000000),
	WHOLE("num_threads", COUNT, GAUGE, 4),
	WHOLE("threads", COUNT, GAUGE, 4),
	WHOLE("started", COUNT, COUNTER, 0),
};
static const struct whole_metric whole_waits[] = {
	WHOLE("storage", MICROSECONDS, COUNTER, 100000),
	WHOLE("network", MICROSECONDS, COUNTER, 100000),
	WHOLE("process", MICROSECONDS, COUNTER, 30000),
	WHOLE("lock", MICROSECONDS, COUNTER, 100000),
	WHOLE("condition", MICROSECONDS, COUNTER, 2000000),
	WHOLE("timer", MICROSECONDS, COUNTER, 60000),
	WHOLE("child", MICROSECONDS, COUNTER, 0),
	WHOLE("poll", MICROSECONDS, COUNTER, 50000),
	WHOLE("other", MICROSECONDS, COUNTER, 0),
	WHOLE("running", MICROSECONDS, COUNTER, 900000),
	WHOLE("observed", MICROSECONDS, COUNTER, 4000000),
	WHOLE("threads", COUNT, GAUGE, 4),
};
static const struct whole_metric whole_system[] = {
	WHOLE("cpu_user", MICROSECONDS, COUNTER, 1000000),
	WHOLE("cpu_nice", MICROSECONDS, COUNTER, 0),
	WHOLE("cpu_system", MICROSECONDS, COUNTER, 100000),
	WHOLE("cpu_irq", MICROSECONDS, COUNTER, 1000),
	WHOLE("cpu_softirq", MICROSECONDS, COUNTER, 1000),
	WHOLE("cpu_steal", MICROSECONDS, COUNTER, 0),
	WHOLE("cpu_idle", MICROSECONDS, COUNTER, 500000),
	WHOLE("mem_available", BYTES, GAUGE, 1 << 30),
	WHOLE("cpus_online", COUNT, GAUGE, 1),
	WHOLE("load1", NONE, GAUGE, 1),
};
static const struct whole_metric whole_network[] = {
	WHOLE("rx_bytes", BYTES, COUNTER, 100000),
	WHOLE("tx_bytes", BYTES, COUNTER, 100000),
};
static const struct whole_source {
	const char *name;
	const struct whole_metric *metrics;
	size_t count;
	bool of_processes;
} whole_sources[] = {
	{"process", whole_process, sizeof(whole_process) / sizeof(whole_process[0]), true},
	{"waits", whole_waits, sizeof(whole_waits) / sizeof(whole_waits[0]), true},
	{"system", whole_system, sizeof(whole_system) / sizeof(whole_system[0]), false},
	{"network", whole_network, sizeof(whole_network) / sizeof(whole_network[0]), false},
};
enum { WHOLE_SOURCES = 4, WHOLE_METRICS = 16 };
#define WHOLE_TICKS 99840000l /* as processes of job.py that start with their job */

/* One second of a source: its processes, and their sum. */
static void read_whole(struct sample_set *set, const struct whole_source *s, const struct plan *p,
		       int64_t (*values)[WHOLE_METRICS])
{
	int64_t sum[WHOLE_METRICS] = {0};

	for (long i = 0; i < p->processes; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%ld.%ld", 1000 + i, WHOLE_TICKS + i);
		if (s->of_processes)
			sample_row(set, sample_entity(set, ENTITY_PROCESS, name));
		for (unsigned m = 0; m < s->count; m++) {
			int64_t most = s->metrics[m].most;

			if (s->metrics[m].m.kind == KIND_COUNTER)
				values[i][m] += most ? below((uint64_t)most) : 0;
			else
				values[i][m] = most;
			sum[m] += values[i][m];
			if (s->of_processes)
				sample_put(set, m, values[i][m]);
		}
	}
	sample_row(set, sample_entity(set, s->of_processes ? ENTITY_JOB : ENTITY_NODE,
				      s->of_processes ? "job" : "node"));
	for (unsigned m = 0; m < s->count; m++)
		sample_put(set, m, sum[m]);
}

static int write_whole(struct sample_writer *w, const struct plan *p)
{
	struct sample_metric columns[WHOLE_SOURCES][WHOLE_METRICS];
	struct sample_set sets[WHOLE_SOURCES];
	int64_t(*values[WHOLE_SOURCES])[WHOLE_METRICS];
	unsigned numbers[WHOLE_SOURCES];
	int r = 0;

	for (unsigned i = 0; i < WHOLE_SOURCES; i++) {
		for (unsigned m = 0; m < whole_sources[i].count; m++)
			columns[i][m] = whole_sources[i].metrics[m].m;
		values[i] = xcalloc((size_t)p->processes, sizeof(*values[i]));
		sample_init(&sets[i], columns[i], whole_sources[i].count);
		numbers[i] = sample_writer_source(w, whole_sources[i].name, 1, &sets[i]);
	}
	for (long k = 0; k < p->count && r == 0; k++) {
		for (unsigned i = 0; i < WHOLE_SOURCES; i++) {
			begin(&sets[i], p, k);
			read_whole(&sets[i], &whole_sources[i], p, values[i]);
			sample_writer_add(w, numbers[i], &sets[i]);
		}
		r = sample_writer_flush(w, false);
	}
	for (unsigned i = 0; i < WHOLE_SOURCES; i++) {
		sample_release(&sets[i]);
		free(values[i]);
	}
	return r;
}

/* ---- values from a text --------------------------------------------------------------------- */

struct line {
	double time;
	char source[32], metric[32], unit[16], kind[16], agg[16], entity_kind[16], entity[48];
	long long value;
	char fact[48];
};

struct text_source {
	char *name;
	struct sample_metric metrics[8];
	size_t metric_count;
	struct sample_set set;
	unsigned number;
};

static enum metric_agg agg_of(const char *name)
{
	for (unsigned i = 0; i <= AGG_NONE; i++)
		if (!strcmp(name, metric_agg_name((enum metric_agg)i)))
			return (enum metric_agg)i;
	return AGG_NONE;
}

static struct text_source *source_of(struct text_source *list, size_t *count, const char *name)
{
	for (size_t i = 0; i < *count; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	list[*count].name = strdup(name);
	return &list[(*count)++];
}

static unsigned metric_of(struct text_source *s, const struct line *l)
{
	for (unsigned i = 0; i < s->metric_count; i++)
		if (!strcmp(s->metrics[i].name, l->metric))
			return i;
	s->metrics[s->metric_count] = (struct sample_metric){
		.name = strdup(l->metric),
		.unit = metric_unit_by_name(!strcmp(l->unit, "-") ? "" : l->unit),
		.kind = metric_kind_by_name(l->kind),
		.agg = agg_of(l->agg),
		.help = "from a text"};
	return (unsigned)s->metric_count++;
}

static void put_line(struct text_source *s, const struct line *l)
{
	uint32_t e = sample_entity(&s->set, entity_kind_by_name(l->entity_kind), l->entity);
	char *equals = strchr(l->fact, '=');

	if (equals) {
		char key[48];

		snprintf(key, sizeof(key), "%.*s", (int)(equals - l->fact), l->fact);
		sample_set_metadata(&s->set, e, key, equals + 1);
	}
	if (!s->set.row_count || s->set.rows[s->set.row_count - 1].entity != e)
		sample_row(&s->set, e);
	sample_put(&s->set, metric_of(s, l), l->value);
}

static int write_text(struct sample_writer *w)
{
	static struct line lines[4096];
	static struct text_source list[16];
	char buf[512];
	size_t n = 0, count = 0;

	while (n < 4096 && count < 16 && fgets(buf, sizeof(buf), stdin)) {
		struct line *l = &lines[n];

		if (sscanf(buf, "%lf %31s %31s %15s %15s %15s %15s %47s %lld %47s", &l->time,
			   l->source, l->metric, l->unit, l->kind, l->agg, l->entity_kind,
			   l->entity, &l->value, l->fact) < 9)
			return -1;
		metric_of(source_of(list, &count, l->source), l);
		n++;
	}
	for (size_t i = 0; i < count; i++) {
		sample_init(&list[i].set, list[i].metrics, list[i].metric_count);
		list[i].number = sample_writer_source(w, list[i].name, 1, &list[i].set);
	}
	for (size_t i = 0, to; i < n; i = to) {
		struct text_source *s = source_of(list, &count, lines[i].source);

		sample_begin(&s->set);
		s->set.time_ns = (uint64_t)llround(lines[i].time * 1e9);
		for (to = i; to < n && lines[to].time == lines[i].time &&
			     !strcmp(lines[to].source, s->name);
		     to++)
			put_line(s, &lines[to]);
		sample_writer_add(w, s->number, &s->set);
		if (sample_writer_flush(w, false) < 0)
			return -1;
	}
	return 0;
}

static int write_samples(int fd, const struct plan *p)
{
	struct sample_file_head head = {.host = (char *)p->host,
					.boot = (char *)"0123abcd-0000",
					.job = (char *)p->job,
					.run = (char *)p->run,
					.period_ns = (uint64_t)(p->period * 1e9),
					.realtime_ns = llround(p->start * 1e6) * 1000};
	struct sample_writer *w = sample_writer_open(fd, &head);
	struct sample_set process, sys, gpu;
	int r = 0;

	if (p->mix || p->text || p->whole) {
		r = p->mix ? write_mix(w, p) : p->whole ? write_whole(w, p) : write_text(w);
		return r < 0 ? r : sample_writer_close(w, "done");
	}

	sample_init(&process, process_metrics, 2);
	sample_init(&sys, system_metrics, 3);
	sample_init(&gpu, gpu_metrics, 1);
	unsigned a = sample_writer_source(w, "process", 1, &process);
	unsigned b = sample_writer_source(w, "system", 1, &sys);
	unsigned c = sample_writer_source(w, "nvidia", 4, &gpu);
	for (long k = 0; k < p->count && r == 0; k++) {
		begin(&process, p, k);
		read_processes(&process, p, k);
		sample_writer_add(w, a, &process);
		begin(&sys, p, k);
		read_system(&sys, p, k);
		sample_writer_add(w, b, &sys);
		if (k % 4 == 0) {
			begin(&gpu, p, k);
			uint32_t e = sample_entity(&gpu, ENTITY_GPU, "0");
			sample_set_metadata(&gpu, e, "model", "Tesla T");
			sample_row(&gpu, e);
			sample_put(&gpu, 0, 50000 + k);
			sample_writer_add(w, c, &gpu);
		}
		r = sample_writer_flush(w, false);
	}
	int end = sample_writer_close(w, "done");
	sample_release(&process);
	sample_release(&sys);
	sample_release(&gpu);
	return r < 0 ? r : end;
}

int main(int argc, char **argv)
{
	struct plan p = {"node1", "42", "run1", 1700000000, 1,     60,
			 3,       0,    false,  false,      false, false};
	int c;

	while ((c = getopt(argc, argv, "h:j:r:s:p:c:n:z:xmtw")) >= 0) {
		if (c == 'h')
			p.host = optarg;
		else if (c == 'j')
			p.job = optarg;
		else if (c == 'r')
			p.run = optarg;
		else if (c == 's')
			p.start = strtod(optarg, NULL);
		else if (c == 'p')
			p.period = strtod(optarg, NULL);
		else if (c == 'c')
			p.count = strtol(optarg, NULL, 10);
		else if (c == 'n')
			p.processes = strtol(optarg, NULL, 10);
		else if (c == 'z')
			p.reset = strtol(optarg, NULL, 10);
		else if (c == 'x')
			p.extremes = true;
		else if (c == 'm')
			p.mix = true;
		else if (c == 't')
			p.text = true;
		else if (c == 'w')
			p.whole = true;
		else
			return 2;
	}
	if (optind + 1 != argc) {
		fprintf(stderr,
			"usage: make_samples [-h HOST] [-j JOB] [-r RUN] [-s START] [-p "
			"PERIOD] [-c COUNT] [-n PROCESSES] [-z RESET] [-x] [-m] [-t] [-w] FILE\n");
		return 2;
	}
	int fd = open(argv[optind], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0 || write_samples(fd, &p) < 0) {
		perror(argv[optind]);
		return 1;
	}
	return close(fd) < 0;
}
