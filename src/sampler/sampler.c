/* The sampling loop; see sampler.h. */
#include "sampler/sampler.h"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/mem_trim.h"
#include "sampler/active_sources.h"

/* The end of a job, and the word in a file, are checked at least this often. */
#define LOOK_NS 1000000000ull
/* Both clocks are written this often, and when one stepped against the other by STEP_NS. */
#define CLOCK_NS 60000000000ull
#define STEP_NS 50000000ll
/* The budget is checked over at least this time. */
#define BUDGET_NS 5000000000ull
#define STRETCH_MAX 64u
/* How long the last samples of slow sources may take. */
#define LAST_NS 500000000ull
/* Up to this many processes are followed by pidfd; more are polled. */
#define PIDFD_MAX 64

enum {
	OWN_TICKS,
	OWN_OVERRUNS,
	OWN_LOST,
	OWN_LATE,
	OWN_TOOK,
	OWN_CPU,
	OWN_STRETCH,
	OWN_RSS,
	OWN_WAITING,
	OWN_DROPPED,
	OWN_REFUSED,
	OWN_DAMAGED,
	OWN_TROUBLES,
};

const struct sample_metric sampler_metrics[] = {
	[OWN_TICKS] = {"ticks", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "ticks that were sampled"},
	[OWN_OVERRUNS] = {"overruns", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
			  "ticks skipped because the one before took too long"},
	[OWN_LOST] = {"lost", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
		      "ticks whose samples could not be written"},
	[OWN_LATE] = {"late", UNIT_NANOSECONDS, KIND_GAUGE, AGG_MAX, 0,
		      "delay of the tick after its time"},
	[OWN_TOOK] = {"took", UNIT_NANOSECONDS, KIND_GAUGE, AGG_MAX, 0,
		      "duration of the tick before"},
	[OWN_CPU] = {"cpu_time", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0,
		     "CPU time of the sampling process"},
	[OWN_STRETCH] =
		{"stretch", UNIT_COUNT, KIND_GAUGE, AGG_MAX, 0,
		 "periods between samples of the source that is slowed down most to keep the budget"},
	[OWN_RSS] = {"rss", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0,
		     "resident memory of the sampling process"},
	[OWN_WAITING] = {"batches_waiting", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0,
			 "batches that the collector has not acknowledged (node daemon)"},
	[OWN_DROPPED] = {"batches_dropped", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
			 "batches dropped because the spool was full"},
	[OWN_REFUSED] = {"batches_refused", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
			 "batches that the collector refused as invalid"},
	[OWN_DAMAGED] = {"batches_damaged", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
			 "damaged batches in the spool"},
	[OWN_TROUBLES] = {"delivery_problems", UNIT_COUNT, KIND_GAUGE, AGG_MAX, 0,
			  "problems of delivery; `plimsoll configure --show` names them"},
};
const size_t sampler_metric_count = ARRAY_SIZE(sampler_metrics);

struct sampler {
	const struct sampler_options *o;
	struct sampler_result *r;
	struct sample_output out;
	struct active_sources sources;
	struct sample_set own;
	unsigned own_number;
	int signals, statm;
	struct pollfd fds[PIDFD_MAX + 2 + SAMPLER_FDS];
	int followed[PIDFD_MAX + 2];
	size_t fd_count;   /* signals, stop, then the main processes */
	size_t owner_fds;  /* after them */
	bool all_followed; /* every main process is among them */
	uint64_t next_ns, next_look_ns, next_sync_ns, next_clock_ns, last_took_ns;
	int64_t clock_offset_ns; /* wall clock less boot time when last written */
	uint64_t cpu_begin_us, budget_since_ns, budget_cpu_us;
	double itemised_begin, total_begin;
	unsigned stretch;
	bool closed;   /* no process of the job runs, and its last samples were taken */
	uint64_t tick; /* number of the next tick: wall clock / period */
};

void sampler_result_release(struct sampler_result *r)
{
	value_free(r->sources);
	r->sources = NULL;
}

/* ---- clocks ---- */

/* Plans the next tick: a multiple of the (stretched) period on the wall clock, in boot time. After
 * a tick that was slightly early it is the one after that. */
static void plan(struct sampler *s)
{
	uint64_t now;
	int64_t wall;

	clock_pair(&now, &wall);
	int64_t period = (int64_t)s->o->period_ns, step = period * (int64_t)s->stretch;
	int64_t next = (wall + period / 8) / step * step + step;

	s->tick = (uint64_t)(next / period);
	s->next_ns = now + (uint64_t)(next - wall);
}

/* Times of samples are converted by the last pair: if its clocks were read some time apart, the
 * next interval would be too long or too short. */
static void write_clock(struct sampler *s, bool always)
{
	uint64_t now;
	int64_t wall;

	clock_pair(&now, &wall);
	int64_t offset = wall - (int64_t)now, step = offset - s->clock_offset_ns;

	if (!always && now < s->next_clock_ns && step < STEP_NS && step > -STEP_NS)
		return;
	s->out.clock(s->out.user, now, wall);
	s->clock_offset_ns = offset;
	s->next_clock_ns = now + CLOCK_NS;
}

/* ---- one tick ---- */

/* Periods between samples of the source that is slowed down most. */
static unsigned largest_stretch(struct sampler *s)
{
	const struct active_source *slowed = active_sources_stretched(&s->sources);

	return s->stretch * (slowed ? slowed->stretch : 1);
}

static void add_delivery(struct sampler *s)
{
	const struct sampler_hooks *h = s->o->hooks;
	struct sampler_delivery d;

	if (!h || !h->delivery || !h->delivery(h->user, &d))
		return;
	sample_put(&s->own, OWN_WAITING, (int64_t)d.waiting);
	sample_put(&s->own, OWN_DROPPED, (int64_t)d.dropped);
	sample_put(&s->own, OWN_REFUSED, (int64_t)d.refused);
	sample_put(&s->own, OWN_DAMAGED, (int64_t)d.damaged);
	sample_put(&s->own, OWN_TROUBLES, d.problems);
}

static void add_own(struct sampler *s, uint64_t now, uint64_t due)
{
	struct sampler_result *r = s->r;
	uint64_t late = now > due ? now - due : 0;
	int64_t rss = mem_rss(s->statm);

	r->late_sum_ns += late;
	if (late > r->late_max_ns)
		r->late_max_ns = late;
	sample_begin(&s->own);
	sample_row(&s->own, sample_entity(&s->own, ENTITY_NODE, "sampler"));
	sample_put(&s->own, OWN_TICKS, (int64_t)r->ticks);
	sample_put(&s->own, OWN_OVERRUNS, (int64_t)r->overruns);
	sample_put(&s->own, OWN_LOST, (int64_t)r->lost);
	sample_put(&s->own, OWN_LATE, (int64_t)late);
	if (s->last_took_ns)
		sample_put(&s->own, OWN_TOOK, (int64_t)s->last_took_ns);
	sample_put(&s->own, OWN_CPU, (int64_t)(mem_cpu_us() - s->cpu_begin_us));
	sample_put(&s->own, OWN_STRETCH, largest_stretch(s));
	if (rss >= 0)
		sample_put(&s->own, OWN_RSS, rss);
	add_delivery(s);
	s->out.add(s->out.user, s->own_number, &s->own);
}

static void flush(struct sampler *s, uint64_t now, bool last)
{
	bool sync = last || (s->o->checkpoint_ns && now >= s->next_sync_ns);
	int e = s->out.flush(s->out.user, sync);

	if (e < 0) {
		s->r->lost++;
		if (!s->r->write_error)
			s->r->write_error = -e;
	}
	if (sync)
		s->next_sync_ns = now + s->o->checkpoint_ns;
}

/*
 * Above the budget: halves the rate of what costs most, a source or, if finding processes costs
 * most, the whole tick. Far below it: reverts that.
 */
static void keep_budget(struct sampler *s, uint64_t now)
{
	uint64_t elapsed = now - s->budget_since_ns, cpu = mem_cpu_us();
	struct active_source *costliest, *slowed = active_sources_stretched(&s->sources);

	if (s->o->budget <= 0 || elapsed < BUDGET_NS || elapsed < 4 * s->o->period_ns * s->stretch)
		return;
	double all = (double)(cpu - s->budget_cpu_us) * 1e3, share = all / (double)elapsed;
	double readings = (double)active_sources_cost(&s->sources, &costliest);
	if (share > s->o->budget) {
		unsigned *what =
			costliest && readings > all / 2 ? &costliest->stretch : &s->stretch;

		if (*what < STRETCH_MAX)
			*what *= 2;
	} else if (share < s->o->budget / 3) {
		if (s->stretch > 1)
			s->stretch /= 2;
		else if (slowed)
			slowed->stretch /= 2;
	}
	if (largest_stretch(s) > s->r->stretch_max)
		s->r->stretch_max = largest_stretch(s);
	s->budget_since_ns = now;
	s->budget_cpu_us = cpu;
}

/* Is this process followed by a pidfd? */
static bool is_followed(const struct sampler *s, int pid)
{
	for (size_t i = 2; i < s->fd_count; i++)
		if (s->followed[i] == pid)
			return true;
	return false;
}

static void stop_following(struct sampler *s, size_t from)
{
	for (size_t i = from; i < s->fd_count; i++)
		close(s->fds[i].fd);
	s->fd_count = from;
}

/* Follows the main processes, whose end ends the job, by pidfds if they are few. */
static void follow_ends(struct sampler *s)
{
	const struct job_processes *w = s->o->watch;
	size_t mains = 0, known = 0;

	for (size_t i = 0; i < w->count; i++) {
		mains += w->list[i].main;
		known += w->list[i].main && is_followed(s, w->list[i].pid);
	}
	if (known != mains || known != s->fd_count - 2) {
		stop_following(s, 2);
		for (size_t i = 0; i < w->count && s->fd_count < ARRAY_SIZE(s->followed); i++) {
			int fd = w->list[i].main ? (int)syscall(SYS_pidfd_open, w->list[i].pid, 0)
						 : -1;

			if (fd < 0)
				continue;
			s->followed[s->fd_count] = w->list[i].pid;
			s->fds[s->fd_count++] = (struct pollfd){.fd = fd, .events = POLLIN};
		}
	}
	s->all_followed = mains && mains == s->fd_count - 2;
}

static void keep_accounts(struct sampler *s)
{
	struct sampler_result *r = s->r;
	double itemised, total;
	bool has_items = active_sources_itemised(&s->sources, &itemised);
	bool has_total = active_sources_total(&s->sources, &total);

	if (!r->ticks) {
		r->itemised_known = has_items;
		r->total_known = has_total;
		s->itemised_begin = itemised;
		s->total_begin = total;
	}
	if (has_items)
		r->itemised_us = itemised - s->itemised_begin;
	if (has_total)
		r->total_us = total - s->total_begin;
}

/* Is there one job, with which sampling ends? The jobs of a node are kept by the owner. */
static bool has_job(const struct sampler *s)
{
	return s->o->watch && !s->o->jobs;
}

static void before_reading(struct sampler *s, bool last)
{
	if (s->o->hooks && s->o->hooks->before)
		s->o->hooks->before(s->o->hooks->user, last);
}

static void after_reading(struct sampler *s, bool last)
{
	if (s->o->hooks && s->o->hooks->after)
		s->o->hooks->after(s->o->hooks->user, last);
}

/* Between two ticks: samples the sources of jobs only. */
static void read_jobs(struct sampler *s)
{
	uint64_t now = clock_boottime_ns();

	before_reading(s, false);
	write_clock(s, false);
	active_sources_read_jobs(&s->sources, s->o, &s->out, s->tick);
	flush(s, now, false);
	after_reading(s, false);
}

static void take_tick(struct sampler *s, uint64_t due, bool last)
{
	uint64_t now = clock_boottime_ns();

	before_reading(s, last);
	if (has_job(s)) {
		(void)job_processes_update(s->o->watch);
		if (!last)
			follow_ends(s);
		s->next_look_ns = now + LOOK_NS;
	}
	write_clock(s, last || !s->r->ticks);
	active_sources_read(&s->sources, s->o, &s->out, s->tick, last);
	keep_accounts(s);
	s->r->ticks++;
	s->r->end_ns = now;
	add_own(s, now, due);
	flush(s, now, last);
	after_reading(s, last);
	s->last_took_ns = clock_boottime_ns() - now;
}

/* ---- other options ---- */

static void tell_opened(struct sampler *s)
{
	if (s->o->hooks && s->o->hooks->opened)
		s->o->hooks->opened(s->o->hooks->user, &s->sources);
}

static void change(struct sampler *s)
{
	s->o->head->period_ns = s->o->period_ns;
	clock_pair(&s->o->head->boottime_ns, &s->o->head->realtime_ns);
	int e = s->out.restart(s->out.user, s->o->head);
	if (e < 0 && !s->r->write_error)
		s->r->write_error = -e;
	s->own_number = s->out.source(s->out.user, "sampler", 1, &s->own);
	for (size_t i = 0; i < s->own.entity_count; i++)
		s->own.entities[i].fresh = true;
	s->stretch = 1;
	active_sources_change(&s->sources, s->o);
	tell_opened(s);
	write_clock(s, true);
	plan(s);
}

/* Does what the owner wants; true: end. */
static bool grant(struct sampler *s, enum sampler_wish wish)
{
	if (wish == SAMPLER_READ_JOBS)
		read_jobs(s);
	else if (wish == SAMPLER_CHANGED)
		change(s);
	return wish == SAMPLER_END;
}

/* ---- the end ---- */

static bool file_says_finished(const char *path)
{
	char buf[16] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false;
	ssize_t n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	return n >= 8 && !memcmp(buf, "FINISHED", 8);
}

/* Handles pending signals; true: one of them ends it. */
static bool signalled(struct sampler *s)
{
	struct signalfd_siginfo si;
	bool end = false;

	while (read(s->signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
		if (si.ssi_signo == SIGHUP && s->o->hooks && s->o->hooks->hangup)
			end |= grant(s, s->o->hooks->hangup(s->o->hooks->user));
		else
			end = true;
		if (end && !s->r->signal) {
			s->r->signal = (int)si.ssi_signo;
			s->r->sender = (int)si.ssi_pid;
		}
	}
	return end;
}

/* The reason to end now; NULL: none. */
static const char *ending(struct sampler *s, uint64_t now)
{
	bool someone_ended = false;

	if (s->fds[0].revents && signalled(s))
		return "signal";
	if (s->o->hooks && s->o->hooks->woken &&
	    grant(s, s->o->hooks->woken(s->o->hooks->user, s->fds + s->fd_count, s->owner_fds)))
		return "owner";
	if (s->fds[1].revents)
		return "stop";
	for (size_t i = 2; i < s->fd_count; i++)
		someone_ended |= s->fds[i].revents != 0;
	if (s->o->duration_ns && now - s->r->begin_ns >= s->o->duration_ns)
		return "duration";
	if (now < s->next_look_ns && !someone_ended)
		return NULL;
	s->next_look_ns = now + LOOK_NS;
	if (s->o->finished && file_says_finished(s->o->finished))
		return "finished";
	/* no need to poll if every main process is followed */
	bool look = has_job(s) && active_sources_want_look(&s->sources);
	if (!has_job(s) || !s->o->watch->found_any || (s->all_followed && !someone_ended && !look))
		return NULL;
	(void)job_processes_update(s->o->watch);
	if (look)
		active_sources_look(&s->sources);
	if (job_processes_over(s->o->watch))
		return "job";
	follow_ends(s);
	return NULL;
}

static void sleep_until(struct sampler *s, uint64_t then)
{
	uint64_t now = clock_boottime_ns();
	uint64_t ns = then > now ? then - now : 0;
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
			      .tv_nsec = (long)(ns % 1000000000u)};

	for (size_t i = 0; i < s->fd_count + s->owner_fds; i++)
		s->fds[i].revents = 0;
	ppoll(s->fds, s->fd_count + s->owner_fds, &ts, NULL);
}

static uint64_t wake_time(struct sampler *s)
{
	uint64_t then = s->next_ns;

	s->owner_fds = 0;
	if (s->o->hooks && s->o->hooks->prepare)
		s->owner_fds = s->o->hooks->prepare(s->o->hooks->user, s->fds + s->fd_count,
						    SAMPLER_FDS, &then);
	if ((s->o->finished || has_job(s)) && s->next_look_ns < then)
		then = s->next_look_ns;
	if (s->sources.glance_ns && s->sources.glance_ns < then)
		then = s->sources.glance_ns;
	if (s->o->duration_ns && s->r->begin_ns + s->o->duration_ns < then)
		then = s->r->begin_ns + s->o->duration_ns;
	return then;
}

static void last_samples(struct sampler *s)
{
	active_sources_ask_last(&s->sources, s->o, &s->out, s->tick);
	active_sources_wait(&s->sources, LAST_NS);
	take_tick(s, clock_boottime_ns(), true);
}

/*
 * A batch job without processes may go on with its next step, so its end is certain only seconds
 * later. That time does not belong to the job: the last samples are taken when its last process has
 * ended, and none after that unless the job goes on. True: no tick is due.
 */
static bool holds_still(struct sampler *s)
{
	bool quiet = has_job(s) && s->o->watch->found_any && job_processes_quiet(s->o->watch);

	if (quiet && !s->closed)
		last_samples(s);
	else if (!quiet && s->closed)
		active_sources_go_on(&s->sources);
	s->closed = quiet;
	if (quiet && clock_boottime_ns() >= s->next_ns)
		plan(s);
	return quiet;
}

static void loop(struct sampler *s)
{
	uint64_t now = clock_boottime_ns();

	s->r->begin_ns = s->budget_since_ns = now;
	s->next_sync_ns = now + s->o->checkpoint_ns;
	take_tick(s, now, false);
	if (has_job(s))
		active_sources_plan_glance(&s->sources, now);
	malloc_trim(0); /* reading sources for the first time needs more memory */
	plan(s);
	while (!s->r->end) {
		sleep_until(s, wake_time(s));
		now = clock_boottime_ns();
		s->r->end = ending(s, now);
		if (s->r->end || holds_still(s))
			continue;
		if (has_job(s))
			active_sources_glance(&s->sources, s->o, now);
		if (now < s->next_ns)
			continue;
		uint64_t due = s->next_ns, step = s->o->period_ns * s->stretch;
		take_tick(s, due, false);
		now = clock_boottime_ns();
		if (now > due + step)
			s->r->overruns += (now - due) / step;
		if (has_job(s) && s->o->watch->found_any && job_processes_over(s->o->watch))
			s->r->end = "job";
		keep_budget(s, now);
		plan(s);
	}
	if (s->closed)
		flush(s, clock_boottime_ns(), true);
	else
		last_samples(s);
}

/* ---- begin and end ---- */

static int open_signals(sigset_t *ret_old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(SIG_BLOCK, &set, ret_old);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Consumes pending signals, which would be delivered again when they are unblocked. */
static void take_signals(int fd)
{
	struct signalfd_siginfo si;

	while (read(fd, &si, sizeof(si)) == (ssize_t)sizeof(si))
		;
}

void sampler_run(const struct sampler_options *o, struct sampler_result *ret)
{
	struct sampler s = {.o = o, .r = ret, .stretch = 1};
	sigset_t old;

	*ret = (struct sampler_result){.stretch_max = 1};
	mallopt(M_ARENA_MAX, 1); /* the threads of slow sources allocate little */
	s.signals = open_signals(&old);
	signal(SIGXFSZ, SIG_IGN); /* a file size limit becomes an error of write() */
	s.statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	s.fds[0] = (struct pollfd){.fd = s.signals, .events = POLLIN};
	s.fds[1] = (struct pollfd){.fd = o->stop, .events = POLLIN};
	s.fd_count = 2;
	s.cpu_begin_us = s.budget_cpu_us = mem_cpu_us();
	if (o->output)
		s.out = *o->output;
	else
		sample_output_file(&s.out, o->file, o->head);
	sample_init(&s.own, sampler_metrics, sampler_metric_count);
	s.own_number = s.out.source(s.out.user, "sampler", 1, &s.own);
	active_sources_open(&s.sources, o);
	tell_opened(&s);
	mem_trim(); /* opening sources needs more memory than reading them */
	s.tick = (uint64_t)clock_realtime_us() * 1000 / o->period_ns;
	loop(&s);
	ret->cpu_us = mem_cpu_us() - s.cpu_begin_us;
	ret->sources = active_sources_states(&s.sources, true);
	active_sources_close(&s.sources);
	int e = s.out.end(s.out.user, ret->end);
	if (e < 0 && !ret->write_error)
		ret->write_error = -e;
	stop_following(&s, 2);
	sample_release(&s.own);
	take_signals(s.signals);
	close(s.signals);
	if (s.statm >= 0)
		close(s.statm);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
