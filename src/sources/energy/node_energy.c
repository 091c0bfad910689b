/*
 * Energy of the node; see job_energy.h. Energy counters (RAPL) are read on demand. Power meters may
 * take seconds to answer: a thread reads them, and energy is the last known power times the time
 * since.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/system/thread.h"
#include "sources/energy/job_energy.h"
#include "sources/source.h"

#define SECOND 1000000000ull
/* Older measurements of power are not used. */
#define STALE_NS (60 * SECOND)

static const struct measure {
	const char *name;
	const struct source *source;
	bool power;              /* not energy */
	enum entity_kind entity; /* whose row */
	const char *metric;
	const char *chip; /* the metadata "chip" of the row; NULL: any */
	unsigned period_s;
} measures[] = {
	{"rapl", &source_rapl, false, ENTITY_NODE, "energy", NULL, 0},
	/* the ACPI meter measures the node; others measure parts of it */
	{"hwmon", &source_hwmon, true, ENTITY_SENSOR, "power", "power_meter", 1},
	{"ipmi", &source_ipmi, true, ENTITY_NODE, "power", NULL, 5},
};

/* The open source; while the thread reads it, it is the thread's only. */
struct meter {
	struct source_context ctx;
	struct sample_set set;
	void *state;
	unsigned metric;
};

struct node_energy {
	const struct measure *by;
	char *root;
	struct meter meter;
	/* counters */
	uint64_t first_uj;
	bool begun;
	/* meters */
	uint64_t total_uj, rest;    /* rest: of a microjoule, in microwatts times ns */
	uint64_t last_ns, slept_ns; /* of the last reading; the time spent suspended until then */
	pthread_t thread;
	bool started;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool quit, busy;
	uint64_t power_uw, power_ns; /* when it was measured; 0: never */
};

const char *node_energy_by(const struct node_energy *n)
{
	return n->by->name;
}

/* ---- the meter ---- */

static bool is_wanted(const struct measure *m, const struct entity *e)
{
	const char *chip;
	size_t n;

	if (e->kind != m->entity)
		return false;
	return !m->chip || (entity_metadata(e, "chip", &chip, &n) && n == strlen(m->chip) &&
			    !memcmp(chip, m->chip, n));
}

/* The sum of the wanted rows, in millionths of the unit; false when there is none. */
static bool take_reading(const struct measure *m, struct meter *a, uint64_t *ret)
{
	double scale = a->set.metrics ? a->set.metrics[a->metric].scale : 0;
	bool any = false;

	sample_begin(&a->set);
	if (m->source->read(a->state, &a->set) < 0)
		return false;
	*ret = 0;
	for (size_t i = 0; i < a->set.row_count; i++) {
		const struct sample_row *r = &a->set.rows[i];
		int64_t v = a->set.values[i * a->set.metric_count + a->metric];

		if (!(r->present >> a->metric & 1) || v < 0 ||
		    !is_wanted(m, &a->set.entities[r->entity]))
			continue;
		/* watts, or microwatts and microjoules */
		*ret += scale == 0 || scale == 1 ? (uint64_t)v * 1000000 : (uint64_t)v;
		any = true;
	}
	return any;
}

static int open_meter(const struct measure *m, struct meter *a, struct strbuf *why)
{
	sample_init(&a->set, m->source->metrics, m->source->metric_count);
	for (a->metric = 0; a->metric < m->source->metric_count; a->metric++)
		if (!strcmp(m->source->metrics[a->metric].name, m->metric))
			return m->source->open(&a->ctx, &a->set, &a->state, why);
	return -ENOENT;
}

static void close_meter(const struct measure *m, struct meter *a)
{
	m->source->close(a->state);
	sample_release(&a->set);
}

static void release(struct node_energy *n)
{
	pthread_mutex_destroy(&n->lock);
	pthread_cond_destroy(&n->changed);
	free(n->root);
	free(n);
}

static void *read_on(void *user)
{
	struct node_energy *n = user;
	struct timespec until;
	uint64_t uw;

	pthread_mutex_lock(&n->lock);
	while (!n->quit) {
		n->busy = true;
		pthread_mutex_unlock(&n->lock);
		bool known = take_reading(n->by, &n->meter, &uw);
		pthread_mutex_lock(&n->lock);
		n->busy = false;
		if (known) {
			n->power_uw = uw;
			n->power_ns = clock_boottime_ns();
		}
		pthread_cond_broadcast(&n->changed);
		until = clock_deadline((uint64_t)n->by->period_s * 1000000000u);
		for (int e = 0; !n->quit && e == 0;)
			e = pthread_cond_clockwait(&n->changed, &n->lock, CLOCK_MONOTONIC, &until);
	}
	pthread_mutex_unlock(&n->lock);
	close_meter(n->by, &n->meter);
	return NULL;
}

/* ---- reading ---- */

/*
 * Adds power times the time since the last call. Nothing is added for a time in which nobody
 * measured it, or the computer slept.
 */
static bool integrate(struct node_energy *n, uint64_t now_ns)
{
	uint64_t slept_ns = clock_monotonic_to_boot_ns();
	/* the two clocks are read one after the other: ignore a few milliseconds */
	bool slept = n->last_ns && slept_ns > n->slept_ns + 100000000;

	n->slept_ns = slept_ns;
	pthread_mutex_lock(&n->lock);
	uint64_t uw = n->power_uw, since = n->power_ns;
	pthread_mutex_unlock(&n->lock);
	bool known = since && now_ns < since + STALE_NS;
	if (known && n->last_ns && now_ns > n->last_ns && now_ns - n->last_ns < STALE_NS &&
	    !slept) {
		uint64_t ns = now_ns - n->last_ns;
		/* microwatts times ns, in two parts, neither of which overflows */
		uint64_t part = uw * (ns % SECOND) + n->rest;

		n->total_uj += uw * (ns / SECOND) + part / SECOND;
		n->rest = part % SECOND;
	}
	if (known)
		n->last_ns = now_ns;
	return known;
}

bool node_energy_read(struct node_energy *n, uint64_t now_ns, uint64_t *ret_uj)
{
	uint64_t uj;

	if (n->by->power) {
		bool known = integrate(n, now_ns);

		*ret_uj = n->total_uj;
		return known;
	}
	if (!take_reading(n->by, &n->meter, &uj))
		return false;
	if (!n->begun)
		n->first_uj = uj;
	n->begun = true;
	*ret_uj = uj - n->first_uj;
	return true;
}

/* ---- opening ---- */

static int open_by(const struct measure *m, const char *root, struct node_energy **ret,
		   struct strbuf *why)
{
	struct node_energy *n = xcalloc(1, sizeof(*n));
	uint64_t value;

	n->by = m;
	n->root = xstrdup(root);
	n->meter.ctx.root = n->root;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->changed, NULL);
	int r = open_meter(m, &n->meter, why);
	if (r < 0) {
		sample_release(&n->meter.set);
	} else if (!m->power || m->chip) {
		/* do not wait for the IPMI controller: open has found it */
		if (!take_reading(m, &n->meter, &value)) {
			strbuf_addf(why, "no %s of the node", m->power ? "power meter" : "energy");
			close_meter(m, &n->meter);
			r = -ENOENT;
		}
	}
	if (r == 0 && m->power) {
		r = thread_start(&n->thread, 512 * 1024, read_on, n);
		n->started = r == 0;
		if (r < 0)
			close_meter(m, &n->meter);
	}
	if (r < 0)
		release(n);
	else
		*ret = n;
	return r;
}

int node_energy_open(struct node_energy **ret, const char *root, const char *by, struct strbuf *why)
{
	int first = -EINVAL;

	for (size_t i = 0; i < ARRAY_SIZE(measures); i++) {
		_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

		if (by && strcmp(by, measures[i].name) != 0)
			continue;
		int r = open_by(&measures[i], root, ret, &reason);
		if (r == 0) {
			strbuf_reset(why);
			return 0;
		}
		/* missing permission is worth more to report than a missing meter */
		if (first == -EINVAL || (first == -ENOENT && r != -ENOENT))
			first = r;
		strbuf_addf(why, "%s%s: %s", why->len ? "; " : "", measures[i].name,
			    reason.len ? reason.buf : strerror(-r));
	}
	if (first == -EINVAL)
		strbuf_addf(why, "cannot measure energy by '%s': use rapl, hwmon or ipmi", by);
	return first;
}

void node_energy_close(struct node_energy *n)
{
	if (!n)
		return;
	if (!n->started) {
		close_meter(n->by, &n->meter);
		release(n);
		return;
	}
	pthread_mutex_lock(&n->lock);
	n->quit = true;
	bool busy = n->busy;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
	if (busy && n->by->source != &source_hwmon) {
		/* a controller that does not answer keeps its thread, and its data */
		pthread_detach(n->thread);
		return;
	}
	pthread_join(n->thread, NULL);
	release(n);
}
