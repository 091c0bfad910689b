/*
 * Reads the rows from HDF5 files of a collector's sink, PREFIX.EPOCH.hdf5. A file holds what
 * arrived between its epoch and that of the next. Nodes may send late, so files after the end of
 * the window are read too.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "samples/row_layout.h"
#include "tables/hdf5/hdf5_file.h"
#include "views/extract/extract.h"

struct file {
	char *path;
	uint64_t epoch;
	bool damaged;
};

struct files {
	struct file *list;
	size_t count, cap;
};

static void add_file(struct files *l, char *path, uint64_t epoch)
{
	GROW(l->list, l->count, l->cap);
	l->list[l->count++] = (struct file){path, epoch, false};
}

static void release(struct files *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->list[i].path);
	free(l->list);
}

/* The epoch in "<base>.<digits>.hdf5". */
static bool epoch_of(const char *name, const char *base, uint64_t *ret)
{
	size_t n = strlen(base);

	if (strncmp(name, base, n) != 0 || name[n] != '.')
		return false;
	const char *digits = name + n + 1;
	size_t size = strspn(digits, "0123456789");
	_cleanup_free_ char *number = xstrndup(digits, size);
	return size && !strcmp(digits + size, ".hdf5") && parse_u64(number, ret) == 0;
}

static int compare_files(const void *left, const void *right)
{
	const struct file *a = left, *b = right;

	return a->epoch < b->epoch ? -1 : a->epoch > b->epoch;
}

/* The files of a prefix, or the file itself if it is one. */
static void find_files(struct files *l, const char *prefix)
{
	const char *base = path_base(prefix);
	_cleanup_free_ char *dir = xstrndup(prefix, (size_t)(base - prefix));
	struct stat st;

	if (stat(prefix, &st) == 0 && S_ISREG(st.st_mode)) {
		add_file(l, xstrdup(prefix), 0);
		return;
	}
	DIR *d = opendir(*dir ? dir : ".");
	for (struct dirent *e; d && (e = readdir(d));) {
		uint64_t epoch;

		if (epoch_of(e->d_name, base, &epoch))
			add_file(l, xasprintf("%s%s", dir, e->d_name), epoch);
	}
	if (d)
		closedir(d);
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), compare_files);
}

/* ---- tables --------------------------------------------------------------------------------- */

/* "taskstats" and "taskstats_default" both mean the table taskstats_default. */
static bool is_table(const struct extract_metric *m, const char *table)
{
	size_t n = m->table ? strcspn(m->table, ".") : 0;

	return !m->table ||
	       (!strncmp(table, m->table, n) && (!table[n] || !strcmp(table + n, "_default")));
}

/* The first fixed table that has the metric. */
static const struct row_table *find_table(const struct extract_metric *m, bool per_job)
{
	for (size_t i = 0; row_layouts[i]; i++)
		for (const struct row_table *t = row_layouts[i]->tables; t->name; t++)
			if (t->per_job == per_job && is_table(m, t->name) &&
			    row_field_find(t, m->name) >= 0)
				return t;
	return NULL;
}

/* Finds metrics of fixed tables: those of jobs first, or those of nodes for job 0. */
static void resolve(struct extract *e)
{
	bool node = !strcmp(e->job, "0");

	for (size_t i = 0; i < e->metric_count; i++) {
		struct extract_metric *m = &e->metrics[i];

		for (int pass = 0; pass < 2 && !m->found && !m->anywhere; pass++) {
			const struct row_table *t = find_table(m, pass == (node ? 1 : 0));

			if (!t)
				continue;
			m->found = xstrdup(t->name);
			m->of_node = !node && !t->per_job;
		}
	}
}

/* Other metrics are taken from the first table that has them. */
struct look {
	struct extract *e;
	bool of_node;
	char **tables; /* of the job */
	size_t count, cap;
};

static int look_at_table(void *user, const struct hdf5_table *t)
{
	struct look *l = user;

	GROW(l->tables, l->count, l->cap);
	l->tables[l->count++] = xstrdup(t->name);
	for (size_t i = 0; i < l->e->metric_count; i++) {
		struct extract_metric *m = &l->e->metrics[i];

		for (size_t c = 0; c < t->column_count && !m->there; c++) {
			if (!is_table(m, t->name) || strcmp(t->columns[c].name, m->name) != 0 ||
			    (m->found &&
			     (strcmp(m->found, t->name) != 0 || m->of_node != l->of_node)))
				continue;
			m->there = true;
			m->of_node = l->of_node;
			m->found = m->found ? m->found : xstrdup(t->name);
		}
	}
	return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Fixed tables have the first three columns, tables of our sources the next three, with time in
 * nanoseconds. */
enum { TIME, HOST, INVOLVED, OUR_TIME, OUR_HOST, OUR_ENTITY, FIRST_METRIC };
#define NS 1000000000

struct reading {
	struct extract *e;
	size_t metrics[EXTRACT_METRICS_MAX]; /* by column */
	size_t count;
	bool of_node; /* rows of nodes that the job ran on */
	uint64_t job; /* as a number */
	bool numbered;
};

/* Is the job in "[1000, 1001]"? */
static bool is_involved(const struct hdf5_value *list, uint64_t job)
{
	const char *p = list->s, *end = p + list->n;

	while (p < end) {
		uint64_t v = 0;
		bool digits = false;

		for (; p < end && *p >= '0' && *p <= '9' && v < UINT64_MAX / 16; p++) {
			v = v * 10 + (uint64_t)(*p - '0');
			digits = true;
		}
		if (digits && v == job)
			return true;
		p++;
	}
	return false;
}

/* Is it a row of a whole job or node, not of a process or device? */
static bool is_whole(const struct hdf5_value *entity)
{
	return (entity->n >= 4 && !memcmp(entity->s, "job:", 4)) ||
	       (entity->n >= 5 && !memcmp(entity->s, "node:", 5));
}

/* Time and host of a row; false if it is not wanted. */
static bool is_wanted(const struct reading *r, const struct hdf5_value *values, int64_t *ret_time,
		      const struct hdf5_value **ret_host)
{
	bool ours = !values[TIME].present;
	const struct hdf5_value *host = &values[ours ? OUR_HOST : HOST];

	if (!values[ours ? OUR_TIME : TIME].present || !host->present || !host->s || !host->n ||
	    (ours && values[OUR_ENTITY].s && !is_whole(&values[OUR_ENTITY])))
		return false;
	*ret_host = host;
	*ret_time = ours ? values[OUR_TIME].i / NS : values[TIME].i;
	if (*ret_time < r->e->start_s || *ret_time > r->e->end_s)
		return false;
	if (!r->of_node)
		return true;
	if (r->numbered && values[INVOLVED].present && values[INVOLVED].s && values[INVOLVED].n)
		return is_involved(&values[INVOLVED], r->job);
	return extract_on_host(r->e, host->s, host->n);
}

static int take_row(void *user, uint64_t row, const struct hdf5_value *values)
{
	struct reading *r = user;
	const struct hdf5_value *host;
	int64_t time_s;

	(void)row;
	if (!is_wanted(r, values, &time_s, &host))
		return 0;
	if (!r->of_node)
		extract_note_host(r->e, host->s, host->n);
	for (size_t i = 0; i < r->count; i++) {
		const struct hdf5_value *v = &values[FIRST_METRIC + i];
		struct extract_cell cell = {.kind = CELL_INT, .i = v->i};

		/* -1 means unknown in our tables, but can be a value in fixed ones */
		if (!v->present || v->s || (!values[TIME].present && v->i == -1))
			continue;
		/* integers stay integers; NaN is no value */
		if (v->d != (double)v->i)
			cell = (struct extract_cell){.kind = CELL_REAL, .d = v->d};
		if (v->d == v->d)
			extract_add(r->e, r->metrics[i], time_s, host->s, host->n, cell);
	}
	return 0;
}

/* Reads the metrics of one table; if it has none, only notes the hosts of the job. */
static int read_table(struct extract *e, const struct hdf5_functions *h, struct hdf5_file *f,
		      const char *table, bool of_node, struct strbuf *why)
{
	const char *columns[FIRST_METRIC + EXTRACT_METRICS_MAX] = {
		"timestamp", "hostname", "involved_jobs", "time", "host", "entity"};
	struct reading r = {.e = e, .of_node = of_node};

	r.numbered = row_job_number(e->job, strlen(e->job), &r.job);
	for (size_t i = 0; i < e->metric_count; i++) {
		const struct extract_metric *m = &e->metrics[i];

		if (!m->found || m->of_node != of_node || strcmp(m->found, table) != 0)
			continue;
		columns[FIRST_METRIC + r.count] = m->name;
		r.metrics[r.count++] = i;
	}
	if (!r.count && (of_node || !extract_wants_node(e)))
		return 0;
	return h->rows(f, of_node ? "0" : e->job, table, columns, FIRST_METRIC + r.count, take_row,
		       &r, why);
}

static int read_file(struct extract *e, const struct hdf5_functions *h, const char *path,
		     bool of_node, struct strbuf *why)
{
	struct look l = {.e = e, .of_node = of_node};
	struct hdf5_file *f;
	int r = h->open(path, &f, why);

	if (r < 0)
		return r;
	r = h->tables(f, of_node ? "0" : e->job, look_at_table, &l, why);
	for (size_t i = 0; i < l.count; i++) {
		if (r >= 0 || r == -ENOENT)
			r = read_table(e, h, f, l.tables[i], of_node, why);
		free(l.tables[i]);
	}
	free(l.tables);
	h->close(f);
	return r == -ENOENT ? 0 : r;
}

/* Reads the files not yet found damaged; returns how many more turn out to be. */
static size_t read_files(struct extract *e, const struct hdf5_functions *h, struct files *l,
			 struct strbuf *notes)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	size_t damaged = 0;

	resolve(e);
	for (int of_node = 0; of_node == 0 || (of_node == 1 && extract_wants_node(e)); of_node++)
		for (size_t i = 0; i < l->count; i++) {
			struct file *f = &l->list[i];

			/* it ends before the window */
			if (f->damaged ||
			    (i + 1 < l->count && (int64_t)l->list[i + 1].epoch <= e->start_s))
				continue;
			strbuf_reset(&why);
			if (read_file(e, h, f->path, of_node, &why) >= 0)
				continue;
			f->damaged = true;
			damaged++;
			strbuf_addf(notes, "cannot read '%s': %s\n", f->path, why.buf);
		}
	return damaged;
}

/* A metric of a fixed table that no file has may be in one of our tables: true if there are such
 * metrics and the files must be read again. */
static bool look_anywhere(struct extract *e)
{
	bool any = false;

	for (size_t i = 0; i < e->metric_count; i++) {
		struct extract_metric *m = &e->metrics[i];

		any |= m->found && !m->there;
		m->anywhere |= m->found && !m->there;
	}
	return any;
}

/* Reads everything again without a file that turned out to be damaged. */
static int read_sound(struct extract *e, const struct hdf5_functions *h, struct files *l, bool skip,
		      struct strbuf *notes, struct strbuf *why)
{
	size_t damaged = 0;

	for (size_t more; (more = read_files(e, h, l, notes)) || look_anywhere(e);) {
		damaged += more;
		if (damaged == l->count) {
			strbuf_addstr(why, "none of the files can be read");
			return EXTRACT_NO_FILE;
		}
		if (more && !skip) {
			strbuf_addstr(why, "nothing is written; --skip-damaged ignores such files");
			return EXTRACT_FAILED;
		}
		extract_forget_rows(e);
	}
	return 0;
}

int extract_from_files(struct extract *e, const char *prefix, bool skip, struct strbuf *notes,
		       struct strbuf *why)
{
	_cleanup_(release) struct files l = {0};

	find_files(&l, prefix);
	if (!l.count) {
		strbuf_addf(why, "there is no file '%s' and none named '%s.EPOCH.hdf5'", prefix,
			    prefix);
		return EXTRACT_NO_FILE;
	}
	const struct hdf5_functions *h = hdf5_module(why);
	if (!h)
		return EXTRACT_FAILED;
	int r = read_sound(e, h, &l, skip, notes, why);
	for (size_t i = 0; r == 0 && i < e->metric_count; i++)
		if (!e->metrics[i].found && !e->metrics[i].anywhere)
			strbuf_addf(notes, "no table has a metric '%s'\n", e->metrics[i].text);
	return r;
}
