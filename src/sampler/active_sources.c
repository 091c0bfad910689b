/* The sources of a sampler; see active_sources.h. */
#include "sampler/active_sources.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/system/spawn.h"
#include "core/system/thread.h"

/* A slow source that was asked this recently need not be asked again at the end. */
#define RECENT_NS 50000000ull
/* A source without a device is opened again after 60 periods, within these bounds. */
#define RETRY_LEAST_NS 5000000000ull
#define RETRY_MOST_NS 60000000000ull

/* ---- which ---- */

/* Finds a source in a list of NAME or NAME=OPTION. */
static bool names(const struct sampler_source *list, size_t count, const struct source *s,
		  const struct sampler_source **ret)
{
	size_t n = strlen(s->name);

	for (size_t i = 0; i < count; i++)
		if (!strncmp(list[i].name, s->name, n) &&
		    (!list[i].name[n] || list[i].name[n] == '=')) {
			*ret = &list[i];
			return true;
		}
	return false;
}

static bool is_wanted(const struct sampler_options *o, const struct source *s,
		      const struct sampler_source **ret)
{
	*ret = NULL;
	if (!s->open || (s->needs_job && !o->watch) || (s->needs_jobs && !o->jobs))
		return false;
	if (s->metrics && o->metrics &&
	    !metric_filter_has(o->metrics, s->name, s->metrics, s->metric_count))
		return false;
	if (o->only_count)
		return names(o->only, o->only_count, s, ret);
	if (names(o->also, o->also_count, s, ret))
		return true;
	/* sources of one job run on request only when all jobs of a node are sampled */
	return !s->on_request && !(s->needs_job && o->jobs);
}

static void set_period(struct active_source *s, const struct sampler_options *o,
		       const struct sampler_source *wanted)
{
	const struct sampler_source *row = NULL;
	uint64_t ns = wanted ? wanted->period_ns : 0;

	if (names(o->periods, o->period_count, s->source, &row))
		ns = row->period_ns;
	/* not with a period that was set explicitly; the node daemon has time */
	s->eager = !ns && !o->jobs;
	if (!ns && s->source->every > 1)
		ns = s->source->every * 1000000000ull;
	s->every = ns <= o->period_ns ? 1 : (ns + o->period_ns - 1) / o->period_ns;
	s->stretch = 1;
	s->wait = 1;
}

/* ---- reading ---- */

static void open_source(struct active_source *s)
{
	sample_release(&s->set);
	strbuf_reset(&s->why);
	sample_init(&s->set, s->source->metrics, s->source->metric_count);
	s->status = s->source->open(&s->ctx, &s->set, &s->state, &s->why);
	if (s->status < 0 && !s->why.len)
		strbuf_addstr(&s->why, strerror(-s->status));
	s->broken = s->status < 0;
	s->tried_ns = clock_boottime_ns();
}

/* A device may appear later, when a module is loaded, or become accessible later: then the source
 * is opened again. */
static bool may_open_now(const struct active_source *s, const struct sampler_options *o)
{
	uint64_t pause = 60 * o->period_ns;
	bool later = s->status == -ENOENT || s->status == -ENODEV || s->status == -ENXIO ||
		     s->status == -EACCES || s->status == -EPERM;

	pause = pause < RETRY_LEAST_NS  ? RETRY_LEAST_NS
		: pause > RETRY_MOST_NS ? RETRY_MOST_NS
					: pause;
	return later && clock_boottime_ns() - s->tried_ns >= pause;
}

static void read_source(struct active_source *s)
{
	uint64_t before = clock_thread_cpu_ns();

	sample_begin(&s->set);
	s->status = s->source->read(s->state, &s->set);
	sample_done(&s->set);
	uint64_t cost = clock_thread_cpu_ns() - before;
	__atomic_store_n(&s->cost_ns, cost, __ATOMIC_RELAXED);
	__atomic_fetch_add(&s->cpu_ns, cost, __ATOMIC_RELAXED);
}

/* Between ASKED and DONE only this thread uses the source. */
static void *serve(void *user)
{
	struct active_source *s = user;

	pthread_mutex_lock(&s->lock);
	while (!s->quit) {
		if (s->phase != ACTIVE_SOURCE_ASKED) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		if (!s->opened || s->broken)
			open_source(s);
		s->opened = true;
		if (!s->broken)
			read_source(s);
		pthread_mutex_lock(&s->lock);
		s->phase = ACTIVE_SOURCE_DONE;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	if (s->opened && !s->broken)
		s->source->close(s->state);
	return NULL;
}

static void start_thread(struct active_source *s)
{
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	int e = thread_start(&s->thread, 256 * 1024, serve, s);
	s->started = e == 0;
	if (e < 0) {
		s->broken = true;
		strbuf_addf(&s->why, "cannot start a thread for it: %s", strerror(-e));
	}
}

static struct active_source *open_active(const struct sampler_options *o, const struct source *p,
					 const struct sampler_source *wanted)
{
	const char *option = wanted ? strchr(wanted->name, '=') : NULL;
	struct active_source *s = xcalloc(1, sizeof(*s));

	s->source = p;
	s->why = (struct strbuf)STRBUF_INIT;
	s->option = option ? xstrdup(option + 1) : NULL;
	s->ctx = (struct source_context){
		.root = o->root,
		.watch = o->watch,
		.begin_ns = o->begin_ns,
		.jobs = o->jobs,
		.exits = o->exits,
		.option = s->option,
	};
	if (p->slow && o->watch)
		s->ctx.watch = &s->watch;
	set_period(s, o, wanted);
	if (p->slow)
		start_thread(s);
	else
		open_source(s);
	return s;
}

static void add_active(struct active_sources *list, struct active_source *s)
{
	GROW(list->list, list->count, list->cap);
	list->list[list->count++] = s;
}

static struct active_source *active_source_of(const struct active_sources *list,
					      const struct source *source)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->list[i]->source == source)
			return list->list[i];
	return NULL;
}

void active_sources_open(struct active_sources *list, const struct sampler_options *o)
{
	const struct sampler_source *wanted;

	for (const struct source *const *p = sources; *p; p++)
		if (is_wanted(o, *p, &wanted))
			add_active(list, open_active(o, *p, wanted));
}

/* ---- at a tick ---- */

static void copy_watch(struct job_processes *to, const struct job_processes *from)
{
	if (to->cap < from->count) {
		to->cap = from->count;
		to->list = xreallocarray(to->list, to->cap, sizeof(*to->list));
	}
	if (from->count)
		memcpy(to->list, from->list, from->count * sizeof(*to->list));
	to->count = from->count;
	to->found_any = from->found_any;
}

/* Takes the samples of a slow source, and asks it again when it is due. */
static void attend(struct active_source *s, const struct sampler_options *o,
		   const struct sample_output *out, uint64_t tick, bool due)
{
	uint64_t now = clock_boottime_ns();

	if (!s->started)
		return;
	pthread_mutex_lock(&s->lock);
	if (s->phase == ACTIVE_SOURCE_DONE) {
		s->hung = false;
		active_source_hand_over(s, o, out, tick);
		s->phase = ACTIVE_SOURCE_IDLE;
	}
	if (s->phase == ACTIVE_SOURCE_IDLE && due && (!s->broken || may_open_now(s, o))) {
		if (o->watch)
			copy_watch(&s->watch, o->watch);
		s->ctx.stretch = s->stretch;
		s->phase = ACTIVE_SOURCE_ASKED;
		s->asked_ns = now;
		pthread_cond_broadcast(&s->changed);
	} else if (s->phase == ACTIVE_SOURCE_ASKED && now - s->asked_ns > o->timeout_ns) {
		s->hung = true;
	}
	pthread_mutex_unlock(&s->lock);
}

static bool wants_look(const struct active_source *s)
{
	return s->source->look && !s->source->slow && !s->broken && s->announced;
}

bool active_sources_want_look(const struct active_sources *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (wants_look(list->list[i]))
			return true;
	return false;
}

void active_sources_look(struct active_sources *list)
{
	for (size_t i = 0; i < list->count; i++)
		if (wants_look(list->list[i]))
			list->list[i]->source->look(list->list[i]->state);
}

void active_sources_ask_last(struct active_sources *list, const struct sampler_options *o,
			     const struct sample_output *out, uint64_t tick)
{
	uint64_t now = clock_boottime_ns();

	for (size_t i = 0; i < list->count; i++) {
		struct active_source *s = list->list[i];

		if (!s->started)
			continue;
		/* a source with its own pace reads everything once more */
		pthread_mutex_lock(&s->lock);
		s->ctx.whole |= s->source->eases && s->phase != ACTIVE_SOURCE_ASKED;
		bool whole = s->ctx.whole;
		pthread_mutex_unlock(&s->lock);
		attend(s, o, out, tick, whole || now - s->asked_ns > RECENT_NS);
	}
}

void active_sources_go_on(struct active_sources *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct active_source *s = list->list[i];

		if (!s->started)
			continue;
		pthread_mutex_lock(&s->lock);
		if (s->phase != ACTIVE_SOURCE_ASKED)
			s->ctx.whole = false;
		pthread_mutex_unlock(&s->lock);
	}
}

/* Is it time for one of the early samples, within the budget? */
static bool is_early(const struct active_source *s, const struct sampler_options *o, uint64_t tick,
		     uint64_t every)
{
	uint64_t gone = tick - s->read_tick;
	double cost = (double)__atomic_load_n(&s->cost_ns, __ATOMIC_RELAXED);

	return s->eager && s->wait < every && gone >= s->wait &&
	       (o->budget <= 0 || cost <= o->budget * (double)(gone * o->period_ns));
}

static bool is_due(struct active_source *s, const struct sampler_options *o, uint64_t tick)
{
	uint64_t every = s->source->eases ? s->every : s->every * s->stretch;

	if (s->announced && tick % every != 0 && !is_early(s, o, tick, every))
		return false;
	if (s->announced && s->wait < every)
		s->wait *= 2;
	s->read_tick = tick;
	return true;
}

void active_sources_read(struct active_sources *list, const struct sampler_options *o,
			 const struct sample_output *out, uint64_t tick, bool last)
{
	for (size_t i = 0; i < list->count; i++) {
		struct active_source *s = list->list[i];
		bool due = last || is_due(s, o, tick);

		if (s->source->slow) {
			attend(s, o, out, tick, due && !last);
			continue;
		}
		if (s->broken && !last && may_open_now(s, o))
			open_source(s);
		if (!s->broken && due) {
			read_source(s);
			active_source_hand_over(s, o, out, tick);
		}
	}
}

void active_sources_read_jobs(struct active_sources *list, const struct sampler_options *o,
			      const struct sample_output *out, uint64_t tick)
{
	for (size_t i = 0; i < list->count; i++) {
		struct active_source *s = list->list[i];

		if (!s->source->needs_jobs || s->source->slow || s->broken)
			continue;
		read_source(s);
		active_source_hand_over(s, o, out, tick);
	}
}

uint64_t active_sources_cost(struct active_sources *list, struct active_source **ret_costliest)
{
	uint64_t sum = 0, most = 0;

	*ret_costliest = NULL;
	for (size_t i = 0; i < list->count; i++) {
		uint64_t ns = __atomic_exchange_n(&list->list[i]->cpu_ns, 0, __ATOMIC_RELAXED);

		sum += ns;
		if (ns > most) {
			most = ns;
			*ret_costliest = list->list[i];
		}
	}
	return sum;
}

struct active_source *active_sources_stretched(struct active_sources *list)
{
	struct active_source *found = NULL;

	for (size_t i = 0; i < list->count; i++)
		if (list->list[i]->stretch > (found ? found->stretch : 1))
			found = list->list[i];
	return found;
}

/* Waits a moment for slow sources, so that a short job has samples of them as well. */
bool active_sources_wait(struct active_sources *list, uint64_t ns)
{
	const struct timespec until = clock_deadline(ns);
	bool any = false;

	for (size_t i = 0; i < list->count; i++) {
		struct active_source *s = list->list[i];
		int e = 0;

		if (!s->started)
			continue;
		pthread_mutex_lock(&s->lock);
		while (s->phase == ACTIVE_SOURCE_ASKED && !s->hung && e == 0)
			e = pthread_cond_clockwait(&s->changed, &s->lock, CLOCK_MONOTONIC, &until);
		any |= s->phase == ACTIVE_SOURCE_DONE;
		pthread_mutex_unlock(&s->lock);
	}
	return any;
}

/* ---- accounting and states ---- */

static int metric_index(const struct sample_set *set, const char *name)
{
	for (size_t i = 0; i < set->metric_count; i++)
		if (!strcmp(set->metrics[i].name, name))
			return (int)i;
	return -1;
}

/* Sums a metric over all rows of a kind, by the last samples of a source without a thread. */
static bool add_up(const struct active_sources *list, const char *source, enum entity_kind kind,
		   const char *metric, double *sum)
{
	bool any = false;

	for (size_t i = 0; i < list->count; i++) {
		const struct active_source *s = list->list[i];
		int m = s->broken || s->source->slow ? -1 : metric_index(&s->set, metric);

		if (m < 0 || strcmp(s->source->name, source) != 0)
			continue;
		for (size_t row = 0; row < s->set.row_count; row++) {
			const struct sample_row *r = &s->set.rows[row];

			if (s->set.entities[r->entity].kind != kind || !(r->present >> m & 1))
				continue;
			*sum += sample_value(&s->set, row, (unsigned)m);
			any = true;
		}
	}
	return any;
}

bool active_sources_itemised(const struct active_sources *list, double *ret)
{
	*ret = 0;
	return add_up(list, "process", ENTITY_JOB, "usertime", ret) &&
	       add_up(list, "process", ENTITY_JOB, "systemtime", ret);
}

bool active_sources_total(const struct active_sources *list, double *ret)
{
	*ret = 0;
	return add_up(list, "cgroup", ENTITY_CGROUP, "cpu_usage", ret);
}

/* While its thread is busy, its other members must not be read. */
static bool is_busy(struct active_source *s)
{
	if (!s->started)
		return false;
	pthread_mutex_lock(&s->lock);
	bool busy = s->phase == ACTIVE_SOURCE_ASKED;
	pthread_mutex_unlock(&s->lock);
	return busy;
}

static const char *state_of(struct active_source *s, bool over)
{
	if (is_busy(s))
		return s->hung        ? "did not answer in time"
		       : s->announced ? "sampled"
		       : over         ? "did not answer before the end"
				      : "has not answered yet";
	if (s->started && !s->opened)
		return s->why.len ? s->why.buf : "not read yet";
	return s->broken ? s->why.buf : "sampled";
}

struct value *active_sources_states(const struct active_sources *list, bool over)
{
	struct value *v = value_new(VALUE_DICT);

	for (size_t i = 0; i < list->count; i++)
		value_set(v, list->list[i]->source->name, value_str(state_of(list->list[i], over)));
	return v;
}

static void free_active(struct active_source *s)
{
	sample_release(&s->set);
	strbuf_release(&s->why);
	free(s->option);
	free(s->watch.list);
	free(s);
}

/* A thread that does not answer is detached, and keeps its structure. */
static void close_active(struct active_source *s)
{
	if (s->started) {
		pthread_mutex_lock(&s->lock);
		bool busy = s->phase == ACTIVE_SOURCE_ASKED;
		s->quit = true;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
		if (busy) {
			pthread_detach(s->thread);
			return;
		}
		pthread_join(s->thread, NULL);
		pthread_mutex_destroy(&s->lock);
		pthread_cond_destroy(&s->changed);
	} else if (!s->broken) {
		s->source->close(s->state);
	}
	free_active(s);
}

static bool same_option(const struct active_source *s, const struct sampler_source *wanted)
{
	const char *option = wanted ? strchr(wanted->name, '=') : NULL;

	return option ? s->option && !strcmp(option + 1, s->option) : !s->option;
}

/* A source that failed to open may work now; until it was tried, the old reason stays. */
static struct active_source *open_again(struct active_source *s, const struct sampler_options *o,
					const struct sampler_source *wanted)
{
	const struct source *source = s->source;
	_cleanup_free_ char *why =
		!is_busy(s) && s->broken && same_option(s, wanted) ? xstrdup(s->why.buf) : NULL;

	close_active(s);
	s = open_active(o, source, wanted);
	if (s->started && why)
		strbuf_addstr(&s->why, why);
	return s;
}

void active_sources_change(struct active_sources *list, const struct sampler_options *o)
{
	const struct sampler_source *wanted;
	size_t kept = 0;

	for (size_t i = 0; i < list->count; i++) {
		struct active_source *s = list->list[i];

		if (!is_wanted(o, s->source, &wanted)) {
			close_active(s);
			continue;
		}
		if (!same_option(s, wanted) || s->broken || s->hung)
			s = open_again(s, o, wanted);
		set_period(s, o, wanted);
		s->announced = false;
		list->list[kept++] = s;
	}
	list->count = kept;
	for (const struct source *const *p = sources; *p; p++)
		if (!active_source_of(list, *p) && is_wanted(o, *p, &wanted))
			add_active(list, open_active(o, *p, wanted));
}

void active_sources_close(struct active_sources *list)
{
	for (size_t i = 0; i < list->count; i++)
		close_active(list->list[i]);
	spawn_end_all(); /* children of detached threads */
	free(list->list);
	*list = (struct active_sources){0};
}
