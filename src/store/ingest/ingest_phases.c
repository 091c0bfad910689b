/* Storing phases; see ingest_phases.h. */
#include "store/ingest/ingest_phases.h"

#include <errno.h>
#include <string.h>

#include "store/ingest/ingest_write.h"

/* A row, ready to be written but for the CPU time of scripts. */
struct phase_row {
	uint64_t log;
	int64_t host, name; /* strings */
	uint32_t n, pid, tid, parent, image;
	int64_t rank;
	uint16_t depth;
	uint8_t state, origin;
	int64_t begin_ns, duration_ns, cpu_ns;
};

struct ingest_phases {
	struct bulk *bulk;
	uint32_t *by_pid; /* see process_tree_by_pid() */
	uint32_t count;
	struct phase_row *scripts;
	size_t script_count, script_cap;
};

void ingest_phases_free(struct ingest *in)
{
	struct ingest_phases *p = in->phases;

	if (!p)
		return;
	in->store->engine->bulk_close(p->bulk);
	free(p->by_pid);
	free(p->scripts);
	free(p);
	in->phases = NULL;
}

static int begin(struct ingest *in)
{
	struct ingest_phases *p = in->phases = xcalloc(1, sizeof(*p));

	p->by_pid = process_tree_by_pid(&in->tree);
	p->bulk = in->store->engine->bulk_open(
		in->store, "phase",
		"id,log,host,process,pid,tid,rank,name,parent,depth,state,origin,"
		"begin_ns,duration_ns,cpu_ns");
	return p->bulk ? 0 : -EIO;
}

static int write_row(struct ingest *in, const struct phase_row *r)
{
	return bulk_put(in->phases->bulk, db_int(store_key(in->job, r->n)), db_int((int64_t)r->log),
			db_int_if(r->host > 0, r->host),
			db_int_if(r->image != NO_NODE, (int64_t)r->image + 1), db_int(r->pid),
			db_int(r->tid), db_int_if(r->rank >= 0, r->rank), db_int(r->name),
			db_int_if(r->parent, r->parent), db_int(r->depth), db_int(r->state),
			db_int(r->origin), db_int(r->begin_ns),
			db_int_if(r->duration_ns >= 0, r->duration_ns),
			db_int_if(r->cpu_ns >= 0, r->cpu_ns));
}

/* The image that was marked: of `mark NAME -- COMMAND` it is that command's own. An open phase ends
 * with it, that of a script when its process ends. */
static void join_image(struct ingest *in, struct phase_row *r, const char *host)
{
	const struct ingest_phases *p = in->phases;
	uint16_t number = ingest_host_number(in, host);
	uint32_t pid = r->origin == PHASE_COMMAND ? r->tid : r->pid;

	r->image =
		process_tree_find(&in->tree, p->by_pid, number, pid, (uint64_t)r->begin_ns / 1000);
	if (r->image == NO_NODE || r->duration_ns >= 0)
		return;
	uint32_t last = r->origin == PHASE_SCRIPT
				? process_tree_last_image(&in->tree, p->by_pid, r->image)
				: r->image;
	int64_t end_ns = (int64_t)in->tree.nodes[last].end * 1000;
	if (!end_ns)
		return;
	r->duration_ns = end_ns > r->begin_ns ? end_ns - r->begin_ns : 0;
	/* the last phase of a script needs no end */
	if (r->origin == PHASE_SCRIPT)
		r->state = MARK_ENDED;
}

int ingest_phase(struct ingest *in, const struct ingest_phase *p, uint32_t *ret_number)
{
	int e = in->store && !in->phases ? begin(in) : 0;

	*ret_number = 0;
	if (e < 0 || !in->store)
		return e;
	if (in->phases->count == UINT32_MAX - 1)
		return -E2BIG;
	struct phase_row r = {.log = p->log,
			      .n = ++in->phases->count,
			      .host = ingest_string(in, p->host, strlen(p->host)),
			      .name = ingest_string(in, p->name, strlen(p->name)),
			      .pid = p->pid,
			      .tid = p->tid,
			      .rank = p->rank,
			      .parent = p->parent,
			      .depth = p->depth,
			      .state = (uint8_t)p->state,
			      .origin = (uint8_t)p->origin,
			      .begin_ns = p->begin_ns,
			      .duration_ns = p->duration_ns,
			      .cpu_ns = p->cpu_ns};
	if (r.host < 0 || r.name < 0)
		return (int)(r.host < 0 ? r.host : r.name);
	join_image(in, &r, p->host);
	*ret_number = r.n;
	if (r.origin == PHASE_PROGRAM)
		return write_row(in, &r);
	GROW(in->phases->scripts, in->phases->script_count, in->phases->script_cap);
	in->phases->scripts[in->phases->script_count++] = r;
	return 0;
}

/* ---- the CPU time of scripts ---------------------------------------------------------------- */

/* A process that a script started, with the CPU time of all its descendants; sorted, cpu is the sum
 * of all before it. */
struct started {
	uint32_t parent;
	uint64_t start, cpu;
};

static int by_parent(const void *a, const void *b)
{
	const struct started *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return x->start < y->start ? -1 : x->start > y->start;
}

/* The sum over what this parent started before a time, plus everything of lower parents. */
static uint64_t sum_before(const struct started *list, size_t count, uint32_t parent, uint64_t us)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct started *s = &list[middle];

		if (s->parent < parent || (s->parent == parent && s->start < us))
			low = middle + 1;
		else
			high = middle;
	}
	return list[low].cpu;
}

static void find_cpu(struct ingest *in)
{
	struct ingest_phases *p = in->phases;
	_cleanup_free_ bool *is_script = xcalloc(in->tree.count + 1, sizeof(*is_script));
	_cleanup_free_ struct started *list = NULL;
	size_t count = 0, cap = 0;
	uint64_t sum = 0;

	for (size_t i = 0; i < p->script_count; i++)
		if (p->scripts[i].image != NO_NODE)
			is_script[p->scripts[i].image] = true;
	for (size_t i = 0; i < in->tree.count; i++) {
		const struct node *n = &in->tree.nodes[i];

		if (n->parent == NO_NODE || !is_script[n->parent])
			continue;
		GROW(list, count, cap);
		list[count++] = (struct started){n->parent, n->start, n->cpu};
	}
	if (count)
		qsort(list, count, sizeof(*list), by_parent);
	GROW(list, count, cap);
	for (size_t i = 0; i < count; i++) {
		uint64_t own = list[i].cpu;

		list[i].cpu = sum;
		sum += own;
	}
	list[count] = (struct started){NO_NODE, UINT64_MAX, sum};
	for (size_t i = 0; i < p->script_count; i++) {
		struct phase_row *r = &p->scripts[i];
		uint64_t from = (uint64_t)r->begin_ns / 1000;

		if (r->image != NO_NODE && r->duration_ns >= 0 && r->state != MARK_POINT)
			r->cpu_ns = 1000 *
				    (int64_t)(sum_before(list, count, r->image,
							 from + (uint64_t)r->duration_ns / 1000) -
					      sum_before(list, count, r->image, from));
	}
}

int ingest_phases_finish(struct ingest *in)
{
	struct ingest_phases *p = in->phases;
	int r = 0;

	if (!p)
		return 0;
	find_cpu(in);
	for (size_t i = 0; i < p->script_count && r == 0; i++)
		r = write_row(in, &p->scripts[i]);
	return r < 0 ? r : in->store->engine->bulk_flush(p->bulk);
}

/* ---- phases of stored parts ----------------------------------------------------------------- */

enum {
	C_LOG,
	C_HOST,
	C_NAME,
	C_PID,
	C_TID,
	C_RANK,
	C_N,
	C_PARENT,
	C_DEPTH,
	C_STATE,
	C_ORIGIN,
	C_BEGIN,
	C_DURATION,
	C_CPU
};

static int compare_ids(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int copy_row(struct ingest *in, struct stmt *st, uint32_t *numbers)
{
	_cleanup_free_ char *host = stmt_get_copy(st, C_HOST), *name = stmt_get_copy(st, C_NAME);
	uint32_t parent = (uint32_t)stmt_get_int(st, C_PARENT);
	enum mark_state state = (enum mark_state)stmt_get_int(st, C_STATE);
	bool open = state == MARK_OPEN || state == MARK_UNSEEN;
	const struct ingest_phase p = {
		.log = (uint64_t)stmt_get_int(st, C_LOG),
		.host = host ? host : "",
		.name = name ? name : "",
		.pid = (uint32_t)stmt_get_int(st, C_PID),
		.tid = (uint32_t)stmt_get_int(st, C_TID),
		.rank = stmt_is_null(st, C_RANK) ? -1 : stmt_get_int(st, C_RANK),
		.parent = parent ? numbers[parent] : 0,
		.depth = (uint16_t)stmt_get_int(st, C_DEPTH),
		.state = state,
		.origin = (enum phase_origin)stmt_get_int(st, C_ORIGIN),
		.begin_ns = stmt_get_int(st, C_BEGIN),
		/* its process may have ended by now */
		.duration_ns =
			open || stmt_is_null(st, C_DURATION) ? -1 : stmt_get_int(st, C_DURATION),
		.cpu_ns = stmt_is_null(st, C_CPU) ? -1 : stmt_get_int(st, C_CPU)};

	return ingest_phase(in, &p, &numbers[stmt_get_int(st, C_N)]);
}

int ingest_phases_copy(struct ingest *in, int64_t job, const uint64_t *without, size_t count)
{
	int64_t most = 0;
	int r = store_number_of(
		in->store,
		"SELECT coalesce(max(id) - $1, 0) FROM phase WHERE id BETWEEN $1 AND "
		"$2",
		&most, db_int(store_key(job, 0)), db_int(store_key(job, UINT32_MAX)));

	if (r < 0 || !most)
		return r;
	_cleanup_free_ uint32_t *numbers = xcalloc((size_t)most + 1, sizeof(*numbers));
	_cleanup_stmt_ struct stmt *st = store_query(
		in->store,
		"SELECT p.log, h.bytes, n.bytes, p.pid, p.tid, p.rank, p.id - $1, p.parent, p.depth, "
		"p.state, p.origin, p.begin_ns, p.duration_ns, p.cpu_ns FROM phase p "
		"JOIN string n ON n.id = $1 + p.name LEFT JOIN string h ON h.id = $1 + p.host "
		"WHERE p.id BETWEEN $1 AND $2 ORDER BY p.id",
		db_int(store_key(job, 0)), db_int(store_key(job, UINT32_MAX)));
	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1) {
		uint64_t log = (uint64_t)stmt_get_int(st, C_LOG);

		if (count && bsearch(&log, without, count, sizeof(log), compare_ids))
			continue;
		r = copy_row(in, st, numbers);
		if (r < 0)
			return r;
	}
	return r;
}
