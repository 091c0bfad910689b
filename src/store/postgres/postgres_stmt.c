/*
 * Statements of module "postgres". Each is prepared on the server when it is first stepped, because
 * only then the types of its parameters are known. Rows come one by one, so that a large result
 * needs no memory; when another command needs the connection, the remaining rows are moved to
 * memory, so that loops may nest as in SQLite.
 */
#include <errno.h>
#include <limits.h>

#include "store/postgres/postgres.h"

/* Prepared statements are dropped this many at once, to save round trips. */
#define DEAD_MAX 16

struct param {
	Oid type; /* of the bound value; 0: null, which has any type */
	const char *data;
	size_t len;
	char number[8];
};

enum progress {
	IDLE,
	RUNNING, /* rows come from the connection */
	KEPT,    /* rows come from memory */
};

struct pg_stmt {
	struct stmt base;
	char *sql;
	/* as the server has it */
	char name[24];
	PGresult *described; /* NULL: not prepared */
	bool stale;          /* prepare it again */
	Oid *types;          /* of the parameters */
	int type_count;
	bool binary; /* how results come */
	/* as the program bound it */
	struct param *params;
	int param_count;
	/* results */
	enum progress progress;
	PGresult *row;
	struct pg_cell *cells;
	struct strbuf *scratch; /* one a column: numbers as text */
	bool has_row;
	int64_t changes;
	struct pg_kept kept;
	int late; /* the error that follows the kept rows */
	struct strbuf late_error;
};

static struct pg_stmt *mine(struct stmt *st)
{
	return (struct pg_stmt *)st;
}

/* ---- the way to the server ------------------------------------------------------------------ */

static void bury(struct pg_stmt *st)
{
	struct pg *pg = pg_of(st->base.store);

	st->stale = false;
	if (!st->described)
		return;
	for (int i = 0; i < PQnfields(st->described); i++)
		strbuf_release(&st->scratch[i]);
	free(st->scratch);
	free(st->cells);
	st->scratch = NULL;
	st->cells = NULL;
	PQclear(st->described);
	st->described = NULL;
	strbuf_addf(&pg->dead, "DEALLOCATE %s;", st->name);
	pg->dead_count++;
}

/* Not in a failed transaction, which takes no commands. */
static void drop_dead(struct pg *pg)
{
	if (pg->dead_count < DEAD_MAX || PQtransactionStatus(pg->conn) == PQTRANS_INERROR)
		return;
	PQclear(PQexec(pg->conn, pg->dead.buf));
	strbuf_reset(&pg->dead);
	pg->dead_count = 0;
}

/* Do the bound values have the types that the statement was prepared for? */
static bool types_fit(const struct pg_stmt *st)
{
	for (int i = 0; i < st->param_count && i < st->type_count; i++)
		if (st->params[i].type && st->params[i].type != st->types[i])
			return false;
	return true;
}

static void note_columns(struct pg_stmt *st)
{
	int columns = PQnfields(st->described);

	st->binary = true;
	for (int i = 0; i < columns; i++)
		st->binary = st->binary && pg_known(PQftype(st->described, i));
	st->cells = xcalloc((size_t)columns + 1, sizeof(*st->cells));
	st->scratch = xcalloc((size_t)columns + 1, sizeof(*st->scratch));
	for (int i = 0; i < columns; i++) {
		st->scratch[i] = (struct strbuf)STRBUF_INIT;
		st->cells[i].type = PQftype(st->described, i);
		st->cells[i].binary = st->binary;
	}
}

/* Prepares the statement for the types of the bound values. A null keeps its previous type, so that
 * values that are sometimes null do not need another preparation. */
static int make_ready(struct pg_stmt *st)
{
	struct store *s = st->base.store;
	struct pg *pg = pg_of(s);

	if (st->described && !st->stale && types_fit(st))
		return 0;
	bury(st);
	pg_settle(pg);
	drop_dead(pg);
	int count = st->param_count > st->type_count ? st->param_count : st->type_count;
	st->types = xreallocarray(st->types, (size_t)count + 1, sizeof(*st->types));
	for (int i = 0; i < count; i++) {
		Oid old = i < st->type_count ? st->types[i] : 0;

		st->types[i] = i < st->param_count && st->params[i].type ? st->params[i].type : old;
	}
	st->type_count = count;
	snprintf(st->name, sizeof(st->name), "pl_%u", pg->names++);
	_cleanup_result_ PGresult *made = PQprepare(pg->conn, st->name, st->sql, count, st->types);
	if (PQresultStatus(made) != PGRES_COMMAND_OK)
		return pg_failed(s, made);
	PGresult *described = PQdescribePrepared(pg->conn, st->name);
	if (PQresultStatus(described) != PGRES_COMMAND_OK) {
		int r = pg_failed(s, described);

		PQclear(described);
		return r;
	}
	st->described = described;
	st->type_count = PQnparams(described);
	st->types = xreallocarray(st->types, (size_t)st->type_count + 1, sizeof(*st->types));
	for (int i = 0; i < st->type_count; i++)
		st->types[i] = PQparamtype(described, i);
	note_columns(st);
	return 0;
}

/* Sends the statement with its bound values. */
static int start(struct pg_stmt *st)
{
	struct store *s = st->base.store;
	struct pg *pg = pg_of(s);

	for (int i = 0; i < st->param_count; i++)
		if (st->params[i].len > INT_MAX)
			return store_fail(s, E2BIG, "a value is larger than 2 GiB");
	int r = make_ready(st);
	if (r < 0)
		return r;
	pg_settle(pg);
	size_t n = (size_t)st->type_count;
	_cleanup_free_ const char **values = xcalloc(n + 1, sizeof(*values));
	_cleanup_free_ int *lengths = xcalloc(n + 1, sizeof(*lengths));
	_cleanup_free_ int *formats = xcalloc(n + 1, sizeof(*formats));
	for (size_t i = 0; i < n && i < (size_t)st->param_count; i++) {
		const struct param *p = &st->params[i];
		bool number = p->type == PG_INT8 || p->type == PG_FLOAT8;

		values[i] = !p->type ? NULL : number ? p->number : p->data;
		lengths[i] = (int)p->len;
		formats[i] = 1;
	}
	if (!PQsendQueryPrepared(pg->conn, st->name, st->type_count, values, lengths, formats,
				 st->binary))
		return pg_failed(s, NULL);
	(void)PQsetSingleRowMode(pg->conn);
	pg->active = st;
	st->progress = RUNNING;
	st->changes = 0;
	return 0;
}

/* If the server no longer knows the statement, or its tables were changed, it is prepared again
 * next time. */
static void note_error(struct pg_stmt *st, const PGresult *result)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	if (state && (!strcmp(state, "0A000") || !strcmp(state, "26000")))
		st->stale = true;
}

static int64_t rows_changed(PGresult *result)
{
	int64_t n = 0;

	if (!str_prefix(PQcmdStatus(result), "SELECT"))
		(void)parse_i64(PQcmdTuples(result), &n);
	return n;
}

/* The next row from the connection: 1 and a result of one row, 0 at the end. */
static int receive(struct pg_stmt *st, PGresult **ret)
{
	struct store *s = st->base.store;
	struct pg *pg = pg_of(s);
	int r = 0;

	for (PGresult *res; (res = PQgetResult(pg->conn)); PQclear(res)) {
		switch (PQresultStatus(res)) {
		case PGRES_SINGLE_TUPLE:
			*ret = res;
			return 1;
		case PGRES_TUPLES_OK:
		case PGRES_COMMAND_OK:
		case PGRES_EMPTY_QUERY:
			st->changes = rows_changed(res);
			break;
		case PGRES_COPY_IN:
		case PGRES_COPY_OUT:
		case PGRES_COPY_BOTH:
			r = pg_refuse_copy(s, res);
			break;
		default:
			if (r == 0)
				r = pg_failed(s, res);
			note_error(st, res);
		}
	}
	pg->active = NULL;
	st->progress = IDLE;
	return r;
}

void pg_settle(struct pg *pg)
{
	struct pg_stmt *st = pg->active;
	PGresult *row = NULL;
	int r;

	if (!st)
		return;
	while ((r = receive(st, &row)) == 1) {
		pg_keep(&st->kept, row);
		PQclear(row);
	}
	st->progress = KEPT;
	st->late = r;
	strbuf_reset(&st->late_error);
	strbuf_add(&st->late_error, st->base.store->error.buf, st->base.store->error.len);
}

/* ---- the contract: statements --------------------------------------------------------------- */

static void forget_row(struct pg_stmt *st)
{
	PQclear(st->row);
	st->row = NULL;
	st->has_row = false;
}

struct stmt *pg_prepare(struct store *s, const char *sql)
{
	struct pg_stmt *st = xcalloc(1, sizeof(*st));

	st->base.store = s;
	st->sql = xstrdup(sql);
	st->late_error = (struct strbuf)STRBUF_INIT;
	/* without parameters it can be prepared now, to find errors early */
	if (!strchr(sql, '$') && make_ready(st) < 0) {
		pg_finish(&st->base);
		return NULL;
	}
	return &st->base;
}

void pg_finish(struct stmt *base)
{
	struct pg_stmt *st = mine(base);

	if (!base)
		return;
	pg_reset(base);
	bury(st);
	strbuf_release(&st->late_error);
	free(st->types);
	free(st->params);
	free(st->sql);
	free(st);
}

/*
 * Reads and discards the remaining rows. Cancelling would be faster for a large result, but uses
 * another connection, may hit the next command, and aborts the transaction.
 */
void pg_reset(struct stmt *base)
{
	struct pg_stmt *st = mine(base);
	PGresult *row = NULL;

	forget_row(st);
	while (st->progress == RUNNING && receive(st, &row) == 1)
		PQclear(row);
	pg_kept_drop(&st->kept);
	st->progress = IDLE;
}

int pg_step(struct stmt *base)
{
	struct pg_stmt *st = mine(base);
	int r = 0;

	forget_row(st);
	if (st->progress == IDLE && (r = start(st)) < 0)
		return r;
	if (st->progress == KEPT) {
		st->has_row = pg_kept_take(&st->kept, st->cells, PQnfields(st->described));
		if (st->has_row)
			return 1;
		st->progress = IDLE;
		return st->late < 0 ? store_fail(base->store, -st->late, "%s", st->late_error.buf)
				    : 0;
	}
	r = receive(st, &st->row);
	st->has_row = r == 1;
	for (int i = 0; r == 1 && i < PQnfields(st->described); i++) {
		bool null = PQgetisnull(st->row, 0, i);

		st->cells[i].data = null ? NULL : PQgetvalue(st->row, 0, i);
		st->cells[i].len = (size_t)PQgetlength(st->row, 0, i);
	}
	return r;
}

/* ---- the contract: parameters --------------------------------------------------------------- */

void pg_bind(struct stmt *base, int i, const struct db_value *v)
{
	static const Oid types[] = {[STORE_NULL] = 0,
				    [STORE_INT] = PG_INT8,
				    [STORE_REAL] = PG_FLOAT8,
				    [STORE_TEXT] = PG_TEXT,
				    [STORE_BYTES] = PG_BYTEA};
	struct pg_stmt *st = mine(base);

	if (i < 1 || i > UINT16_MAX) /* more than the protocol allows */
		return;
	if (i > st->param_count) {
		st->params = xreallocarray(st->params, (size_t)i, sizeof(*st->params));
		memset(st->params + st->param_count, 0,
		       (size_t)(i - st->param_count) * sizeof(*st->params));
		st->param_count = i;
	}
	bool number = v->kind == STORE_INT || v->kind == STORE_REAL;
	struct param *p = &st->params[i - 1];
	p->type = types[v->kind];
	p->len = number ? 8 : v->kind == STORE_NULL ? 0 : v->size;
	p->data = !number && p->len ? v->data : ""; /* libpq takes NULL for null */
	if (number)
		pg_put64(p->number, (uint64_t)v->number); /* the bits of a real, too */
}

/* ---- the contract: columns ------------------------------------------------------------------ */

static const struct pg_cell *cell(struct stmt *base, int i)
{
	static const struct pg_cell null;
	struct pg_stmt *st = mine(base);

	return st->has_row && i >= 0 && i < PQnfields(st->described) ? &st->cells[i] : &null;
}

int pg_columns(struct stmt *base)
{
	if (!mine(base)->described && make_ready(mine(base)) < 0)
		return 0;
	return PQnfields(mine(base)->described);
}

const char *pg_column_name(struct stmt *base, int i)
{
	return i >= 0 && i < pg_columns(base) ? PQfname(mine(base)->described, i) : NULL;
}

enum store_kind pg_column_kind(struct stmt *st, int i)
{
	return pg_kind(cell(st, i));
}

int64_t pg_get_int(struct stmt *st, int i)
{
	return pg_int(cell(st, i));
}

double pg_get_real(struct stmt *st, int i)
{
	return pg_real(cell(st, i));
}

const char *pg_get_text(struct stmt *base, int i, size_t *ret_n)
{
	const struct pg_cell *c = cell(base, i);

	*ret_n = 0;
	return c->data ? pg_text(c, &mine(base)->scratch[i], ret_n) : NULL;
}

int64_t pg_changes(struct stmt *st)
{
	return mine(st)->changes;
}
