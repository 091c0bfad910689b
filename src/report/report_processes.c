/* The processes of a report: read once, in the order of their keys; see report_internal.h. */
#include <errno.h>
#include <string.h>

#include "analysis/core_time/core_time.h"
#include "report/report_internal.h"

/* ---- names ---------------------------------------------------------------------------------- */

uint32_t report_name(struct report_loading *l, const char *s, size_t size)
{
	struct report *r = l->r;
	uint64_t hash = hash_bytes(s, size = strnlen(s, size));

	for (struct hash_slot *at = hash_map_first(&l->names, hash); at;
	     at = hash_map_next(&l->names, at)) {
		const char *have = r->names[at->value];

		if (!strncmp(have, s, size) && !have[size])
			return (uint32_t)at->value;
	}
	GROW(r->names, r->name_count, r->name_cap);
	r->names[r->name_count] = xstrndup(s, size);
	hash_map_add(&l->names, hash, r->name_count);
	return (uint32_t)r->name_count++;
}

/* ---- strings of the store ------------------------------------------------------------------- */

/* Numbers of strings that processes have, and the names that they stand for. */
struct strings {
	struct report_loading *l;
	uint32_t *number; /* by number of the string: that of its name + 1; 0: not yet read */
	size_t count;
	struct stmt *st;
	int error;
};

static uint32_t string_name(struct strings *s, int64_t number)
{
	size_t n = 0;

	if (number <= 0 || number > UINT32_MAX || s->error)
		return 0;
	report_room_for(&s->number, &s->count, (size_t)number);
	if (s->number[number])
		return s->number[number] - 1;
	if (!s->st)
		s->st = stmt_prepare(s->l->store, "SELECT bytes FROM string WHERE id = $1");
	if (!s->st) {
		s->error = -EIO;
		return 0;
	}
	stmt_int(s->st, 1, store_key(s->l->job, (uint32_t)number));
	int r = stmt_step(s->st);
	const char *text = r == 1 ? stmt_get_text(s->st, 0, &n) : NULL;
	uint32_t name = text ? report_name(s->l, text, n) : 0;
	if (r < 0)
		s->error = r;
	stmt_reset(s->st);
	s->number[number] = name + 1;
	return name;
}

/* ---- reading -------------------------------------------------------------------------------- */

#define TIME_LIMIT ((int64_t)1 << 61)

enum column {
	FIRST,
	LAST,
	HOST,
	EXENAME,
	TAGS,
	STATE,
	PID,
	EXITCODE,
	EXITSIGNAL,
	MPIRANK,
	START,
	DURATION,
	USERTIME,
	SYSTEMTIME,
	RSSMAX,
	RCHAR,
	WCHAR,
	CUTIME,
	CSTIME,
	DEPTH,
	WAITING,
	READS,
	WRITES
};

static const char select_processes[] =
	"SELECT t.first, t.last, p.host, p.exename, p.tags, p.state, p.pid, p.exitcode, "
	"p.exitsignal, p.mpirank, p.start, p.duration, p.usertime, p.systemtime, p.rssmax, "
	"p.rchar, p.wchar, p.cutime, p.cstime, t.depth, p.time_waiting, p.syscr, p.syscw "
	"FROM process p JOIN tree t ON t.id = p.id WHERE ";

#define START_MOST_US 15000 /* as of an interpreter; what a short life took beyond is its work */

/*
 * What a short life cost because it was started: its time on a core and ready for one, without what
 * it did in calls to read and write. While it waited for a disk or a child, that is what took the
 * time.
 */
static int64_t cost_of_start(const struct report_proc *p, struct stmt *st)
{
	int64_t waiting = stmt_get_optional(st, WAITING);
	double us = (double)p->duration;

	if (p->cpu != UNKNOWN) {
		double active = (double)p->cpu + (waiting > 0 ? (double)waiting * 1e-3 : 0);

		us = active < us ? active : us;
		us -= ((double)stmt_get_int(st, READS) + (double)stmt_get_int(st, WRITES)) *
		      COST_CALL * 1e6;
	}
	us = us < START_MOST_US ? us : START_MOST_US;
	return us > 0 ? (int64_t)us : 0;
}

static void tally(struct report_loading *l, const struct report_proc *p, struct stmt *st)
{
	struct report_tally *t = &l->tally;
	int64_t signal = stmt_get_int(st, EXITSIGNAL);

	t->failed += p->failed && !signal;
	t->signalled += signal != 0;
	t->running += (stmt_get_int(st, STATE) & 15) == 3;
	t->killed += signal == 9;
	t->without_cpu += p->cpu == UNKNOWN;
	if (signal)
		t->signals[signal > 0 && signal < (int64_t)ARRAY_SIZE(t->signals) ? signal : 0]++;
	if (p->start == UNKNOWN || p->duration == UNKNOWN)
		t->without_time++;
	else if (p->duration < REPORT_BRIEF_US && (stmt_get_int(st, STATE) & 15) != 2) {
		t->brief++;
		t->brief_time += cost_of_start(p, st);
	}
	/* the kernel adds up waited-for children; roots have all of them */
	if (stmt_get_int(st, DEPTH) == 0 && t->reaped_cpu != UNKNOWN)
		t->reaped_cpu = known_sum(
			t->reaped_cpu, known_sum(p->cpu, known_sum(stmt_get_optional(st, CUTIME),
								   stmt_get_optional(st, CSTIME))));
}

static void take(struct strings *s, struct report_proc *p, struct stmt *st)
{
	int64_t rank = stmt_get_optional(st, MPIRANK);

	*p = (struct report_proc){
		.start = stmt_get_optional(st, START),
		.duration = stmt_get_optional(st, DURATION),
		.cpu = known_sum(stmt_get_optional(st, USERTIME),
				 stmt_get_optional(st, SYSTEMTIME)),
		.rssmax = stmt_get_optional(st, RSSMAX),
		.read = stmt_get_optional(st, RCHAR),
		.written = stmt_get_optional(st, WCHAR),
		.last = (uint32_t)(stmt_get_int(st, LAST) - 1),
		.name = string_name(s, stmt_get_int(st, EXENAME)),
		.tags = string_name(s, stmt_get_int(st, TAGS)),
		.host = string_name(s, stmt_get_int(st, HOST)),
		.pid = (uint32_t)stmt_get_int(st, PID),
		.rank = rank == UNKNOWN || rank < 0 || rank > INT32_MAX ? -1 : (int32_t)rank,
		.exitcode = (uint8_t)stmt_get_int(st, EXITCODE),
		.signal = (uint8_t)(stmt_get_int(st, EXITSIGNAL) & 127),
		.failed = stmt_get_int(st, EXITCODE) != 0 || stmt_get_int(st, EXITSIGNAL) != 0,
		.replaced = (stmt_get_int(st, STATE) & 15) == 2,
		.state = stmt_get_int(st, STATE)};
	/* impossible times would overflow */
	if (p->duration < 0 || p->duration > TIME_LIMIT)
		p->duration = UNKNOWN;
	if (p->start < -TIME_LIMIT || p->start > TIME_LIMIT)
		p->start = UNKNOWN;
}

static int read_all(struct report_loading *l, struct strings *s)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	size_t seen = 0;
	int r;

	sql_add(&q, select_processes);
	sql_job_range(&q, "p.id", l->job);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, l->store);
	while ((r = stmt_step(st)) == 1) {
		int64_t first = stmt_get_int(st, FIRST), last = stmt_get_int(st, LAST);

		if (first < 1 || last < first || (uint64_t)last > l->count)
			return -EBADMSG;
		take(s, &l->procs[first - 1], st);
		tally(l, &l->procs[first - 1], st);
		seen++;
		if (s->error)
			return s->error;
	}
	return r < 0 ? r : seen == l->count ? 0 : -EBADMSG;
}

/* The parent is the last process before it whose range of descendants includes it. */
static void find_parents(struct report_loading *l)
{
	for (size_t i = 0; i < l->count; i++) {
		size_t up = i ? i - 1 : 0;

		while (l->procs[up].last < i && l->procs[up].parent != up)
			up = l->procs[up].parent;
		l->procs[i].parent = (uint32_t)(i && l->procs[up].last >= i ? up : i);
	}
}

struct start_place {
	int64_t start;
	uint32_t place;
};

static int by_start(const void *a, const void *b)
{
	const struct start_place *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static void order_by_start(struct report_loading *l)
{
	_cleanup_free_ struct start_place *all = xcalloc(l->count, sizeof(*all));

	for (size_t i = 0; i < l->count; i++)
		if (l->procs[i].start != UNKNOWN && l->procs[i].duration != UNKNOWN)
			all[l->started++] = (struct start_place){l->procs[i].start, (uint32_t)i};
	qsort(all, l->started, sizeof(*all), by_start);
	l->by_start = xcalloc(l->started, sizeof(*l->by_start));
	for (size_t i = 0; i < l->started; i++)
		l->by_start[i] = all[i].place;
}

int report_load_processes(struct report_loading *l)
{
	struct strings s = {.l = l};

	report_name(l, "", 0); /* which has number 0 */
	if (!l->count)
		return 0;
	l->procs = xcalloc(l->count, sizeof(*l->procs));
	int r = read_all(l, &s);
	stmt_finish_ptr(&s.st);
	free(s.number);
	if (r == -EBADMSG && !l->store->error.len)
		strbuf_addstr(&l->store->error,
			      "the process tree of the job in the store is damaged");
	if (r < 0)
		return r;
	find_parents(l);
	order_by_start(l);
	return 0;
}

void report_room_for(uint32_t **list, size_t *count, size_t number)
{
	size_t more = *count ? *count : 256;

	if (number < *count)
		return;
	while (more <= number)
		more *= 2;
	*list = xreallocarray(*list, more, sizeof(**list));
	memset(*list + *count, 0, (more - *count) * sizeof(**list));
	*count = more;
}

void report_add_signals(struct strbuf *out, const size_t signals[65])
{
	for (int i = 1; i <= 65; i++) {
		size_t n = signals[i % 65];
		const char *name = i < 65 ? sigabbrev_np(i) : NULL;

		if (!n)
			continue;
		strbuf_addf(out, "%s%zu by ", out->len ? ", " : "", n);
		if (name)
			strbuf_addf(out, "SIG%s", name);
		else if (i < 65)
			strbuf_addf(out, "signal %d", i);
		else
			strbuf_addstr(out, "an unknown signal");
	}
}
