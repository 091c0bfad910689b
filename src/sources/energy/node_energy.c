/*
 * Energy of the node; see job_energy.h. Counters of energy (RAPL) are read when they are asked for.
 * Meters of power may take seconds to answer: a thread asks them, and energy is the power last
 * known times the time since.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "sources/energy/job_energy.h"
#include "sources/source.h"

#define SECOND 1000000000ull
/* Power that was measured longer ago than this says nothing of now. */
#define STALE_NS (60 * SECOND)

static const struct measure {
	const char *name;
	const struct source *source;
	bool power;              /* not energy */
	enum entity_kind entity; /* whose row */
	const char *metric;
	const char *chip; /* the fact "chip" of the row; NULL: any */
	unsigned period_s;
} measures[] = {
	{"rapl", &source_rapl, false, ENTITY_NODE, "energy", NULL, 0},
	/* the meter of ACPI is the node's; others are of parts of it */
	{"hwmon", &source_hwmon, true, ENTITY_SENSOR, "power", "power_meter", 1},
	{"ipmi", &source_ipmi, true, ENTITY_NODE, "power", NULL, 5},
};

/* What the thread has to itself while it asks. */
struct asking {
	struct source_context ctx;
	struct sample_set set;
	void *state;
	unsigned metric;
};

struct node_energy {
	const struct measure *by;
	char *root;
	struct asking asking;
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

/* ---- asking -----------------------------------------------------------------------------------
 */

static bool is_wanted(const struct measure *m, const struct entity *e)
{
	const char *chip;
	size_t n;

	if (e->kind != m->entity)
		return false;
	return !m->chip || (entity_fact(e, "chip", &chip, &n) && n == strlen(m->chip) &&
			    !memcmp(chip, m->chip, n));
}

/* The sum of what is wanted, in millionths of the unit; false when there is none. */
static bool take_reading(const struct measure *m, struct asking *a, uint64_t *ret)
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

static int begin_asking(const struct measure *m, struct asking *a, struct strbuf *why)
{
	sample_init(&a->set, m->source->metrics, m->source->metric_count);
	for (a->metric = 0; a->metric < m->source->metric_count; a->metric++)
		if (!strcmp(m->source->metrics[a->metric].name, m->metric))
			return m->source->open(&a->ctx, &a->set, &a->state, why);
	return -ENOENT;
}

static void end_asking(const struct measure *m, struct asking *a)
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

static void *ask_on(void *user)
{
	struct node_energy *n = user;
	struct timespec until;
	uint64_t uw;

	pthread_mutex_lock(&n->lock);
	while (!n->quit) {
		n->busy = true;
		pthread_mutex_unlock(&n->lock);
		bool known = take_reading(n->by, &n->asking, &uw);
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
	end_asking(n->by, &n->asking);
	return NULL;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

/*
 * Power times the time since it was last asked for. Over a time in which nobody measured it, or the
 * computer slept, nothing is known, and nothing is added.
 */
static bool integrate(struct node_energy *n, uint64_t now_ns)
{
	uint64_t slept_ns = clock_monotonic_to_boot_ns();
	/* the two clocks are read one after the other: a millisecond is no sleep */
	bool slept = n->last_ns && slept_ns > n->slept_ns + 100000000;

	n->slept_ns = slept_ns;
	pthread_mutex_lock(&n->lock);
	uint64_t uw = n->power_uw, since = n->power_ns;
	pthread_mutex_unlock(&n->lock);
	bool known = since && now_ns < since + STALE_NS;
	if (known && n->last_ns && now_ns > n->last_ns && now_ns - n->last_ns < STALE_NS &&
	    !slept) {
		uint64_t ns = now_ns - n->last_ns;
		/* microwatts times ns: by seconds and the rest, neither of which overflows */
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
	if (!take_reading(n->by, &n->asking, &uj))
		return false;
	if (!n->begun)
		n->first_uj = uj;
	n->begun = true;
	*ret_uj = uj - n->first_uj;
	return true;
}

/* ---- opening ----------------------------------------------------------------------------------
 */

static int start_thread(struct node_energy *n)
{
	sigset_t all, old;
	pthread_attr_t attr;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 512 * 1024);
	int e = pthread_create(&n->thread, &attr, ask_on, n);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	n->started = e == 0;
	return -e;
}

static int open_by(const struct measure *m, const char *root, struct node_energy **ret,
		   struct strbuf *why)
{
	struct node_energy *n = xcalloc(1, sizeof(*n));
	uint64_t value;

	n->by = m;
	n->root = xstrdup(root);
	n->asking.ctx.root = n->root;
	pthread_mutex_init(&n->lock, NULL);
	pthread_cond_init(&n->changed, NULL);
	int r = begin_asking(m, &n->asking, why);
	if (r < 0) {
		sample_release(&n->asking.set);
	} else if (!m->power || m->chip) {
		/* the controller of IPMI is not waited for: that it is there was seen */
		if (!take_reading(m, &n->asking, &value)) {
			strbuf_addf(why, "no %s of the node", m->power ? "power meter" : "energy");
			end_asking(m, &n->asking);
			r = -ENOENT;
		}
	}
	if (r == 0 && m->power) {
		r = start_thread(n);
		if (r < 0)
			end_asking(m, &n->asking);
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
		/* what only needs permission is worth more than what is not there */
		if (first == -EINVAL || (first == -ENOENT && r != -ENOENT))
			first = r;
		strbuf_addf(why, "%s%s: %s", why->len ? "; " : "", measures[i].name,
			    reason.len ? reason.buf : strerror(-r));
	}
	if (first == -EINVAL)
		strbuf_addf(why, "'%s': energy is measured by rapl, hwmon or ipmi", by);
	return first;
}

void node_energy_close(struct node_energy *n)
{
	if (!n)
		return;
	if (!n->started) {
		end_asking(n->by, &n->asking);
		release(n);
		return;
	}
	pthread_mutex_lock(&n->lock);
	n->quit = true;
	bool busy = n->busy;
	pthread_cond_broadcast(&n->changed);
	pthread_mutex_unlock(&n->lock);
	if (busy && n->by->source != &source_hwmon) {
		/* a controller that does not answer keeps its thread, and what is its own */
		pthread_detach(n->thread);
		return;
	}
	pthread_join(n->thread, NULL);
	release(n);
}
