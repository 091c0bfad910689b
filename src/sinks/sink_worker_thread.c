/*
 * The thread of a feed: opens it, hands entries over, commits, pauses when the target cannot take
 * more, and leaves out what it refuses for what is in it. A commit that is refused so says nothing
 * about which entry is bad: those since the last one are then given and committed one by one.
 */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/secrets.h"
#include "sinks/sink_worker_internal.h"

#define LOOK_NS 200000000ull        /* how long a stop or a reopen may go unnoticed */
#define SAY_AGAIN_NS 60000000000ull /* the same reason is said once in this time */
#define NOTE_NS 1000000000ull
#define COMMIT_ENTRIES 512
#define COMMIT_NS 1000000000ull
#define STALE_MAX 3 /* commits in a row whose entries come again without a pause */

/* ---- saying -----------------------------------------------------------------------------------
 */

static void say(struct sink_worker *f, enum log_level level, const char *text)
{
	if (f->replay->o.say)
		f->replay->o.say(f->replay->o.user, level, f->shown, text);
}

/* Books a reason, and says it when it is another one than before, or a while ago. */
static void book(struct sink_worker *f, enum log_level level, const char *what, int r)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t now = clock_boottime_ns();
	char reason[sizeof(f->said)];

	if (!f->why.len)
		strbuf_addstr(&f->why, strerror(-r));
	/* servers and libraries may quote from the address that they were given */
	secrets_hide(&f->why, f->options.target);
	snprintf(reason, sizeof(reason), "%s", f->why.buf);
	pthread_mutex_lock(&f->lock);
	memcpy(f->shared.reason, reason, sizeof(reason));
	f->shared.reason_us = clock_realtime_us();
	pthread_mutex_unlock(&f->lock);
	if (strcmp(f->said, reason) != 0 || now - f->said_ns > SAY_AGAIN_NS) {
		strbuf_addf(&text, "%s%s", what, reason);
		say(f, level, text.buf);
		f->said_ns = now;
		memcpy(f->said, reason, sizeof(reason));
	}
	strbuf_reset(&f->why);
}

static void set_phase(struct sink_worker *f, enum sink_workers_phase phase)
{
	pthread_mutex_lock(&f->lock);
	f->shared.phase = phase;
	pthread_mutex_unlock(&f->lock);
}

/* ---- positions --------------------------------------------------------------------------------
 */

static void write_note(struct sink_worker *f, uint64_t position)
{
	char text[96];
	int n = snprintf(text, sizeof(text), "position %llu at %lld of %llx\n",
			 (unsigned long long)position, (long long)clock_realtime_us(),
			 (unsigned long long)commit_log_id(f->replay->o.log));

	int r = fs_replace_durable(f->dir, NOTE_FILE, text, (size_t)n, 0600);
	f->noted_ns = clock_boottime_ns();
	if (r == 0 || f->note_failed) {
		f->note_failed = r < 0;
		return;
	}
	f->note_failed = true;
	_cleanup_free_ char *line =
		xasprintf("cannot write '%s/" NOTE_FILE "': %s; what it gets from now on may come "
			  "again after the next start",
			  f->options.state, strerror(-r));
	say(f, LOG_WARN, line);
}

/* Everything below this entry is in the target, or left out. */
static void set_position(struct sink_worker *f, uint64_t position, uint64_t committed)
{
	/* what was left out of in part is counted there */
	for (size_t i = 0; i < f->refused.len; i++)
		committed -= f->refused.buf[i] && committed;
	pthread_mutex_lock(&f->lock);
	f->shared.position = position;
	f->shared.committed += committed;
	f->shared.behind_since_ns = (int64_t)clock_boottime_ns();
	pthread_mutex_unlock(&f->lock);
	strbuf_reset(&f->refused);
	if (clock_boottime_ns() - f->noted_ns >= NOTE_NS)
		write_note(f, position);
	sink_workers_trim(f->replay);
}

/* The entries since the last commit come again. */
static void rewind_to(struct sink_worker *f, uint64_t position)
{
	commit_log_reader_close(f->reader);
	f->reader = commit_log_read_from(f->replay->o.log, position);
	f->next = position;
	f->given = 0;
}

static uint64_t position_of(struct sink_worker *f)
{
	pthread_mutex_lock(&f->lock);
	uint64_t position = f->shared.position;
	pthread_mutex_unlock(&f->lock);
	return position;
}

/* ---- pauses -----------------------------------------------------------------------------------
 */

static uint64_t jitter(struct sink_worker *f, uint64_t ns)
{
	f->seed ^= f->seed << 13;
	f->seed ^= f->seed >> 7;
	f->seed ^= f->seed << 17;
	return ns / 2 + f->seed % (ns / 2 + 1);
}

/* Until it is over or the replay ends. Each one is twice as long as the one before, by half of it
 * at random, so that many do not come back at the same time. */
static void make_pause(struct sink_worker *f)
{
	struct sink_workers *r = f->replay;

	f->pause_ns = f->pause_ns ? f->pause_ns * 2 : r->o.pause_ns;
	if (f->pause_ns > r->o.pause_max_ns)
		f->pause_ns = r->o.pause_max_ns;
	pthread_mutex_lock(&f->lock);
	f->shared.failures++;
	pthread_mutex_unlock(&f->lock);
	const struct timespec until = clock_deadline(jitter(f, f->pause_ns));
	pthread_mutex_lock(&r->wake_lock);
	while (!atomic_load(&r->stop) &&
	       pthread_cond_timedwait(&r->wake, &r->wake_lock, &until) != ETIMEDOUT)
		;
	pthread_mutex_unlock(&r->wake_lock);
}

/* The target cannot take it now. */
static void not_now(struct sink_worker *f, int r)
{
	book(f, LOG_WARN, "", r);
	if (f->opened)
		set_phase(f, SINK_WORKERS_PAUSING);
	if (f->state)
		rewind_to(f, position_of(f));
	make_pause(f);
}

static void works_again(struct sink_worker *f)
{
	if (f->pause_ns && *f->said)
		say(f, LOG_WARN, "works again");
	f->pause_ns = 0;
	*f->said = 0;
	set_phase(f, SINK_WORKERS_RUNNING);
}

/* ---- opening ----------------------------------------------------------------------------------
 */

/*
 * Where to begin: what the target says counts more than our note. One that has more than the log
 * had when we began has it from a log that is gone: this one was put back to an earlier state, or
 * lost its end. What it held then is in the target, and numbers behind that are used once more.
 */
static uint64_t begin_at(struct sink_worker *f, uint64_t told, bool *again)
{
	uint64_t begin = f->replay->log_end, end = commit_log_next_number(f->replay->o.log);
	uint64_t noted = position_of(f);
	uint64_t position = told ? told : noted;

	if (f->note_lost) {
		uint64_t from = told ? told : commit_log_first(f->replay->o.log);
		_cleanup_free_ char *line = xasprintf(
			"the note '%s/" NOTE_FILE "' was no note: goes on with entry %llu, %s",
			f->options.state, (unsigned long long)from,
			told ? "which the sink says it has not"
			     : "the first that the log has; some may come again");

		say(f, LOG_WARN, line);
		f->note_lost = false;
	}
	if (f->begun ? position <= end : position <= begin)
		return position;
	strbuf_reset(&f->why);
	strbuf_addf(
		&f->why,
		"has entry %llu of a log that ended with %llu when it was opened: the log was put "
		"back to an earlier state; goes on with what came since",
		(unsigned long long)position - 1, (unsigned long long)begin - 1);
	say(f, LOG_WARN, f->why.buf);
	strbuf_reset(&f->why);
	*again = true;
	return begin;
}

/* 0, or negative when it is not open: then it was paused, or failed for good. */
static int open_feed(struct sink_worker *f)
{
	uint64_t told = 0;

	strbuf_reset(&f->why);
	int r = f->feed->open(&f->options, &f->state, &told, &f->why);
	if (r < 0) {
		f->state = NULL;
		/* it has worked once, so what it was told is right */
		if (r == -EAGAIN || f->opened) {
			not_now(f, r);
			return -EAGAIN;
		}
		book(f, LOG_ERROR, "", r);
		set_phase(f, SINK_WORKERS_FAILED);
		return r;
	}
	f->opened = true;
	bool again = false;
	uint64_t position = begin_at(f, told, &again);

	if (again && told && f->feed->number_again) {
		r = f->feed->number_again(f->state, position, &f->why);
		if (r < 0) {
			f->feed->close(f->state);
			f->state = NULL;
			not_now(f, r);
			return -EAGAIN;
		}
	}
	f->begun = true;
	pthread_mutex_lock(&f->lock);
	f->shared.position = position;
	pthread_mutex_unlock(&f->lock);
	rewind_to(f, position);
	/* what the feed keeps beside the note is known by it to be about this log */
	write_note(f, position ? position : commit_log_first(f->replay->o.log));
	sink_workers_trim(f->replay);
	if (!f->pause_ns)
		set_phase(f, SINK_WORKERS_RUNNING);
	return 0;
}

static void close_feed(struct sink_worker *f)
{
	if (f->state)
		f->feed->close(f->state);
	f->state = NULL;
	commit_log_reader_close(f->reader);
	f->reader = NULL;
}

/* ---- entries ----------------------------------------------------------------------------------
 */

/* Only what is wrong with the entry itself; everything else may pass. */
static bool is_refusal(int r)
{
	return r == -EBADMSG || r == -E2BIG;
}

/* Negative when it could not be kept aside, with the reason in why: then it must wait. */
static int skip_entry(struct sink_worker *f, uint64_t number, int r)
{
	_cleanup_free_ char *what =
		xasprintf("entry %llu is left out, and kept in '%s/" ASIDE_DIR "': ",
			  (unsigned long long)number, f->options.state);
	int kept = sink_workers_keep_aside(f, number);

	if (kept < 0) {
		strbuf_addf(&f->why, "; cannot keep it in '%s/" ASIDE_DIR "': %s", f->options.state,
			    strerror(-kept));
		return kept;
	}
	pthread_mutex_lock(&f->lock);
	f->shared.skipped++;
	pthread_mutex_unlock(&f->lock);
	book(f, LOG_WARN, what, r);
	return 0;
}

/* Parts of an entry may be refused one after the other; it is kept aside, and counted, once. NULL:
 * it was before the last commit, and is not marked. */
static char *refusal_mark(struct sink_worker *f, uint64_t number)
{
	if (!f->refused.len)
		f->refused_from = position_of(f);
	if (number < f->refused_from)
		return NULL;
	while (f->refused.len <= number - f->refused_from)
		strbuf_addch(&f->refused, 0);
	return &f->refused.buf[number - f->refused_from];
}

int sink_workers_refused(void *user, uint64_t number, const char *reason)
{
	struct sink_worker *f = user;
	char *mark = refusal_mark(f, number);

	if (mark && *mark)
		return 0;
	int kept = sink_workers_keep_aside(f, number);
	if (kept < 0)
		return kept;
	if (mark)
		*mark = 1;
	_cleanup_free_ char *what = xasprintf(
		"a part of entry %llu is left out; all of it is kept in '%s/" ASIDE_DIR "': ",
		(unsigned long long)number, f->options.state);
	_cleanup_strbuf_ struct strbuf before = STRBUF_INIT;
	strbuf_add(&before, f->why.buf, f->why.len);
	strbuf_reset(&f->why);
	strbuf_addstr(&f->why, reason);
	pthread_mutex_lock(&f->lock);
	f->shared.skipped++;
	pthread_mutex_unlock(&f->lock);
	book(f, LOG_WARN, what, -EBADMSG);
	strbuf_add(&f->why, before.buf, before.len);
	return 0;
}

static int give_entry(struct sink_worker *f, uint64_t number, const void *p, size_t n)
{
	struct batch_name name;
	struct sample_file file;
	int r = batch_peek(p, n, &name, &f->why);

	if (r == 0)
		r = batch_open(&file, p, n, &f->why);
	if (r < 0)
		return r == -EAGAIN || r == -EINVAL ? -EBADMSG : r;
	r = f->feed->batch(f->state, number, &name, &file, &f->why);
	sample_file_close(&file);
	return r;
}

/* What was given since the last commit becomes durable. Negative when it did not. */
static int commit(struct sink_worker *f)
{
	uint64_t last = f->next - 1, position = position_of(f);

	if (!f->given && f->next <= position)
		return 0;
	strbuf_reset(&f->why);
	int r = f->given ? f->feed->commit(f->state, last, &f->why) : 0;
	if (r >= 0) {
		uint64_t given = f->given;

		f->given = f->stale = 0;
		works_again(f);
		set_position(f, f->next, given);
		return 0;
	}
	if (r == -ESTALE && f->stale++ < STALE_MAX) {
		rewind_to(f, position);
		return r;
	}
	if (!is_refusal(r)) {
		not_now(f, r);
		return r;
	}
	if (f->given > 1) {
		/* one by one, to find the one that cannot be taken */
		f->single = last;
		rewind_to(f, position);
		return r;
	}
	int kept = skip_entry(f, last, r);
	if (kept < 0) {
		not_now(f, kept);
		return kept;
	}
	f->given = 0;
	if (f->pause_ns)
		works_again(f);
	set_position(f, f->next, 0);
	return 0;
}

/* Something of ours stands in the way: the feed does not know of it, so what it was given must not
 * come again. */
static void not_yet(struct sink_worker *f, int r)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	strbuf_add(&why, f->why.buf, f->why.len);
	if (commit(f) < 0)
		return;
	strbuf_reset(&f->why);
	strbuf_add(&f->why, why.buf, why.len);
	not_now(f, r);
}

static bool commit_is_due(const struct sink_worker *f)
{
	unsigned limit = f->replay->o.commit_entries ? f->replay->o.commit_entries
			 : f->feed->commit_entries   ? f->feed->commit_entries
						     : COMMIT_ENTRIES;

	return f->given >= limit || f->next <= f->single + 1 || clock_boottime_ns() >= f->due_ns;
}

static void note_missing(struct sink_worker *f, uint64_t number)
{
	/* at the very beginning older entries were never meant for it */
	if (f->next && number > f->next) {
		pthread_mutex_lock(&f->lock);
		f->shared.missing += number - f->next;
		pthread_mutex_unlock(&f->lock);
	}
}

static void take_entry(struct sink_worker *f, uint64_t number, const void *p, size_t n)
{
	uint64_t wait = f->replay->o.commit_ns ? f->replay->o.commit_ns
			: f->feed->commit_ns   ? f->feed->commit_ns
					       : COMMIT_NS;

	note_missing(f, number);
	if (!f->given)
		f->due_ns = clock_boottime_ns() + wait;
	strbuf_reset(&f->why);
	int r = give_entry(f, number, p, n);
	if (r < 0 && !is_refusal(r)) {
		not_now(f, r);
		return;
	}
	int kept = r < 0 ? skip_entry(f, number, r) : 0;
	if (kept < 0) {
		not_yet(f, kept);
		return;
	}
	f->next = number + 1;
	if (r < 0) {
		if (f->pause_ns)
			works_again(f);
		if (!f->given)
			set_position(f, f->next, 0);
		return;
	}
	f->given++;
	if (r > 0 || commit_is_due(f))
		(void)commit(f);
}

/* Nothing is there: until something comes, a commit is due, or it is time to look around. */
static void wait_for_entry(struct sink_worker *f)
{
	uint64_t now = clock_boottime_ns(), wait = LOOK_NS;

	if (f->given && f->due_ns <= now) {
		(void)commit(f);
		return;
	}
	if (f->given && f->due_ns - now < wait)
		wait = f->due_ns - now;
	if (!f->given) {
		pthread_mutex_lock(&f->lock);
		f->shared.behind_since_ns = (int64_t)clock_boottime_ns();
		pthread_mutex_unlock(&f->lock);
	}
	(void)commit_log_reader_wait(f->reader, wait);
}

static void begin_anew(struct sink_worker *f)
{
	if (commit(f) < 0)
		return;
	atomic_store(&f->reopen, false);
	strbuf_reset(&f->why);
	int r = f->feed->reopen ? f->feed->reopen(f->state, &f->why) : 0;
	if (r < 0)
		book(f, LOG_WARN, "cannot begin anew: ", r);
}

/* One step; false when there was nothing to do. */
static bool step(struct sink_worker *f)
{
	uint64_t number = 0;
	const void *p;
	size_t n;

	if (atomic_load(&f->reopen))
		begin_anew(f);
	int r = commit_log_reader_next(f->reader, &p, &n, &number);
	if (r > 0) {
		take_entry(f, number, p, n);
		return true;
	}
	if (r < 0) {
		strbuf_reset(&f->why);
		strbuf_addf(&f->why, "the log cannot be read: %s", strerror(-r));
		not_yet(f, r);
	}
	return false;
}

static bool over(const struct sink_worker *f)
{
	const struct sink_workers *r = f->replay;

	return atomic_load(&r->stop) &&
	       (f->pause_ns || clock_boottime_ns() >= atomic_load(&r->drain_until_ns));
}

void *sink_workers_work(void *user)
{
	struct sink_worker *f = user;

	while (!over(f)) {
		if (!f->state) {
			int r = open_feed(f);

			if (r < 0 && r != -EAGAIN)
				return NULL;
			continue;
		}
		if (step(f))
			continue;
		if (!atomic_load(&f->replay->stop))
			wait_for_entry(f);
		else if (commit(f) != -ESTALE)
			break;
	}
	if (f->state && commit(f) == 0)
		write_note(f, position_of(f));
	close_feed(f);
	set_phase(f, SINK_WORKERS_ENDED);
	return NULL;
}
