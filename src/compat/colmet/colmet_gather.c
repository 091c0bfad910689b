/*
 * Records of the mapper as they gather: found by a hash of host, backend, job and time, kept small
 * (a record of colmet has 8 KiB of text that most do not need), sorted when they are given away.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "compat/colmet/colmet_map.h"

struct row_mapper *colmet_mapper_new(void)
{
	return xcalloc(1, sizeof(struct row_mapper));
}

static void forget_records(struct row_mapper *m)
{
	for (size_t i = 0; i < m->record_count; i++)
		free(m->records[i]);
	m->record_count = 0;
	hash_map_clear(&m->by_key);
}

void colmet_mapper_free(struct row_mapper *m)
{
	if (!m)
		return;
	forget_records(m);
	for (size_t i = 0; i < m->host_count; i++) {
		struct mapped_host *h = m->hosts[i];

		for (size_t k = 0; k < h->list_count; k++)
			free(h->lists[k].jobs);
		free(h->lists);
		free(h->jobs);
		free(h);
	}
	free(m->hosts);
	hash_map_release(&m->by_name);
	free(m->touched);
	free(m->records);
	hash_map_release(&m->by_key);
	free(m);
}

/* ---- hosts and their jobs ------------------------------------------------------------------- */

struct mapped_host *mapper_host(struct row_mapper *m, const char *name)
{
	uint64_t hash = hash_text(name);

	for (struct hash_slot *s = hash_map_first(&m->by_name, hash); s;
	     s = hash_map_next(&m->by_name, s)) {
		struct mapped_host *h = m->hosts[s->value];

		if (!strncmp(h->name, name, sizeof(h->name) - 1))
			return h;
	}
	struct mapped_host *h = xcalloc(1, sizeof(*h));
	snprintf(h->name, sizeof(h->name), "%s", name);
	hash_map_add(&m->by_name, hash, m->host_count);
	GROW(m->hosts, m->host_count, m->host_cap);
	return m->hosts[m->host_count++] = h;
}

struct mapped_list *mapper_list(struct row_mapper *m, struct mapped_host *host, uint64_t time_s)
{
	size_t last = host->list_count - 1;

	if (host->list_count && host->lists[last].time_s >= time_s)
		return host->lists[last].time_s == time_s ? &host->lists[last] : NULL;
	if (!host->touched) {
		GROW(m->touched, m->touched_count, m->touched_cap);
		m->touched[m->touched_count++] = host;
		host->touched = true;
	}
	GROW(host->lists, host->list_count, host->list_cap);
	host->lists[host->list_count] = (struct mapped_list){.time_s = time_s};
	return &host->lists[host->list_count++];
}

void mapper_list_add(struct mapped_list *l, uint64_t job)
{
	size_t low = 0, high = l->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (l->jobs[middle] == job)
			return;
		if (l->jobs[middle] < job)
			low = middle + 1;
		else
			high = middle;
	}
	GROW(l->jobs, l->count, l->cap);
	memmove(l->jobs + low + 1, l->jobs + low, (l->count - low) * sizeof(*l->jobs));
	l->jobs[low] = job;
	l->count++;
}

/* Only the last list is still needed. */
static void forget_lists(struct mapped_host *h)
{
	h->touched = false;
	if (h->list_count < 2)
		return;
	for (size_t i = 0; i + 1 < h->list_count; i++)
		free(h->lists[i].jobs);
	h->lists[0] = h->lists[h->list_count - 1];
	h->list_count = 1;
}

/* The jobs at a time, or what is known next to it. A list that is too long loses whole jobs. */
static void write_list(const struct mapped_host *h, uint64_t time_s, char *out)
{
	const struct mapped_list *l = h->list_count ? &h->lists[0] : NULL;
	size_t n = 1;

	for (size_t i = 1; i < h->list_count && h->lists[i].time_s <= time_s; i++)
		l = &h->lists[i];
	out[0] = '[';
	for (size_t i = 0; l && i < l->count; i++) {
		char job[32];
		int size = snprintf(job, sizeof(job), "%s%" PRIu64, i ? ", " : "", l->jobs[i]);

		if (n + (size_t)size + 1 > ROW_JOBS_TEXT)
			break;
		memcpy(out + n, job, (size_t)size);
		n += (size_t)size;
	}
	out[n] = ']';
	out[n + 1] = 0;
}

/* ---- records -------------------------------------------------------------------------------- */

struct gathered *mapper_record(struct row_mapper *m, struct mapped_host *host, uint32_t backend,
			       uint64_t job, uint64_t time_s)
{
	const uint64_t key[] = {(uintptr_t)host, backend, job, time_s};
	uint64_t hash = hash_bytes(key, sizeof(key));

	for (struct hash_slot *s = hash_map_first(&m->by_key, hash); s;
	     s = hash_map_next(&m->by_key, s)) {
		struct gathered *g = m->records[s->value];

		if (g->host == host && g->backend == backend && g->job == job &&
		    g->time_s == time_s)
			return g;
	}
	size_t count = colmet_backends[backend].metric_count;
	struct gathered *g = xcalloc(1, sizeof(*g) + count * sizeof(g->values[0]));
	g->host = host;
	g->backend = backend;
	g->job = job;
	g->time_s = time_s;
	hash_map_add(&m->by_key, hash, m->record_count);
	GROW(m->records, m->record_count, m->record_cap);
	return m->records[m->record_count++] = g;
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int compare_records(const void *left, const void *right)
{
	const struct gathered *a = *(struct gathered *const *)left;
	const struct gathered *b = *(struct gathered *const *)right;
	int r = strcmp(a->host->name, b->host->name);

	r = r ? r : COMPARE(a->time_s, b->time_s);
	r = r ? r : COMPARE(a->backend, b->backend);
	return r ? r : COMPARE(a->job, b->job);
}

static void fill(struct fixed_row *r, const struct gathered *g)
{
	const struct row_table *b = &colmet_backends[g->backend];

	r->table = b;
	memcpy(r->host, g->host->name, sizeof(r->host));
	r->job = g->job;
	r->time_s = g->time_s;
	r->absent = 0;
	r->involved[0] = 0;
	for (size_t i = 0; i < b->metric_count; i++) {
		bool known = g->present >> i & 1;

		r->absent |= (uint64_t)!known << i;
		if (b->fields[i].type == ROW_F32)
			r->values[i].f = known ? g->values[i].f : 0;
		else
			r->values[i].i = known                          ? g->values[i].i
					 : b->fields[i].type == ROW_I64 ? -1
									: 0;
	}
	if (b->metric_count < b->field_count)
		write_list(g->host, g->time_s, r->involved);
}

void colmet_mapper_flush(struct row_mapper *m, void (*take)(void *user, const struct fixed_row *r),
			 void *user)
{
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));

	if (m->record_count)
		qsort(m->records, m->record_count, sizeof(struct gathered *), compare_records);
	for (size_t i = 0; i < m->record_count; i++) {
		if (!m->records[i]->present)
			continue;
		fill(r, m->records[i]);
		take(user, r);
	}
	forget_records(m);
	for (size_t i = 0; i < m->touched_count; i++)
		forget_lists(m->touched[i]);
	m->touched_count = 0;
}
