/*
 * Compiles filters to SQL conditions. Text of users only ever becomes a bound parameter.
 *
 * A job is the alias j, a process the alias p, of the tables themselves; those of relations have a
 * number behind. A comparison with an unknown value (NULL) does not match, and `not` is the
 * complement: within and and or SQL's third truth value makes no difference, so only `not` has to
 * turn it into false.
 */
#include <errno.h>
#include <string.h>

#include "store/filter/filter_sql.h"

/* ---- pieces --------------------------------------------------------------------------------- */

void filter_put_values(struct filter_sql *c, const char *text, const struct db_value *v)
{
	_cleanup_strbuf_ struct strbuf expanded = STRBUF_INIT;

	for (; *text; text++) {
		if (*text == '{') { /* the bytes of a string as text, {s.bytes} */
			strbuf_addstr(&expanded, c->engine->text_before);
		} else if (*text == '}') {
			strbuf_addstr(&expanded, c->engine->text_after);
		} else if (*text != '@') {
			strbuf_addch(&expanded, *text);
		} else {
			strbuf_addch(&expanded, *++text);
			if (c->level)
				strbuf_addf(&expanded, "%u", c->level);
		}
	}
	sql_put_values(c->q, expanded.buf, v);
}

const char *filter_keep(struct filter_sql *c, struct strbuf *text)
{
	struct filter *f = c->f;

	GROW(f->texts, f->text_count, f->text_cap);
	f->texts[f->text_count] = strbuf_take(text);
	return f->texts[f->text_count++];
}

/* A literal character of a pattern. */
static void add_literal(struct strbuf *out, char c, bool glob)
{
	if (glob && strchr("*?[", c))
		strbuf_addf(out, "[%c]", c);
	else if (!glob && strchr("%_!", c))
		strbuf_addf(out, "!%c", c);
	else
		strbuf_addch(out, c);
}

/* A shell pattern for the engine's operator, which is case-sensitive on both. A pattern without
 * wildcards and backslashes matches anywhere in the text. */
struct db_value filter_pattern(struct filter_sql *c, const char *pattern)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, all = STRBUF_INIT;
	bool glob = c->engine->glob, wild = false;

	for (const char *p = pattern; *p; p++) {
		bool quoted = *p == '\\' && p[1];

		p += quoted;
		wild |= quoted;
		if (!quoted && (*p == '*' || *p == '?')) {
			wild = true;
			strbuf_addch(&out, glob ? *p : *p == '*' ? '%' : '_');
		} else {
			add_literal(&out, *p, glob);
		}
	}
	const char *around = wild ? "" : glob ? "*" : "%";
	strbuf_addf(&all, "%s%s%s", around, out.buf, around);
	return db_str(filter_keep(c, &all));
}

void filter_put_matches(struct filter_sql *c, const char *pattern)
{
	filter_put(c, c->engine->glob ? " GLOB ?" : " LIKE ? ESCAPE '!'",
		   filter_pattern(c, pattern));
}

/* "IN ($1, $2)" over the values; bytes: compared with bytes. */
void filter_put_list(struct filter_sql *c, const struct filter_node *t, bool bytes)
{
	for (size_t i = 0; i < t->value_count; i++) {
		const char *s = t->values[i].text;

		filter_put(c, i ? ", ?" : " IN (?",
			   bytes ? db_bytes(s, strlen(s)) : db_text(s, strlen(s)));
	}
	filter_put(c, ")");
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* The value of a key, for which a name may stand behind a dot. */
static void put_operand(struct filter_sql *c, const struct filter_node *t)
{
	bool of_process = t->key.scope == FILTER_PROCESSES;

	if (!t->key.sql) { /* a metric of a process is a column */
		_cleanup_free_ char *column = xasprintf("@p.%s", metric_by_name(t->key.name)->name);
		filter_put(c, column);
		return;
	}
	filter_put(c, "(");
	if (t->name)
		filter_put(c, t->key.sql,
			   of_process ? db_bytes(t->name, strlen(t->name)) : db_str(t->name));
	else
		filter_put(c, t->key.sql);
	filter_put(c, ")");
}

void filter_add_order(struct sql *q, struct filter *f, const struct store_engine *e,
		      const char *key)
{
	struct filter_sql c = {.q = q, .f = f, .engine = e};
	struct filter_node t = {.kind = FILTER_TEST};
	struct strbuf text = STRBUF_INIT;
	const char *name;

	key += *key == '-';
	if (!filter_key_find(f->scope, key, &t.key, &name))
		return;
	if (t.key.type == FILTER_STRING) {
		strbuf_addf(
			&text,
			"(SELECT s.bytes FROM string s WHERE s.id = (@p.id >> 32) * 4294967296 + "
			"@p.%s)",
			t.key.sql);
		filter_put(&c, text.buf);
		strbuf_release(&text);
		return;
	}
	if (name)
		strbuf_addstr(&text, name);
	t.name = name ? (char *)filter_keep(&c, &text) : NULL;
	put_operand(&c, &t);
}

static void put_numbers(struct filter_sql *c, const struct filter_node *t)
{
	bool is_not = t->op == FILTER_IS_NOT;
	size_t n = 0;

	for (size_t i = 0; i < t->value_count; i++) {
		if (t->values[i].never)
			continue;
		if (!n++) {
			put_operand(c, t);
			filter_put(c, is_not ? " NOT IN (?" : " IN (?",
				   db_int(t->values[i].number));
		} else {
			filter_put(c, ", ?", db_int(t->values[i].number));
		}
	}
	if (n) {
		filter_put(c, ")");
	} else if (is_not) {
		put_operand(c, t);
		filter_put(c, " IS NOT NULL");
	} else {
		filter_put(c, "1 = 0");
	}
}

static void put_comparison(struct filter_sql *c, const struct filter_node *t)
{
	static const char *const texts[] = {
		[FILTER_BELOW] = " < ?",
		[FILTER_AT_MOST] = " <= ?",
		[FILTER_ABOVE] = " > ?",
		[FILTER_AT_LEAST] = " >= ?",
	};

	if (t->op == FILTER_IS || t->op == FILTER_IS_NOT) {
		put_numbers(c, t);
		return;
	}
	put_operand(c, t);
	if (t->op == FILTER_KNOWN)
		filter_put(c, " IS NOT NULL");
	else
		filter_put(c, texts[t->op], db_int(t->values[0].number));
}

static void put_period(struct filter_sql *c, const struct filter_node *t)
{
	filter_put(c, t->key.sql, db_int(t->values[0].end), db_int(t->values[0].number));
}

/* ---- texts of jobs -------------------------------------------------------------------------- */

static void put_text(struct filter_sql *c, const struct filter_node *t)
{
	bool like = t->op == FILTER_LIKE || t->op == FILTER_NOT_LIKE;

	if (t->op == FILTER_NOT_LIKE)
		filter_put(c, "NOT (");
	for (size_t i = 0; like && i < t->value_count; i++) {
		filter_put(c, i ? " OR " : "");
		put_operand(c, t);
		filter_put_matches(c, t->values[i].text);
	}
	if (t->op == FILTER_NOT_LIKE)
		filter_put(c, ")");
	if (like)
		return;
	put_operand(c, t);
	if (t->op == FILTER_KNOWN) {
		filter_put(c, " IS NOT NULL");
		return;
	}
	filter_put(c, t->op == FILTER_IS_NOT ? " NOT" : "");
	filter_put_list(c, t, false);
}

/* By the index of values, which finds few jobs among many. */
static void put_job_tag(struct filter_sql *c, const struct filter_node *t)
{
	if (t->op != FILTER_IS) {
		put_text(c, t);
		return;
	}
	filter_put(c, "@j.no IN (SELECT g.job FROM job_tag g WHERE g.key = ? AND g.value",
		   db_str(t->name));
	filter_put_list(c, t, false);
	filter_put(c, ")");
}

static void put_hosts(struct filter_sql *c, const struct filter_node *t)
{
	bool negated = t->op == FILTER_IS_NOT || t->op == FILTER_NOT_LIKE;

	filter_put(c, negated ? "NOT EXISTS (" : "EXISTS (");
	filter_put(c, "SELECT 1 FROM job_host h WHERE h.job = @j.no");
	if (t->op == FILTER_IS || t->op == FILTER_IS_NOT) {
		filter_put(c, " AND h.host");
		filter_put_list(c, t, false);
	} else if (t->op != FILTER_KNOWN) {
		for (size_t i = 0; i < t->value_count; i++) {
			filter_put(c, i ? " OR h.host" : " AND (h.host");
			filter_put_matches(c, t->values[i].text);
		}
		filter_put(c, ")");
	}
	filter_put(c, ")");
}

static void put_tag_pair(struct filter_sql *c, const struct value *tags, size_t i)
{
	struct strbuf key = STRBUF_INIT, value = STRBUF_INIT;

	strbuf_addstr(&key, value_key(tags, i)->str.data);
	strbuf_addstr(&value, value_at(tags, i)->str.data);
	filter_put(c,
		   " AND EXISTS (SELECT 1 FROM job_tag g WHERE g.job = @j.no AND g.key = ? AND "
		   "g.value = ?)",
		   db_str(filter_keep(c, &key)), db_str(filter_keep(c, &value)));
}

/* Any of the sets: all of its pairs, and unless >= was written no others. */
static void put_job_tags(struct filter_sql *c, const struct filter_node *t)
{
	if (t->op == FILTER_KNOWN) {
		filter_put(c, "EXISTS (SELECT 1 FROM job_tag g WHERE g.job = @j.no)");
		return;
	}
	filter_put(c, t->op == FILTER_IS_NOT ? "NOT (1 = 0" : "(1 = 0");
	for (size_t v = 0; v < t->value_count; v++) {
		_cleanup_value_ struct value *tags = tags_parse(t->values[v].text, NULL);

		filter_put(c, " OR (1 = 1");
		for (size_t i = 0; i < value_pairs(tags); i++)
			put_tag_pair(c, tags, i);
		if (t->op != FILTER_AT_LEAST)
			filter_put(c,
				   " AND (SELECT count(*) FROM job_tag g WHERE g.job = @j.no) = ?",
				   db_int((int64_t)value_pairs(tags)));
		filter_put(c, ")");
	}
	filter_put(c, ")");
}

/* Adds a text as it stands in JSON, without the quotes around it, to a pattern. */
static void add_json_literal(struct strbuf *out, const char *text, size_t n)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_text(&j, NULL, text, n);
	for (size_t i = 1; i + 1 < j.out.len; i++) {
		if (strchr("*?\\", j.out.buf[i]))
			strbuf_addch(out, '\\');
		strbuf_addch(out, j.out.buf[i]);
	}
}

/* The pattern of a text, for strings as JSON has them: with quotes, and escapes in it. */
static const char *json_pattern(struct filter_sql *c, const char *pattern)
{
	_cleanup_strbuf_ struct strbuf literal = STRBUF_INIT;
	struct strbuf out = STRBUF_INIT;
	bool anywhere = !strpbrk(pattern, "*?\\");

	strbuf_addstr(&out, anywhere ? "\"*" : "\"");
	for (const char *p = pattern;; p++) {
		if (*p && *p != '*' && *p != '?') {
			p += *p == '\\' && p[1];
			strbuf_addch(&literal, *p);
			continue;
		}
		add_json_literal(&out, literal.buf, literal.len);
		strbuf_reset(&literal);
		if (!*p)
			break;
		strbuf_addch(&out, *p);
	}
	strbuf_addstr(&out, anywhere ? "*\"" : "\"");
	return filter_keep(c, &out);
}

/* Values are JSON: a text matches the string, and the number or whatever else is written like it.
 */
static void put_note(struct filter_sql *c, const struct filter_node *t)
{
	bool like = t->op == FILTER_LIKE || t->op == FILTER_NOT_LIKE;

	if (t->op == FILTER_KNOWN) {
		put_text(c, t);
		return;
	}
	filter_put(c, t->op == FILTER_NOT_LIKE ? "NOT (" : "(");
	for (size_t i = 0; like && i < t->value_count; i++) {
		filter_put(c, i ? " OR " : "");
		put_operand(c, t);
		filter_put_matches(c, json_pattern(c, t->values[i].text));
		filter_put(c, " OR (substr(");
		put_operand(c, t);
		filter_put(c, ", 1, 1) <> '\"' AND ");
		put_operand(c, t);
		filter_put_matches(c, t->values[i].text);
		filter_put(c, ")");
	}
	if (!like)
		put_operand(c, t);
	for (size_t i = 0; !like && i < t->value_count; i++) {
		_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
		const char *text = t->values[i].text;

		json_text(&j, NULL, text, strlen(text));
		filter_put(c,
			   i                        ? ", ?, ?"
			   : t->op == FILTER_IS_NOT ? " NOT IN (?, ?"
						    : " IN (?, ?",
			   db_str(text), db_str(filter_keep(c, &j.out)));
	}
	filter_put(c, like ? ")" : "))");
}

static void put_notes(struct filter_sql *c, const struct filter_node *t)
{
	filter_put(c, t->op == FILTER_IS ? "NOT EXISTS (" : "EXISTS (");
	filter_put(c, t->key.sql);
	filter_put(c, ")");
}

/* ---- the tree ------------------------------------------------------------------------------- */

static void put_test(struct filter_sql *c, const struct filter_node *t)
{
	bool of_process = t->key.scope == FILTER_PROCESSES;

	switch (t->key.type) {
	case FILTER_PERIOD:
		put_period(c, t);
		break;
	case FILTER_EARLIEST:
	case FILTER_LATEST:
		filter_put(c, t->key.sql, db_int(t->values[0].number));
		break;
	case FILTER_TEXT:
		put_text(c, t);
		break;
	case FILTER_HOSTS:
		put_hosts(c, t);
		break;
	case FILTER_STRING:
		filter_put_string(c, t);
		break;
	case FILTER_TAG:
		(of_process ? filter_put_process_tag : put_job_tag)(c, t);
		break;
	case FILTER_TAG_SET:
		(of_process ? filter_put_process_tags : put_job_tags)(c, t);
		break;
	case FILTER_NOTE:
		put_note(c, t);
		break;
	case FILTER_NOTES:
		put_notes(c, t);
		break;
	case FILTER_WORDS:
		filter_put_words(c, t);
		break;
	case FILTER_STATUS:
		filter_put_status(c, t);
		break;
	default:
		put_comparison(c, t);
	}
}

static void put_node(struct filter_sql *c, const struct filter_node *n);

static void put_children(struct filter_sql *c, const struct filter_node *n, const char *between)
{
	if (!n->count)
		filter_put(c, n->kind == FILTER_ANY_OF ? "1 = 0" : "1 = 1");
	for (size_t i = 0; i < n->count; i++) {
		if (i)
			filter_put(c, between);
		put_node(c, n->children[i]);
	}
}

void filter_put_within(struct filter_sql *c, const struct filter_node *n)
{
	c->level++;
	put_children(c, n, " AND ");
	c->level--;
}

static void put_relation(struct filter_sql *c, const struct filter_node *n)
{
	unsigned level = c->level + 1;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	switch (n->kind) {
	case FILTER_JOB_OF:
		strbuf_addf(&text, "EXISTS (SELECT 1 FROM job j%u WHERE j%u.no = %s AND ", level,
			    level, c->bound ? "$1" : "@p.id >> 32");
		break;
	case FILTER_HAS_PROCESS:
		strbuf_addf(&text,
			    "EXISTS (SELECT 1 FROM process p%u WHERE p%u.id > @j.no * 4294967296 "
			    "AND p%u.id < (@j.no + 1) * 4294967296 AND ",
			    level, level, level);
		break;
	case FILTER_OVERLAPS:
		strbuf_addf(&text,
			    "EXISTS (SELECT 1 FROM job j%u WHERE (j%u.start_us <= @j.end_us OR "
			    "@j.end_us IS NULL) AND (j%u.end_us >= @j.start_us OR j%u.end_us IS "
			    "NULL) AND ",
			    level, level, level, level);
		break;
	default:
		filter_put_tree(c, n);
		return;
	}
	bool bound = c->bound;
	filter_put(c, text.buf);
	c->bound = bound && n->kind != FILTER_HAS_PROCESS; /* of any job */
	filter_put_within(c, n);
	c->bound = bound;
	filter_put(c, ")");
}

static void put_node(struct filter_sql *c, const struct filter_node *n)
{
	if (n->kind > FILTER_TEST) {
		put_relation(c, n);
		return;
	}
	/* one child needs no parentheses of its own: the engines limit the depth */
	if ((n->kind == FILTER_ALL_OF || n->kind == FILTER_ANY_OF) && n->count == 1) {
		put_node(c, n->children[0]);
		return;
	}
	filter_put(c, "(");
	switch (n->kind) {
	case FILTER_TEST:
		if (c->rest && n->taken)
			filter_put(c, "1 = 1");
		else
			put_test(c, n);
		break;
	case FILTER_NOT:
		filter_put(c, "(");
		put_children(c, n, " AND ");
		filter_put(c, ") IS NOT TRUE");
		break;
	default:
		put_children(c, n, n->kind == FILTER_ANY_OF ? " OR " : " AND ");
	}
	filter_put(c, ")");
}

void filter_add_jobs(struct sql *q, struct filter *f, const struct store_engine *e)
{
	struct filter_sql c = {.q = q, .f = f, .engine = e};

	put_node(&c, f->root);
}

void filter_add_rest(struct sql *q, struct filter *f, const struct store_engine *e)
{
	struct filter_sql c = {.q = q, .f = f, .engine = e, .rest = true};

	put_node(&c, f->root);
}

void filter_add_processes(struct sql *q, struct filter *f, const struct store_engine *e)
{
	struct filter_sql c = {.q = q, .f = f, .engine = e, .bound = true};

	put_node(&c, f->root);
}

/* Adds those parts of "a and b and c" that are about the job. */
static void put_jobs_of(struct filter_sql *c, const struct filter_node *n)
{
	if (n->kind == FILTER_JOB_OF) {
		filter_put(c, " AND (");
		put_children(c, n, " AND ");
		filter_put(c, ")");
	} else if (n->kind == FILTER_ALL_OF || (n->kind == FILTER_ANY_OF && n->count == 1)) {
		for (size_t i = 0; i < n->count; i++)
			put_jobs_of(c, n->children[i]);
	}
}

void filter_add_jobs_of(struct sql *q, struct filter *f, const struct store_engine *e)
{
	struct filter_sql c = {.q = q, .f = f, .engine = e};

	filter_put(&c, "(1 = 1");
	put_jobs_of(&c, f->root);
	filter_put(&c, ")");
}
