/* EPMT's settings.py: literals are read, nothing is executed, and what is not read is named. */
#include "unit.h"

#include <errno.h>

#include "compat/epmt/settings_py.h"

struct result {
	struct value *settings, *skipped;
};

static struct result read_text(const char *text, size_t n)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct result r = {NULL, NULL};
	char *copy = exact_copy(text, n);

	int e = settings_py_read(copy, n, &r.settings, &r.skipped, &why);
	free(copy);
	if (e != 0)
		fail_msg("%s", why.buf);
	return r;
}

static void release(struct result *r)
{
	value_free(r->settings);
	value_free(r->skipped);
}

/* What was read and what was not, as JSON. */
static void check(const char *text, const char *settings, const char *skipped)
{
	struct result r = read_text(text, strlen(text));
	_cleanup_json_ struct json_writer a = JSON_WRITER_INIT, b = JSON_WRITER_INIT;

	value_to_json(r.settings, &a, NULL);
	value_to_json(r.skipped, &b, NULL);
	if (strcmp(a.out.buf, settings) != 0)
		fail_msg("%s\nread as %s\nwant    %s", text, a.out.buf, settings);
	if (strcmp(b.out.buf, skipped) != 0)
		fail_msg("%s\nskipped %s\nwant    %s", text, b.out.buf, skipped);
	release(&r);
}

/* ---- literals ------------------------------------------------------------------------------- */

static void a_usual_file(void **state)
{
	(void)state;
	check("#!/usr/bin/env python3\n"
	      "\"\"\"User settings\n"
	      "x = 1\n"
	      "\"\"\"\n"
	      "import os\n"
	      "from logging import getLogger\n"
	      "# papiex_options = \"OLD\"\n"
	      "papiex_options = \"PERF_COUNT_SW_CPU_CLOCK,COLLATED_TSV\"  # both\n"
	      "epmt_output_prefix = '/tmp/epmt/'\n"
	      "input_pattern=\"*-papiex*.[ct]sv\"\n"
	      "debug = False\n"
	      "retire_jobs_ndays = 13\n"
	      "outlier_thresholds = { 'modified_z_score': 3.5, 'z_score': 3.25, 'iqr': [20, 80] }\n"
	      "db_params = {\n"
	      "    'url': 'sqlite:///:memory:',  # in memory\n"
	      "    'echo': False,\n"
	      "}\n"
	      "env_blacklist = [ \"LS_COLORS\" ]\n"
	      "logfile = None\n",
	      "{\"papiex_options\":\"PERF_COUNT_SW_CPU_CLOCK,COLLATED_TSV\","
	      "\"epmt_output_prefix\":\"/tmp/epmt/\",\"input_pattern\":\"*-papiex*.[ct]sv\","
	      "\"debug\":false,\"retire_jobs_ndays\":13,"
	      "\"outlier_thresholds\":{\"modified_z_score\":3.5,\"z_score\":3.25,\"iqr\":[20,80]},"
	      "\"db_params\":{\"url\":\"sqlite:///:memory:\",\"echo\":false},"
	      "\"env_blacklist\":[\"LS_COLORS\"],\"logfile\":null}",
	      "{}");
}

static void nothing_at_all(void **state)
{
	(void)state;
	check("", "{}", "{}");
	check("\n\n# nothing\n", "{}", "{}");
	check("x", "{}", "{}");
	check("x = 1", "{\"x\":1}", "{}");
}

static void texts(void **state)
{
	(void)state;
	check("a = ''\nb = \"\"\nc = ''''''\n", "{\"a\":\"\",\"b\":\"\",\"c\":\"\"}", "{}");
	check("a = 'it\\'s' \"x\"\n", "{\"a\":\"it'sx\"}", "{}");
	check("a = '\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"'\n",
	      "{\"a\":\"\\u0007\\b\\f\\n\\r\\t\\u000b\\\\'\\\"\"}", "{}");
	check("a = '\\x41\\u00e4\\U0001f6a2\\101\\0'\n",
	      "{\"a\":\"A\xc3\xa4\xf0\x9f\x9a\xa2"
	      "A\\u0000\"}",
	      "{}");
	/* an escape that is none stays as it is */
	check("a = '\\d\\.'\n", "{\"a\":\"\\\\d\\\\.\"}", "{}");
	check("a = r'\\d\\n\\''\n", "{\"a\":\"\\\\d\\\\n\\\\'\"}", "{}");
	check("a = R\"\\x\" u'y' Rb'z'\n", "{\"a\":\"\\\\xyz\"}", "{}");
	check("a = '''one\ntwo 'quoted' \"\"\" three'''\nb = 2\n",
	      "{\"a\":\"one\\ntwo 'quoted' \\\"\\\"\\\" three\",\"b\":2}", "{}");
	check("a = 'one\\\ntwo'\n", "{\"a\":\"onetwo\"}", "{}");
	check("a = ('one '\n     'two '  # and\n     'three')\n", "{\"a\":\"one two three\"}",
	      "{}");
	check("a = '# no comment'  # a comment\n", "{\"a\":\"# no comment\"}", "{}");
	check("a = '\xc3\xa4'\r\nb = 1\r\n", "{\"a\":\"\xc3\xa4\",\"b\":1}", "{}");
}

static void numbers(void **state)
{
	(void)state;
	check("a = 0\nb = -5\nc = 1_000_000\nd = 0x1F\n",
	      "{\"a\":0,\"b\":-5,\"c\":1000000,\"d\":31}", "{}");
	check("a = 2.5\nb = -0.25\nc = 1e-3\nd = .5\ne = 2.5E-1\n",
	      "{\"a\":2.5,\"b\":-0.25,\"c\":0.001,\"d\":0.5,\"e\":0.25}", "{}");
	check("a = 9223372036854775807\n", "{\"a\":9223372036854775807}", "{}");
	check("a = 12x\nb = 1j\nc = 1 ** 1\nd = --1\ne = 1.2.3\n", "{}",
	      "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}");
}

static void names(void **state)
{
	(void)state;
	check("a = True\nb = False\nc = None\n", "{\"a\":true,\"b\":false,\"c\":null}", "{}");
	check("a = Truely\nb = None_\nc = true\nd = x\n", "{}",
	      "{\"a\":1,\"b\":2,\"c\":3,\"d\":4}");
	check("_x1 = 1\nX = 2\n", "{\"_x1\":1,\"X\":2}", "{}");
}

static void containers(void **state)
{
	(void)state;
	check("a = []\nb = ()\nc = {}\n", "{\"a\":[],\"b\":[],\"c\":{}}", "{}");
	check("a = [1, 'x', [2, (3, 4)], {'k': None},]\n",
	      "{\"a\":[1,\"x\",[2,[3,4]],{\"k\":null}]}", "{}");
	/* brackets around one thing are no container, with a comma they are */
	check("a = (1)\nb = (1,)\nc = ((('x')))\n", "{\"a\":1,\"b\":[1],\"c\":\"x\"}", "{}");
	check("a = {'x': 1, 'x': 2, 3: 'n'}\n", "{\"a\":{\"x\":2,\"3\":\"n\"}}", "{}");
	check("a = [1 2]\nb = [1,,2]\nc = {1}\nd = {'x': }\ne = [1)\n", "{}",
	      "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5}");
	check("a = {[1]: 2}\n", "{}", "{\"a\":1}");
}

static void lines_that_go_on(void **state)
{
	(void)state;
	check("a = \\\n  5\nb = [\n1,\n\n2 # two\n]\nc = 3\n", "{\"a\":5,\"b\":[1,2],\"c\":3}",
	      "{}");
}

/* ---- what is not read ----------------------------------------------------------------------- */

static void what_is_no_literal_is_named(void **state)
{
	(void)state;
	check("a = os.listdir('/')\n"
	      "b = f'{a}'\n"
	      "c = 'x' % 1\n"
	      "d = '{:>5}'.format(1)\n"
	      "e = [x for x in y]\n"
	      "f = lambda: 1\n"
	      "g = 1, 2\n"
	      "h = {**a}\n"
	      "i = g(\n  1,\n)\n"
	      "j = 1\n",
	      "{\"j\":1}",
	      "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9}");
}

static void texts_that_are_put_together(void **state)
{
	(void)state;
	setenv("PL_TEST_HOST", "db.example", 1);
	setenv("PL_TEST_EMPTY", "", 1);
	unsetenv("PL_TEST_NONE");
	setenv("HOME", "/home/me", 1);
	check("import os\nhost = os.environ['PL_TEST_HOST']\nname = 'EPMT'\n"
	      "a = 'postgresql://{}:{port}/{0}'.format(host, port=5432)\n"
	      "b = f'postgresql://{host}/{name}' f\"?x={{{1 + 1}}}\"\n"
	      "c = { 'url': 'sqlite:///' + os.path.join(os.path.expanduser('~'), 'e.db') }\n"
	      "d = os.environ.get('PL_TEST_NONE', 'none')\n"
	      "e = os.getenv('PL_TEST_NONE') or os.getenv('PL_TEST_EMPTY') or host\n"
	      "f = dict(url=name.format(), echo=False)['url']\n"
	      "g = [host, name][1]\n"
	      "h = os.path.expandvars('$PL_TEST_HOST/${PL_TEST_HOST}/$PL_TEST_NONE')\n"
	      "i = os.path.join('/a', '/b', 'c/', 'd')\n"
	      "j = str(5) + environ.get('PL_TEST_HOST')\n",
	      "{\"host\":\"db.example\",\"name\":\"EPMT\","
	      "\"a\":\"postgresql://db.example:5432/db.example\","
	      "\"b\":\"postgresql://db.example/EPMT?x={2}\","
	      "\"c\":{\"url\":\"sqlite:////home/me/e.db\"},\"d\":\"none\",\"e\":\"db.example\","
	      "\"f\":\"EPMT\",\"g\":\"EPMT\",\"h\":\"db.example/db.example/$PL_TEST_NONE\","
	      "\"i\":\"/b/c/d\",\"j\":\"5db.example\"}",
	      "{}");
	/* what cannot be known is named, never guessed */
	check("a = os.environ['PL_TEST_NONE']\nb = 'x' + 1\nc = '{} {}'.format(1)\n"
	      "d = f'{a!r}'\ne = '{x}'.format(y=1)\nf = [1][1]\ng = os.system('x')\n"
	      "h = 'x' + os.popen('x').read()\ni = '}'.format()\n",
	      "{}", "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9}");
}

static void what_depends_on_something_is_named(void **state)
{
	(void)state;
	check("a = 1\nif x:\n    a = 2\nb = 1\nif x: b = 2\nc = 1\nc['k'] = 2\nd = 1\n"
	      "d.update(x=1)\ne = f = 5\ng = 1\n",
	      "{\"g\":1}", "{\"a\":3,\"b\":5,\"c\":7,\"d\":9,\"e\":10,\"f\":10}");
	/* and is known again once it is assigned anew */
	check("if x:\n    a = 2\na = 3\n", "{\"a\":3}", "{}");
}

static void annotations_and_several_names(void **state)
{
	(void)state;
	check("a: int = 1\nb : dict[str, 'x=1'] = {'k': 2}\nc: str\n", "{\"a\":1,\"b\":{\"k\":2}}",
	      "{}");
	check("a, b = ({'k': 1}, 2)\nc, d = 3, 'x'\n(e, f) = [5, 6]\n[g, h,] = 7, 8\ni, = 9,\n",
	      "{\"a\":{\"k\":1},\"b\":2,\"c\":3,\"d\":\"x\",\"e\":5,\"f\":6,\"g\":7,\"h\":8,"
	      "\"i\":9}",
	      "{}");
	check("a, b = 1\nc, d = 1, 2, 3\ne, f = g()\n(h, i) = 1, x\n", "{}",
	      "{\"a\":1,\"b\":1,\"c\":2,\"d\":2,\"e\":3,\"f\":3,\"h\":4,\"i\":4}");
	/* a word with a colon behind it begins a block */
	check("a = 1\nif x: pass\nelse: a = 2\n", "{}", "{\"a\":3}");
	check("a = 1\ntry: a = 2\nfinally: b = 3\n", "{}", "{\"a\":2,\"b\":3}");
}

/* What sets db_params may never be passed over. */
static void what_may_set_the_store_unseen(void **state)
{
	static const char *const unseen[] = {
		"from site_settings import *",
		"from . import *",
		"from .os import *",
		"if x: from a.b import *",
		"    from a import *",
		"exec(open('/etc/x').read())",
		"eval('1')",
		"exec(compile(x, 'y', 'exec'))",
		"g = globals",
		"x = 1; globals()['db_' + 'params'] = {}",
		"vars().update(x)",
		"setattr(sys.modules[__name__], 'db_params', {})",
		"importlib.import_module('x')",
		"print(f'{exec(x)}')",
		"from epmt.epmt_default_settings import *",
	};
	static const char *const named[] = {
		"from .site import db_params",
		"from a import (b,\n  db_params)",
		"try: from local import db_params",
		"import site as db_params",
		"for db_params in x: pass",
		"with x as db_params: pass",
		"(db_params := {})",
		"x = (db_params := {})",
		"del db_params",
		"db_params |= {}",
		"db_params, x = y()",
		"[db_params] = [{}, 2]",
		"*db_params, x = 1, 2",
		"x = db_params = {}",
		"def f():\n  global db_params",
		"change(db_params)",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(unseen) + ARRAY_SIZE(named); i++) {
		bool any = i < ARRAY_SIZE(unseen);
		const char *line = any ? unseen[i] : named[i - ARRAY_SIZE(unseen)];
		_cleanup_free_ char *text = xasprintf("db_params = {'url': 'a'}\n%s\n", line);
		_cleanup_free_ char *again = xasprintf("%s\ndb_params = {'url': 'b'}\n", line);
		struct result r = read_text(text, strlen(text));

		if (value_get(r.settings, "db_params") || !value_get(r.skipped, "db_params") ||
		    value_get(r.skipped, "db_params")->integer < 2)
			fail_msg("%s: db_params was taken for known", line);
		if (any != (value_get(r.skipped, SETTINGS_ANY) != NULL))
			fail_msg("%s: other settings", line);
		release(&r);
		/* and what is written behind it counts */
		r = read_text(again, strlen(again));
		if (!value_get(r.settings, "db_params") || value_get(r.skipped, "db_params"))
			fail_msg("%s: db_params behind it is not known", line);
		release(&r);
	}
}

static void what_cannot_set_the_store(void **state)
{
	(void)state;
	check("db_params = {'url': 'a'}\nimport os\nfrom os import *\nfrom os.path import *\n"
	      "from site import other\nprint('db_params')\n# exec(db_params)\nx = 'exec'\n"
	      "'''\nfrom x import *\n'''\ny = 2 * f(import_ * 3)\n",
	      "{\"db_params\":{\"url\":\"a\"},\"x\":\"exec\"}", "{\"y\":12}");
	check("from epmt.epmt_default_settings import *\n", "{}", "{}");
}

static void two_names_of_one_value(void **state)
{
	(void)state;
	check("p = {'url': 'a'}\ndb_params = p\np['url'] = 'b'\n", "{}",
	      "{\"db_params\":3,\"p\":3}");
	check("p = {'url': 'a'}\ndb_params = p\nq = {'url': 'a'}\nq['url'] = 'b'\n",
	      "{\"p\":{\"url\":\"a\"},\"db_params\":{\"url\":\"a\"}}", "{\"q\":4}");
}

static void sums_bind_tighter_than_or(void **state)
{
	(void)state;
	check("a = 'x' or 'y' + 'z'\nb = '' or 'y' + 'z'\nc = '' + '' or 'q'\nd = ('x' or\n'y')\n",
	      "{\"a\":\"x\",\"b\":\"yz\",\"c\":\"q\",\"d\":\"x\"}", "{}");
}

static void the_last_assignment_counts(void **state)
{
	(void)state;
	check("a = 1\na = 2\n", "{\"a\":2}", "{}");
	/* a literal that is replaced by something else is not what the file says */
	check("a = 1\na = f()\n", "{}", "{\"a\":2}");
	check("a = f()\na = 1\n", "{\"a\":1}", "{}");
}

static void other_statements_are_passed_over(void **state)
{
	(void)state;
	check("def f(x='y', z=[1]):\n"
	      "    a = 1\n"
	      "    return {'b': \"\"\"\nc = 2\n\"\"\"}\n"
	      "class C:\n"
	      "    d = 3\n"
	      "if x == 1: print('e = 4')\n"
	      "g == 5\n"
	      "h.i = 6\n"
	      "print(\n"
	      "j = 7\n"
	      ")\n"
	      "k = 8\n",
	      "{\"k\":8}", "{\"a\":2,\"d\":7,\"h\":10,\"i\":10}");
}

static bool read_or_named(const struct result *r, const char *name)
{
	return value_get(r->settings, name) || value_get(r->skipped, name);
}

static void two_on_one_line(void **state)
{
	static const char text[] = "a = 1; b = 2\nc = 3;\n";
	struct result r = read_text(text, sizeof(text) - 1);
	bool all = read_or_named(&r, "a") && read_or_named(&r, "b") && read_or_named(&r, "c");

	(void)state;
	release(&r);
	if (!all)
		fail_msg("%s lost a name without a word", text);
}

/* The literal of the first line alone is not what the file says. */
static void a_literal_that_is_added_to(void **state)
{
	static const char text[] = "a = 'x'\na += ',y'\n";
	struct result r = read_text(text, sizeof(text) - 1);
	const char *a = value_get_str(r.settings, "a");
	bool right = (a && !strcmp(a, "x,y")) || (!a && value_get(r.skipped, "a"));

	(void)state;
	release(&r);
	if (!right)
		fail_msg("%s was read as if it were only its first line", text);
}

static void raw_text_with_a_format(void **state)
{
	(void)state;
	/* no escape is looked at in a raw text, whatever other letters are in front of it */
	check("a = rf\"\\x{b}\"\nc = 1\n", "{\"c\":1}", "{\"a\":1}");
}

static void line_numbers(void **state)
{
	(void)state;
	check("'''\n\n'''\na = [\n\n  f()]\nb = 'x\\\ny' + z\n\nc = (1,\n2) - ()\n", "{}",
	      "{\"a\":4,\"b\":7,\"c\":10}");
}

/* ---- what no Python would take -------------------------------------------------------------- */

static void refuse(const char *text, const char *why_has)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct result r = {NULL, NULL};

	assert_int_equal(settings_py_read(text, strlen(text), &r.settings, &r.skipped, &why),
			 -EBADMSG);
	assert_contains(why.buf, why_has);
	/* they belong to the caller all the same */
	release(&r);
}

static void texts_without_end(void **state)
{
	(void)state;
	refuse("a = 'x\n", "line 1");
	refuse("a = 1\nb = \"x", "line 2");
	refuse("a = '''x\n\n", "line");
	refuse("\n\nprint('x\n", "line 3");
	refuse("a = 'x\\", "line 1");
}

static void depth_is_limited(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	strbuf_addstr(&text, "a = ");
	for (int i = 0; i < 100000; i++)
		strbuf_addch(&text, '[');
	for (int i = 0; i < 100000; i++)
		strbuf_addch(&text, ']');
	strbuf_addstr(&text, "\nb = 1\n");
	check(text.buf, "{\"b\":1}", "{\"a\":1}");
}

static void cut_at_every_length(void **state)
{
	static const char text[] =
		"a = ['x', \"y\", '''z''', {1: (2, 3)}, -1.5e3, True, None] # end\n"
		"b = r'\\x' \\\n 'q'\ndef f(x=[1]): pass\n";

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct result r = {NULL, NULL};
		char *copy = exact_copy(text, n);
		int e = settings_py_read(copy, n, &r.settings, &r.skipped, &why);

		assert_true(e == 0 || e == -EBADMSG);
		assert_true(value_pairs(r.settings) + value_pairs(r.skipped) <= 2);
		free(copy);
		release(&r);
	}
}

static void any_bytes(void **state)
{
	char text[64];
	uint64_t seed = 3;
	static const char letters[] = "ab=='\"\\#\n[](){},:1.-rfx \t;\0\xff";

	(void)state;
	for (int round = 0; round < 20000; round++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct result r = {NULL, NULL};
		size_t n = random_next(&seed) % sizeof(text);

		for (size_t i = 0; i < n; i++)
			text[i] = letters[random_next(&seed) % (sizeof(letters) - 1)];
		char *copy = exact_copy(text, n);
		int e = settings_py_read(copy, n, &r.settings, &r.skipped, &why);
		assert_true(e == 0 || e == -EBADMSG);
		assert_int_equal(why.len > 0, e < 0);
		free(copy);
		release(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_usual_file),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(texts),
		cmocka_unit_test(numbers),
		cmocka_unit_test(names),
		cmocka_unit_test(containers),
		cmocka_unit_test(lines_that_go_on),
		cmocka_unit_test(what_is_no_literal_is_named),
		cmocka_unit_test(texts_that_are_put_together),
		cmocka_unit_test(what_depends_on_something_is_named),
		cmocka_unit_test(annotations_and_several_names),
		cmocka_unit_test(what_may_set_the_store_unseen),
		cmocka_unit_test(what_cannot_set_the_store),
		cmocka_unit_test(two_names_of_one_value),
		cmocka_unit_test(sums_bind_tighter_than_or),
		cmocka_unit_test(the_last_assignment_counts),
		cmocka_unit_test(other_statements_are_passed_over),
		cmocka_unit_test(two_on_one_line),
		cmocka_unit_test(a_literal_that_is_added_to),
		cmocka_unit_test(raw_text_with_a_format),
		cmocka_unit_test(line_numbers),
		cmocka_unit_test(texts_without_end),
		cmocka_unit_test(depth_is_limited),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(any_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
