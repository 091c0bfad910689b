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

/* Begins a condition on the string s in a column of the process; tags: only strings that are tags,
 * among which there are few. */
static void begin_string(struct filter_sql *c, const char *column, bool tags)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (c->bound) {
		strbuf_addf(&text, "@p.%s IN (SELECT s.id & 4294967295 FROM string s WHERE %s AND ",
			    column,
			    tags ? "s.id IN (SELECT $1 * 4294967296 + x.tags FROM process x "
				   "WHERE " OF_JOB("x.id") ")"
				 : OF_JOB("s.id"));
	} else {
		strbuf_addf(
			&text,
			"EXISTS (SELECT 1 FROM string s WHERE s.id = (@p.id >> 32) * 4294967296 "
			"+ @p.%s AND ",
			column);
	}
	filter_put(c, text.buf);
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
	begin_string(c, column, false);
	if (t->op == FILTER_LIKE || t->op == FILTER_NOT_LIKE) {
		put_like(c, t, "{s.bytes}");
	} else {
		filter_put(c, t->op == FILTER_IS_NOT ? "s.bytes NOT" : "s.bytes");
		filter_put_list(c, t, true);
	}
	filter_put(c, ")");
}

/* ---- tags ----------------------------------------------------------------------------------- */

/* The tags as ";key:value;key:value;", without blanks around keys and values. */
#define TIGHT_ONCE(x) \
	"replace(replace(replace(replace(" x ", ' ;', ';'), '; ', ';'), ' :', ':'), ': ', ':')"
#define TIGHT                                                                                \
	"replace(CASE WHEN {s.bytes} LIKE '% %' THEN " TIGHT_ONCE(                           \
		TIGHT_ONCE("';' || {s.bytes} || ';'")) " ELSE ';' || {s.bytes} || ';' END, " \
						       "';;', ';')"

/* ";key:" or ";key;" */
static struct db_value needle(struct filter_sql *c, const char *key, const char *value,
			      const char *end)
{
	struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, ";%s%s%s%s", key, value ? ":" : "", value ? value : "", end);
	return db_str(filter_keep(c, &text));
}

/* The value of a tag; a key alone has the value 1, NULL: no such tag. */
static void put_tag_value(struct filter_sql *c, const char *key)
{
	const char *find = c->engine->glob ? "instr" : "strpos";
	struct db_value with = needle(c, key, "", ""), alone = needle(c, key, NULL, ";");
	_cleanup_free_ char *text = xasprintf(
		"(SELECT CASE WHEN %s(n, ?) > 0 THEN (SELECT substr(a, 1, %s(a, ';') - 1) "
		"FROM (SELECT substr(n, %s(n, ?) + length(?)) AS a) y) WHEN %s(n, ?) > 0 "
		"THEN '1' END FROM (SELECT ",
		find, find, find, find);

	filter_put(c, text, with, with, with, alone);
	filter_put(c, TIGHT " AS n) z)");
}

void filter_put_process_tag(struct filter_sql *c, const struct filter_node *t)
{
	begin_string(c, "tags", true);
	if (t->op == FILTER_LIKE || t->op == FILTER_NOT_LIKE) {
		filter_put(c, t->op == FILTER_NOT_LIKE ? "NOT (" : "(");
		for (size_t i = 0; i < t->value_count; i++) {
			filter_put(c, i ? " OR " : "");
			put_tag_value(c, t->name);
			filter_put_matches(c, t->values[i].text);
		}
		filter_put(c, "))");
		return;
	}
	put_tag_value(c, t->name);
	if (t->op == FILTER_KNOWN) {
		filter_put(c, " IS NOT NULL)");
		return;
	}
	filter_put(c, t->op == FILTER_IS_NOT ? " NOT" : "");
	filter_put_list(c, t, false);
	filter_put(c, ")");
}

static void put_pairs(struct filter_sql *c, const struct value *tags, bool exact)
{
	filter_put(c, " OR (1 = 1");
	for (size_t i = 0; i < value_pairs(tags); i++) {
		struct strbuf value = STRBUF_INIT;

		strbuf_addstr(&value, value_at(tags, i)->str.data);
		filter_put(c, " AND ");
		put_tag_value(c, value_key(tags, i)->str.data);
		filter_put(c, " = ?", db_str(filter_keep(c, &value)));
	}
	if (exact)
		filter_put(c,
			   " AND (SELECT length(n) - length(replace(n, ';', '')) - 1 FROM "
			   "(SELECT " TIGHT " AS n) z) = ?",
			   db_int((int64_t)value_pairs(tags)));
	filter_put(c, ")");
}

/* Processes without tags have NULL or an empty text. */
void filter_put_process_tags(struct filter_sql *c, const struct filter_node *t)
{
	bool known = t->op == FILTER_KNOWN;
	bool none = known || has_empty(t), negated = known || t->op == FILTER_IS_NOT;

	filter_put(c, negated ? "(" : "");
	filter_put(c, none ? "(@p.tags IS NULL OR " : "(1 = 0 OR ");
	begin_string(c, "tags", true);
	filter_put(c, "(1 = 0");
	if (known)
		filter_put(c, " OR s.bytes = ?", db_bytes("", 0));
	for (size_t v = 0; v < t->value_count; v++) {
		_cleanup_value_ struct value *tags = tags_parse(t->values[v].text, NULL);

		put_pairs(c, tags, t->op != FILTER_AT_LEAST);
	}
	filter_put(c, ")))");
	filter_put(c, negated ? ") IS NOT TRUE" : "");
}

/* ---- relatives ------------------------------------------------------------------------------ */

/* Processes of the next level that match, as rows of "process pN": opens a subquery. */
static void put_matching(struct filter_sql *c, const struct filter_node *n, const char *select)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	unsigned level = c->level + 1;

	strbuf_addf(&text,
		    "%s process p%u WHERE p%u.id > $1 * 4294967296 AND p%u.id < ($1 + 1) * "
		    "4294967296 AND ",
		    select, level, level, level);
	filter_put(c, text.buf);
	filter_put_within(c, n);
}

/*
 * Behind (or before) each process in the order of the walk stands how far the descendants of those
 * that match reach. Subtrees lie within each other or beside each other, so a process has a
 * matching ancestor if one of the processes before it reaches as far as itself; and a matching
 * descendant if the next one that matches lies within its own numbers.
 */
static void put_line(struct filter_sql *c, const struct filter_node *n)
{
	bool up = n->kind == FILTER_ANCESTOR;
	_cleanup_strbuf_ struct strbuf select = STRBUF_INIT;

	filter_put(c, up ? "@p.id IN (SELECT w.id FROM (SELECT t.id, t.first AS own, max(CASE WHEN "
			   "t.id IN ("
			 : "@p.id IN (SELECT w.id FROM (SELECT t.id, t.last AS own, min(CASE WHEN "
			   "t.id IN (");
	strbuf_addf(&select, "SELECT p%u.id FROM", c->level + 1);
	put_matching(c, n, select.buf);
	filter_put(c, up ? ") THEN t.last END) OVER (ORDER BY t.first"
			 : ") THEN t.first END) OVER (ORDER BY t.first DESC");
	filter_put(c, " ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reach FROM tree t "
		      "WHERE " OF_JOB("t.id") ") w WHERE ");
	filter_put(c, up ? "w.reach >= w.own)" : "w.reach <= w.own)");
}

void filter_put_tree(struct filter_sql *c, const struct filter_node *n)
{
	_cleanup_strbuf_ struct strbuf select = STRBUF_INIT;
	unsigned level = c->level + 1;

	switch (n->kind) {
	case FILTER_PARENT:
		strbuf_addf(&select, "SELECT p%u.id FROM", level);
		filter_put(c, "@p.id IN (SELECT t.id FROM tree t WHERE " OF_JOB(
				      "t.id") " AND $1 * 4294967296 + t.parent IN (");
		put_matching(c, n, select.buf);
		filter_put(c, "))");
		break;
	case FILTER_CHILD:
		strbuf_addf(&select, "SELECT p%u.id FROM", level);
		filter_put(c,
			   "@p.id IN (SELECT $1 * 4294967296 + t.parent FROM tree t WHERE " OF_JOB(
				   "t.id") " AND t.id IN (");
		put_matching(c, n, select.buf);
		filter_put(c, "))");
		break;
	default:
		put_line(c, n);
	}
}
