/* Executables, operations, hosts and ranks of a report; see report.h. */
#include <string.h>

#include "report/report_internal.h"
#include "store/query.h"

struct report_group *report_group_add(struct report_groups *g, const char *name)
{
	GROW(g->list, g->count, g->cap);
	g->list[g->count] = (struct report_group){.name = xstrdup(name),
						  .cpu = UNKNOWN,
						  .wall = UNKNOWN,
						  .duration = UNKNOWN,
						  .rssmax = UNKNOWN,
						  .read = UNKNOWN,
						  .written = UNKNOWN,
						  .start = UNKNOWN,
						  .end = UNKNOWN};
	return &g->list[g->count++];
}

/* ---- sums over processes --------------------------------------------------------------- */

static void add(int64_t *to, int64_t v)
{
	if (v != UNKNOWN)
		*to = *to == UNKNOWN ? v : *to + v;
}

/* Processes come in order of their start: wall time grows by what no earlier one covers. */
static void add_process(struct report_group *g, const struct report_proc *p)
{
	g->images++;
	g->failed += p->failed;
	add(&g->cpu, p->cpu);
	add(&g->duration, p->duration);
	add(&g->read, p->read);
	add(&g->written, p->written);
	if (p->rssmax != UNKNOWN && (g->rssmax == UNKNOWN || p->rssmax > g->rssmax))
		g->rssmax = p->rssmax;
	if (p->start == UNKNOWN || p->duration == UNKNOWN)
		return;
	int64_t end = p->start + p->duration;
	if (g->start == UNKNOWN) {
		g->start = p->start;
		g->end = end;
		g->wall = p->duration;
		return;
	}
	if (end > g->end) {
		g->wall += end - (p->start > g->end ? p->start : g->end);
		g->end = end;
	}
}

/* Groups by number: index in the list, + 1. */
struct grouping {
	struct report_groups *g;
	uint32_t *place;
	size_t count;
};

static struct report_group *group_of(struct grouping *k, size_t number, const char *name)
{
	report_room_for(&k->place, &k->count, number);
	if (!k->place[number]) {
		report_group_add(k->g, name);
		k->place[number] = (uint32_t)k->g->count;
	}
	return &k->g->list[k->place[number] - 1];
}

/* ---- order ---------------------------------------------------------------------------------- */

static int by_cpu(const void *a, const void *b)
{
	const struct report_group *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu > y->cpu ? -1 : 1;
	if (x->images != y->images)
		return x->images > y->images ? -1 : 1;
	return strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
	const struct report_group *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

static void group_release(struct report_group *g)
{
	free(g->name);
	free(g->host);
}

/* Executables: the busiest stay. Hosts and ranks, where differences matter: the busiest and the
 * idlest. */
void report_groups_end(struct report_groups *g, bool names)
{
	size_t front = names ? REPORT_GROUPS_MAX / 2 : REPORT_GROUPS_MAX;

	if (!g->count)
		return;
	qsort(g->list, g->count, sizeof(*g->list), by_cpu);
	if (g->count > REPORT_GROUPS_MAX) {
		size_t gone = g->count - REPORT_GROUPS_MAX;

		for (size_t i = 0; i < gone; i++)
			group_release(&g->list[front + i]);
		memmove(g->list + front, g->list + front + gone,
			(REPORT_GROUPS_MAX - front) * sizeof(*g->list));
		g->count = REPORT_GROUPS_MAX;
		g->left_out += gone;
	}
	if (names)
		qsort(g->list, g->count, sizeof(*g->list), by_name);
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* The name of the value that a set of tags has for the key; 0: none. */
static uint32_t operation_of(struct report_loading *l, uint32_t tags)
{
	const char *key = l->o->tag, *at = l->r->names[tags];
	size_t n = key ? strlen(key) : 0;

	if (!key)
		return tags;
	for (;;) {
		size_t end = strcspn(at, ";");

		if (end > n && !strncmp(at, key, n) && at[n] == ':')
			return report_name(l, at + n + 1, end - n - 1);
		if (!at[end])
			return 0;
		at += end + 1;
	}
}

static void group_one(struct report_loading *l, struct grouping *k, uint32_t *operations,
		      const uint32_t *phases, const struct report_proc *p)
{
	struct report *r = l->r;
	uint32_t phase = phases ? phases[p - l->procs] : 0;

	add_process(group_of(&k[0], p->name, r->names[p->name]), p);
	add_process(group_of(&k[2], p->host, r->names[p->host]), p);
	if (p->tags && !operations[p->tags])
		operations[p->tags] = operation_of(l, p->tags) + 1;
	if (p->tags && operations[p->tags] > 1) {
		uint32_t of = operations[p->tags] - 1;

		add_process(group_of(&k[1], of, r->names[of]), p);
	}
	if (phase)
		add_process(group_of(&k[1], phase, r->names[phase]), p);
	if (p->rank >= 0 && p->rank < 1 << 24) {
		char name[16];

		snprintf(name, sizeof(name), "%d", p->rank);
		struct report_group *g = group_of(&k[3], (size_t)p->rank, name);
		if (!g->host)
			g->host = xstrdup(r->names[p->host]);
		add_process(g, p);
	}
}

void report_make_groups(struct report_loading *l)
{
	struct report *r = l->r;
	struct grouping k[] = {
		{.g = &r->executables}, {.g = &r->operations}, {.g = &r->hosts}, {.g = &r->ranks}};
	_cleanup_free_ uint32_t *phases = report_phase_operations(l);
	/* values of tags become names on the way; sets of tags have their numbers already */
	_cleanup_free_ uint32_t *operations = xcalloc(r->name_count + 1, sizeof(*operations));

	for (size_t i = 0; i < l->started; i++)
		group_one(l, k, operations, phases, &l->procs[l->by_start[i]]);
	for (size_t i = 0; i < l->count; i++)
		if (l->procs[i].start == UNKNOWN || l->procs[i].duration == UNKNOWN)
			group_one(l, k, operations, phases, &l->procs[i]);
	for (size_t i = 0; i < ARRAY_SIZE(k); i++)
		free(k[i].place);
	/* a single rank, as some tools write it for everything, is meaningless */
	if (r->ranks.count == 1) {
		group_release(&r->ranks.list[0]);
		r->ranks.count = 0;
	}
}
