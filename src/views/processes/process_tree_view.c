/* The process tree as data; see process_tree_view.h. Drawing is in tree_text.c. */
#include "views/processes/process_tree_view.h"

#include <errno.h>
#include <string.h>

#include "core/hash_map.h"
#include "core/system/procparse.h"
#include "records/accounting.h"
#include "store/ingest/ingest.h"
#include "store/ingest/merge_streamed.h"
#include "views/processes/process_list.h"
#include "views/stream_table.h"

#define TEXTS_MAX ((int64_t)256 << 20) /* bytes that are held in memory */

void proctree_release(struct proctree *t)
{
	free(t->nodes);
	free(t->begin);
	strbuf_release(&t->texts);
	stmt_finish_ptr(&t->one);
}

/* ---- reading -------------------------------------------------------------------------------- */

static int load_strings(struct proctree *t)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	size_t cap = 0, n;
	int r;

	sql_add(&q, "SELECT id, bytes FROM string WHERE ");
	sql_job_range(&q, "id", t->job);
	sql_add(&q, " ORDER BY id");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, t->store);
	while ((r = stmt_step(st)) == 1) {
		size_t number = (size_t)(stmt_get_int(st, 0) & UINT32_MAX);
		const char *s = stmt_get_text(st, 1, &n);

		while (t->string_count <= number) {
			GROW(t->begin, t->string_count, cap);
			t->begin[t->string_count++] = t->texts.len;
		}
		strbuf_add(&t->texts, s, n);
	}
	GROW(t->begin, t->string_count, cap);
	t->begin[t->string_count] = t->texts.len;
	return r;
}

static int prepare_strings(struct proctree *t, int64_t bytes)
{
	if (bytes <= TEXTS_MAX)
		return load_strings(t);
	t->one = stmt_prepare(t->store, "SELECT bytes FROM string WHERE id = $1");
	return t->one ? 0 : -EIO;
}

const char *proctree_text(struct proctree *t, uint32_t number, size_t *ret_n)
{
	*ret_n = 0;
	if (!number)
		return NULL;
	if (t->one) {
		stmt_reset(t->one);
		stmt_int(t->one, 1, store_key(t->job, number));
		return stmt_step(t->one) == 1 ? stmt_get_text(t->one, 0, ret_n) : NULL;
	}
	if (number >= t->string_count)
		return NULL;
	*ret_n = t->begin[number + 1] - t->begin[number];
	return t->texts.buf + t->begin[number];
}

static struct tree_node node_from(struct stmt *st)
{
	return (struct tree_node){
		.last = (uint32_t)(stmt_get_int(st, 1) - 1),
		.inclusive = stmt_get_int(st, 2),
		.has_pid = !stmt_is_null(st, 3),
		.pid = (uint32_t)stmt_get_int(st, 3),
		.start = stmt_get_optional(st, 4),
		.duration = stmt_get_optional(st, 5),
		.cpu = known_sum(stmt_get_optional(st, 6), stmt_get_optional(st, 7)),
		.rssmax = stmt_get_optional(st, 8),
		.has_exitcode = !stmt_is_null(st, 9),
		.exitcode = (int32_t)stmt_get_int(st, 9),
		.has_signal = stmt_get_int(st, 10) != 0,
		.exename = (uint32_t)stmt_get_int(st, 11),
		.args = (uint32_t)stmt_get_int(st, 12),
		.replaced = ingest_state_unpack(stmt_get_int(st, 13)).ended == ENDED_EXEC,
	};
}

/* Nodes are ordered by key; each has its place in the tree. */
static int load_nodes(struct proctree *t)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	size_t seen = 0;
	int r;

	sql_add(&q, "SELECT t.first, t.last, t.inclusive_cpu, p.pid, p.start, p.duration, "
		    "p.usertime, p.systemtime, p.rssmax, p.exitcode, p.exitsignal, p.exename, "
		    "p.args, p.state FROM process p JOIN tree t ON t.id = p.id WHERE ");
	sql_job_range(&q, "p.id", t->job);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, t->store);
	while ((r = stmt_step(st)) == 1) {
		int64_t first = stmt_get_int(st, 0), last = stmt_get_int(st, 1);

		if (first < 1 || last < first || (uint64_t)last > t->count)
			return -EBADMSG;
		t->nodes[first - 1] = node_from(st);
		seen++;
	}
	return r < 0 ? r : seen == t->count ? 0 : -EBADMSG;
}

int proctree_load(struct proctree *t, struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT " STORE_RECORDED ", j.bytes FROM job j WHERE j.no = $1", db_int(job));
	int64_t bytes = 0;
	int r = stmt_step(st);

	*t = (struct proctree){.store = s, .job = job, .texts = STRBUF_INIT};
	if (r < 0)
		return r;
	if (r == 1) {
		t->count = (size_t)stmt_get_int(st, 0);
		bytes = stmt_get_int(st, 1);
	}
	stmt_reset(st);
	t->nodes = xcalloc(t->count, sizeof(*t->nodes));
	r = prepare_strings(t, bytes);
	if (r >= 0)
		r = load_nodes(t);
	if (r == -EBADMSG) {
		strbuf_reset(&s->error);
		strbuf_addstr(&s->error, "the process tree in the store is damaged");
	}
	return r;
}

/* ---- images of one process ------------------------------------------------------------------ */

#define MOVED_MAX ((size_t)1 << 26) /* nodes; a chain of processes moves them once per level */

struct joining {
	struct tree_node *nodes, *aside;
	uint32_t *next;       /* of an image: the next one of its process; 0: none */
	struct hash_map last; /* by pid: the last image among the siblings seen */
	size_t moved;
};

static bool is_next_image(const struct tree_node *a, const struct tree_node *b)
{
	if (!a->replaced || a->pid != b->pid || a->start == UNKNOWN || a->duration == UNKNOWN)
		return false;
	int64_t gap = b->start - (a->start + a->duration);
	return gap >= -(int64_t)PL_TICK_US && gap <= PL_TICK_US;
}

/* True: some image of these siblings is not behind the one before. */
static bool find_images(struct joining *j, size_t first, size_t last)
{
	bool apart = false;

	hash_map_clear(&j->last);
	for (size_t i = first; i <= last; i = j->nodes[i].last + 1) {
		struct tree_node *n = &j->nodes[i];
		struct hash_slot *s = hash_map_first(&j->last, hash_number(n->pid));

		j->next[i] = 0;
		if (s && is_next_image(&j->nodes[s->value], n)) {
			j->next[s->value] = (uint32_t)i;
			j->nodes[s->value].followed = n->follows = true;
			apart = apart || j->nodes[s->value].last + 1 != i;
		}
		if (s)
			s->value = i;
		else if (n->has_pid)
			hash_map_add(&j->last, hash_number(n->pid), i);
	}
	return apart;
}

/* Copies a node with all below it to another place; returns the place behind. */
static size_t copy_subtree(struct joining *j, size_t from, size_t to)
{
	size_t n = j->nodes[from].last - from + 1;

	for (size_t i = 0; i < n; i++) {
		j->aside[to + i] = j->nodes[from + i];
		j->aside[to + i].last = (uint32_t)(j->nodes[from + i].last - from + to);
	}
	return to + n;
}

static void join_siblings(struct joining *j, size_t first, size_t last)
{
	size_t to = first;

	if (!find_images(j, first, last) || (j->moved += last - first) > MOVED_MAX)
		return;
	for (size_t i = first; i <= last; i = j->nodes[i].last + 1) {
		if (j->nodes[i].follows)
			continue;
		size_t c = i;
		do
			to = copy_subtree(j, c, to);
		while ((c = j->next[c]));
	}
	memcpy(j->nodes + first, j->aside + first, (last - first + 1) * sizeof(*j->nodes));
}

void proctree_join_images(struct proctree *t)
{
	struct joining j = {.nodes = t->nodes};

	if (!t->count)
		return;
	j.aside = xreallocarray(NULL, t->count, sizeof(*j.aside));
	j.next = xcalloc(t->count, sizeof(*j.next));
	join_siblings(&j, 0, t->count - 1);
	for (size_t i = 0; i < t->count; i++)
		if (t->nodes[i].last > i)
			join_siblings(&j, i + 1, t->nodes[i].last);
	hash_map_release(&j.last);
	free(j.next);
	free(j.aside);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* The nodes above the current one: the last descendant of each. */
struct open_nodes {
	uint32_t *last;
	size_t count, cap;
};

static void open_node(struct open_nodes *o, uint32_t last)
{
	GROW(o->last, o->count, o->cap);
	o->last[o->count++] = last;
}

/* The caller ends the object: trees nest deeper than the JSON writer supports. */
static void json_node(struct proctree *t, const struct tree_node *n, struct json_writer *j)
{
	size_t size;
	const char *s;

	json_begin_object(j, NULL);
	if (n->has_pid)
		json_u64(j, "pid", n->pid);
	if ((s = proctree_text(t, n->exename, &size)))
		json_text(j, "exename", s, size);
	if ((s = proctree_text(t, n->args, &size)))
		json_text(j, "args", s, size);
	if (n->start != UNKNOWN)
		json_time(j, "start", n->start);
	json_known(j, "duration", n->duration);
	json_known(j, "cpu_time", n->cpu);
	json_i64(j, "inclusive_cpu_time", n->inclusive);
	json_known(j, "rssmax", n->rssmax);
	if (n->has_exitcode)
		json_i64(j, "exitcode", n->exitcode);
	json_begin_array(j, "children");
	j->depth = 0;
	j->first[0] = true;
}

int proctree_print_json(struct proctree *t, const struct tree_view *v, FILE *f)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	struct open_nodes open = {0};
	bool first = true; /* at its level */

	fputc('[', f);
	for (size_t i = 0; i < t->count;) {
		const struct tree_node *n = &t->nodes[i];

		for (; open.count && open.last[open.count - 1] < i; open.count--, first = false)
			fputs("]}", f);
		if (open.count > v->depth || n->inclusive < v->min_cpu) {
			i = n->last + 1; /* it and all below it */
			continue;
		}
		fputs(first ? "\n" : ",\n", f);
		json_node(t, n, &j);
		fwrite(j.out.buf, 1, j.out.len, f);
		strbuf_reset(&j.out);
		open_node(&open, n->last);
		first = true;
		i++;
	}
	bool any = open.count;
	for (; open.count; open.count--)
		fputs("]}", f);
	fputs(any ? "\n]\n" : "]\n", f);
	free(open.last);
	return output_error(f);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

int proctree_print_csv(struct proctree *t, const struct tree_view *v, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"depth", 0},  {"pid", 0},      {"exename", 0},  {"args", 0},
		{"start", 0},  {"duration", 0}, {"cpu_time", 0}, {"inclusive_cpu_time", 0},
		{"rssmax", 0}, {"exitcode", 0},
	};
	struct open_nodes open = {0};
	struct stream_table g;

	stream_table_begin(&g, columns, ARRAY_SIZE(columns), true, f);
	for (size_t i = 0; i < t->count;) {
		const struct tree_node *n = &t->nodes[i];
		size_t size;
		const char *s;

		while (open.count && open.last[open.count - 1] < i)
			open.count--;
		if (open.count > v->depth || n->inclusive < v->min_cpu) {
			i = n->last + 1;
			continue;
		}
		stream_table_number(&g, (int64_t)open.count);
		stream_table_number(&g, n->has_pid ? n->pid : UNKNOWN);
		s = proctree_text(t, n->exename, &size);
		stream_table_text(&g, s ? s : "", size);
		s = proctree_text(t, n->args, &size);
		stream_table_text(&g, s ? s : "", size);
		stream_table_time(&g, n->start);
		stream_table_number(&g, n->duration);
		stream_table_number(&g, n->cpu);
		stream_table_number(&g, n->inclusive);
		stream_table_number(&g, n->rssmax);
		stream_table_number(&g, n->has_exitcode ? n->exitcode : UNKNOWN);
		stream_table_row(&g, 0);
		open_node(&open, n->last);
		i++;
	}
	free(open.last);
	return stream_table_end(&g);
}
