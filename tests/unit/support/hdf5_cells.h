/* What the tests of feed hdf5 share: where it writes, and what is in the files afterwards. */
#pragma once

#include "sink_harness.h"

#include <dirent.h>
#include <errno.h>

#include "tables/hdf5/hdf5_file.h"

extern const struct sink sink_hdf5;

struct place {
	char *dir, *state, *target;
	struct sink_options o;
};

static inline void place_make(struct place *p, const char *dir, const char *target)
{
	p->dir = xstrdup(dir);
	p->state = xasprintf("%s/state", dir);
	p->target = xasprintf("%s/%s", dir, target);
	p->o = (struct sink_options){.target = p->target, .state = p->state, .level = -1};
	assert_int_equal(mkdir(p->state, 0700), 0);
}

static inline void place_release(struct place *p)
{
	free(p->dir);
	free(p->state);
	free(p->target);
}

/* ---- all rows of some files ------------------------------------------------------------------ */

struct cell {
	char job[32], table[64], host[64], entity[64];
	int64_t time_ns;
	double values[2];
};

struct cells {
	struct cell *list;
	size_t count, cap;
	const struct hdf5_table *table;
	size_t tables;
};

static inline const struct hdf5_functions *module(void)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct hdf5_functions *h = hdf5_module(&why);

	if (!h)
		fail_msg("%s", why.buf);
	return h;
}

static inline int take_row(void *user, uint64_t row, const struct hdf5_value *v)
{
	struct cells *c = user;

	(void)row;
	GROW(c->list, c->count, c->cap);
	struct cell *at = &c->list[c->count++];
	snprintf(at->job, sizeof(at->job), "%s", c->table->job);
	snprintf(at->table, sizeof(at->table), "%s", c->table->name);
	assert_true(v[0].present && v[1].present && v[2].present);
	at->time_ns = v[0].i;
	snprintf(at->host, sizeof(at->host), "%.*s", (int)v[1].n, v[1].s);
	snprintf(at->entity, sizeof(at->entity), "%.*s", (int)v[2].n, v[2].s);
	at->values[0] = v[3].d;
	at->values[1] = v[4].d;
	return 0;
}

/* Tables first, then their rows: one visit at a time. */
struct found {
	struct {
		char job[HDF5_JOB_MAX + 1], name[HDF5_NAME_MAX + 1];
	} * list;
	size_t count, cap;
};

static inline int note_table(void *user, const struct hdf5_table *t)
{
	struct found *all = user;

	GROW(all->list, all->count, all->cap);
	snprintf(all->list[all->count].job, sizeof(all->list[0].job), "%s", t->job);
	snprintf(all->list[all->count++].name, sizeof(all->list[0].name), "%s", t->name);
	return 0;
}

static inline void read_table(struct hdf5_file *f, const struct hdf5_table *t, struct cells *cells)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *columns[5] = {"time", "host", "entity"};

	cells->tables++;
	for (unsigned s = 0; s < HARNESS_SOURCES; s++) {
		if (strcmp(t->name, harness_sources[s]) != 0)
			continue;
		columns[3] = harness_metrics[s][0].name;
		columns[4] = harness_metrics[s][1].name;
		cells->table = t;
		if (module()->rows(f, t->job, t->name, columns, 5, take_row, cells, &why) < 0)
			fail_msg("%s", why.buf);
	}
}

static inline void read_file(const char *path, struct cells *c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct found all = {NULL, 0, 0};
	struct hdf5_file *f;

	if (module()->open(path, &f, &why) < 0)
		fail_msg("%s", why.buf);
	if (module()->tables(f, NULL, note_table, &all, &why) < 0)
		fail_msg("%s", why.buf);
	for (size_t i = 0; i < all.count; i++)
		read_table(f,
			   &(struct hdf5_table){.job = all.list[i].job, .name = all.list[i].name},
			   c);
	free(all.list);
	module()->close(f);
}

/* Files of a directory whose names end like this; the number of them. */
static inline unsigned read_files(const char *dir, struct cells *c)
{
	DIR *d = opendir(dir);
	unsigned n = 0;

	assert_non_null(d);
	for (struct dirent *e; (e = readdir(d));) {
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, e->d_name);

		if (!str_suffix(e->d_name, ".hdf5"))
			continue;
		n++;
		read_file(path, c);
	}
	closedir(d);
	return n;
}

/* ---- what must be there ---------------------------------------------------------------------- */

static inline int by_key(const void *a, const void *b)
{
	const struct cell *x = a, *y = b;
	int r = strcmp(x->table, y->table);

	r = r ? r : strcmp(x->host, y->host);
	r = r ? r : strcmp(x->entity, y->entity);
	return r ? r : x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static inline void find_value(void *user, const struct harness_expected *x)
{
	struct cells *c = user;
	unsigned s = !strcmp(x->source, "group")    ? HARNESS_JOB
		     : !strcmp(x->source, "system") ? HARNESS_NODE
						    : HARNESS_PROCESS;
	static const char *const kinds[] = {"job", "node", "process"};
	struct cell key = {.time_ns = x->time_us * 1000};

	snprintf(key.table, sizeof(key.table), "%s", x->source);
	snprintf(key.host, sizeof(key.host), "%s", x->host);
	snprintf(key.entity, sizeof(key.entity), "%s:%s", kinds[s], x->entity);
	snprintf(key.job, sizeof(key.job), "%u", x->job);
	const struct cell *found = bsearch(&key, c->list, c->count, sizeof(*c->list), by_key);
	if (!found)
		fail_msg("no row %s %s %s %lld", key.table, key.host, key.entity,
			 (long long)key.time_ns);
	assert_string_equal(found->job, key.job);
	unsigned m = !strcmp(x->metric, harness_metrics[s][1].name);
	if (found->values[m] != x->value)
		fail_msg("%s %s %s.%s: got %.17g, want %.17g", key.host, key.entity, key.table,
			 x->metric, found->values[m], x->value);
}

static inline void check_cells(struct cells *c, const struct harness_plan *p, unsigned upto)
{
	size_t rows = 0;

	qsort(c->list, c->count, sizeof(*c->list), by_key);
	for (size_t i = 1; i < c->count; i++)
		if (by_key(&c->list[i - 1], &c->list[i]) == 0)
			fail_msg("twice: %s %s %s", c->list[i].table, c->list[i].host,
				 c->list[i].entity);
	for (unsigned s = 0; s < HARNESS_SOURCES; s++)
		rows += (size_t)upto * p->readings * harness_entities(p, s);
	assert_int_equal(c->count, rows);
	assert_true(harness_expect(p, upto, find_value, c) > rows);
	/* what was left out is not known: NaN in a level, -1 in a counter */
	for (size_t i = 0; i < c->count; i++)
		if ((c->list[i].time_ns / 1000000000 - HARNESS_BEGIN_S) % 5 == 4 && !p->skip) {
			bool level = !strcmp(c->list[i].table, "group");

			assert_true(level ? c->list[i].values[1] != c->list[i].values[1]
					  : c->list[i].values[1] == -1);
		}
}

static inline void check_files(const char *dir, const struct harness_plan *p, unsigned upto,
			       unsigned files)
{
	struct cells c = {0};

	assert_int_equal(read_files(dir, &c), files);
	check_cells(&c, p, upto);
	free(c.list);
}
