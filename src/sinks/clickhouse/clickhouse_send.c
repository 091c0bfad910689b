/*
 * Sends blocks to ClickHouse. A server refuses a whole block, with status 500 for nearly
 * everything; the code in its reply tells the reason. A block that is refused because of its
 * content is halved, down to the rows of one entry of the log, and only those are skipped.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "sinks/clickhouse/sink_clickhouse.h"

#define STRIKES_MAX 8 /* about half a minute, with the pauses in between */
#define MISSES_MAX 8  /* entries in a row refused for unknown reasons before all have to wait */

enum verdict { TAKEN, LATER, UNKNOWN, NEVER };

/* ---- what the server says ------------------------------------------------------------------- */

/* Codes of errors that pass, or that can be fixed at the server. */
static const long passing[] = {
	159, 160, 173, 201, 202, 203, 241, 243, 252, 364, 439, 745, /* limits, room, memory */
	74,  75,  76,  77,  172, 204, 425, 499, 586,                /* files, disks, S3 */
	95,  96,  198, 209, 210, 279, 394, 236,                     /* networks; interrupted */
	225, 242, 244, 254, 285, 286, 319, 369, 571, 999,           /* replicas and their keeper */
	164, 192, 193, 194, 195, 291, 497, 516,                     /* rights */
	8,   10,  16,  60,  81,  218, 473, 733, /* missing tables: they are created again */
};

/* Codes of errors in the rows. */
static const long data[] = {
	6,   38,  41,  72,  376, /* texts that cannot be read as what a column is */
	43,  44,  53,  69,  70,  169, 321, 368, 407, /* other types, numbers that do not fit */
	117, 131, 349,      /* data that cannot be, too long, null where none may be */
	153, 395, 469, 691, /* views that throw, constraints, enumerations */
};

static bool is_among(long code, const long *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == code)
			return true;
	return false;
}

/* From "Code: 252. DB::Exception: ...", with a comma before 20.4; 0: none. */
static long code_of(const char *answer)
{
	const char *at = str_prefix(answer, "Code: ") ? answer + strlen("Code: ") : NULL;

	return at && isdigit((unsigned char)*at) ? strtol(at, NULL, 10) : 0;
}

static enum verdict judge(const struct http_reply *reply)
{
	const char *text = reply->body.buf ? reply->body.buf : "";
	long code = code_of(text), status = reply->status;

	if (status == 200)
		return TAKEN;
	/* the same code means unmerged parts, which pass, and too many months in a block */
	if (code == 252 && strstr(text, "Too many partitions"))
		return NEVER;
	if (is_among(code, passing, ARRAY_SIZE(passing)))
		return LATER;
	/* proxies reply without a code */
	if (is_among(code, data, ARRAY_SIZE(data)) || status == 400 || status == 413)
		return NEVER;
	return code && (status == 500 || status == 501) ? UNKNOWN : LATER;
}

/* ---- sending -------------------------------------------------------------------------------- */

/* For the query of a URL: names in statements come from nodes. */
static void add_encoded(struct strbuf *out, const char *s)
{
	for (; *s; s++)
		if (isalnum((unsigned char)*s) || strchr("-._~", *s))
			strbuf_addch(out, *s);
		else
			strbuf_addf(out, "%%%02X", (unsigned char)*s);
}

static enum verdict insert(struct clickhouse *c, struct clickhouse_table *t, size_t from, size_t to,
			   struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT, path = STRBUF_INIT, block = STRBUF_INIT;
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	struct sink_server *s = &c->servers[c->current];

	strbuf_addstr(&sql, "INSERT INTO ");
	clickhouse_add_table(c, t, c->cluster ? "_all" : "_rows", &sql);
	for (size_t i = 0; i < FIXED_END; i++)
		strbuf_addf(&sql, "%s`%s`", i ? ", " : " (", clickhouse_fixed_columns[i].name);
	for (size_t i = 0; i < t->column_count; i++)
		strbuf_addf(&sql, ", `%s`", t->columns[i].name);
	strbuf_addstr(&sql, ") FORMAT Native");
	/* cluster: reply when the rows are on their server, not when they are queued */
	strbuf_addf(&path, "/?database=%s%s&query=", c->database,
		    c->cluster ? "&insert_distributed_sync=1" : "");
	add_encoded(&path, sql.buf);
	clickhouse_block(t, from, to, &block);
	const struct http_request post = {.method = "POST",
					  .path = path.buf,
					  .type = "application/octet-stream",
					  .body = block.buf,
					  .size = block.len};
	int r = sink_server_send(s, &post, &reason);
	enum verdict v = s->reply.status ? judge(&s->reply) : LATER;
	if (v == TAKEN)
		return TAKEN;
	strbuf_reset(why);
	strbuf_addf(why, "rows of %s were not taken: ", t->name);
	if (r < 0 && !s->reply.status)
		strbuf_add(why, reason.buf, reason.len);
	else
		http_add_reason(why, &s->reply);
	return v;
}

/* Rows of one entry were refused. False: they may be taken later, or cannot be kept aside. */
static bool give_up(struct clickhouse *c, const struct clickhouse_table *t,
		    struct clickhouse_mark *m, enum verdict v, struct strbuf *why)
{
	_cleanup_free_ char *what = xasprintf("rows of %s", t->name);

	if (v == UNKNOWN && !m->strikes++)
		m->taken = c->taken;
	if (v == UNKNOWN && (m->strikes < STRIKES_MAX || c->taken == m->taken))
		return false;
	m->done =
		sink_refuse(&c->refusals, m->entry, what, &c->servers[c->current].reply, why) == 0;
	return m->done;
}

/* Sends the rows of these marks. *misses: failures in a row. 0, 1: they have to wait, -EAGAIN. */
static int send_marks(struct clickhouse *c, struct clickhouse_table *t, size_t from, size_t to,
		      unsigned *misses, struct strbuf *why)
{
	enum verdict v = insert(c, t, from, to, why);

	if (v == TAKEN) {
		for (size_t i = from; i < to; i++)
			t->marks[i].done = true;
		c->taken++;
		*misses = 0;
		return 0;
	}
	if (v == LATER)
		return -EAGAIN;
	if (to - from > 1) {
		size_t half = from + (to - from) / 2;
		int r = send_marks(c, t, from, half, misses, why);

		return r ? r : send_marks(c, t, half, to, misses, why);
	}
	if (give_up(c, t, &t->marks[from], v, why))
		return 0;
	/* if the server takes nothing, trying each of very many entries is useless */
	return ++*misses == MISSES_MAX;
}

int clickhouse_send(struct clickhouse *c, struct clickhouse_table *t, struct strbuf *why)
{
	unsigned misses = 0;
	size_t from = 0, to, open = 0;
	int r = 0;

	for (; r == 0 && from < t->mark_count; from = to) {
		for (to = from; to < t->mark_count && !t->marks[to].done;)
			to++;
		if (to > from)
			r = send_marks(c, t, from, to, &misses, why);
		else
			to++;
	}
	for (size_t i = 0; i < t->mark_count; i++)
		open += !t->marks[i].done;
	if (!open) {
		strbuf_reset(why);
		clickhouse_forget_rows(c, t);
		return 0;
	}
	/* the table may have been dropped or changed: check it again, on another server */
	t->ready = false;
	c->current = (c->current + 1) % c->server_count;
	return r < 0 ? r : 1;
}
