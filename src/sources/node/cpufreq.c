/*
 * Clock frequency of each CPU, and how often it was throttled for heat.
 *
 * There are two ways to the same number. scaling_cur_freq is one file a CPU, and cheap with kept
 * descriptors, except that Linux 4.13 to 5.17 on x86 sleep 10 to 20 ms for each CPU whose last
 * answer is older than a second: 5 s for 256 of them. /proc/cpuinfo sleeps once for all, but is a
 * text of 1.5 kB a CPU to be made and read. Both are timed when the source is opened, and the
 * cheaper is taken; cpufreq=files and cpufreq=cpuinfo decide. Where the kernel may sleep, the
 * source is slow.
 *
 * Counts of throttling are of a core or a package, and told by each CPU of it: the node's sum takes
 * the largest of a core, and one of a package.
 */
#include "sources/node/cpufreq.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/system/procparse.h"
#include "sources/source.h"
#include "sources/sysfile.h"

#define CPUS "/sys/devices/system/cpu"
#define CPUS_MAX 8192
#define CPUINFO_MAX ((size_t)32 << 20)
#define TRIAL_NS 50000000ull /* files are given up as too slow after this */
/* CPUs that come later are looked for so often. */
#define LOOK_NS 30000000000ull

enum { FREQUENCY, LOWEST, HIGHEST, CORE_THROTTLES, PACKAGE_THROTTLES, METRICS };

static const struct sample_metric metrics_of_cpufreq[METRICS] = {
	[FREQUENCY] = {"frequency", UNIT_HERTZ, KIND_GAUGE, AGG_NONE, 1000,
		       "clock frequency; of the node the mean over CPUs"},
	[LOWEST] = {"frequency_lowest", UNIT_HERTZ, KIND_GAUGE, AGG_MIN, 1000,
		    "frequency of the slowest CPU"},
	[HIGHEST] = {"frequency_highest", UNIT_HERTZ, KIND_GAUGE, AGG_MAX, 1000,
		     "frequency of the fastest CPU"},
	[CORE_THROTTLES] = {"core_throttles", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
			    "times a core was slowed down for heat"},
	[PACKAGE_THROTTLES] = {"package_throttles", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
			       "times a package was slowed down for heat"},
};

struct cpu {
	int number;
	char name[16];
	int64_t package, core; /* -1: not known */
	struct sysfile freq, throttle, package_throttle;
	size_t head;              /* the first CPU of its core */
	uint64_t khz;             /* of this reading; 0: not there */
	uint64_t throttles, most; /* most: of its core, kept by the head */
	bool has_throttles, told;
};

struct cpufreq {
	const char *root;
	struct cpu *list;
	size_t count, cap;
	bool by_cpuinfo;
	uint64_t looked_ns; /* when CPUs were looked for */
	struct sysfile cpuinfo;
	struct strbuf text;
};

/* ---- /proc/cpuinfo ----------------------------------------------------------------------------
 */

/* "2596.142": thousandths of a megahertz. */
static bool parse_mhz(const char *p, const char *end, uint64_t *khz)
{
	uint64_t v = 0;
	int digits = 0, decimals = -1;

	for (; p < end && decimals < 3; p++) {
		if (*p == '.' && decimals < 0) {
			decimals = 0;
			continue;
		}
		if (*p < '0' || *p > '9')
			break;
		v = v * 10 + (uint64_t)(*p - '0');
		decimals += decimals >= 0;
		if (++digits > 12)
			return false;
	}
	for (decimals = decimals < 0 ? 0 : decimals; decimals < 3; decimals++)
		v *= 10;
	*khz = v;
	return digits && v;
}

bool cpufreq_next(const char **p, const char *end, int64_t *cpu, uint64_t *khz)
{
	while (*p < end) {
		const char *line = *p, *newline = memchr(line, '\n', (size_t)(end - line));
		const char *stop = newline ? newline : end;
		const char *colon = memchr(line, ':', (size_t)(stop - line)), *key = colon;
		uint64_t n;

		*p = newline ? newline + 1 : end;
		if (!colon)
			continue;
		while (key > line && (key[-1] == ' ' || key[-1] == '\t'))
			key--;
		for (colon++; colon < stop && *colon == ' ';)
			colon++;
		if (proc_name_is(line, (size_t)(key - line), "processor"))
			*cpu = proc_number(&colon, stop, &n) && n < CPUS_MAX ? (int64_t)n : -1;
		else if (proc_name_is(line, (size_t)(key - line), "cpu MHz") && *cpu >= 0 &&
			 parse_mhz(colon, stop, khz))
			return true;
	}
	return false;
}

static struct cpu *find_cpu(struct cpufreq *s, int64_t number, size_t hint)
{
	if (hint < s->count && s->list[hint].number == number)
		return &s->list[hint];
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].number == number)
			return &s->list[i];
	return NULL;
}

/* ---- reading frequencies
 * -------------------------------------------------------------------------
 */

static size_t read_cpuinfo(struct cpufreq *s)
{
	size_t found = 0;
	int64_t cpu = -1;
	uint64_t khz;

	strbuf_reset(&s->text);
	if (sysfile_whole(&s->cpuinfo, CPUINFO_MAX, &s->text) < 0)
		return 0;
	for (const char *p = s->text.buf, *end = p + s->text.len;
	     cpufreq_next(&p, end, &cpu, &khz);) {
		struct cpu *c = find_cpu(s, cpu, found);

		if (c) {
			c->khz = khz;
			found++;
		}
	}
	return found;
}

/* Gives up after a time, when there is one. */
static size_t read_files(struct cpufreq *s, uint64_t limit_ns)
{
	uint64_t begin = limit_ns ? clock_boottime_ns() : 0;
	size_t found = 0;

	for (size_t i = 0; i < s->count; i++) {
		uint64_t khz;

		if (sysfile_u64(&s->list[i].freq, &khz) == 0 && khz) {
			s->list[i].khz = khz;
			found++;
		}
		if (limit_ns && clock_boottime_ns() - begin > limit_ns)
			break;
	}
	return found;
}

/* Which way is there, and which is cheaper. 0, or -ENOENT. */
static int choose_way(struct cpufreq *s, const char *option, struct strbuf *text)
{
	bool files_only = option && !strcmp(option, "files");
	bool cpuinfo_only = option && !strcmp(option, "cpuinfo");

	uint64_t begin = clock_boottime_ns();
	size_t in_files = cpuinfo_only ? 0 : read_files(s, TRIAL_NS);
	uint64_t middle = clock_boottime_ns();
	size_t in_cpuinfo = files_only ? 0 : read_cpuinfo(s);
	uint64_t end = clock_boottime_ns();

	if (!in_files && !in_cpuinfo) {
		strbuf_addf(text, "no frequencies in %s" CPUS " or %s/proc/cpuinfo", s->root,
			    s->root);
		return -ENOENT;
	}
	s->by_cpuinfo = in_cpuinfo && (!in_files || end - middle < middle - begin);
	strbuf_addf(text, "%zu CPUs by %s", s->by_cpuinfo ? in_cpuinfo : s->count,
		    s->by_cpuinfo ? "/proc/cpuinfo" : "scaling_cur_freq");
	return 0;
}

/* ---- the source
 * ----------------------------------------------------------------------------------
 */

static void add_cpu(struct cpufreq *s, uint64_t number)
{
	GROW(s->list, s->count, s->cap);
	struct cpu *c = &s->list[s->count];

	*c = (struct cpu){.number = (int)number,
			  .package = -1,
			  .core = -1,
			  .head = s->count++,
			  .freq = SYSFILE_INIT,
			  .throttle = SYSFILE_INIT,
			  .package_throttle = SYSFILE_INIT};
	snprintf(c->name, sizeof(c->name), "cpu%d", c->number);
}

/* What a CPU that is offline does not have: where it belongs, and what is counted of heat. */
static void find_throttles(struct cpufreq *s, size_t number)
{
	struct cpu *c = &s->list[number];
	bool first = true;

	(void)sys_i64(&c->package, "%s" CPUS "/%s/topology/physical_package_id", s->root, c->name);
	(void)sys_i64(&c->core, "%s" CPUS "/%s/topology/core_id", s->root, c->name);
	if (sys_readable("%s" CPUS "/%s/thermal_throttle/core_throttle_count", s->root, c->name) <
	    0)
		return;
	sysfile_init(&c->throttle, "%s" CPUS "/%s/thermal_throttle/core_throttle_count", s->root,
		     c->name);
	for (size_t i = 0; i < s->count; i++) {
		const struct cpu *o = &s->list[i];

		if (i == number || !o->throttle.path || o->package != c->package)
			continue;
		first &= !o->package_throttle.path;
		if (c->core >= 0 && o->core == c->core)
			c->head = o->head;
	}
	/* one of a package tells for all of it */
	if (first)
		sysfile_init(&c->package_throttle,
			     "%s" CPUS "/%s/thermal_throttle/package_throttle_count", s->root,
			     c->name);
}

/* Those that are not in the list yet. */
static void find_cpus(struct cpufreq *s)
{
	_cleanup_syslist_ struct syslist l = {0};
	int64_t last = -1;
	uint64_t number;
	bool any = false;

	(void)syslist_read(&l, "cpu", "%s" CPUS, s->root);
	for (size_t i = 0; i < l.count; i++) {
		if (parse_u64(l.names[i] + 3, &number) < 0 || number >= CPUS_MAX)
			continue;
		any = true;
		if (s->count == CPUS_MAX || find_cpu(s, (int64_t)number, i))
			continue;
		add_cpu(s, number);
		sysfile_init(&s->list[s->count - 1].freq,
			     "%s" CPUS "/cpu%u/cpufreq/scaling_cur_freq", s->root,
			     (unsigned)number);
	}
	for (size_t i = 0; any && i < s->count; i++)
		if (!s->list[i].throttle.path)
			find_throttles(s, i);
	strbuf_reset(&s->text);
	if (any || sysfile_whole(&s->cpuinfo, CPUINFO_MAX, &s->text) < 0)
		return;
	/* a tree without /sys */
	for (const char *p = s->text.buf, *end = p + s->text.len;
	     s->count < CPUS_MAX && cpufreq_next(&p, end, &last, &number);)
		if (!find_cpu(s, last, s->count))
			add_cpu(s, (uint64_t)last);
}

static struct cpufreq *new_cpufreq(const struct source_context *ctx)
{
	struct cpufreq *s = xcalloc(1, sizeof(*s));

	*s = (struct cpufreq){.root = ctx->root, .text = STRBUF_INIT};
	sysfile_init(&s->cpuinfo, "%s/proc/cpuinfo", s->root);
	find_cpus(s);
	return s;
}

static void release(struct cpufreq *s)
{
	for (size_t i = 0; i < s->count; i++) {
		sysfile_close(&s->list[i].freq);
		sysfile_close(&s->list[i].throttle);
		sysfile_close(&s->list[i].package_throttle);
	}
	sysfile_close(&s->cpuinfo);
	strbuf_release(&s->text);
	free(s->list);
	free(s);
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	struct cpufreq *s = new_cpufreq(ctx);
	int r = choose_way(s, ctx->option, &report->detail);

	release(s);
	return r;
}

/* Limits in hertz, as the value itself. */
static void tell_limit(struct sample_set *set, uint32_t node, const char *root, const char *key,
		       const char *file)
{
	int64_t khz;
	char text[32];

	if (sys_i64(&khz, "%s" CPUS "/cpu0/cpufreq/cpuinfo_%s_freq", root, file) < 0 &&
	    sys_i64(&khz, "%s" CPUS "/cpu0/cpufreq/scaling_%s_freq", root, file) < 0)
		return;
	if (khz <= 0)
		return;
	snprintf(text, sizeof(text), "%.10g", (double)khz * 1000);
	sample_fact(set, node, key, text);
}

static int open_cpufreq(const struct source_context *ctx, struct sample_set *set, void **state,
			struct strbuf *why)
{
	struct cpufreq *s = new_cpufreq(ctx);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r = choose_way(s, ctx->option, &text);
	if (r < 0) {
		strbuf_addstr(why, text.buf);
		release(s);
		return r;
	}
	bool throttles = false;
	for (size_t i = 0; i < s->count; i++) {
		if (s->by_cpuinfo)
			sysfile_close(&s->list[i].freq);
		throttles |= s->list[i].throttle.path != NULL;
	}
	for (unsigned m = CORE_THROTTLES; !throttles && m <= PACKAGE_THROTTLES; m++)
		sample_absent(set, m, "the kernel does not count this for this processor");
	uint32_t node = sample_entity(set, ENTITY_NODE, "node");
	sample_fact(set, node, "by", s->by_cpuinfo ? "/proc/cpuinfo" : "scaling_cur_freq");
	sys_fact(set, node, "driver", "%s" CPUS "/cpu0/cpufreq/scaling_driver", s->root);
	sys_fact(set, node, "governor", "%s" CPUS "/cpu0/cpufreq/scaling_governor", s->root);
	tell_limit(set, node, s->root, "min", "min");
	tell_limit(set, node, s->root, "max", "max");
	*state = s;
	return 0;
}

static void tell_cpu(struct sample_set *set, uint32_t e, struct cpu *c)
{
	char text[32];

	c->told = true;
	if (c->package >= 0) {
		snprintf(text, sizeof(text), "%lld", (long long)c->package);
		sample_fact(set, e, "package", text);
	}
	if (c->core >= 0) {
		snprintf(text, sizeof(text), "%lld", (long long)c->core);
		sample_fact(set, e, "core", text);
	}
}

/* Sum over cores of the largest that a CPU of the core tells. */
static bool sum_of_cores(struct cpufreq *s, uint64_t *ret)
{
	bool any = false;

	*ret = 0;
	for (size_t i = 0; i < s->count; i++)
		s->list[i].most = 0;
	for (size_t i = 0; i < s->count; i++) {
		const struct cpu *c = &s->list[i];
		uint64_t *most = &s->list[c->head].most;

		if (c->has_throttles && c->throttles > *most) {
			*ret += c->throttles - *most;
			*most = c->throttles;
		}
		any |= c->has_throttles;
	}
	return any;
}

static void put_node(struct cpufreq *s, struct sample_set *set, bool packages, uint64_t package_sum)
{
	uint64_t sum = 0, lowest = UINT64_MAX, highest = 0, count = 0, throttles;

	for (size_t i = 0; i < s->count; i++) {
		uint64_t khz = s->list[i].khz;

		if (!khz || khz > INT64_MAX / CPUS_MAX)
			continue;
		sum += khz;
		count++;
		lowest = khz < lowest ? khz : lowest;
		highest = khz > highest ? khz : highest;
	}
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	if (count) {
		sys_put(set, FREQUENCY, sum / count);
		sys_put(set, LOWEST, lowest);
		sys_put(set, HIGHEST, highest);
	}
	if (sum_of_cores(s, &throttles))
		sys_put(set, CORE_THROTTLES, throttles);
	if (packages)
		sys_put(set, PACKAGE_THROTTLES, package_sum);
}

static void look_again(struct cpufreq *s, uint64_t now_ns)
{
	size_t before = s->count;

	if (!s->looked_ns)
		s->looked_ns = now_ns;
	if (now_ns - s->looked_ns < LOOK_NS)
		return;
	s->looked_ns = now_ns;
	find_cpus(s);
	for (size_t i = before; s->by_cpuinfo && i < s->count; i++)
		sysfile_close(&s->list[i].freq);
}

static int read_cpufreq(void *state, struct sample_set *set)
{
	struct cpufreq *s = state;
	uint64_t package_sum = 0, value;
	bool packages = false;

	look_again(s, set->time_ns);
	for (size_t i = 0; i < s->count; i++)
		s->list[i].khz = 0;
	(void)(s->by_cpuinfo ? read_cpuinfo(s) : read_files(s, 0));
	for (size_t i = 0; i < s->count; i++) {
		struct cpu *c = &s->list[i];

		c->has_throttles = sysfile_u64(&c->throttle, &c->throttles) == 0;
		if (!c->khz && !c->has_throttles) /* offline */
			continue;
		uint32_t e = sample_entity(set, ENTITY_CPU, c->name);
		if (!c->told)
			tell_cpu(set, e, c);
		sample_row(set, e);
		if (c->khz)
			sys_put(set, FREQUENCY, c->khz);
		if (c->has_throttles)
			sys_put(set, CORE_THROTTLES, c->throttles);
	}
	for (size_t i = 0; i < s->count; i++) {
		struct cpu *c = &s->list[i];
		char name[32];

		if (!c->package_throttle.path || sysfile_u64(&c->package_throttle, &value) < 0)
			continue;
		packages = true;
		package_sum += value;
		if (c->package < 0)
			continue;
		snprintf(name, sizeof(name), "package-%lld", (long long)c->package);
		sample_row(set, sample_entity(set, ENTITY_PACKAGE, name));
		sys_put(set, PACKAGE_THROTTLES, value);
	}
	if (!set->row_count)
		return -ENODATA;
	put_node(s, set, packages, package_sum);
	return 0;
}

static void close_cpufreq(void *state)
{
	release(state);
}

const struct source source_cpufreq = {
	.name = "cpufreq",
	.help = "clock frequency of each CPU",
	.probe = probe,
	.metrics = metrics_of_cpufreq,
	.metric_count = METRICS,
	.every = 5,
	.slow = true,
	.open = open_cpufreq,
	.read = read_cpufreq,
	.close = close_cpufreq,
};
