/*
 * Bulk writers of module "postgres": binary COPY. A connection can do nothing else during a COPY,
 * so each writer buffers rows and sends them in one COPY when there are enough. Several writers can
 * be used at once, with statements in between.
 */
#include <errno.h>

#include "store/postgres/postgres.h"

#define BUFFER ((size_t)1 << 20)
/* Passed to libpq at once, which copies it and keeps the memory. */
#define PIECE ((size_t)1 << 16)
/* The server takes no fields or rows of 1 GiB. */
#define ROW_MAX (STRBUF_MAX - BUFFER - PIECE)

struct pg_bulk {
	struct bulk base;
	struct pg_bulk *next;
	char *sql;
	unsigned columns, fields; /* of a row, and of the current row so far */
	struct strbuf rows;       /* complete rows, followed by the current row */
	size_t complete;
	bool too_large;
};

static struct pg_bulk *mine(struct bulk *b)
{
	return (struct pg_bulk *)b;
}

struct bulk *pg_bulk_open(struct store *s, const char *table, const char *columns)
{
	struct pg_bulk *b = xcalloc(1, sizeof(*b));

	b->base.store = s;
	b->sql = xasprintf("COPY %s (%s) FROM STDIN (FORMAT binary)", table, columns);
	b->rows = (struct strbuf)STRBUF_INIT;
	b->columns = 1;
	for (const char *p = columns; (p = strchr(p, ',')); p++)
		b->columns++;
	b->next = pg_of(s)->bulks;
	pg_of(s)->bulks = b;
	return &b->base;
}

void pg_bulk_close(struct bulk *b)
{
	if (!b)
		return;
	for (struct pg_bulk **p = &pg_of(b->store)->bulks; *p; p = &(*p)->next)
		if (*p == mine(b)) {
			*p = mine(b)->next;
			break;
		}
	strbuf_release(&mine(b)->rows);
	free(mine(b)->sql);
	free(b);
}

/* ---- a row ---------------------------------------------------------------------------------- */

/* Adds a field of n bytes, which the caller fills. */
static char *field(struct pg_bulk *b, size_t n, uint32_t length)
{
	struct strbuf *rows = &b->rows;

	if (b->too_large || n > ROW_MAX || rows->len - b->complete > ROW_MAX - n) {
		b->too_large = true;
		return NULL;
	}
	strbuf_grow(rows, n + 6);
	if (!b->fields++) {
		pg_put16(rows->buf + rows->len, (uint16_t)b->columns);
		rows->len += 2;
	}
	pg_put32(rows->buf + rows->len, length);
	rows->len += 4 + n;
	return rows->buf + rows->len - n;
}

void pg_bulk_value(struct bulk *b, const struct db_value *v)
{
	bool number = v->kind == STORE_INT || v->kind == STORE_REAL;
	bool null = v->kind == STORE_NULL;
	size_t n = null ? 0 : number ? 8 : v->size;
	char *p = field(mine(b), n, null ? UINT32_MAX : (uint32_t)n);
	uint64_t bits = (uint64_t)v->number;

	if (!p || !n)
		return;
	if (v->kind == STORE_REAL)
		memcpy(&bits, &v->real, sizeof(bits));
	if (number)
		pg_put64(p, bits);
	else
		memcpy(p, v->data, n);
}

/* ---- sending -------------------------------------------------------------------------------- */

static int send_piece(PGconn *conn, const char *data, size_t n)
{
	for (size_t piece; n; data += piece, n -= piece) {
		piece = n < PIECE ? n : PIECE;
		if (PQputCopyData(conn, data, (int)piece) != 1)
			return -1;
	}
	return 0;
}

static int send_rows(struct pg_bulk *b)
{
	/* signature, flags, and the length of an empty extension */
	static const char head[19] = "PGCOPY\n\377\r\n\0";
	static const char tail[2] = {(char)0xff, (char)0xff};
	struct store *s = b->base.store;
	PGconn *conn = pg_of(s)->conn;
	int r = 0;

	pg_settle(pg_of(s));
	_cleanup_result_ PGresult *begun = PQexec(conn, b->sql);
	if (PQresultStatus(begun) != PGRES_COPY_IN)
		return pg_failed(s, begun);
	/* The result also has an error during sending, with its code: read it below. */
	if (send_piece(conn, head, sizeof(head)) == 0 &&
	    send_piece(conn, b->rows.buf, b->complete) == 0)
		(void)send_piece(conn, tail, sizeof(tail));
	if (PQputCopyEnd(conn, NULL) != 1)
		r = pg_failed(s, NULL);
	for (PGresult *res; (res = PQgetResult(conn)); PQclear(res))
		if (r == 0 && PQresultStatus(res) != PGRES_COMMAND_OK)
			r = pg_failed(s, res);
	return r;
}

int pg_bulk_flush(struct bulk *b)
{
	struct pg_bulk *m = mine(b);

	if (!m->complete)
		return 0;
	int r = send_rows(m);
	/* Keeps the current row; refused rows are dropped, they would be refused again. */
	memmove(m->rows.buf, m->rows.buf + m->complete, m->rows.len - m->complete);
	strbuf_cut(&m->rows, m->rows.len - m->complete);
	m->complete = 0;
	if (m->rows.cap > 4 * BUFFER && !m->rows.len)
		strbuf_release(&m->rows);
	return r;
}

int pg_bulk_row(struct bulk *b)
{
	struct pg_bulk *m = mine(b);
	bool wrong = m->fields != m->columns, large = m->too_large;

	m->fields = 0;
	m->too_large = false;
	if (large || wrong) {
		strbuf_cut(&m->rows, m->complete);
		return large ? store_fail(b->store, E2BIG, "a row is larger than 1 GiB")
			     : store_fail(b->store, EINVAL,
					  "a row has the wrong number of columns");
	}
	m->complete = m->rows.len;
	return m->complete >= BUFFER ? pg_bulk_flush(b) : 0;
}

void pg_bulk_forget(struct pg *pg)
{
	for (struct pg_bulk *b = pg->bulks; b; b = b->next) {
		strbuf_cut(&b->rows, 0);
		b->complete = 0;
		b->fields = 0;
		b->too_large = false;
	}
}
