/*
 * The model of the live view; see top_view.h. A process is identified by its pid and start time, so
 * that one with a reused pid begins without a history.
 */
#include "views/top/top_view.h"

#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "views/top/top_view_internal.h"

#define TICKS_PER_S 100

#define COUNTER .counter = true
#define CURVE(name, json, from, what, of, how, ...)                                               \
	{                                                                                         \
		.label = (name), .key = (json), .source = (from), .metric = (what), .kind = (of), \
		.form = (how), __VA_ARGS__                                                        \
	}

const struct top_source top_sources[] = {
	CURVE("cpu", "cpu_percent", "process", "cpu_percent", ENTITY_JOB, FORM_PERCENT,
	      .always = true),
	CURVE("memory", "memory_bytes", "process", "rss", ENTITY_JOB, FORM_BYTES, .always = true,
	      .second = true),
	CURVE("read", "read_bytes_per_second", "process", "read_bytes", ENTITY_JOB, FORM_RATE,
	      COUNTER, .always = true),
	CURVE("write", "write_bytes_per_second", "process", "write_bytes", ENTITY_JOB, FORM_RATE,
	      COUNTER, .always = true, .second = true),
	CURVE("net in", "network_in_bytes_per_second", "network", "rx_bytes", ENTITY_NODE,
	      FORM_RATE, COUNTER, .always = true),
	CURVE("net out", "network_out_bytes_per_second", "network", "tx_bytes", ENTITY_NODE,
	      FORM_RATE, COUNTER, .always = true, .second = true),
	CURVE("ib in", "infiniband_in_bytes_per_second", "infiniband", "port_rcv_data", ENTITY_NODE,
	      FORM_RATE, COUNTER),
	CURVE("ib out", "infiniband_out_bytes_per_second", "infiniband", "port_xmit_data",
	      ENTITY_NODE, FORM_RATE, COUNTER, .second = true),
	CURVE("node", "node_cpu_percent", "system", "cpu_percent", ENTITY_NODE, FORM_PERCENT,
	      .of_all = true),
	CURVE("power", "power_watts", "rapl", "energy", ENTITY_NODE, FORM_WATTS, COUNTER,
	      .second = true),
	CURVE("gpu", "gpu_percent", "nvidia", "utilization_gpu", ENTITY_GPU, FORM_PERCENT,
	      .mean = true),
	CURVE("gpu mem", "gpu_memory_bytes", "nvidia", "memory_used", ENTITY_GPU, FORM_BYTES,
	      .second = true),
	CURVE("gpu", "amdgpu_percent", "amdgpu", "utilization_gpu", ENTITY_GPU, FORM_PERCENT,
	      .mean = true),
	CURVE("gpu mem", "amdgpu_memory_bytes", "amdgpu", "memory_used", ENTITY_GPU, FORM_BYTES,
	      .second = true),
};
const size_t top_source_count = ARRAY_SIZE(top_sources);
_Static_assert(ARRAY_SIZE(top_sources) <= TOP_CURVES_MAX, "TOP_CURVES_MAX is too small");

struct topview *topview_new(void)
{
	struct topview *v = xcalloc(1, sizeof(*v));

	v->threads = v->elapsed_s = v->cpus = NAN;
	return v;
}

static void free_devices(struct topview *v)
{
	for (size_t i = 0; i < v->device_count; i++) {
		free(v->devices[i].text);
		free(v->devices[i].name);
	}
	v->device_count = 0;
}

void topview_free(struct topview *v)
{
	if (!v)
		return;
	for (size_t i = 0; i < TOP_CURVES_MAX; i++)
		free(v->curves[i].values);
	for (size_t i = 0; i < v->count; i++)
		free(v->list[i].command);
	free_devices(v);
	free(v->devices);
	free(v->list);
	free(v);
}

bool topview_wants(const char *source)
{
	for (size_t i = 0; i < top_source_count; i++)
		if (!strcmp(top_sources[i].source, source))
			return true;
	return false;
}

size_t topview_count(const struct topview *v)
{
	return v->count;
}

/* ---- processes ------------------------------------------------------------------------------- */

static int by_identity(const void *a, const void *b)
{
	const struct top_process *x = a, *y = b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return (x->starttime > y->starttime) - (x->starttime < y->starttime);
}

/* Those of earlier rounds are sorted; new ones come behind them, mostly in their order, too. */
static struct top_process *find(struct topview *v, int pid, uint64_t starttime)
{
	struct top_process want = {.pid = pid,
				   .starttime = starttime,
				   .rank = -1,
				   .cpu = NAN,
				   .rss = NAN,
				   .read = NAN,
				   .write = NAN,
				   .threads = NAN};
	struct top_process *p =
		v->sorted ? bsearch(&want, v->list, v->sorted, sizeof(want), by_identity) : NULL;

	for (size_t i = v->sorted; !p && i < v->count; i++)
		if (!by_identity(&v->list[i], &want))
			p = &v->list[i];
	if (p)
		return p;
	if (v->sorted == v->count && (!v->count || by_identity(&v->list[v->count - 1], &want) < 0))
		v->sorted++;
	GROW(v->list, v->count, v->cap);
	v->list[v->count] = want;
	return &v->list[v->count++];
}

void topview_state(struct topview *v, int pid, char state)
{
	for (size_t i = 0; i < v->count; i++)
		if (v->list[i].pid == pid)
			v->list[i].state = state;
}

void topview_begin(struct topview *v, uint64_t time_ns)
{
	v->time_ns = time_ns;
	v->alive = 0;
	v->threads = NAN;
	if (v->count)
		qsort(v->list, v->count, sizeof(*v->list), by_identity);
	v->sorted = v->count;
	for (size_t i = 0; i < v->count; i++)
		v->list[i].seen = false;
	for (size_t i = 0; i < TOP_CURVES_MAX; i++)
		v->curves[i].fresh = false;
	free_devices(v);
}

void topview_watch(struct topview *v, const struct job_processes *w)
{
	v->alive = w->count;
	for (size_t i = 0; i < w->count; i++) {
		struct top_process *p = find(v, w->list[i].pid, w->list[i].starttime);

		p->seen = true;
		p->rank = w->list[i].rank;
	}
}

/* ---- readings -------------------------------------------------------------------------------- */

/* Value of a row by the name of the metric, in its unit; NAN when it is not there. */
static double value_of(const struct sample_set *set, size_t row, const char *metric)
{
	for (unsigned m = 0; m < set->metric_count; m++)
		if (!strcmp(set->metrics[m].name, metric))
			return set->rows[row].present >> m & 1 ? sample_value(set, row, m) : NAN;
	return NAN;
}

/* What grew per second; NAN without a past, and when it shrank. */
static double per_second(double now, double then, uint64_t from_ns, uint64_t to_ns)
{
	if (isnan(now) || isnan(then) || !from_ns || to_ns <= from_ns || now < then)
		return NAN;
	return (now - then) / ((double)(to_ns - from_ns) / 1e9);
}

static void take_command(struct top_process *p, const struct entity *e)
{
	_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT;
	const char *text;
	size_t n;

	if ((!entity_metadata(e, "cmdline", &text, &n) || !n) &&
	    !entity_metadata(e, "comm", &text, &n))
		return;
	text_add_printable(&clean, text, n);
	free(p->command);
	p->command = strbuf_take(&clean);
}

static void take_process(struct topview *v, const struct sample_set *set, size_t row)
{
	const struct entity *e = &set->entities[set->rows[row].entity];
	char *end;
	long pid = strtol(e->name, &end, 10);
	uint64_t starttime = *end == '.' ? strtoull(end + 1, NULL, 10) : 0;
	const char *text;
	size_t n;

	if (pid <= 0 || pid > INT32_MAX)
		return;
	struct top_process *p = find(v, (int)pid, starttime);
	double cpu_us = value_of(set, row, "usertime") + value_of(set, row, "systemtime");
	double in = value_of(set, row, "read_bytes"), out = value_of(set, row, "write_bytes");
	bool past = p->last_ns != 0;

	p->seen = true;
	p->cpu = value_of(set, row, "cpu_percent");
	if (isnan(p->cpu) && past)
		p->cpu = per_second(cpu_us, p->last_cpu_us, p->last_ns, set->time_ns) / 1e4;
	p->read = past ? per_second(in, p->last_read, p->last_ns, set->time_ns) : NAN;
	p->write = past ? per_second(out, p->last_write, p->last_ns, set->time_ns) : NAN;
	p->rss = value_of(set, row, "rss");
	p->threads = value_of(set, row, "num_threads");
	p->last_cpu_us = cpu_us;
	p->last_read = in;
	p->last_write = out;
	p->last_ns = set->time_ns;
	if (p->rank < 0 && entity_metadata(e, "rank", &text, &n))
		p->rank = (int)strtol(text, NULL, 10);
	if (entity_metadata(e, "state", &text, &n) && n)
		p->state = *text;
	take_command(p, e);
}

static void push(struct top_curve *c, double value)
{
	if (!c->values)
		c->values = xcalloc(TOP_HISTORY, sizeof(*c->values));
	c->values[c->count++ % TOP_HISTORY] = value;
	c->seen |= !isnan(value);
}

double top_curve_now(const struct top_curve *c)
{
	return c->count ? c->values[(c->count - 1) % TOP_HISTORY] : NAN;
}

/* Sum or mean over the rows of a kind; NAN when none has the metric. */
static double gather(const struct sample_set *set, enum entity_kind kind, const char *metric,
		     bool mean)
{
	double sum = 0;
	size_t count = 0;

	for (size_t i = 0; i < set->row_count; i++) {
		double value = set->entities[set->rows[i].entity].kind == kind
				       ? value_of(set, i, metric)
				       : NAN;

		if (isnan(value))
			continue;
		sum += value;
		count++;
	}
	return !count ? NAN : mean ? sum / (double)count : sum;
}

static void take_curve(struct topview *v, size_t i, const struct sample_set *set)
{
	const struct top_source *s = &top_sources[i];
	struct top_curve *c = &v->curves[i];
	double value = gather(set, s->kind, s->metric, s->mean);

	/* a source without a row for the whole job */
	if (isnan(value) && s->kind == ENTITY_JOB)
		value = gather(set, ENTITY_PROCESS, s->metric, false);
	if (s->of_all)
		value *= v->cpus;
	c->fresh = true;
	if (!s->counter) {
		push(c, value);
		return;
	}
	push(c, per_second(value, c->last_ns ? c->last : NAN, c->last_ns, set->time_ns));
	c->last = value;
	c->last_ns = set->time_ns;
}

static void take_device(struct topview *v, const struct sample_set *set, size_t row)
{
	const struct entity *e = &set->entities[set->rows[row].entity];
	struct top_device d = {.kind = entity_kind_name(e->kind),
			       .busy = value_of(set, row, "utilization_gpu"),
			       .memory = value_of(set, row, "memory_used"),
			       .power = value_of(set, row, "power")};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%s%s", e->kind == ENTITY_GPU && *e->name <= '9' ? "gpu" : "", e->name);
	if (!isnan(d.busy))
		strbuf_addf(&text, " %.0f %%", d.busy);
	if (!isnan(d.memory)) {
		strbuf_addch(&text, ' ');
		text_add_bytes(&text, d.memory);
	}
	if (!isnan(d.power))
		strbuf_addf(&text, " %.0f W", d.power);
	d.name = xstrdup(e->name);
	d.text = strbuf_take(&text);
	GROW(v->devices, v->device_count, v->device_cap);
	v->devices[v->device_count++] = d;
}

void topview_take(struct topview *v, const char *source, const struct sample_set *set)
{
	if (!strcmp(source, "system"))
		v->cpus = gather(set, ENTITY_NODE, "cpus_online", false);
	for (size_t i = 0; i < top_source_count; i++)
		if (!strcmp(top_sources[i].source, source))
			take_curve(v, i, set);
	for (size_t i = 0; i < set->row_count; i++) {
		const struct entity *e = &set->entities[set->rows[i].entity];

		if (e->kind == ENTITY_PROCESS && !strcmp(source, "process"))
			take_process(v, set, i);
		else if (e->kind == ENTITY_GPU)
			take_device(v, set, i);
	}
	if (!strcmp(source, "process")) {
		v->threads = gather(set, ENTITY_JOB, "num_threads", false);
		if (isnan(v->threads))
			v->threads = gather(set, ENTITY_PROCESS, "num_threads", false);
	}
}

void topview_end(struct topview *v)
{
	uint64_t oldest = UINT64_MAX;
	size_t keep = 0;

	for (size_t i = 0; i < v->count; i++) {
		struct top_process *p = &v->list[i];

		if (!p->seen) {
			free(p->command);
			continue;
		}
		if (p->starttime && p->starttime < oldest)
			oldest = p->starttime;
		v->list[keep++] = *p;
	}
	v->count = keep;
	v->sorted = 0;
	/* those that were not read this time stay as they were */
	for (size_t i = 0; i < top_source_count; i++)
		if (!v->curves[i].fresh)
			push(&v->curves[i], top_curve_now(&v->curves[i]));
	if (oldest != UINT64_MAX && v->time_ns / (1000000000 / TICKS_PER_S) >= oldest)
		v->elapsed_s = (double)v->time_ns / 1e9 - (double)oldest / TICKS_PER_S;
}

/* ---- order ----------------------------------------------------------------------------------- */

static double known(double value)
{
	return isnan(value) ? -1 : value;
}

static double key(const struct top_process *p, enum top_sort sort)
{
	if (sort == TOP_BY_MEMORY)
		return known(p->rss);
	if (sort == TOP_BY_IO)
		return isnan(p->read) && isnan(p->write)
			       ? -1
			       : (isnan(p->read) ? 0 : p->read) + (isnan(p->write) ? 0 : p->write);
	return known(p->cpu);
}

static int order(const void *a, const void *b, void *sort)
{
	const struct top_process *x = a, *y = b;
	double kx = key(x, *(enum top_sort *)sort), ky = key(y, *(enum top_sort *)sort);

	if (kx != ky)
		return kx > ky ? -1 : 1;
	return by_identity(a, b);
}

void topview_sort(struct topview *v, enum top_sort sort)
{
	v->sorted = 0;
	if (v->count)
		qsort_r(v->list, v->count, sizeof(*v->list), order, &sort);
}

size_t topview_shown(struct topview *v, const struct top_look *look, int *pids, size_t max)
{
	size_t count = 0;

	topview_sort(v, look->sort);
	for (size_t i = look->scroll; i < v->count && count < max; i++)
		pids[count++] = v->list[i].pid;
	return count;
}
