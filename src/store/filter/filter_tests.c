/* The tree of a filter, and its tests: keys, operators and typed values. */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/text/text.h"
#include "jobs/tags.h"
#include "store/filter/filter_internal.h"
#include "store/job_words.h"
#include "store/query.h"

/* ---- nodes ---------------------------------------------------------------------------------- */

struct filter_node *filter_node_new(enum filter_kind kind)
{
	struct filter_node *n = xcalloc(1, sizeof(*n));

	n->kind = kind;
	return n;
}

/* The depth is bounded by the parser. */
void filter_node_free(struct filter_node *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		filter_node_free(n->children[i]);
	for (size_t i = 0; i < n->value_count; i++)
		free(n->values[i].text);
	free(n->children);
	free(n->values);
	free(n->name);
	free(n);
}

void filter_node_add(struct filter_node *n, struct filter_node *child)
{
	GROW(n->children, n->count, n->cap);
	n->children[n->count++] = child;
}

struct filter *filter_new(enum filter_scope scope)
{
	struct filter *f = xcalloc(1, sizeof(*f));

	f->scope = scope;
	f->root = f->at = filter_node_new(FILTER_ALL_OF);
	f->now_us = clock_realtime_us();
	return f;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	filter_node_free(f->root);
	for (size_t i = 0; i < f->text_count; i++)
		free(f->texts[i]);
	free(f->texts);
	free(f);
}

bool filter_is_empty(const struct filter *f)
{
	return !f || !f->root->count;
}

struct filter_node *filter_begin(struct filter *f, enum filter_kind kind)
{
	struct filter_node *outer = f->at, *n = filter_node_new(kind);

	filter_node_add(outer, n);
	f->at = n;
	return outer;
}

void filter_end(struct filter *f, struct filter_node *outer)
{
	f->at = outer;
}

/* ---- values --------------------------------------------------------------------------------- */

static int wrong(struct strbuf *why, const char *wanted, const char *text)
{
	_cleanup_strbuf_ struct strbuf shown = STRBUF_INIT;

	text_add_printable(&shown, text, strnlen(text, FILTER_SHOWN_MAX));
	return strbuf_fail(why, -EINVAL, "expected %s, not '%s'", wanted, shown.buf);
}

/* From a value to the unit of the column, rounded so that comparisons of whole numbers stay exact.
 */
static void scale(struct filter_value *v, uint64_t value, uint64_t factor, enum filter_op op)
{
	uint64_t whole = value / factor;
	bool rest = value % factor != 0;

	v->never = rest && (op == FILTER_IS || op == FILTER_IS_NOT);
	if (rest && (op == FILTER_AT_LEAST || op == FILTER_BELOW))
		whole++;
	v->number = whole > INT64_MAX ? INT64_MAX : (int64_t)whole;
}

static int take_duration(struct filter_value *v, const char *text, const struct filter_node *test,
			 struct strbuf *why)
{
	uint64_t ns;

	if (parse_duration_ns(text, &ns) < 0)
		return wrong(why, "a duration such as 90s, 10m, 1.5h or 2d", text);
	scale(v, ns, test->key.unit == UNIT_MICROSECONDS ? 1000 : 1, test->op);
	return 0;
}

static int take_size(struct filter_value *v, const char *text, const struct filter_node *test,
		     struct strbuf *why)
{
	uint64_t bytes;

	if (parse_size(text, &bytes) < 0)
		return wrong(why, "a size such as 4096, 500M or 2G", text);
	scale(v, bytes,
	      test->key.unit == UNIT_KIBIBYTES ? 1024
	      : test->key.unit == UNIT_BLOCKS  ? 512
					       : 1,
	      test->op);
	return 0;
}

#define TIME_FORMS \
	"a time such as 2026-01-31, '2026-01-31 08:00', seconds since 1970, now, or -2h before it"

static int take_time(const char *text, int64_t now_us, int64_t *ret, struct strbuf *why)
{
	return parse_time_us(text, now_us, ret) < 0 ? wrong(why, TIME_FORMS, text) : 0;
}

static int take_period(struct filter_value *v, const char *text, int64_t now_us, struct strbuf *why)
{
	const char *dots = strstr(text, "..");
	_cleanup_free_ char *from = xstrndup(text, dots ? (size_t)(dots - text) : strlen(text));

	int r = take_time(from, now_us, &v->number, why);
	if (r == 0)
		r = take_time(dots ? dots + 2 : from, now_us, &v->end, why);
	if (r == 0 && v->end < v->number)
		return strbuf_fail(why, -EINVAL, "the period '%s' ends before it begins", text);
	return r;
}

static int check_pattern(const char *text, struct strbuf *why)
{
	size_t stars = 0;

	for (const char *p = text; *p; p++) {
		stars += *p == '*';
		if (*p == '\\' && p[1])
			p++;
	}
	if (strlen(text) > FILTER_PATTERN_MAX || stars > FILTER_STARS_MAX)
		return strbuf_fail(why, -EINVAL,
				   "a pattern has at most %d bytes and %d wildcards *",
				   FILTER_PATTERN_MAX, FILTER_STARS_MAX);
	return 0;
}

static int take_tags(const char *text, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf dropped = STRBUF_INIT;
	_cleanup_value_ struct value *tags = tags_parse(text, &dropped);

	if (dropped.len)
		return wrong(why, "tags as 'KEY:VALUE;KEY:VALUE'", text);
	if (value_pairs(tags) > FILTER_TESTS_MAX / 4)
		return strbuf_fail(why, -EINVAL, "a set has at most %d tags", FILTER_TESTS_MAX / 4);
	return 0;
}

static int take_words(const char *text, struct strbuf *why)
{
	struct job_words w;

	w.count = 0;
	job_words_add(&w, text);
	if (w.count > FILTER_WORDS_AT_ONCE)
		return strbuf_fail(why, -EINVAL, "a value has at most %d words",
				   FILTER_WORDS_AT_ONCE);
	return w.count ? 0 : wrong(why, "words of letters and digits", text);
}

static int take_status(const char *text, struct strbuf *why)
{
	for (int i = 0; i < STATUSES; i++)
		if (!strcmp(text, filter_statuses[i]))
			return 0;
	return wrong(why, filter_type_name(FILTER_STATUS), text);
}

static int take_value(struct filter_value *v, const char *text, const struct filter_node *test,
		      int64_t now_us, struct strbuf *why)
{
	switch (test->key.type) {
	case FILTER_NUMBER:
		return parse_i64(text, &v->number) < 0 ? wrong(why, "a whole number", text) : 0;
	case FILTER_DURATION:
		return take_duration(v, text, test, why);
	case FILTER_SIZE:
		return take_size(v, text, test, why);
	case FILTER_TIME:
	case FILTER_EARLIEST:
	case FILTER_LATEST:
		return take_time(text, now_us, &v->number, why);
	case FILTER_PERIOD:
		return take_period(v, text, now_us, why);
	case FILTER_TAG_SET:
		return take_tags(text, why);
	case FILTER_WORDS:
		return take_words(text, why);
	case FILTER_STATUS:
		return take_status(text, why);
	case FILTER_NOTES:
		return *text ? wrong(why, "'', which means none", text) : 0;
	default:
		return test->op == FILTER_LIKE || test->op == FILTER_NOT_LIKE
			       ? check_pattern(text, why)
			       : 0;
	}
}

int filter_test_value(struct filter_node *test, const char *text, int64_t now_us,
		      struct strbuf *why)
{
	struct filter_value v = {0};

	/* strings of processes are compared as bytes */
	bool bytes = test->key.type == FILTER_STRING &&
		     (test->op == FILTER_IS || test->op == FILTER_IS_NOT);

	if (!bytes && !utf8_valid(text, strlen(text)))
		return strbuf_fail(why, -EINVAL,
				   "the value is not valid UTF-8; use ? in a pattern");
	int r = take_value(&v, text, test, now_us, why);
	if (r < 0)
		return r;
	v.text = xstrdup(text);
	GROW(test->values, test->value_count, test->value_cap);
	test->values[test->value_count++] = v;
	return 0;
}

int filter_test_check(const struct filter_node *test, struct strbuf *why)
{
	if (test->value_count > 1 && test->op != FILTER_IS && test->op != FILTER_IS_NOT &&
	    test->op != FILTER_LIKE && test->op != FILTER_NOT_LIKE)
		return strbuf_fail(why, -EINVAL, "only =, !=, ~ and !~ take several values");
	if (test->key.type == FILTER_WORDS && test->value_count > FILTER_WORD_VALUES_MAX)
		return strbuf_fail(why, -EINVAL, "'%s' takes at most %d values", test->key.name,
				   FILTER_WORD_VALUES_MAX);
	return 0;
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* sum.usertime has the unit of usertime. */
static void use_unit(struct filter_node *test)
{
	const struct metric *m = test->name ? metric_by_name(test->name) : NULL;
	struct filter_key of_metric;
	const char *name;

	if ((!strcmp(test->key.name, "sum.") || !strcmp(test->key.name, "max.")) && m &&
	    !strcmp(m->name, test->name) &&
	    filter_key_find(FILTER_PROCESSES, m->name, &of_metric, &name)) {
		test->key.type = of_metric.type;
		test->key.unit = of_metric.unit;
	}
}

struct filter_node *filter_test_new(enum filter_scope scope, const char *word, const char *name,
				    struct filter_node **ret_test, struct strbuf *why)
{
	_cleanup_node_ struct filter_node *test = filter_node_new(FILTER_TEST);
	bool of_job = false;
	const char *behind = NULL;

	if (!filter_key_find(scope, word, &test->key, &behind)) {
		of_job = scope == FILTER_PROCESSES &&
			 filter_key_find(FILTER_JOBS, word, &test->key, &behind);
		if (!of_job) {
			filter_key_unknown(scope, word, why);
			return NULL;
		}
	}
	if (name)
		behind = name;
	if (str_suffix(test->key.name, ".") && (!behind || !*behind)) {
		strbuf_addf(why, "'%s' needs a name: %sNAME", word, test->key.name);
		return NULL;
	}
	if (behind && !utf8_valid(behind, strlen(behind))) {
		strbuf_addstr(why, "the name is not valid UTF-8");
		return NULL;
	}
	test->name = behind ? xstrdup(behind) : NULL;
	use_unit(test);
	*ret_test = test;
	struct filter_node *top = test;
	if (of_job) {
		top = filter_node_new(FILTER_JOB_OF);
		filter_node_add(top, test);
	}
	test = NULL;
	return top;
}

int filter_test_operator(struct filter_node *test, enum filter_op op, struct strbuf *why)
{
	static const char *const texts[] = {"", "=", "!=", "~", "!~", "<", "<=", ">", ">="};
	_cleanup_free_ char *want = xasprintf(" %s ", texts[op]);
	_cleanup_free_ char *known = xasprintf(" %s ", filter_type_operators(test->key.type));
	enum filter_type type = test->key.type;

	test->op = op;
	if (op == FILTER_KNOWN &&
	    (type == FILTER_PERIOD || type == FILTER_EARLIEST || type == FILTER_LATEST))
		return strbuf_fail(why, -EINVAL, "'%s' needs a time: %s = TIME", test->key.name,
				   test->key.name);
	if (op == FILTER_KNOWN || strstr(known, want))
		return 0;
	return strbuf_fail(why, -EINVAL, "'%s%s' does not take %s; it takes %s", test->key.name,
			   str_suffix(test->key.name, ".") ? test->name : "", texts[op],
			   filter_type_operators(type));
}

/* ---- adding tests by code ------------------------------------------------------------------- */

int filter_require(struct filter *f, const char *key, enum filter_op op, const char *const *values,
		   size_t count, struct strbuf *why)
{
	const char *dot = strchr(key, '.');
	_cleanup_free_ char *word = dot ? xstrndup(key, (size_t)(dot + 1 - key)) : xstrdup(key);
	struct filter_node *test = NULL;
	_cleanup_node_ struct filter_node *top =
		filter_test_new(f->scope, word, dot ? dot + 1 : NULL, &test, why);

	int r = top ? filter_test_operator(test, op, why) : -EINVAL;
	for (size_t i = 0; i < count && r == 0; i++)
		r = filter_test_value(test, values[i], f->now_us, why);
	if (r == 0)
		r = filter_test_check(test, why);
	if (r == 0 && (++f->tests > FILTER_TESTS_MAX || (f->values += count) > FILTER_VALUES_MAX))
		r = strbuf_fail(why, -EINVAL, "a filter has at most %d conditions and %d values",
				FILTER_TESTS_MAX, FILTER_VALUES_MAX);
	if (r == 0) {
		filter_node_add(f->at, top);
		top = NULL;
	}
	return r;
}

static struct filter_value *add_test(struct filter *f, const char *key, enum filter_op op)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct filter_node *test = NULL, *top = filter_test_new(f->scope, key, NULL, &test, &why);

	if (!top)
		return NULL;
	test->op = op;
	GROW(test->values, test->value_count, test->value_cap);
	test->values[test->value_count] = (struct filter_value){0};
	filter_node_add(f->at, top);
	f->tests++;
	f->values++;
	return &test->values[test->value_count++];
}

void filter_require_number(struct filter *f, const char *key, enum filter_op op, int64_t value)
{
	struct filter_value *v = add_test(f, key, op);

	if (v)
		v->number = value;
}

void filter_require_period(struct filter *f, int64_t from_us, int64_t to_us)
{
	struct filter_value *v = add_test(f, "when", FILTER_IS);

	if (v) {
		v->number = from_us;
		v->end = to_us;
	}
}

static void each_required(struct filter_node *n, void (*call)(void *user, struct filter_node *test),
			  void *user)
{
	if (n->kind == FILTER_TEST)
		call(user, n);
	else if (n->kind == FILTER_ALL_OF || (n->kind == FILTER_ANY_OF && n->count == 1))
		for (size_t i = 0; i < n->count; i++)
			each_required(n->children[i], call, user);
}

void filter_each_required(struct filter *f, void (*call)(void *user, struct filter_node *test),
			  void *user)
{
	each_required(f->root, call, user);
}
