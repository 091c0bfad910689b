/*
 * colmet's protocol for the node daemon. Samples become colmet's records and are pushed to a colmet
 * collector, one message per tick. While the collector is away, messages wait in a bounded queue;
 * when it is full the oldest are dropped and counted. Sampling never waits. The Rust version's
 * configuration messages are taken, too.
 */
#include <errno.h>
#include <string.h>

#include "compat/colmet/colmet.h"
#include "compat/colmet/colmet_names.h"
#include "core/clock.h"
#include "core/crc32c.h"
#include "node/node_protocol.h"
#include "transport/link.h"

struct message {
	char *data;
	size_t size;
};

struct colmet {
	struct link *link;
	struct row_mapper *mapper;
	struct node_protocol_counts *counts;
	char *node;
	char **sources; /* names by number */
	size_t source_count, source_cap;
	int64_t offset_ns;     /* wall clock less boot time */
	struct strbuf packing; /* the message being made */
	struct message *queue; /* a ring */
	size_t first, count, cap;
	int named;
	struct colmet_rust *rust; /* NULL: records alone are sent */
	bool records;
	struct sample_set tasks, memory; /* of the named processes */
};

/* What colmet's records have of a job that is made of named processes, and where it comes from. */
struct derived {
	const char *from; /* metric of the source process */
	struct sample_metric metric;
};
#define COUNTER(from, name, unit, scale)                               \
	{                                                              \
		from,                                                  \
		{                                                      \
			name, unit, KIND_COUNTER, AGG_SUM, scale, NULL \
		}                                                      \
	}
static const struct derived tasks_of[] = {
	COUNTER("time_oncpu", "cpu_run_real_total", UNIT_NANOSECONDS, 0),
	COUNTER("time_oncpu", "cpu_run_virtual_total", UNIT_NANOSECONDS, 0),
	COUNTER("time_waiting", "cpu_delay_total", UNIT_NANOSECONDS, 0),
	COUNTER("timeslices", "cpu_count", UNIT_COUNT, 0),
	COUNTER("usertime", "ac_utime", UNIT_MICROSECONDS, 10000),
	COUNTER("systemtime", "ac_stime", UNIT_MICROSECONDS, 10000),
	COUNTER("minflt", "ac_minflt", UNIT_COUNT, 0),
	COUNTER("majflt", "ac_majflt", UNIT_COUNT, 0),
	COUNTER("rchar", "read_char", UNIT_BYTES, 0),
	COUNTER("wchar", "write_char", UNIT_BYTES, 0),
	COUNTER("syscr", "read_syscalls", UNIT_COUNT, 0),
	COUNTER("syscw", "write_syscalls", UNIT_COUNT, 0),
	COUNTER("read_bytes", "read_bytes", UNIT_BYTES, 0),
	COUNTER("write_bytes", "write_bytes", UNIT_BYTES, 0),
	COUNTER("cancelled_write_bytes", "cancelled_write_bytes", UNIT_BYTES, 0),
};
static const struct derived memory_of[] = {
	COUNTER("rchar", "rchar", UNIT_BYTES, 0),
	COUNTER("wchar", "wchar", UNIT_BYTES, 0),
	COUNTER("syscr", "syscr", UNIT_COUNT, 0),
	COUNTER("syscw", "syscw", UNIT_COUNT, 0),
	COUNTER("read_bytes", "read_bytes", UNIT_BYTES, 0),
	COUNTER("write_bytes", "write_bytes", UNIT_BYTES, 0),
	COUNTER("cancelled_write_bytes", "cancelled_write_bytes", UNIT_BYTES, 0),
	{"rss", {"VmRSS", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, NULL}},
	{"vms", {"VmSize", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, NULL}},
};
static struct sample_metric task_metrics[ARRAY_SIZE(tasks_of)];
static struct sample_metric memory_metrics[ARRAY_SIZE(memory_of)];

static unsigned add_source(void *user, const char *name, unsigned every, struct sample_set *set)
{
	struct colmet *c = user;

	(void)every;
	(void)set;
	GROW(c->sources, c->source_count, c->source_cap);
	c->sources[c->source_count] = xstrdup(name);
	return (unsigned)c->source_count++;
}

/* The row of all named processes together, under the names of a source that has one for each job.
 */
static void derive(struct colmet *c, const struct sample_set *from, size_t row,
		   const struct derived *what, size_t count, struct sample_set *to)
{
	char name[24];

	snprintf(name, sizeof(name), "%d", c->named);
	sample_begin(to);
	sample_row(to, sample_entity(to, ENTITY_JOB, name));
	for (unsigned i = 0; i < count; i++)
		for (unsigned m = 0; m < from->metric_count; m++)
			if (from->rows[row].present >> m & 1 &&
			    !strcmp(from->metrics[m].name, what[i].from))
				sample_put(to, i, from->values[row * from->metric_count + m]);
}

static void add_named(struct colmet *c, const struct sample_set *set, int64_t time_us)
{
	for (size_t row = 0; row < set->row_count; row++) {
		if (set->entities[set->rows[row].entity].kind != ENTITY_JOB)
			continue;
		derive(c, set, row, tasks_of, ARRAY_SIZE(tasks_of), &c->tasks);
		colmet_mapper_add(c->mapper, c->node, "job_tasks", &c->tasks, time_us);
		derive(c, set, row, memory_of, ARRAY_SIZE(memory_of), &c->memory);
		colmet_mapper_add(c->mapper, c->node, "jobproc", &c->memory, time_us);
	}
}

/*
 * colmet's jobs are numbers. A group that was named on the command line may be called anything: its
 * number is then made from its name, the same one always. Names are changed for the mapper alone.
 */
static char **number_jobs(struct sample_set *set)
{
	char **old_names = NULL;

	for (size_t i = 0; i < set->entity_count; i++) {
		struct entity *e = &set->entities[i];
		uint64_t number;

		if (e->kind != ENTITY_JOB || row_job_number(e->name, strlen(e->name), &number))
			continue;
		old_names = old_names ? old_names : xcalloc(set->entity_count, sizeof(*old_names));
		old_names[i] = e->name;
		e->name = xasprintf("%u", crc32c(0, e->name, strlen(e->name)) | 0x80000000u);
	}
	return old_names;
}

static void name_jobs(struct sample_set *set, char **old_names)
{
	for (size_t i = 0; old_names && i < set->entity_count; i++)
		if (old_names[i]) {
			free(set->entities[i].name);
			set->entities[i].name = old_names[i];
		}
	free(old_names);
}

static void add_reading(void *user, unsigned source, struct sample_set *set)
{
	struct colmet *c = user;
	int64_t time_us = ((int64_t)set->time_ns + c->offset_ns) / 1000;

	if (c->named && !strcmp(c->sources[source], "process")) {
		add_named(c, set, time_us);
		return;
	}
	char **old_names = number_jobs(set);
	colmet_mapper_add(c->mapper, c->node, c->sources[source], set, time_us);
	if (c->rust)
		colmet_rust_add(c->rust, c->sources[source], set, time_us);
	name_jobs(set, old_names);
}

static void add_clock(void *user, uint64_t boottime_ns, int64_t realtime_ns)
{
	struct colmet *c = user;

	c->offset_ns = realtime_ns - (int64_t)boottime_ns;
}

static void drop_first(struct colmet *c)
{
	free(c->queue[c->first].data);
	c->first = (c->first + 1) % c->cap;
	c->count--;
}

static void send_waiting(struct colmet *c)
{
	while (c->count) {
		const struct message *m = &c->queue[c->first];
		const struct link_part part = {m->data, m->size};

		if (link_send(c->link, &part, 1) < 0)
			break;
		c->counts->messages++;
		drop_first(c);
	}
	c->counts->waiting = c->count;
}

static void take_record(void *user, const struct fixed_row *r)
{
	struct colmet *c = user;

	if (c->rust)
		colmet_rust_count(c->rust, r);
	if (!c->records)
		return;
	colmet_pack(r, &c->packing);
	c->counts->records++;
}

/* What was packed waits in the queue from now on. */
static void enqueue(struct colmet *c)
{
	if (!c->packing.len)
		return;
	if (c->count == c->cap) {
		drop_first(c);
		c->counts->dropped++;
	}
	struct message *m = &c->queue[(c->first + c->count++) % c->cap];
	m->size = c->packing.len;
	m->data = xmalloc(m->size);
	memcpy(m->data, c->packing.buf, m->size);
	strbuf_reset(&c->packing);
}

static int flush(void *user, bool sync)
{
	struct colmet *c = user;

	(void)sync;
	strbuf_reset(&c->packing);
	colmet_mapper_flush(c->mapper, take_record, c);
	send_waiting(c);
	enqueue(c);
	if (c->rust)
		c->counts->records += colmet_rust_pack(c->rust, c->node, &c->packing);
	enqueue(c);
	send_waiting(c);
	return 0;
}

static void forget_sources(struct colmet *c)
{
	for (size_t i = 0; i < c->source_count; i++)
		free(c->sources[i]);
	c->source_count = 0;
}

static int restart(void *user, const struct sample_file_head *head)
{
	struct colmet *c = user;
	int r = flush(c, false);

	(void)head;
	forget_sources(c);
	return r;
}

static int end(void *user, const char *reason)
{
	struct colmet *c = user;

	(void)reason;
	(void)flush(c, true);
	c->counts->dropped += c->count;
	while (c->count)
		drop_first(c);
	link_close(c->link);
	colmet_mapper_free(c->mapper);
	colmet_rust_free(c->rust);
	forget_sources(c);
	sample_release(&c->tasks);
	sample_release(&c->memory);
	free(c->sources);
	free(c->queue);
	free(c->node);
	strbuf_release(&c->packing);
	free(c);
	return 0;
}

static bool derives(const struct derived *what, size_t count,
		    bool (*keeps)(void *user, const char *name), void *user)
{
	for (size_t i = 0; i < count; i++)
		if (keeps(user, what[i].from))
			return true;
	return false;
}

static bool leaves(const char *source, const struct sample_metric *list, size_t count,
		   bool (*keeps)(void *user, const char *name), void *user)
{
	if (!strcmp(source, "process"))
		return derives(tasks_of, ARRAY_SIZE(tasks_of), keeps, user) ||
		       derives(memory_of, ARRAY_SIZE(memory_of), keeps, user);
	return colmet_mapper_leaves(source, list, count, keeps, user);
}

static void select_metrics(const struct sample_output *o, const char *names, bool records)
{
	struct colmet *c = o->user;

	colmet_rust_free(c->rust);
	c->rust = names ? colmet_rust_new(names) : NULL;
	c->records = records || !names;
}

static void retry(const struct sample_output *o)
{
	send_waiting(o->user);
}

static void copy_metrics(struct sample_metric *to, const struct derived *from, size_t count)
{
	for (size_t i = 0; i < count; i++)
		to[i] = from[i].metric;
}

static int open_output(struct sample_output *ret, const struct node_protocol_options *o,
		       struct node_protocol_counts *counts, struct strbuf *why)
{
	unsigned room = o->high_water ? o->high_water : 1000;
	/* what the library holds back cannot be dropped: until there is somebody it has nothing */
	const struct link_options lo = {.kind = LINK_PUSH,
					.uri = o->uri,
					.high_water = (int)room,
					.linger_ms = o->linger_ms,
					.only_connected = true};
	struct link *link;
	int r = link_open(&link, &lo, why);

	if (r < 0)
		return r;
	struct colmet *c = xcalloc(1, sizeof(*c));
	c->link = link;
	c->mapper = colmet_mapper_new();
	c->records = true;
	c->counts = counts;
	c->node = xstrdup(o->node);
	c->packing = (struct strbuf)STRBUF_INIT;
	c->cap = room;
	c->named = o->named;
	copy_metrics(task_metrics, tasks_of, ARRAY_SIZE(tasks_of));
	copy_metrics(memory_metrics, memory_of, ARRAY_SIZE(memory_of));
	sample_init(&c->tasks, task_metrics, ARRAY_SIZE(task_metrics));
	sample_init(&c->memory, memory_metrics, ARRAY_SIZE(memory_metrics));
	c->queue = xcalloc(c->cap, sizeof(*c->queue));
	uint64_t boot_ns;
	int64_t real_ns;
	clock_pair(&boot_ns, &real_ns);
	c->offset_ns = real_ns - (int64_t)boot_ns;
	*ret = (struct sample_output){.source = add_source,
				      .add = add_reading,
				      .clock = add_clock,
				      .flush = flush,
				      .restart = restart,
				      .end = end,
				      .user = c};
	return 0;
}

/* ---- configuration -------------------------------------------------------------------------- */

static int read_request(const void *p, size_t n, struct node_protocol_request *ret,
			struct strbuf *why)
{
	struct colmet_configuration said;
	int r = colmet_read_configuration(p, n, &said, why);

	if (r < 0)
		return r;
	_Static_assert(sizeof(said.metrics) == sizeof(ret->metrics), "a list would be cut");
	memcpy(ret->metrics, said.metrics, sizeof(ret->metrics));
	if (said.period_s != 0)
		snprintf(ret->period, sizeof(ret->period), "%lldms",
			 said.period_s > 0 && said.period_s < 1e6
				 ? (long long)round_i64(said.period_s * 1000)
				 : 0);
	return 0;
}

static int change(const struct node_settings *s, bool only, const char *list, struct config *next,
		  const char *origin, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf filter = STRBUF_INIT, words = STRBUF_INIT;
	struct colmet_names names;
	int r = colmet_names_read(&names, list, only, why);

	if (r == 0) {
		colmet_names_filter(&names, s->metrics_text, &filter);
		config_set(next, SETTING_NODE_METRICS, filter.buf, origin);
	}
	/* a node that sends the Rust version's messages goes on with them */
	if (r == 0 && (names.rust.len || *config_get(next, SETTING_NODE_COLMET_NAMES)))
		config_set(next, SETTING_NODE_COLMET_NAMES,
			   names.rust.len ? names.rust.buf : names.counters.buf, origin);
	if (r == 0 && names.counters.len) {
		node_count_events(s, names.counters.buf, &words);
		config_set(next, SETTING_NODE_SOURCES, words.buf, origin);
	}
	colmet_names_release(&names);
	return r;
}

const struct node_protocol node_protocol_colmet = {
	.name = "colmet",
	.example = "tcp://HOST:5556",
	.named_source = "jobs",
	.address = SETTING_NODE_COLMET,
	.control = SETTING_NODE_COLMET_CONFIG,
	.named_metrics = SETTING_NODE_COLMET_NAMES,
	.open = open_output,
	.select = select_metrics,
	.leaves = leaves,
	.retry = retry,
	.read = read_request,
	.change = change,
};
