/* Joining a part of a job with those in the store; see job_parts.h. */
#include "store/ingest/job_parts.h"

#include <errno.h>
#include <string.h>

#include "store/ingest/ingest_write.h"
#include "store/ingest/merge_streamed.h"
#include "store/job_admin.h"

void part_join_free(struct part_join *j)
{
	if (!j)
		return;
	part_rows_close(j->rows);
	value_free(j->parts);
	value_free(j->tags);
	value_free(j->annotations);
	value_free(j->analyses);
	value_free(j->before);
	inventory_release(&j->had);
	inventory_release(&j->again);
	free(j);
}

/* ---- comparing parts -------------------------------------------------------- */

static bool same_text(const struct value *a, const struct value *b, const char *key)
{
	const char *x = value_get_str(a, key), *y = value_get_str(b, key);

	return !x || !y ? x == y : !strcmp(x, y);
}

static bool same_number(const struct value *a, const struct value *b, const char *key)
{
	const struct value *x = value_get(a, key), *y = value_get(b, key);

	return x && y && x->kind == VALUE_INT && y->kind == VALUE_INT && x->integer == y->integer;
}

/* Metadata of older versions do not have the boot. */
static bool same_part(const struct value *a, const struct value *b)
{
	return same_number(a, b, "start_us") && same_text(a, b, "host") &&
	       (same_text(a, b, "boot") || !value_get_str(a, "boot") || !value_get_str(b, "boot"));
}

bool parts_have(const struct value *meta, const struct value *part)
{
	_cleanup_value_ struct value *parts = parts_of(meta);
	bool have = false;

	for (size_t i = 0; i < parts->list.count; i++)
		have = have || same_part(parts->list.items[i], part);
	return have;
}

static int refuse(const char *id, const char *more, int error, struct strbuf *why)
{
	strbuf_addf(why, "job %s is in the store already%s", id, more);
	return error;
}

/* Did the job continue after it was stored? */
static bool ends_later(const struct value *part, const struct value *meta)
{
	const struct value *before = value_get(part, "stop_us"), *now = value_get(meta, "stop_us");

	return before && now && before->kind == VALUE_INT && now->kind == VALUE_INT &&
	       now->integer > before->integer;
}

/* Streamed series exist only in the store: a job that has them is not replaced. */
static bool has_streamed_series(struct store *s, int64_t job)
{
	int64_t n = 0;

	return store_number_of(s,
			       "SELECT count(*) FROM sample_metric WHERE job = $1 AND (name LIKE "
			       "'jobs.%' OR name LIKE 'job_tasks.%' OR name LIKE 'taskstats%')",
			       &n, db_int(job)) < 0 ||
	       n > 0;
}

/* What the store has of this part. */
struct part_there {
	bool any, later;
	bool unknown;  /* an older version stored it without noting its files */
	bool unmarked; /* nor the rows of a file that has more records now */
	struct inventory had;
	unsigned what; /* INVENTORY_... */
};

/* A part is also the same if it has a record file of this one. */
static bool is_part(const struct value *part, const struct part_coming *c)
{
	_cleanup_inventory_ struct inventory own = {0};
	const char *files = value_get_str(part, "files");

	if (same_part(part, c->meta))
		return true;
	if (!files || !inventory_parse(&own, files))
		return false;
	for (size_t i = 0; i < own.count; i++)
		if (own.files[i].kind == INVENTORY_RECORDS &&
		    inventory_find(c->files, INVENTORY_RECORDS, own.files[i].id))
			return true;
	return false;
}

static void find_part(struct part_there *t, const struct value *parts, const struct part_coming *c)
{
	bool all_later = true;

	for (size_t i = 0; i < parts->list.count; i++) {
		const struct value *part = parts->list.items[i];
		const char *files = value_get_str(part, "files");

		if (!is_part(part, c))
			continue;
		t->any = true;
		t->unknown = t->unknown || !files || !inventory_parse(&t->had, files);
		all_later = all_later && ends_later(part, c->meta);
	}
	t->later = t->any && all_later;
	t->what = inventory_compare(c->files, &t->had);
	for (size_t i = 0; i < t->had.count; i++) {
		const struct inventory_file *f = &t->had.files[i];
		const struct inventory_file *now = inventory_find(c->files, f->kind, f->id);

		t->unmarked = t->unmarked || (f->kind == INVENTORY_RECORDS && !f->rows && now &&
					      now->count > f->count);
	}
}

/* Stored by an older version: only the end can be compared. */
static int compare_unknown(const struct part_there *t, size_t parts, const struct part_coming *c,
			   struct strbuf *why)
{
	if (!c->replace && !t->later)
		return refuse(c->id, "", -EEXIST, why);
	if (parts == 1)
		return 1;
	return refuse(c->id,
		      ", merged from several parts by an older version, which did not note their "
		      "rows; keep this input, and use another store (--db) for it",
		      -ENOTUNIQ, why);
}

/* 0: the new files join the stored ones; 1: it replaces the stored job. */
static int compare(const struct part_there *t, size_t parts, const struct part_coming *c, bool fed,
		   struct strbuf *why)
{
	bool differs = t->what & INVENTORY_DIFFERS;
	bool more = differs || (t->what & INVENTORY_GROWN) || (t->what & INVENTORY_NEW) || t->later;

	if (!more && (!c->replace || (t->what & INVENTORY_LACKS)))
		return refuse(c->id, "", -EEXIST, why);
	if (parts == 1 && !fed && !(t->what & (INVENTORY_LACKS | INVENTORY_DIFFERS)))
		return 1;
	if (!more)
		return refuse(c->id, "", -EEXIST, why);
	if (!differs && !t->unmarked)
		return 0;
	return refuse(c->id,
		      !differs ? ", stored by an older version with fewer records of a run, and "
				 "with others that this input does not have; keep this input, and "
				 "use another store (--db) for it"
		      : parts > 1 || fed || (t->what & INVENTORY_LACKS)
			      ? ", with other records of the same run, and with more that this "
				"input does not have; keep this input, and use another store "
				"(--db) for it"
			      : ", with other records of the same run; run `plimsoll delete` "
				"first to replace it",
		      -ENOTUNIQ, why);
}

/* ---- the stored job -------------------------------------------------------------------------- */

/* The metadata of the stored job; NULL if it cannot have parts. The caller frees source. */
static int load_meta(struct store *s, int64_t job, struct value **ret, char **source)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	_cleanup_stmt_ struct stmt *st =
		store_query(s,
			    "SELECT m.json, j.source FROM job_meta m JOIN job j ON j.no = m.job "
			    "WHERE m.job = $1 AND j.format IN ('plimsoll', 'empty')",
			    db_int(job));
	size_t n;

	int r = st ? stmt_step(st) : -EIO;
	if (r <= 0)
		return r;
	const char *text = stmt_get_text(st, 0, &n);
	if (value_from_json(text, n, ret, &ignored) < 0)
		return 0;
	*source = stmt_get_copy(st, 1);
	return 0;
}

static int load_lines(struct store *s, const char *sql, int64_t job, struct value *list)
{
	_cleanup_stmt_ struct stmt *st = store_query(s, sql, db_int(job));
	int r;

	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1)
		value_append(list, value_str(stmt_get_str(st, 0)));
	return r;
}

static bool has_line(const struct value *list, const char *text)
{
	for (size_t i = 0; i < list->list.count; i++)
		if (!strcmp(list->list.items[i]->str.data, text))
			return true;
	return false;
}

struct value *parts_sources(struct store *s, int64_t job, size_t *unknown)
{
	_cleanup_value_ struct value *meta = NULL, *parts = NULL, *found = value_new(VALUE_LIST);
	_cleanup_free_ char *first = NULL;

	*unknown = 0;
	if (load_lines(s, "SELECT source FROM job WHERE no = $1 AND source IS NOT NULL", job,
		       found) < 0 ||
	    load_meta(s, job, &meta, &first) < 0)
		return NULL;
	parts = meta ? parts_of(meta) : value_new(VALUE_LIST);
	for (size_t i = 0; parts->list.count > 1 && i < parts->list.count; i++) {
		const char *source = value_get_str(parts->list.items[i], "source");

		*unknown += !source;
		if (source && !has_line(found, source))
			value_append(found, value_str(source));
	}
	return value_ref(found);
}

/* A part stored by an older version has no warnings and times of samples: adds them. */
static int complete_old(struct store *s, const struct part_join *j)
{
	struct value *part = j->parts->list.items[0], *runs, *run;
	_cleanup_value_ struct value *lines = value_new(VALUE_LIST);

	if (j->parts->list.count > 1 || value_get(part, "records"))
		return 0;
	int r = load_lines(s,
			   "SELECT text FROM job_warning WHERE job = $1 AND text NOT LIKE "
			   "'%by the clocks' AND text NOT LIKE '%that is not positive' ORDER BY n",
			   j->job, lines);
	value_set(part, "warnings", value_ref(lines));
	if (value_get(part, "sampled") || !value_get(part, "stop_us") || !value_get(part, "host"))
		return r;
	runs = value_new(VALUE_LIST);
	run = value_new(VALUE_DICT);
	value_set(run, "host", value_ref(value_get(part, "host")));
	value_set(run, "from_us", value_ref(value_get(part, "start_us")));
	value_set(run, "until_us", value_ref(value_get(part, "stop_us")));
	value_append(runs, run);
	value_set(part, "sampled", runs);
	return r;
}

/* ---- taking it over ------------------------------------------------------------------------- */

/* Moves samples to the new job, with their size. */
static int take_samples(struct ingest *in, int64_t job)
{
	int64_t bytes = 0;
	int r = store_number_of(
		in->store,
		"SELECT j.bytes - coalesce((SELECT sum(length(s.bytes)) FROM string s "
		"WHERE s.id BETWEEN $2 AND $3), 0) FROM job j WHERE j.no = $1",
		&bytes, db_int(job), db_int(store_key(job, 0)), db_int(store_key(job, UINT32_MAX)));

	if (r == -ENODATA)
		r = 0;
	if (bytes > 0)
		in->bytes += (uint64_t)bytes;
	for (const struct store_table *t = store_tables; t->name && r == 0; t++) {
		_cleanup_free_ char *sql =
			xasprintf("UPDATE %s SET job = $1 WHERE job = $2", t->name);

		if (t->job && str_prefix(t->name, "sample_"))
			r = store_run(in->store, sql, db_int(in->job), db_int(job));
	}
	return r;
}

static int take_hosts(struct ingest *in, int64_t job)
{
	_cleanup_value_ struct value *hosts = value_new(VALUE_LIST);
	int r = load_lines(
		in->store,
		"SELECT host FROM job_host WHERE job = $1 AND num_procs = 0 ORDER BY host", job,
		hosts);

	for (size_t i = 0; i < hosts->list.count; i++)
		ingest_host(in, hosts->list.items[i]->str.data);
	return r;
}

/* ---- replacing a part ---------------------------------------------------------------- */

/* If a file has more records now, all files of its part are read again: records of a process may be
 * in several of them. */
static void find_again(struct part_join *j, const struct part_coming *c)
{
	bool grown = false;

	for (size_t i = 0; i < j->had.count; i++) {
		const struct inventory_file *f = &j->had.files[i];
		const struct inventory_file *now = inventory_find(c->files, f->kind, f->id);

		if (f->kind != INVENTORY_RECORDS || !f->rows || !now || now->count < f->count)
			continue;
		grown = grown || now->count > f->count;
		inventory_add(&j->again, *f);
	}
	if (!grown)
		inventory_release(&j->again);
}

/* Removes what a part noted of files that are read again. True: nothing is left of it. */
static bool strip_part(struct value *part, struct inventory *again)
{
	static const char *const noted[] = {"hardware", "sources",  "books",    "memory", "cpu",
					    "host_cpu", "commands", "warnings", "records"};
	_cleanup_inventory_ struct inventory own = {0}, left = {0};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	const char *files = value_get_str(part, "files");
	size_t gone = 0, kept = 0;

	if (!files || !inventory_parse(&own, files))
		return false;
	for (size_t i = 0; i < own.count; i++) {
		bool is_again = inventory_find(again, own.files[i].kind, own.files[i].id) != NULL;

		gone += is_again;
		kept += !is_again && own.files[i].kind == INVENTORY_RECORDS;
		if (!is_again)
			inventory_add(&left, own.files[i]);
	}
	if (!gone)
		return false;
	/* a sum cannot be split */
	value_set(part, "books", value_new(VALUE_DICT));
	for (size_t i = 0; !kept && i < ARRAY_SIZE(noted); i++)
		(void)value_unset(part, noted[i]);
	inventory_text(&left, &text);
	value_set(part, "files", value_strn(text.buf, text.len));
	return !left.count;
}

static void replace_parts(struct part_join *j, const struct part_coming *c)
{
	struct value *parts = value_new(VALUE_LIST);

	find_again(j, c);
	for (size_t i = 0; i < j->parts->list.count; i++) {
		struct value *part = j->parts->list.items[i];

		if (!is_part(part, c) || !strip_part(part, &j->again))
			value_append(parts, value_ref(part));
	}
	value_free(j->parts);
	j->parts = parts;
}

static int take_over(struct part_join *j, struct ingest *in, const struct part_coming *c)
{
	int r = complete_old(in->store, j);

	if (r == 0)
		r = take_hosts(in, j->job);
	if (r == 0)
		r = take_samples(in, j->job);
	if (r == 0)
		replace_parts(j, c);
	return r < 0 ? r : part_rows_open(&j->rows, in, j->job, &j->again);
}

/* As parts_join(), for a part of a job of ours. */
static int decide(struct part_join *j, struct store *s, const struct part_coming *c, bool *proved,
		  struct strbuf *why)
{
	struct part_there t = {0};
	size_t parts = j->parts->list.count;
	int r;

	find_part(&t, j->parts, c);
	if (!t.any)
		r = 0;
	else if (t.unknown)
		r = compare_unknown(&t, parts, c, why);
	else
		r = compare(&t, parts, c, has_streamed_series(s, j->job), why);
	*proved = r == -EEXIST && !t.unknown;
	if (t.any && r == 0)
		j->had = t.had;
	else
		inventory_release(&t.had);
	return r;
}

static uint32_t last_file(const struct value *parts)
{
	uint32_t last = 0;

	for (size_t i = 0; i < parts->list.count; i++) {
		_cleanup_inventory_ struct inventory inv = {0};
		const char *files = value_get_str(parts->list.items[i], "files");

		(void)(files && inventory_parse(&inv, files));
		for (size_t k = 0; k < inv.count; k++)
			last = inv.files[k].rows > last ? inv.files[k].rows : last;
	}
	return last;
}

int parts_join(struct part_join **ret, struct ingest *in, int64_t there,
	       const struct part_coming *c, bool *proved, struct strbuf *why)
{
	_cleanup_value_ struct value *old = NULL;
	_cleanup_free_ char *source = NULL;

	if (!part_is_native(c->meta))
		return c->replace ? 1 : refuse(c->id, "", -EEXIST, why);
	if (in->store->staged)
		return -ESTALE;
	int r = store_lock_job(in->store, there);
	if (r == 0)
		r = load_meta(in->store, there, &old, &source);
	if (r < 0) {
		if (r != -ESTALE)
			strbuf_addstr(why, store_error(in->store));
		return r;
	}
	if (!old || !part_is_native(old))
		return c->replace ? 1 : refuse(c->id, "", -EEXIST, why);
	struct part_join *j = xcalloc(1, sizeof(*j));
	j->job = there;
	j->parts = parts_of(old);
	if (j->parts->list.count == 1 && source)
		value_set(j->parts->list.items[0], "source", value_str(source));
	j->before = parts_union(j->parts);
	j->last_file = last_file(j->parts);
	r = decide(j, in->store, c, proved, why);
	int e = r < 0 ? 0 : store_load_notes(in->store, j->job, &j->tags, &j->annotations);
	if (r >= 0 && e == 0)
		e = store_load_analyses(in->store, j->job, &j->analyses);
	if (r == 0 && e == 0)
		e = take_over(j, in, c);
	if (e < 0) {
		strbuf_addstr(why, store_error(in->store));
		r = e;
	}
	if (r >= 0)
		*ret = j;
	else
		part_join_free(j);
	return r;
}
