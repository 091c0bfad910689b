/*
 * Trees of /proc and /sys that a test writes, and a source that is read on one: values by what they
 * are of and their name.
 */
#ifndef PL_TESTS_TREE_H
#define PL_TESTS_TREE_H

#include "unit.h"

#include <errno.h>

#include "sources/source.h"

/* Writes a file of the tree, in place when it is there, and the directories that lead to it. */
static inline void tree_put(const char *root, const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", root, name);

	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		(void)mkdir(path, 0700);
		*p = '/';
	}
	write_file(path, text, strlen(text));
}

static inline void tree_dir(const char *root, const char *name)
{
	_cleanup_free_ char *inside = xasprintf("%s/.made", name);

	tree_put(root, inside, "");
}

static inline void tree_link(const char *root, const char *name, const char *target)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", root, name);
	_cleanup_free_ char *dir = xstrndup(name, (size_t)(strrchr(name, '/') - name));

	tree_dir(root, dir);
	assert_int_equal(symlink(target, path), 0);
}

/* A source that is open on a tree. */
struct reader {
	const struct source *source;
	struct source_context ctx;
	struct sample_set set;
	void *state;
	struct strbuf why;
};

static inline void reader_close(struct reader *r)
{
	if (r->state)
		r->source->close(r->state);
	sample_release(&r->set);
	if (r->why.buf)
		strbuf_release(&r->why);
	*r = (struct reader){0};
}

static inline int reader_open(struct reader *r, const char *source, const char *root,
			      struct watch *watch, const char *option)
{
	reader_close(r);
	*r = (struct reader){.source = source_find(source),
			     .ctx = {.root = root, .watch = watch, .option = option},
			     .why = STRBUF_INIT};
	assert_non_null(r->source);
	assert_non_null(r->source->open);
	sample_init(&r->set, r->source->metrics, r->source->metric_count);
	return r->source->open(&r->ctx, &r->set, &r->state, &r->why);
}

static inline int reader_read(struct reader *r)
{
	sample_begin(&r->set);
	return r->source->read(r->state, &r->set);
}

static inline unsigned metric_number(const struct reader *r, const char *metric)
{
	for (unsigned m = 0; m < r->set.metric_count; m++)
		if (!strcmp(r->set.metrics[m].name, metric))
			return m;
	fail_msg("there is no metric %s.%s", r->source->name, metric);
	return 0;
}

/* The row of an entity; -1 when it has none. Two rows of one entity are an error. */
static inline long row_of(const struct reader *r, enum entity_kind kind, const char *name)
{
	long found = -1;

	for (size_t i = 0; i < r->set.row_count; i++) {
		const struct entity *e = &r->set.entities[r->set.rows[i].entity];

		if (e->kind != kind || strcmp(e->name, name) != 0)
			continue;
		if (found >= 0)
			fail_msg("%s has two rows", name);
		found = (long)i;
	}
	return found;
}

static inline bool has_value(const struct reader *r, enum entity_kind kind, const char *name,
			     const char *metric)
{
	long row = row_of(r, kind, name);

	return row >= 0 && r->set.rows[row].present >> metric_number(r, metric) & 1;
}

static inline int64_t raw_value(const struct reader *r, enum entity_kind kind, const char *name,
				const char *metric)
{
	long row = row_of(r, kind, name);

	if (row < 0)
		fail_msg("%s has no row", name);
	if (!has_value(r, kind, name, metric))
		fail_msg("%s has no %s", name, metric);
	return r->set.values[(size_t)row * r->set.metric_count + metric_number(r, metric)];
}

static inline void assert_fact(const struct reader *r, enum entity_kind kind, const char *name,
			       const char *key, const char *want)
{
	long row = row_of(r, kind, name);
	const char *got = NULL;
	size_t size = 0;

	assert_true(row >= 0);
	bool there = entity_fact(&r->set.entities[r->set.rows[row].entity], key, &got, &size);
	if (!want && there)
		fail_msg("%s has %s '%.*s'", name, key, (int)size, got);
	if (want && (!there || size != strlen(want) || memcmp(got, want, size) != 0))
		fail_msg("%s of %s is '%.*s', want '%s'", key, name, (int)size, got ? got : "",
			 want);
}

/* The reason for which a metric is absent; NULL when none was given. */
static inline const char *absence(const struct reader *r, const char *metric)
{
	unsigned m = metric_number(r, metric);

	for (size_t i = 0; i < r->set.absence_count; i++)
		if (r->set.absences[i].metric == m)
			return r->set.absences[i].reason;
	return NULL;
}

#endif
