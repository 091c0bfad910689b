/* See operation_phases.h. */
#include "views/operations/operation_phases.h"

#include <errno.h>
#include <string.h>

#include "analysis/phase_processes.h"
#include "core/value.h"

static const char key[] = "phase";

void phase_operations_release(struct phase_operations *p)
{
	phase_list_release(&p->list);
	free(p->of);
	free(p->of_image);
	*p = (struct phase_operations){0};
}

/* ---- which operation ------------------------------------------------------------------------- */

/* Does a set of tags ask for phases? The value in *ret; NULL: any. */
static bool asks_for_phase(const struct value *tags, const char **ret)
{
	if (value_pairs(tags) != 1 || strcmp(value_key(tags, 0)->str.data, key) != 0)
		return false;
	*ret = value_at(tags, 0)->kind == VALUE_STR ? value_at(tags, 0)->str.data : NULL;
	return true;
}

/* Are phases asked for at all? */
static bool wants_phases(const struct operation_query *q)
{
	size_t wanted = q->tags ? q->tags->list.count : 0;
	const char *name;

	if (q->rest || (q->by && !strcmp(q->by, key)))
		return true;
	if (q->by)
		return false;
	for (size_t i = 0; i < wanted; i++)
		if (asks_for_phase(q->tags->list.items[i], &name))
			return true;
	return !wanted;
}

static uint32_t named(struct job_operations *jo, const char *name, const char *origin, bool rest)
{
	_cleanup_value_ struct value *tags = value_new(VALUE_DICT);
	_cleanup_free_ char *text = name ? xasprintf("%s:%s", key, name) : xstrdup(key);

	value_set(tags, key, name ? value_str(name) : value_new(VALUE_NONE));
	return (uint32_t)operation_named(jo, text, tags, rest, origin) + 1;
}

/* The operation of a phase, + 1; 0: none. */
static uint32_t operation_of(struct job_operations *jo, const struct operation_query *q,
			     const char *name, const char *origin)
{
	size_t wanted = q->tags && !q->rest ? q->tags->list.count : 0, asked = 0;
	const char *value;

	for (size_t i = 0; i < wanted; i++) {
		if (!asks_for_phase(q->tags->list.items[i], &value))
			continue;
		asked++;
		if (!value || !strcmp(value, name))
			return named(jo, q->by ? name : value, origin, false);
	}
	/* costs by phase: the set is what moves data */
	bool all = !wanted || (q->by && !asked);
	return all ? named(jo, name, origin, q->rest || wanted) : 0;
}

static bool find_operations(struct phase_operations *p, struct job_operations *jo,
			    const struct operation_query *q)
{
	/* of each name, by origin */
	_cleanup_free_ uint32_t *known = xcalloc(p->list.name_count * 3 + 1, sizeof(*known));
	_cleanup_free_ bool *seen = xcalloc(p->list.name_count * 3 + 1, sizeof(*seen));
	bool any = false;

	p->of = xcalloc(p->list.count + 1, sizeof(*p->of));
	for (size_t i = 0; i < p->list.count; i++) {
		const struct phase_span *s = &p->list.v[i];
		size_t at = (size_t)s->name * 3 + s->origin % 3;

		if (!seen[at])
			known[at] = operation_of(jo, q, p->list.names[s->name],
						 phase_origins[s->origin % 3]);
		seen[at] = true;
		p->of[i] = known[at];
		any = any || known[at];
	}
	return any;
}

/* ---- images ---------------------------------------------------------------------------------- */

/* Images in the order of the tree, so that parents come before their children. */
static int read_tree(struct store *s, int64_t job, struct phase_task **tasks, uint32_t **numbers,
		     size_t *count)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT t.id - $1, u.first, p.start FROM tree t JOIN process p ON p.id = t.id LEFT JOIN "
		"tree u ON u.id = $1 + t.parent WHERE t.id BETWEEN $1 AND $2 ORDER BY t.first",
		db_int(store_key(job, 0)), db_int(store_key(job, UINT32_MAX)));
	size_t cap = 0;
	int r;

	while ((r = stmt_step(st)) == 1) {
		if (*count >= cap) {
			cap = cap ? 2 * cap : 1024;
			*tasks = xreallocarray(*tasks, cap, sizeof(**tasks));
			*numbers = xreallocarray(*numbers, cap, sizeof(**numbers));
		}
		(*numbers)[*count] = (uint32_t)stmt_get_int(st, 0);
		(*tasks)[*count] = (struct phase_task){
			stmt_is_null(st, 1) ? UINT32_MAX : (uint32_t)stmt_get_int(st, 1) - 1,
			stmt_is_null(st, 2) ? PHASE_TASK_UNKNOWN : stmt_get_int(st, 2)};
		++*count;
	}
	return r;
}

static int find_images(struct phase_operations *p, struct store *s, int64_t job)
{
	_cleanup_free_ struct phase_task *tasks = NULL;
	_cleanup_free_ uint32_t *numbers = NULL;
	size_t count = 0;
	int r = read_tree(s, job, &tasks, &numbers, &count);

	if (r < 0)
		return r;
	_cleanup_free_ uint32_t *of = phase_of_tasks(p->list.v, p->list.count, tasks, count);
	if (!of)
		return 0;
	for (size_t i = 0; i < count; i++)
		p->image_count =
			numbers[i] >= p->image_count ? (size_t)numbers[i] + 1 : p->image_count;
	p->of_image = xcalloc(p->image_count + 1, sizeof(*p->of_image));
	for (size_t i = 0; i < count; i++)
		p->of_image[numbers[i]] = of[i] == PHASE_NONE ? 0 : p->of[of[i]];
	return 0;
}

int phase_operations_load(struct phase_operations *p, struct job_operations *jo, struct store *s,
			  const struct operation_query *q)
{
	*p = (struct phase_operations){0};
	if (!wants_phases(q))
		return 0;
	int r = phase_list_load(&p->list, s, jo->job);
	if (r < 0 || !p->list.count)
		return r;
	jo->phases = p->list.count;
	return find_operations(p, jo, q) ? find_images(p, s, jo->job) : 0;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Is a phase around it in the same operation? It would be counted twice. */
static bool is_inside(const struct phase_operations *p, size_t i)
{
	for (uint32_t at = p->list.v[i].parent; at != PHASE_NONE; at = p->list.v[at].parent)
		if (p->of[at] == p->of[i])
			return true;
	return false;
}

/* Counts the processes and threads of regions: each with its first phase in an operation. */
static void add_marker(const struct phase_operations *p, struct job_operations *jo, size_t i,
		       struct hash_map *seen, size_t numtids)
{
	const struct phase_span *s = &p->list.v[i];
	size_t to = p->of[i] - 1;
	struct operation *o = &jo->operations.v[to];
	const uint32_t process[] = {(uint32_t)to, s->process, UINT32_MAX},
		       thread[] = {(uint32_t)to, s->process, s->tid};
	const uint64_t hashes[] = {hash_more(hash_number(to), process, sizeof(process)),
				   hash_more(hash_number(to), thread, sizeof(thread))};

	if (!hash_map_first(seen, hashes[0])) {
		hash_map_add(seen, hashes[0], 1);
		o->processes++;
		o->images++;
	}
	if (!hash_map_first(seen, hashes[1])) {
		hash_map_add(seen, hashes[1], 1);
		operations_add_metric(&jo->operations, to, numtids, 1);
	}
}

void phase_operations_add(const struct phase_operations *p, struct job_operations *jo,
			  size_t numtids)
{
	struct hash_map seen = {0};

	for (size_t i = 0; p->of && i < p->list.count; i++) {
		const struct phase_span *s = &p->list.v[i];
		struct operation *o = p->of[i] ? &jo->operations.v[p->of[i] - 1] : NULL;

		if (!o)
			continue;
		if (s->origin == PHASE_OF_PROGRAM)
			add_marker(p, jo, i, &seen, numtids);
		if (is_inside(p, i))
			continue;
		if (s->origin == PHASE_OF_PROGRAM && s->cpu_ns >= 0)
			o->cpu_ns = operation_add(o->cpu_ns, s->cpu_ns);
		if (!s->point && s->duration_ns >= 0)
			operations_add_time(&jo->operations, p->of[i] - 1, s->begin_ns / 1000,
					    (s->begin_ns + s->duration_ns) / 1000);
	}
	hash_map_release(&seen);
}

void phase_operations_end(const struct phase_operations *p, struct job_operations *jo)
{
	_cleanup_free_ int64_t *ns = xcalloc(jo->operations.count + 1, sizeof(*ns));

	for (size_t i = 0; p->of && i < p->list.count; i++)
		if (p->of[i] && !p->list.v[i].point && p->list.v[i].duration_ns >= 0 &&
		    !is_inside(p, i))
			ns[p->of[i] - 1] =
				operation_add(ns[p->of[i] - 1], p->list.v[i].duration_ns);
	for (size_t i = 0; p->of && i < jo->operations.count; i++)
		if (jo->names[i].phase && jo->operations.v[i].run_count)
			jo->operations.v[i].duration[OPERATION_SUM] = ns[i] / 1000;
}
