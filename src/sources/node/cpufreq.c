/*
 * Clock frequency of each CPU, and how often it was throttled for heat.
 *
 * There are two ways to read it. scaling_cur_freq is one file per CPU, and cheap with open
 * descriptors, except that Linux 4.13 to 5.17 on x86 sleeps 10 to 20 ms for each CPU whose last
 * answer is older than a second: 5 s for 256 CPUs. /proc/cpuinfo sleeps once for all, but is a text
 * of 1.5 kB per CPU. Both are timed when the source is opened, and the faster one is used;
 * cpufreq=files and cpufreq=cpuinfo choose one. The kernel may sleep: a slow source.
 *
 * Throttling is counted per core or package, and each of their CPUs shows it: the node's sum takes
 * the largest count of a core, and one CPU of a package.
 */
#include "sources/node/cpufreq.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/system/procparse.h"
#include "sources/columns.h"
#include "sources/source.h"
#include "sources/sysfile.h"

#define CPUS "/sys/devices/system/cpu"
#define CPUS_MAX 8192
#define CPUINFO_MAX ((size_t)32 << 20)
#define TRIAL_NS 50000000ull /* files that take longer are too slow */

#define METRICS_OF_CPUFREQ(X)                                                                    \
	X(FREQUENCY, GAUGE("frequency", HERTZ, NONE, 1000,                                       \
			   "clock frequency; of the node: the mean of its CPUs"))                \
	X(LOWEST, GAUGE("frequency_lowest", HERTZ, MIN, 1000, "frequency of the slowest CPU"))   \
	X(HIGHEST, GAUGE("frequency_highest", HERTZ, MAX, 1000, "frequency of the fastest CPU")) \
	X(CORE_THROTTLES, COUNT("core_throttles", "times a core was throttled because of heat")) \
	X(PACKAGE_THROTTLES,                                                                     \
	  COUNT("package_throttles", "times a package was throttled because of heat"))
DEFINE_METRICS(METRICS_OF_CPUFREQ);

struct cpu {
	int number;
	char name[16];
	int64_t package, core; /* -1: not known */
	struct sysfile freq, throttle, package_throttle;
	size_t head;              /* the first CPU of its core */
	uint64_t khz;             /* of this reading; 0: unknown */
	uint64_t throttles, most; /* most: of its core, kept by the head */
	bool has_throttles, described;
};

struct cpufreq {
	const char *root;
	struct cpu *list;
	size_t count, cap;
	bool by_cpuinfo;
	size_t readable;    /* CPUs with a frequency, when it was opened */
	uint64_t looked_ns; /* when we last looked for CPUs */
	struct sysfile cpuinfo;
	struct strbuf text;
};

/* ---- /proc/cpuinfo ---- */

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
	struct words line;
	uint64_t n;

	while (sys_line(p, end, &line)) {
		const char *value = memchr(line.p, ':', (size_t)(line.end - line.p));
		struct words key = {line.p, value};

		if (!value)
			continue;
		while (key.end > key.p && (key.end[-1] == ' ' || key.end[-1] == '\t'))
			key.end--;
		for (value++; value < line.end && *value == ' ';)
			value++;
		if (word_is(&key, "processor"))
			*cpu = proc_number(&value, line.end, &n) && n < CPUS_MAX ? (int64_t)n : -1;
		else if (word_is(&key, "cpu MHz") && *cpu >= 0 && parse_mhz(value, line.end, khz))
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

/* ---- reading frequencies ---- */

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

/* Gives up after limit_ns; 0: no limit. */
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

/* Chooses the faster way of those that work. 0, or -ENOENT. */
static int choose_way(struct cpufreq *s, const char *option, struct strbuf *why)
{
	bool files_only = option && !strcmp(option, "files");
	bool cpuinfo_only = option && !strcmp(option, "cpuinfo");

	uint64_t begin = clock_boottime_ns();
	size_t in_files = cpuinfo_only ? 0 : read_files(s, TRIAL_NS);
	uint64_t middle = clock_boottime_ns();
	size_t in_cpuinfo = files_only ? 0 : read_cpuinfo(s);
	uint64_t end = clock_boottime_ns();

	if (!in_files && !in_cpuinfo)
		return strbuf_fail(why, -ENOENT, "no frequencies in %s" CPUS " or %s/proc/cpuinfo",
				   s->root, s->root);
	s->by_cpuinfo = in_cpuinfo && (!in_files || end - middle < middle - begin);
	s->readable = s->by_cpuinfo ? in_cpuinfo : s->count;
	return 0;
}

/* ---- the source ---- */

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

/* Finds what an offline CPU does not have: its core and package, and its throttle counts. */
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
	/* one CPU is enough for a package */
	if (first)
		sysfile_init(&c->package_throttle,
			     "%s" CPUS "/%s/thermal_throttle/package_throttle_count", s->root,
			     c->name);
}

/* Adds the CPUs that are not in the list yet. */
static void find_cpus(struct cpufreq *s)
{
	_cleanup_name_list_ struct name_list l = {0};
	int64_t last = -1;
	uint64_t number;
	bool any = false;

	(void)name_list_read(&l, "cpu", "%s" CPUS, s->root);
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

static void close_cpufreq(void *state)
{
	struct cpufreq *s = state;

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

/* Limits in hertz, as the value itself. */
static void describe_limit(struct sample_set *set, uint32_t node, const char *root, const char *key,
			   const char *file)
{
	int64_t khz;

	if (sys_i64(&khz, "%s" CPUS "/cpu0/cpufreq/cpuinfo_%s_freq", root, file) < 0 &&
	    sys_i64(&khz, "%s" CPUS "/cpu0/cpufreq/scaling_%s_freq", root, file) < 0)
		return;
	if (khz > 0)
		sample_format_metadata(set, node, key, "%.10g", (double)khz * 1000);
}

static int open_cpufreq(const struct source_context *ctx, struct sample_set *set, void **state,
			struct strbuf *why)
{
	struct cpufreq *s = xcalloc(1, sizeof(*s));

	*s = (struct cpufreq){.root = ctx->root, .text = STRBUF_INIT};
	sysfile_init(&s->cpuinfo, "%s/proc/cpuinfo", s->root);
	find_cpus(s);
	int r = choose_way(s, ctx->option, why);
	if (r < 0) {
		close_cpufreq(s);
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
	sample_set_metadata(set, node, "by", s->by_cpuinfo ? "/proc/cpuinfo" : "scaling_cur_freq");
	sys_fact(set, node, "driver", "%s" CPUS "/cpu0/cpufreq/scaling_driver", s->root);
	sys_fact(set, node, "governor", "%s" CPUS "/cpu0/cpufreq/scaling_governor", s->root);
	describe_limit(set, node, s->root, "min", "min");
	describe_limit(set, node, s->root, "max", "max");
	*state = s;
	return 0;
}

static void describe_cpu(struct sample_set *set, uint32_t e, struct cpu *c)
{
	c->described = true;
	if (c->package >= 0)
		sample_format_metadata(set, e, "package", "%lld", (long long)c->package);
	if (c->core >= 0)
		sample_format_metadata(set, e, "core", "%lld", (long long)c->core);
}

/* Sum over cores of the largest count that a CPU of the core shows. */
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

	if (!sys_look_again(&s->looked_ns, now_ns))
		return;
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
		if (!c->described)
			describe_cpu(set, e, c);
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

static void describe(void *state, struct strbuf *out)
{
	const struct cpufreq *s = state;

	strbuf_addf(out, "%zu CPUs by %s", s->readable,
		    s->by_cpuinfo ? "/proc/cpuinfo" : "scaling_cur_freq");
}

const struct source source_cpufreq = {
	.name = "cpufreq",
	.help = "clock frequency of each CPU",
	.describe = describe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 5,
	.slow = true,
	.open = open_cpufreq,
	.read = read_cpufreq,
	.close = close_cpufreq,
};
