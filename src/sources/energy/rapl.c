/*
 * Energy of CPU packages, their cores and graphics, memory and the platform, from the powercap tree
 * (Intel and AMD: both drivers call their zones "intel-rapl"). Names are those of the domains:
 * package-0, core-0, uncore-0, dram-0, psys-0. Cores and uncore are part of their package, memory
 * is not; the platform (psys) holds them all.
 *
 * A counter wraps at max_energy_range_uj, and may do so at most once between two readings: the time
 * between them must be shorter than the range divided by the power. That is 21 minutes for the
 * usual 262 kJ at 200 W, but under 4 minutes for the 65 kJ of some servers at 300 W.
 *
 * A counter that falls may also have been reset, by a suspend or a reload of the driver. It counts
 * as a reset when the computer slept, or when a wrap would mean more power than a package can draw:
 * the energy used since is then unknown, the reading is left out, and the metadata "resets" counts
 * it. A zone that may not be read has metadata that say so, and its total is absent.
 *
 * Because power measurements leak keys (CVE-2020-8694), only root may read energy_uj.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/clock.h"
#include "sources/columns.h"
#include "sources/source.h"
#include "sources/sysfile.h"

#define POWERCAP "/sys/class/powercap"
/* More than a package or a whole platform can draw: microjoules per second. */
#define PACKAGE_MOST_UW 2000000000ull
#define PLATFORM_MOST_UW 40000000000ull

#define METRICS_OF_RAPL(X)                                                                   \
	X(ENERGY, JOULES("energy", SUM, 1e-6,                                                \
			 "energy of a domain; of the node: of all packages and memory"))     \
	X(PACKAGE_ENERGY, JOULES("package_energy", SUM, 1e-6, "energy of all CPU packages")) \
	X(DRAM_ENERGY, JOULES("dram_energy", SUM, 1e-6, "energy of all memory"))             \
	X(PSYS_ENERGY, JOULES("psys_energy", SUM, 1e-6, "energy of the platform"))
DEFINE_METRICS(METRICS_OF_RAPL);

struct zone {
	char *name;
	char *dir; /* below POWERCAP */
	unsigned total;
	uint64_t range;
	struct sysfile energy;
	struct unwrap count;
	uint64_t read_ns; /* of the last reading */
	unsigned resets;
	int refused; /* the error that was reported; 0: it can be read */
};

struct rapl {
	const char *root;
	struct zone *zones;
	size_t count, cap;
	uint64_t slept_ns;    /* time that the computer was suspended before the last reading */
	struct strbuf detail; /* for the probe: the zones, and those that cannot be read */
};

/* ---- finding the zones ---- */

static bool known(const struct rapl *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->zones[i].name, name))
			return true;
	return false;
}

/* The name of a zone as its file has it; false when there is none. */
static bool read_name(const struct rapl *s, const char *dir, char *buf, size_t size)
{
	if (sys_text(buf, size, "%s" POWERCAP "/%s/name", s->root, dir) <= 0)
		return false;
	sys_clean(buf);
	return *buf;
}

/* "intel-rapl:1:0" called "dram" is dram-1 when "intel-rapl:1" is package-1. */
static char *name_of(const struct rapl *s, const char *dir)
{
	char name[64], above[64];
	const char *first = strchr(dir, ':'), *last = strrchr(dir, ':');

	if (!first || !read_name(s, dir, name, sizeof(name)))
		return NULL;
	if (first != last) {
		_cleanup_free_ char *up = xstrndup(dir, (size_t)(last - dir));

		if (read_name(s, up, above, sizeof(above)) && str_prefix(above, "package-"))
			return xasprintf("%s-%s", name, above + strlen("package-"));
		return xasprintf("%s-%s", name, first + 1);
	}
	if (strcmp(name, "psys") != 0)
		return xstrdup(name);
	for (unsigned i = 0;; i++) {
		char *psys = xasprintf("psys-%u", i);

		if (!known(s, psys))
			return psys;
		free(psys);
	}
}

static unsigned total_of(const char *name)
{
	/* a die is part of a package and has its own counter */
	return str_prefix(name, "package-") ? PACKAGE_ENERGY
	       : str_prefix(name, "dram-")  ? DRAM_ENERGY
	       : str_prefix(name, "psys-")  ? PSYS_ENERGY
					    : ENERGY;
}

static void add_zone(struct rapl *s, const char *dir)
{
	char *name = name_of(s, dir);
	int64_t range = 0;

	if (!name || known(s, name)) {
		free(name);
		return;
	}
	(void)sys_i64(&range, "%s" POWERCAP "/%s/max_energy_range_uj", s->root, dir);
	GROW(s->zones, s->count, s->cap);
	struct zone *z = &s->zones[s->count++];
	*z = (struct zone){.name = name,
			   .dir = xstrdup(dir),
			   .total = total_of(name),
			   .range = range > 0 ? (uint64_t)range + 1 : 0};
	sysfile_init(&z->energy, "%s" POWERCAP "/%s/energy_uj", s->root, dir);
}

/* The zones of processors; a package that is listed twice, by registers and by memory (mmio), is
 * taken once. */
static void find_zones(struct rapl *s)
{
	_cleanup_name_list_ struct name_list l = {0};

	(void)name_list_read(&l, "", "%s" POWERCAP, s->root);
	for (int mmio = 0; mmio < 2; mmio++)
		for (size_t i = 0; i < l.count; i++)
			if (strstr(l.names[i], "rapl") && strchr(l.names[i], ':') &&
			    !mmio == !strstr(l.names[i], "-mmio"))
				add_zone(s, l.names[i]);
}

static void close_rapl(void *state)
{
	struct rapl *s = state;

	for (size_t i = 0; i < s->count; i++) {
		free(s->zones[i].name);
		free(s->zones[i].dir);
		sysfile_close(&s->zones[i].energy);
	}
	free(s->zones);
	strbuf_release(&s->detail);
	free(s);
}

/* Describes the zones: 0 when one can be read, else why none can. */
static int examine(struct rapl *s, struct strbuf *text)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT, refused = STRBUF_INIT;
	int error = -ENOENT;

	find_zones(s);
	if (!s->count) {
		strbuf_addf(text, "no energy counters in %s" POWERCAP, s->root);
		return -ENOENT;
	}
	for (size_t i = 0; i < s->count; i++) {
		uint64_t uj;
		int r = sysfile_u64(&s->zones[i].energy, &uj);

		if (r == 0) {
			strbuf_addf(&names, "%s%s", names.len ? ", " : "", s->zones[i].name);
		} else {
			error = refused.len ? error : r;
			strbuf_addf(&refused, "%scannot read '%s': %s", refused.len ? "; " : "",
				    s->zones[i].energy.path, strerror(-r));
		}
	}
	strbuf_addstr(text, names.len ? names.buf : refused.buf);
	if (names.len && refused.len)
		strbuf_addf(text, "; %s", refused.buf);
	return names.len ? 0 : error;
}

/* ---- sampling ---- */

static int open_rapl(const struct source_context *ctx, struct sample_set *set, void **state,
		     struct strbuf *why)
{
	struct rapl *s = xcalloc(1, sizeof(*s));
	bool totals[METRICS] = {0};

	*s = (struct rapl){.root = ctx->root, .detail = STRBUF_INIT};
	int r = examine(s, &s->detail);
	if (r < 0) {
		strbuf_addstr(why, s->detail.buf);
		close_rapl(s);
		return r;
	}
	for (size_t i = 0; i < s->count; i++) {
		struct zone *z = &s->zones[i];
		uint32_t e = sample_entity(set, ENTITY_PACKAGE, z->name);

		totals[z->total] = true;
		sample_set_metadata(set, e, "zone", z->dir);
		if (!z->range)
			continue;
		sample_format_metadata(set, e, "range_joules", "%.6g",
				       (double)(z->range - 1) * 1e-6);
		sample_format_metadata(set, e, "range_uj", "%" PRIu64, z->range - 1);
	}
	for (unsigned m = PACKAGE_ENERGY; m <= PSYS_ENERGY; m++)
		if (!totals[m])
			sample_absent(set, m, "the processor has no such counter");
	*state = s;
	return 0;
}

/* Was a counter that fell reset, instead of having wrapped? */
static bool was_reset(const struct zone *z, uint64_t raw, uint64_t now_ns, bool slept)
{
	uint64_t most = z->total == PSYS_ENERGY ? PLATFORM_MOST_UW : PACKAGE_MOST_UW;

	if (!z->count.seen || raw >= z->count.last || !z->range)
		return false;
	if (slept || z->count.last >= z->range)
		return true;
	double seconds = (double)(now_ns - z->read_ns) / 1e9;
	return (double)(z->range - z->count.last + raw) > (double)most * (seconds + 0.01);
}

/* Reports why a zone cannot be read, in its metadata and as absence of its total. */
static void report_refused(struct sample_set *set, struct zone *z, int r)
{
	uint32_t e = sample_entity(set, ENTITY_PACKAGE, z->name);

	if (z->refused == r)
		return;
	z->refused = r;
	sample_set_metadata(set, e, "left_out", r < 0 ? strerror(-r) : NULL);
	if (r == -EACCES || r == -EPERM || r == -EIO)
		for (unsigned m = PACKAGE_ENERGY; m <= PSYS_ENERGY; m++)
			if (m == z->total)
				sample_absent(set, m, "%s cannot be read: %s", z->name,
					      strerror(-r));
}

/* The energy of a zone; negative errno when there is none in this reading. */
static int read_zone(struct zone *z, struct sample_set *set, bool slept, uint64_t *ret)
{
	uint64_t raw;
	int r = sysfile_u64(&z->energy, &raw);

	report_refused(set, z, r < 0 ? r : 0);
	if (r < 0)
		return r;
	bool reset = was_reset(z, raw, set->time_ns, slept);
	*ret = unwrap(&z->count, raw, reset ? UNWRAP_STAYS : z->range ? z->range : UNWRAP_SET_BACK);
	z->read_ns = set->time_ns;
	if (!reset)
		return 0;
	sample_format_metadata(set, sample_entity(set, ENTITY_PACKAGE, z->name), "resets", "%u",
			       ++z->resets);
	return -ERESTART;
}

static int read_rapl(void *state, struct sample_set *set)
{
	struct rapl *s = state;
	uint64_t sum[METRICS] = {0}, uj, asleep = clock_monotonic_to_boot_ns();
	bool have[METRICS] = {0}, lost[ARRAY_SIZE(columns)] = {0};
	/* the two clocks are read one after the other: ignore a few milliseconds */
	bool slept = s->slept_ns && asleep > s->slept_ns + 100000000;
	int error = -ENODATA;

	s->slept_ns = asleep ? asleep : 1;
	for (size_t i = 0; i < s->count; i++) {
		struct zone *z = &s->zones[i];
		int r = read_zone(z, set, slept, &uj);

		if (r < 0) {
			/* a total without one of its parts would jump */
			lost[z->total] = true;
			error = r;
			continue;
		}
		sample_row(set, sample_entity(set, ENTITY_PACKAGE, z->name));
		sys_put(set, ENERGY, uj);
		have[z->total] = true;
		sum[z->total] += uj;
	}
	if (!set->row_count)
		return error == -ERESTART ? 0 : error;
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	for (unsigned m = PACKAGE_ENERGY; m <= PSYS_ENERGY; m++)
		if (have[m] && !lost[m])
			sys_put(set, m, sum[m]);
	if (have[PACKAGE_ENERGY] && !lost[PACKAGE_ENERGY] && !lost[DRAM_ENERGY])
		sys_put(set, ENERGY, sum[PACKAGE_ENERGY] + sum[DRAM_ENERGY]);
	return 0;
}

static void describe(void *state, struct strbuf *out)
{
	const struct rapl *s = state;

	strbuf_add(out, s->detail.buf, s->detail.len);
}

const struct source source_rapl = {
	.name = "rapl",
	.help = "energy of CPU packages, cores, memory",
	.describe = describe,
	.remedy = "sudo chmod a+r /sys/class/powercap/*rapl*/energy_uj",
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.open = open_rapl,
	.read = read_rapl,
	.close = close_rapl,
};
