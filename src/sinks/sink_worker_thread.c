/*
 * The thread of a sink: opens it, delivers entries, commits, pauses when the target cannot take
 * more, and skips entries that it refuses because of their content. A refused commit does not tell
 * which entry is bad: those since the last commit are then delivered and committed one by one.
 */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/secrets.h"
#include "sinks/sink_worker_internal.h"

#define LOOK_NS 200000000ull        /* longest delay before a stop or a reopen is noticed */
#define SAY_AGAIN_NS 60000000000ull /* the same reason is logged once in this time */
#define NOTE_NS 1000000000ull
#define COMMIT_ENTRIES 512
#define COMMIT_NS 1000000000ull
#define STALE_MAX 3 /* commits in a row that are repeated without a pause */

/* ---- saying --------------------------------------------------------------------------------- */

static void say(struct sink_worker *w, enum log_level level, const char *text)
{
	if (w->workers->o.say)
		w->workers->o.say(w->workers->o.user, level, w->shown, text);
}

/* Notes a reason, and logs it if it has changed or was last logged a while ago. */
static void note_reason(struct sink_worker *w, enum log_level level, const char *what, int r)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t now = clock_boottime_ns();
	char reason[sizeof(w->said)];

	if (!w->why.len)
		strbuf_addstr(&w->why, strerror(-r));
	/* servers and libraries may quote the address, with its password */
	secrets_hide(&w->why, w->options.target);
	snprintf(reason, sizeof(reason), "%s", w->why.buf);
	pthread_mutex_lock(&w->lock);
	memcpy(w->shared.reason, reason, sizeof(reason));
	w->shared.reason_us = clock_realtime_us();
	pthread_mutex_unlock(&w->lock);
	if (strcmp(w->said, reason) != 0 || now - w->said_ns > SAY_AGAIN_NS) {
		strbuf_addf(&text, "%s%s", what, reason);
		say(w, level, text.buf);
		w->said_ns = now;
		memcpy(w->said, reason, sizeof(reason));
	}
	strbuf_reset(&w->why);
}

static void count(struct sink_worker *w, uint64_t *counter, uint64_t n)
{
	pthread_mutex_lock(&w->lock);
	*counter += n;
	pthread_mutex_unlock(&w->lock);
}

static void set_phase(struct sink_worker *w, enum sink_workers_phase phase)
{
	pthread_mutex_lock(&w->lock);
	w->shared.phase = phase;
	pthread_mutex_unlock(&w->lock);
}

/* ---- positions ------------------------------------------------------------------------------ */

static void write_note(struct sink_worker *w, uint64_t position)
{
	char text[96];
	int n = snprintf(text, sizeof(text), "position %llu at %lld of %llx\n",
			 (unsigned long long)position, (long long)clock_realtime_us(),
			 (unsigned long long)commit_log_id(w->workers->o.log));

	int r = fs_replace_durable(w->dir, NOTE_FILE, text, (size_t)n, 0600);
	w->noted_ns = clock_boottime_ns();
	if (r == 0 || w->note_failed) {
		w->note_failed = r < 0;
		return;
	}
	w->note_failed = true;
	_cleanup_free_ char *line =
		xasprintf("cannot write '%s/" NOTE_FILE "': %s; entries from now on may be "
			  "delivered again after the next start",
			  w->options.state, strerror(-r));
	say(w, LOG_WARN, line);
}

/* Everything before this entry is in the target, or was skipped. */
static void set_position(struct sink_worker *w, uint64_t position, uint64_t committed)
{
	/* entries refused in part are counted as such */
	for (size_t i = 0; i < w->refused.len; i++)
		committed -= w->refused.buf[i] && committed;
	pthread_mutex_lock(&w->lock);
	w->shared.position = position;
	w->shared.committed += committed;
	w->shared.behind_since_ns = (int64_t)clock_boottime_ns();
	pthread_mutex_unlock(&w->lock);
	strbuf_reset(&w->refused);
	if (clock_boottime_ns() - w->noted_ns >= NOTE_NS)
		write_note(w, position);
	sink_workers_trim(w->workers);
}

/* Delivers the entries since the last commit again. */
static void rewind_to(struct sink_worker *w, uint64_t position)
{
	commit_log_reader_close(w->reader);
	w->reader = commit_log_read_from(w->workers->o.log, position);
	w->next = position;
	w->given = 0;
}

static uint64_t position_of(struct sink_worker *w)
{
	pthread_mutex_lock(&w->lock);
	uint64_t position = w->shared.position;
	pthread_mutex_unlock(&w->lock);
	return position;
}

/* ---- pauses --------------------------------------------------------------------------------- */

static uint64_t jitter(struct sink_worker *w, uint64_t ns)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return ns / 2 + w->seed % (ns / 2 + 1);
}

/* Waits until the pause is over or the workers stop. Each pause is twice as long as the one before,
 * half of it random, so that many sinks do not come back at the same time. */
static void make_pause(struct sink_worker *w)
{
	struct sink_workers *r = w->workers;

	w->pause_ns = w->pause_ns ? w->pause_ns * 2 : r->o.pause_ns;
	if (w->pause_ns > r->o.pause_max_ns)
		w->pause_ns = r->o.pause_max_ns;
	count(w, &w->shared.failures, 1);
	const struct timespec until = clock_deadline(jitter(w, w->pause_ns));
	pthread_mutex_lock(&r->wake_lock);
	while (!atomic_load(&r->stop) &&
	       pthread_cond_timedwait(&r->wake, &r->wake_lock, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&r->wake_lock);
}

/* The target cannot take it now. */
static void not_now(struct sink_worker *w, int r)
{
	note_reason(w, LOG_WARN, "", r);
	if (w->opened)
		set_phase(w, SINK_WORKERS_PAUSING);
	if (w->state)
		rewind_to(w, position_of(w));
	make_pause(w);
}

static void works_again(struct sink_worker *w)
{
	if (w->pause_ns && *w->said)
		say(w, LOG_WARN, "works again");
	w->pause_ns = 0;
	*w->said = 0;
	set_phase(w, SINK_WORKERS_RUNNING);
}

/* ---- opening -------------------------------------------------------------------------------- */

/*
 * Where to begin: the target's own position counts more than our note. A target that has more than
 * the log had when we began has it from a log that is gone: this one was restored to an earlier
 * state, or lost its end. Later numbers are then used once more.
 */
static uint64_t begin_at(struct sink_worker *w, uint64_t told, bool *again)
{
	uint64_t begin = w->workers->log_end, end = commit_log_next_number(w->workers->o.log);
	uint64_t noted = position_of(w);
	uint64_t position = told ? told : noted;

	if (w->note_lost) {
		uint64_t from = told ? told : commit_log_first(w->workers->o.log);
		_cleanup_free_ char *line =
			xasprintf("'%s/" NOTE_FILE "' is damaged: continues with entry %llu, %s",
				  w->options.state, (unsigned long long)from,
				  told ? "the first that the sink reports missing"
				       : "the first of the log; some may be delivered again");

		say(w, LOG_WARN, line);
		w->note_lost = false;
	}
	if (w->begun ? position <= end : position <= begin)
		return position;
	strbuf_reset(&w->why);
	strbuf_addf(&w->why,
		    "has entry %llu, but the log ended with %llu when it was opened: the log was "
		    "restored to an earlier state; continues with entries since then",
		    (unsigned long long)position - 1, (unsigned long long)begin - 1);
	say(w, LOG_WARN, w->why.buf);
	strbuf_reset(&w->why);
	*again = true;
	return begin;
}

/* Negative: it is not open, after a pause (-EAGAIN) or for good. */
static int open_sink(struct sink_worker *w)
{
	uint64_t told = 0;

	strbuf_reset(&w->why);
	int r = w->sink->open(&w->options, &w->state, &told, &w->why);
	if (r < 0) {
		w->state = NULL;
		/* it has worked once, so its options are right */
		if (r == -EAGAIN || w->opened) {
			not_now(w, r);
			return -EAGAIN;
		}
		note_reason(w, LOG_ERROR, "", r);
		set_phase(w, SINK_WORKERS_FAILED);
		return r;
	}
	w->opened = true;
	bool again = false;
	uint64_t position = begin_at(w, told, &again);

	if (again && told && w->sink->number_again) {
		r = w->sink->number_again(w->state, position, &w->why);
		if (r < 0) {
			w->sink->close(w->state);
			w->state = NULL;
			not_now(w, r);
			return -EAGAIN;
		}
	}
	w->begun = true;
	pthread_mutex_lock(&w->lock);
	w->shared.position = position;
	pthread_mutex_unlock(&w->lock);
	rewind_to(w, position);
	/* the note marks the other state of the sink as being about this log */
	write_note(w, position ? position : commit_log_first(w->workers->o.log));
	sink_workers_trim(w->workers);
	if (!w->pause_ns)
		set_phase(w, SINK_WORKERS_RUNNING);
	return 0;
}

static void close_sink(struct sink_worker *w)
{
	if (w->state)
		w->sink->close(w->state);
	w->state = NULL;
	commit_log_reader_close(w->reader);
	w->reader = NULL;
}

/* ---- entries -------------------------------------------------------------------------------- */

/* Is the entry itself at fault? Everything else may pass. */
static bool is_refusal(int r)
{
	return r == -EBADMSG || r == -E2BIG;
}

/* Negative if it could not be kept aside, with the reason in why: then it must wait. */
static int skip_entry(struct sink_worker *w, uint64_t number, int r)
{
	_cleanup_free_ char *what = xasprintf("skipped entry %llu, kept in '%s/" ASIDE_DIR "': ",
					      (unsigned long long)number, w->options.state);
	int kept = sink_workers_keep_aside(w, number);

	if (kept < 0) {
		strbuf_addf(&w->why, "; cannot keep it in '%s/" ASIDE_DIR "': %s", w->options.state,
			    strerror(-kept));
		return kept;
	}
	count(w, &w->shared.skipped, 1);
	note_reason(w, LOG_WARN, what, r);
	return 0;
}

/* Several parts of an entry may be refused; it is kept aside and counted once. NULL: it was before
 * the last commit and cannot be marked. */
static char *refusal_mark(struct sink_worker *w, uint64_t number)
{
	if (!w->refused.len)
		w->refused_from = position_of(w);
	if (number < w->refused_from)
		return NULL;
	while (w->refused.len <= number - w->refused_from)
		strbuf_addch(&w->refused, 0);
	return &w->refused.buf[number - w->refused_from];
}

int sink_workers_refused(void *user, uint64_t number, const char *reason)
{
	struct sink_worker *w = user;
	char *mark = refusal_mark(w, number);

	if (mark && *mark)
		return 0;
	int kept = sink_workers_keep_aside(w, number);
	if (kept < 0)
		return kept;
	if (mark)
		*mark = 1;
	_cleanup_free_ char *what =
		xasprintf("skipped part of entry %llu, all of it kept in '%s/" ASIDE_DIR "': ",
			  (unsigned long long)number, w->options.state);
	_cleanup_strbuf_ struct strbuf before = STRBUF_INIT;
	strbuf_add(&before, w->why.buf, w->why.len);
	strbuf_reset(&w->why);
	strbuf_addstr(&w->why, reason);
	count(w, &w->shared.skipped, 1);
	note_reason(w, LOG_WARN, what, -EBADMSG);
	strbuf_add(&w->why, before.buf, before.len);
	return 0;
}

static int give_entry(struct sink_worker *w, uint64_t number, const void *p, size_t n)
{
	struct batch_name name;
	struct sample_file file;
	int r = batch_peek(p, n, &name, &w->why);

	if (r == 0)
		r = batch_open(&file, p, n, &w->why);
	if (r < 0)
		return r == -EAGAIN || r == -EINVAL ? -EBADMSG : r;
	r = w->sink->batch(w->state, number, &name, &file, &w->why);
	sample_file_close(&file);
	return r;
}

/* Makes what was delivered since the last commit durable. */
static int commit(struct sink_worker *w)
{
	uint64_t last = w->next - 1, position = position_of(w);

	if (!w->given && w->next <= position)
		return 0;
	strbuf_reset(&w->why);
	int r = w->given ? w->sink->commit(w->state, last, &w->why) : 0;
	if (r >= 0) {
		uint64_t given = w->given;

		w->given = w->stale = 0;
		works_again(w);
		set_position(w, w->next, given);
		return 0;
	}
	if (r == -ESTALE && w->stale++ < STALE_MAX) {
		rewind_to(w, position);
		return r;
	}
	if (!is_refusal(r)) {
		not_now(w, r);
		return r;
	}
	if (w->given > 1) {
		/* one by one, to find the bad one */
		w->single = last;
		rewind_to(w, position);
		return r;
	}
	int kept = skip_entry(w, last, r);
	if (kept < 0) {
		not_now(w, kept);
		return kept;
	}
	w->given = 0;
	if (w->pause_ns)
		works_again(w);
	set_position(w, w->next, 0);
	return 0;
}

/* An error on our side: the sink does not know of it, so commit first what it was given. */
static void not_yet(struct sink_worker *w, int r)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	strbuf_add(&why, w->why.buf, w->why.len);
	if (commit(w) < 0)
		return;
	strbuf_reset(&w->why);
	strbuf_add(&w->why, why.buf, why.len);
	not_now(w, r);
}

static bool commit_is_due(const struct sink_worker *w)
{
	unsigned limit = w->workers->o.commit_entries ? w->workers->o.commit_entries
			 : w->sink->commit_entries    ? w->sink->commit_entries
						      : COMMIT_ENTRIES;

	return w->given >= limit || w->next <= w->single + 1 || clock_boottime_ns() >= w->due_ns;
}

static void note_missing(struct sink_worker *w, uint64_t number)
{
	/* a new sink does not need older entries */
	if (w->next && number > w->next)
		count(w, &w->shared.missing, number - w->next);
}

static void take_entry(struct sink_worker *w, uint64_t number, const void *p, size_t n)
{
	uint64_t wait = w->workers->o.commit_ns ? w->workers->o.commit_ns
			: w->sink->commit_ns    ? w->sink->commit_ns
						: COMMIT_NS;

	note_missing(w, number);
	if (!w->given)
		w->due_ns = clock_boottime_ns() + wait;
	strbuf_reset(&w->why);
	int r = give_entry(w, number, p, n);
	if (r < 0 && !is_refusal(r)) {
		not_now(w, r);
		return;
	}
	int kept = r < 0 ? skip_entry(w, number, r) : 0;
	if (kept < 0) {
		not_yet(w, kept);
		return;
	}
	w->next = number + 1;
	if (r < 0) {
		if (w->pause_ns)
			works_again(w);
		if (!w->given)
			set_position(w, w->next, 0);
		return;
	}
	w->given++;
	if (r > 0 || commit_is_due(w))
		(void)commit(w);
}

/* Waits until an entry comes, a commit is due, or it is time to check for a stop. */
static void wait_for_entry(struct sink_worker *w)
{
	uint64_t now = clock_boottime_ns(), wait = LOOK_NS;

	if (w->given && w->due_ns <= now) {
		(void)commit(w);
		return;
	}
	if (w->given && w->due_ns - now < wait)
		wait = w->due_ns - now;
	if (!w->given) {
		pthread_mutex_lock(&w->lock);
		w->shared.behind_since_ns = (int64_t)clock_boottime_ns();
		pthread_mutex_unlock(&w->lock);
	}
	(void)commit_log_reader_wait(w->reader, wait);
}

static void reopen(struct sink_worker *w)
{
	if (commit(w) < 0)
		return;
	atomic_store(&w->reopen, false);
	strbuf_reset(&w->why);
	int r = w->sink->reopen ? w->sink->reopen(w->state, &w->why) : 0;
	if (r < 0)
		note_reason(w, LOG_WARN, "cannot start a new file: ", r);
}

/* One step; false if there was nothing to do. */
static bool step(struct sink_worker *w)
{
	uint64_t number = 0;
	const void *p;
	size_t n;

	if (atomic_load(&w->reopen))
		reopen(w);
	int r = commit_log_reader_next(w->reader, &p, &n, &number);
	if (r > 0) {
		take_entry(w, number, p, n);
		return true;
	}
	if (r < 0) {
		strbuf_reset(&w->why);
		strbuf_addf(&w->why, "cannot read the log: %s", strerror(-r));
		not_yet(w, r);
	}
	return false;
}

static bool over(const struct sink_worker *w)
{
	const struct sink_workers *r = w->workers;

	return atomic_load(&r->stop) &&
	       (w->pause_ns || clock_boottime_ns() >= atomic_load(&r->drain_until_ns));
}

void *sink_workers_work(void *user)
{
	struct sink_worker *w = user;

	while (!over(w)) {
		if (!w->state) {
			int r = open_sink(w);

			if (r < 0 && r != -EAGAIN)
				return NULL;
			continue;
		}
		if (step(w))
			continue;
		if (!atomic_load(&w->workers->stop))
			wait_for_entry(w);
		else if (commit(w) != -ESTALE)
			break;
	}
	if (w->state && commit(w) == 0)
		write_note(w, position_of(w));
	close_sink(w);
	set_phase(w, SINK_WORKERS_ENDED);
	return NULL;
}
