/* The programs that ran in a job, as far as core time needs them; see where.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/hash_map.h"
#include "core/system/procparse.h"
#include "store/analysis/job_steps.h"
#include "store/job_metadata.h"
#include "views/where/where_internal.h"

#define TIME_LIMIT ((int64_t)1 << 61)

enum column {
	FIRST,
	LAST,
	HOST,
	EXENAME,
	TAGS,
	STATE,
	PID,
	MPIRANK,
	START,
	DURATION,
	STARTTIME,
	USERTIME,
	SYSTEMTIME,
	TIME_WAITING,
	BLKIO,
	MINFLT,
	MAJFLT,
	SYSCR,
	SYSCW,
	RCHAR,
	WCHAR,
	NUMTIDS,
};

static const char select_images[] =
	"SELECT t.first, t.last, p.host, p.exename, p.tags, p.state, p.pid, p.mpirank, p.start, "
	"p.duration, p.starttime, p.usertime, p.systemtime, p.time_waiting, "
	"p.delayacct_blkio_time, p.minflt, p.majflt, p.syscr, p.syscw, p.rchar, p.wchar, p.numtids "
	"FROM process p JOIN tree t ON t.id = p.id WHERE ";

/* Texts of the store by number. */
struct texts {
	struct store *store;
	int64_t job;
	struct stmt *st;
	struct hash_map map; /* place in list, by number */
	struct one_text {
		uint32_t number;
		char *text;
	} * list;
	size_t count, cap;
	int error;
};

static void texts_release(struct texts *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->list[i].text);
	free(t->list);
	hash_map_release(&t->map);
	stmt_finish_ptr(&t->st);
}

static const char *text_of(struct texts *t, int64_t number)
{
	if (number <= 0 || number > UINT32_MAX || t->error)
		return "";
	for (struct hash_slot *at = hash_map_first(&t->map, (uint64_t)number); at;
	     at = hash_map_next(&t->map, at))
		if (t->list[at->value].number == number)
			return t->list[at->value].text;
	if (!t->st)
		t->st = stmt_prepare(t->store, "SELECT bytes FROM string WHERE id = $1");
	if (!t->st) {
		t->error = -EIO;
		return "";
	}
	stmt_int(t->st, 1, store_key(t->job, (uint32_t)number));
	int r = stmt_step(t->st);
	size_t n = 0;
	const char *text = r == 1 ? stmt_get_text(t->st, 0, &n) : NULL;
	GROW(t->list, t->count, t->cap);
	t->list[t->count] =
		(struct one_text){(uint32_t)number, xstrndup(text ? text : "", text ? n : 0)};
	hash_map_add(&t->map, (uint64_t)number, t->count);
	if (r < 0)
		t->error = r;
	stmt_reset(t->st);
	return t->list[t->count++].text;
}

static double figure(struct stmt *st, int column, double factor)
{
	int64_t v = stmt_get_optional(st, column);

	return v == UNKNOWN || v < 0 ? NAN : (double)v * factor;
}

static bool is_process(const char *name, uint32_t pid, int64_t ticks)
{
	char *end;
	unsigned long long number = strtoull(name, &end, 10);

	if (end == name || number != pid)
		return false;
	return !*end || (*end == '.' && ticks != UNKNOWN && atoll(end + 1) == ticks);
}

static bool in_scope(struct texts *t, const struct where_scope *o, const struct where_image *p)
{
	return (!o->host || pattern_matches(o->host, text_of(t, p->host))) &&
	       (!o->executable || pattern_matches(o->executable, text_of(t, p->name))) &&
	       (!o->process || is_process(o->process, p->pid, p->ticks)) &&
	       (o->rank < 0 || p->rank == o->rank);
}

static void take(struct where_image *p, struct stmt *st, struct texts *t,
		 const struct where_scope *o, struct job_steps *steps)
{
	int64_t start = stmt_get_optional(st, START), duration = stmt_get_optional(st, DURATION),
		rank = stmt_get_optional(st, MPIRANK), since = stmt_get_optional(st, STARTTIME);

	*p = (struct where_image){
		.start = start,
		.user = figure(st, USERTIME, 1e-6),
		.system = figure(st, SYSTEMTIME, 1e-6),
		.runnable = figure(st, TIME_WAITING, 1e-9),
		.blocked = figure(st, BLKIO, 1e-6),
		.minor_faults = figure(st, MINFLT, 1),
		.major_faults = figure(st, MAJFLT, 1),
		.reads = figure(st, SYSCR, 1),
		.writes = figure(st, SYSCW, 1),
		.read_bytes = figure(st, RCHAR, 1),
		.write_bytes = figure(st, WCHAR, 1),
		.threads = figure(st, NUMTIDS, 1),
		.last = (uint32_t)(stmt_get_int(st, LAST) - 1),
		.host = (uint32_t)stmt_get_int(st, HOST),
		.name = (uint32_t)stmt_get_int(st, EXENAME),
		.pid = (uint32_t)stmt_get_int(st, PID),
		.ticks = since == UNKNOWN ? UNKNOWN : since / PL_TICK_US,
		.replaced = (stmt_get_int(st, STATE) & 15) == 2,
		.rank = rank == UNKNOWN || rank < 0 || rank > INT32_MAX ? -1 : (int32_t)rank,
	};
	bool known = start != UNKNOWN && duration != UNKNOWN && start > -TIME_LIMIT &&
		     start < TIME_LIMIT && duration >= 0 && duration < TIME_LIMIT;
	p->start = known ? start : UNKNOWN;
	p->end = known ? start + duration : UNKNOWN;
	p->sleeps = !strcmp(text_of(t, p->name), "sleep");
	p->chosen = in_scope(t, o, p);
	if (!o->step)
		return;
	p->step = job_steps_own(steps, text_of(t, stmt_get_int(st, TAGS)), stmt_get_int(st, STATE));
	p->run_step = job_steps_of_run(steps, stmt_get_int(st, STATE));
}

static void find_parents(struct where_image *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t up = i ? i - 1 : 0;

		while (list[up].last < i && list[up].parent != up)
			up = list[up].parent;
		list[i].parent = (uint32_t)(i && list[up].last >= i ? up : i);
	}
}

/* Parents come first. */
static void choose_step(struct where_image *list, size_t count, const char *pattern,
			struct job_steps *steps)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t above = list[i].parent != i ? list[list[i].parent].step : 0;

		list[i].step = job_steps_inherit(list[i].step, above, list[i].run_step);
	}
	job_steps_settle(steps);
	for (size_t i = 0; i < count; i++) {
		uint32_t step = job_steps_final(steps, list[i].step);

		list[i].step = step;
		list[i].chosen = list[i].chosen && step &&
				 pattern_matches(pattern, job_steps_get(steps, step)->name);
	}
}

static int take_steps(struct store *s, int64_t job, struct job_steps *steps)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *metadata = NULL;
	int r = jobmeta_load(s, job, &metadata, &why);

	if (r > 0)
		job_steps_take(steps, metadata);
	return r < 0 && !why.len ? r : 0;
}

static int count_images(struct store *s, int64_t job, size_t *ret)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	sql_add(&q, "SELECT count(*) FROM process p WHERE ");
	sql_job_range(&q, "p.id", job);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	int r = stmt_step(st);
	*ret = r == 1 ? (size_t)stmt_get_int(st, 0) : 0;
	return r < 0 ? r : 0;
}

int where_images_load(struct store *s, int64_t job, const struct where_scope *scope,
		      struct where_image **ret, size_t *ret_count)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	_cleanup_(texts_release) struct texts t = {.store = s, .job = job};
	_cleanup_(job_steps_release) struct job_steps steps = {0};
	size_t count = 0, seen = 0;
	int r = count_images(s, job, &count);

	*ret = NULL;
	*ret_count = 0;
	if (r >= 0 && count && scope->step)
		r = take_steps(s, job, &steps);
	if (r < 0 || !count)
		return r;
	sql_add(&q, select_images);
	sql_job_range(&q, "p.id", job);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	struct where_image *list = xcalloc(count, sizeof(*list));
	while ((r = stmt_step(st)) == 1 && !t.error) {
		int64_t first = stmt_get_int(st, FIRST), last = stmt_get_int(st, LAST);

		if (first < 1 || last < first || (uint64_t)last > count)
			break;
		take(&list[first - 1], st, &t, scope, &steps);
		seen++;
	}
	if (r < 0 || t.error || seen != count) {
		free(list);
		return r < 0 ? r
		       : t.error
			       ? t.error
			       : store_fail(s, EBADMSG,
					    "the process tree of the job in the store is damaged");
	}
	find_parents(list, count);
	if (scope->step)
		choose_step(list, count, scope->step, &steps);
	*ret = list;
	*ret_count = count;
	return 0;
}
