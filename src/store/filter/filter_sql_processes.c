/*
 * Conditions on texts and tags of processes, and on their relatives.
 *
 * Texts are rows of the table of strings. For the processes of one job the strings that match are
 * found first, once; inside of process(), which is asked for each process of many jobs, the string
 * of the process is looked up. Relatives are found by the numbers of a walk of the tree: a process
 * and its descendants have the numbers first to last.
 */
#include <string.h>

#include "store/filter/filter_sql.h"

#define OF_JOB(column) column " > $1 * 4294967296 AND " column " < ($1 + 1) * 4294967296"

/* ---- texts ---------------------------------------------------------------------------------- */

/* Begins a condition on the string s in a column of the process. */
static void begin_string(struct filter_sql *c, const char *column)
{
	_cleanup_free_ char *text =
		c->bound ? xasprintf(
				   "@p.%s IN (SELECT s.id & 4294967295 FROM string s WHERE " OF_JOB(
					   "s.id") " AND ",
				   column)
			 : xasprintf("EXISTS (SELECT 1 FROM string s WHERE s.id = (@p.id >> 32) * "
				     "4294967296 + @p.%s AND ",
				     column);

	filter_put(c, text);
}

static bool has_empty(const struct filter_node *t)
{
	for (size_t i = 0; i < t->value_count; i++)
		if (!*t->values[i].text)
			return true;
	return false;
}

static void put_like(struct filter_sql *c, const struct filter_node *t, const char *operand)
{
	filter_put(c, t->op == FILTER_NOT_LIKE ? "NOT (" : "(");
	for (size_t i = 0; i < t->value_count; i++) {
		filter_put(c, i ? " OR " : "");
		filter_put(c, operand);
		filter_put_matches(c, t->values[i].text);
	}
	filter_put(c, ")");
}

void filter_put_string(struct filter_sql *c, const struct filter_node *t)
{
	const char *column = t->key.sql;

	if (t->op == FILTER_KNOWN || (t->op == FILTER_IS && has_empty(t))) {
		_cleanup_free_ char *known = xasprintf(
			"@p.%s IS %s", column, t->op == FILTER_KNOWN ? "NOT NULL" : "NULL OR ");
		filter_put(c, known);
	}
	if (t->op == FILTER_KNOWN)
		return;
	begin_string(c, column);
	if (t->op == FILTER_LIKE || t->op == FILTER_NOT_LIKE) {
		put_like(c, t, "{s.bytes}");
	} else {
		filter_put(c, t->op == FILTER_IS_NOT ? "s.bytes NOT" : "s.bytes");
		filter_put_list(c, t, true);
	}
	filter_put(c, ")");
}

/* ---- tags ----------------------------------------------------------------------------------- */

/* The tags as ";key:value;key:value;", without the blank that may be around keys and values. */
#define TIGHT                                                                                 \
	"replace(replace(replace(replace(replace(';' || {s.bytes} || ';', ' ;', ';'), '; ', " \
	"';'), ' :', ':'), ': ', ':'), ';;', ';') AS tags FROM string s WHERE s.id "

/* Begins a condition on such tags, g.tags, of the process; those of a job are few. */
static void begin_tags(struct filter_sql *c)
{
	filter_put(c, c->bound
			      ? "@p.tags IN (SELECT g.n FROM (SELECT s.id & 4294967295 AS n, " TIGHT
				"IN (SELECT $1 * 4294967296 + x.tags FROM process x WHERE " OF_JOB(
					"x.id") ")) g WHERE "
			      : "EXISTS (SELECT 1 FROM (SELECT " TIGHT
				"= (@p.id >> 32) * 4294967296 + @p.tags) g WHERE ");
}

/* ";key:" or ";key;" */
static struct db_value needle(struct filter_sql *c, const char *key, const char *end)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, ";%s%s", key, end);
	return db_str(filter_keep(c, &text));
}

/* The tags with each ";key:" as one character that no text has, and what follows the last one. */
#define MARKED "replace(g.tags, ?, %s)"
#define LAST "substr(" MARKED ", length(rtrim(" MARKED ", replace(" MARKED ", %s, ''))) + 1)"

/* The value of a tag, of several with this key the last; a key alone has the value 1, NULL: no such
 * tag. */
static void put_tag_value(struct filter_sql *c, const char *key)
{
	const char *find = c->engine->glob ? "instr" : "strpos";
	const char *one = c->engine->glob ? "char(1)" : "chr(1)";
	struct db_value with = needle(c, key, ":"), alone = needle(c, key, ";");
	_cleanup_free_ char *text =
		xasprintf("CASE WHEN %s(g.tags, ?) > 0 THEN substr(" LAST ", 1, %s(" LAST
			  ", ';') - 1) WHEN %s(g.tags, ?) > 0 THEN '1' END",
			  find, one, one, one, one, find, one, one, one, one, find);

	filter_put(c, text, with, with, with, with, with, with, with, alone);
}

void filter_put_process_tag(struct filter_sql *c, const struct filter_node *t)
{
	bool like = t->op == FILTER_LIKE || t->op == FILTER_NOT_LIKE;

	begin_tags(c);
	if (t->op == FILTER_NOT_LIKE)
		filter_put(c, "NOT ");
	for (size_t i = 0; like && i < t->value_count; i++) {
		filter_put(c, i ? " OR " : "(");
		put_tag_value(c, t->name);
		filter_put_matches(c, t->values[i].text);
	}
	if (!like)
		put_tag_value(c, t->name);
	if (t->op == FILTER_KNOWN)
		filter_put(c, " IS NOT NULL");
	if (t->op == FILTER_IS_NOT)
		filter_put(c, " NOT");
	if (t->op == FILTER_IS || t->op == FILTER_IS_NOT)
		filter_put_list(c, t, false);
	filter_put(c, like ? "))" : ")");
}

/* All pairs of a set; exact: and no others. */
static void put_pairs(struct filter_sql *c, const struct value *tags, bool exact)
{
	for (size_t i = 0; i < value_pairs(tags); i++) {
		struct strbuf value = STRBUF_INIT;

		strbuf_addstr(&value, value_at(tags, i)->str.data);
		filter_put(c, i ? " AND " : "");
		put_tag_value(c, value_key(tags, i)->str.data);
		filter_put(c, " = ?", db_str(filter_keep(c, &value)));
	}
	if (exact)
		filter_put(c, value_pairs(tags) ? " AND " : "");
	if (exact || !value_pairs(tags))
		filter_put(c,
			   exact ? "length(g.tags) - length(replace(g.tags, ';', '')) - 1 = ?"
				 : "0 = ?",
			   db_int((int64_t)value_pairs(tags)));
}

/* Processes without tags have NULL or an empty text. */
void filter_put_process_tags(struct filter_sql *c, const struct filter_node *t)
{
	bool known = t->op == FILTER_KNOWN;
	bool none = known || has_empty(t), negated = known || t->op == FILTER_IS_NOT;

	filter_put(c, negated ? "(" : "");
	filter_put(c, none ? "@p.tags IS NULL OR " : "");
	begin_tags(c);
	if (known)
		filter_put(c, "g.tags = ';'");
	for (size_t v = 0; v < t->value_count; v++) {
		_cleanup_value_ struct value *tags = tags_parse(t->values[v].text, NULL);

		filter_put(c, v ? " OR " : "");
		put_pairs(c, tags, t->op != FILTER_AT_LEAST);
	}
	filter_put(c, ")");
	filter_put(c, negated ? ") IS NOT TRUE" : "");
}

/* ---- relatives ------------------------------------------------------------------------------ */

/* Begins a set of processes, those of the next level that match being the rows of m; the places on
 * the stack of SQLite's parser are few, and these names save some. */
static void begin_relatives(struct filter_sql *c, const struct filter_node *n)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	unsigned level = c->level + 1;

	strbuf_addf(&text,
		    "@p.id IN (WITH m AS (SELECT p%u.id FROM process p%u WHERE p%u.id > $1 * "
		    "4294967296 AND p%u.id < ($1 + 1) * 4294967296 AND ",
		    level, level, level, level);
	filter_put(c, text.buf);
	filter_put_within(c, n);
	filter_put(c, ") ");
}

/*
 * Behind (or before) each process in the order of the walk stands how far the descendants of those
 * that match reach. Subtrees lie within each other or beside each other, so a process has a
 * matching ancestor if one of the processes before it reaches as far as itself; and a matching
 * descendant if the next one that matches lies within its own numbers.
 */
#define BEFORE \
	" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach FROM tree t LEFT JOIN m "

void filter_put_tree(struct filter_sql *c, const struct filter_node *n)
{
	begin_relatives(c, n);
	switch (n->kind) {
	case FILTER_PARENT:
		filter_put(
			c,
			"SELECT t.id FROM tree t WHERE " OF_JOB(
				"t.id") " AND $1 * 4294967296 + t.parent IN (SELECT id FROM m))");
		break;
	case FILTER_CHILD:
		filter_put(c, "SELECT $1 * 4294967296 + t.parent FROM tree t WHERE " OF_JOB(
				      "t.id") " AND t.id IN (SELECT id FROM m))");
		break;
	case FILTER_ANCESTOR:
		filter_put(c, "SELECT w.id FROM (SELECT t.id, t.first AS own, max(CASE WHEN m.id > "
			      "0 THEN t.last END) OVER (ORDER BY t.first" BEFORE
			      "ON m.id = t.id WHERE " OF_JOB("t.id") ") w WHERE w.reach >= w.own)");
		break;
	default:
		filter_put(c, "SELECT w.id FROM (SELECT t.id, t.last AS own, min(CASE WHEN m.id > "
			      "0 THEN t.first END) OVER (ORDER BY t.first DESC" BEFORE
			      "ON m.id = t.id WHERE " OF_JOB("t.id") ") w WHERE w.reach <= w.own)");
	}
}
