/* Sums by executable, by tags and over a job; see usage_sums.h. */
#include "store/ingest/usage_sums.h"

#include <errno.h>

#include "core/clock.h"
#include "core/log.h"
#include "store/analysis/image_reader.h"

#define PROGRESS_NS 5000000000ull

/* ---- adding ---------------------------------------------------------------------------------- */

int64_t usage_sum(int64_t a, int64_t b)
{
	int64_t v;

	if (a == USAGE_UNKNOWN || b == USAGE_UNKNOWN)
		return a == USAGE_UNKNOWN ? b : a;
	if (__builtin_add_overflow(a, b, &v) || v == USAGE_UNKNOWN)
		return a < 0 ? -INT64_MAX : INT64_MAX;
	return v;
}

void usage_add(struct usage *to, const struct usage *from)
{
	to->images += from->images;
	to->processes += from->processes;
	to->cpu_us = usage_sum(to->cpu_us, from->cpu_us);
	to->duration_us = usage_sum(to->duration_us, from->duration_us);
	to->rchar = usage_sum(to->rchar, from->rchar);
	to->wchar = usage_sum(to->wchar, from->wchar);
	to->read_bytes = usage_sum(to->read_bytes, from->read_bytes);
	to->write_bytes = usage_sum(to->write_bytes, from->write_bytes);
	/* unknown is the smallest number */
	to->rssmax = from->rssmax > to->rssmax ? from->rssmax : to->rssmax;
}

static bool has_name(const struct usage_group *g, const char *name, size_t size)
{
	return !name || !g->name ? !name && !g->name
				 : g->size == size && !memcmp(g->name, name, size);
}

struct usage_group *usage_group(struct usage_groups *g, const char *name, size_t size)
{
	/* images of a program often come one after the other */
	if (g->count && has_name(&g->v[g->last], name, size))
		return &g->v[g->last];
	uint64_t hash = name ? hash_bytes(name, size) : hash_number(1);
	for (struct hash_slot *s = hash_map_first(&g->index, hash); s;
	     s = hash_map_next(&g->index, s))
		if (has_name(&g->v[s->value], name, size)) {
			g->last = s->value;
			return &g->v[s->value];
		}
	GROW(g->v, g->count, g->cap);
	hash_map_add(&g->index, hash, g->count);
	struct usage_group *added = &g->v[g->count];
	*added = (struct usage_group){NULL, size, USAGE_NONE};
	if (name) {
		added->name = xreallocarray(NULL, size + 1, 1);
		memcpy(added->name, name, size);
		added->name[size] = 0;
	}
	g->last = g->count++;
	return added;
}

void usage_groups_release(struct usage_groups *g)
{
	for (size_t i = 0; i < g->count; i++)
		free(g->v[i].name);
	free(g->v);
	hash_map_release(&g->index);
	*g = (struct usage_groups){0};
}

void usage_sums_release(struct usage_sums *u)
{
	usage_groups_release(&u->executables);
	usage_groups_release(&u->operations);
}

/* ---- writing --------------------------------------------------------------------------------- */

#define SUM_COLUMNS "images,processes,cpu_us,duration_us,rchar,wchar,read_bytes,write_bytes,rssmax"

static void put_sums(struct bulk *b, const struct usage *u)
{
	const int64_t sums[] = {u->cpu_us,     u->duration_us, u->rchar, u->wchar,
				u->read_bytes, u->write_bytes, u->rssmax};

	bulk_value(b, db_int((int64_t)u->images));
	bulk_value(b, db_int((int64_t)u->processes));
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		bulk_value(b, db_int_if(sums[i] != USAGE_UNKNOWN, sums[i]));
}

static int write_groups(const struct usage_groups *g, struct store *s, int64_t job,
			const char *table, const char *columns)
{
	struct bulk *b = s->engine->bulk_open(s, table, columns);
	int r = 0;

	for (size_t i = 0; b && i < g->count && r == 0; i++) {
		const struct usage_group *v = &g->v[i];

		bulk_value(b, db_int(job));
		bulk_value(b, db_int((int64_t)i + 1));
		bulk_value(b, v->name ? db_bytes(v->name, v->size) : db_null());
		put_sums(b, &v->usage);
		r = s->engine->bulk_row(b);
	}
	return bulk_end(b, r);
}

static int write_all(const struct usage *u, struct store *s, int64_t job)
{
	struct bulk *b = s->engine->bulk_open(s, "job_user_sum", "job," SUM_COLUMNS);

	if (!b)
		return -EIO;
	bulk_value(b, db_int(job));
	put_sums(b, u);
	return bulk_end(b, s->engine->bulk_row(b));
}

int usage_sums_write(const struct usage_sums *u, struct store *s, int64_t job)
{
	if (!u->all.images)
		return 0;
	int r = write_groups(&u->executables, s, job, "job_executable",
			     "job,n,exename," SUM_COLUMNS);
	if (r == 0)
		r = write_groups(&u->operations, s, job, "job_operation",
				 "job,n,tags," SUM_COLUMNS);
	return r == 0 ? write_all(&u->all, s, job) : r;
}

/* ---- jobs that are stored -------------------------------------------------------------------- */

/* Groups by the number of a string, and each number's text is read once. */
struct numbers {
	struct usage_groups *groups;
	size_t *group; /* by number: index + 1; 0: not yet known */
	size_t cap;
};

static struct usage *usage_of_number(struct numbers *n, struct image_reader *images,
				     uint32_t number)
{
	while (number >= n->cap) {
		size_t cap = n->cap ? n->cap * 2 : 1024;

		n->group = xreallocarray(n->group, cap, sizeof(*n->group));
		memset(n->group + n->cap, 0, (cap - n->cap) * sizeof(*n->group));
		n->cap = cap;
	}
	if (!n->group[number]) {
		size_t size = 0;
		const char *text = number ? image_reader_text(images, number, &size) : NULL;

		n->group[number] = (size_t)(usage_group(n->groups, text, size) - n->groups->v) + 1;
	}
	return &n->groups->v[n->group[number] - 1].usage;
}

static int read_job(struct usage_sums *u, struct store *s, int64_t job)
{
	static const enum metric_id ids[] = {METRIC_USERTIME, METRIC_SYSTEMTIME, METRIC_RCHAR,
					     METRIC_WCHAR,    METRIC_READ_BYTES, METRIC_WRITE_BYTES,
					     METRIC_RSSMAX};
	_cleanup_image_reader_ struct image_reader images;
	struct numbers exe = {.groups = &u->executables}, tags = {.groups = &u->operations};
	int r = image_reader_open(&images, s, job, ids, ARRAY_SIZE(ids), NULL, false), more = 1;

	while (r == 0 && (more = image_reader_next(&images)) == 1) {
		const struct stored_image *m = &images.image;
		const int64_t *v = m->metrics;
		const struct usage one = {.images = 1,
					  .processes = !m->executes,
					  .cpu_us = v[0] == IMAGE_UNKNOWN || v[1] == IMAGE_UNKNOWN
							    ? USAGE_UNKNOWN
							    : usage_sum(v[0], v[1]),
					  .duration_us = m->duration,
					  .rchar = v[2],
					  .wchar = v[3],
					  .read_bytes = v[4],
					  .write_bytes = v[5],
					  .rssmax = v[6]};

		usage_add(usage_of_number(&exe, &images, m->exename), &one);
		usage_add(usage_of_number(&tags, &images, m->tags), &one);
		usage_add(&u->all, &one);
	}
	free(exe.group);
	free(tags.group);
	return r < 0 ? r : more;
}

static int fill_job(struct store *s, int64_t job)
{
	_cleanup_(usage_sums_release) struct usage_sums u = {.all = USAGE_NONE};
	int r = read_job(&u, s, job);

	return r < 0 ? r : usage_sums_write(&u, s, job);
}

int usage_sums_fill(struct store *s)
{
	_cleanup_free_ int64_t *jobs = NULL;
	size_t count = 0, cap = 0;
	uint64_t told = clock_boottime_ns();
	int r;

	{
		_cleanup_stmt_ struct stmt *st =
			stmt_prepare(s, "SELECT no FROM job WHERE num_procs > 0 ORDER BY no");

		while ((r = stmt_step(st)) == 1) {
			GROW(jobs, count, cap);
			jobs[count++] = stmt_get_int(st, 0);
		}
	}
	for (size_t i = 0; i < count && r == 0; i++) {
		r = fill_job(s, jobs[i]);
		if (clock_boottime_ns() - told < PROGRESS_NS)
			continue;
		told = clock_boottime_ns();
		log_warn("'%s': computing sums once for all jobs, %zu of %zu are done", s->where,
			 i + 1, count);
	}
	return r;
}
