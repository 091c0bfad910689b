/* Settings: which place wins, where a value says it came from, and what files may hold. */
#include "unit.h"

#include <errno.h>
#include <fnmatch.h>
#include <pwd.h>

#include "core/config.h"

/* Nothing of the one who runs the tests may count. */
static void clear_environment(void)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		unsetenv(settings[i].env);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
}

/* A root with room for /etc/plimsoll.conf, and a home. */
struct places {
	char *root, *system, *user;
};

static int places_setup(void **state)
{
	struct places *p = xcalloc(1, sizeof(*p));

	clear_environment();
	p->root = scratch_make();
	_cleanup_free_ char *etc = xasprintf("%s/etc", p->root);
	_cleanup_free_ char *home = xasprintf("%s/home", p->root);
	_cleanup_free_ char *dot = xasprintf("%s/home/.config", p->root);
	_cleanup_free_ char *ours = xasprintf("%s/home/.config/plimsoll", p->root);
	assert_int_equal(
		mkdir(etc, 0700) | mkdir(home, 0700) | mkdir(dot, 0700) | mkdir(ours, 0700), 0);
	p->system = xasprintf("%s/plimsoll.conf", etc);
	p->user = xasprintf("%s/plimsoll.conf", ours);
	setenv("HOME", home, 1);
	*state = p;
	return 0;
}

static int places_teardown(void **state)
{
	struct places *p = *state;

	scratch_remove(p->root);
	free(p->system);
	free(p->user);
	free(p);
	clear_environment();
	return 0;
}

static void write_text(const char *path, const char *text)
{
	write_file(path, text, strlen(text));
}

static void check(const struct config *c, enum setting_id id, const char *value, const char *origin)
{
	assert_string_equal(config_get(c, id), value);
	assert_string_equal(c->origin[id], origin);
}

/* ---- the table ------------------------------------------------------------------------------ */

static void the_table_is_sound(void **state)
{
	(void)state;
	for (int i = 0; i < SETTING_COUNT; i++) {
		const struct setting *s = &settings[i];

		assert_int_equal(setting_by_name(s->name), i);
		assert_true(str_prefix(s->env, "PLIMSOLL_"));
		assert_non_null(s->fallback);
		assert_true(*s->help && s->help[strlen(s->help) - 1] != '.');
		for (int j = 0; j < i; j++)
			assert_string_not_equal(settings[j].env, s->env);
	}
	assert_int_equal(setting_by_name("no_such_setting"), -1);
	assert_int_equal(setting_by_name(""), -1);
	assert_int_equal(setting_by_name("PREFIX"), -1);
}

/* ---- precedence ----------------------------------------------------------------------------- */

static void defaults(void **state)
{
	const struct places *p = *state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct config c = {0};

	config_load(&c, p->root, &why);
	assert_int_equal(why.len, 0);
	for (int i = 0; i < SETTING_COUNT; i++)
		check(&c, (enum setting_id)i, settings[i].fallback, "default");
	check(&c, SETTING_DRAIN, "200ms", "default");
	config_release(&c);
	config_release(&c);
}

static void each_place_beats_the_one_before(void **state)
{
	const struct places *p = *state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *system_line = xasprintf("%s:2", p->system);
	_cleanup_free_ char *user_line = xasprintf("%s:1", p->user);
	struct config c = {0};

	write_text(p->system, "\ndrain = 1s\nmask = system\n");
	config_load(&c, p->root, &why);
	assert_int_equal(why.len, 0);
	check(&c, SETTING_DRAIN, "1s", system_line);
	write_text(p->user, "drain = 2s\n");
	config_load(&c, p->root, &why);
	assert_int_equal(why.len, 0);
	check(&c, SETTING_DRAIN, "2s", user_line);
	assert_string_equal(config_get(&c, SETTING_MASK), "system");
	setenv("PLIMSOLL_DRAIN", "3s", 1);
	config_load(&c, p->root, &why);
	assert_int_equal(why.len, 0);
	check(&c, SETTING_DRAIN, "3s", "environment PLIMSOLL_DRAIN");
	config_set(&c, SETTING_DRAIN, "4s", "flag");
	check(&c, SETTING_DRAIN, "4s", "flag");
	/* what is set to nothing is set */
	setenv("PLIMSOLL_DRAIN", "", 1);
	config_load(&c, p->root, &why);
	assert_int_equal(why.len, 0);
	check(&c, SETTING_DRAIN, "", "environment PLIMSOLL_DRAIN");
	config_release(&c);
}

static void where_the_users_file_is(void **state)
{
	const struct places *p = *state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *dir = xasprintf("%s/xdg", p->root);
	_cleanup_free_ char *inner = xasprintf("%s/plimsoll", dir);
	_cleanup_free_ char *file = xasprintf("%s/plimsoll.conf", inner);
	_cleanup_free_ char *origin = xasprintf("%s:1", file);
	struct config c = {0};

	char *found = config_user_file();
	assert_string_equal(found, p->user);
	free(found);
	setenv("XDG_CONFIG_HOME", "relative/path", 1); /* which that standard says to ignore */
	found = config_user_file();
	assert_string_equal(found, p->user);
	free(found);
	assert_int_equal(mkdir(dir, 0700) | mkdir(inner, 0700), 0);
	write_text(file, "job = from-xdg");
	write_text(p->user, "job = from-home");
	setenv("XDG_CONFIG_HOME", dir, 1);
	config_load(&c, p->root, &why);
	assert_int_equal(why.len, 0);
	check(&c, SETTING_JOB, "from-xdg", origin);
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
	assert_null(config_user_file());
	config_load(&c, p->root, &why);
	assert_int_equal(why.len, 0);
	check(&c, SETTING_JOB, "", "default");
	config_release(&c);
}

/* People keep their settings elsewhere and link them here. */
static void a_linked_file_is_read(void **state)
{
	const struct places *p = *state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *elsewhere = xasprintf("%s/elsewhere", p->root);
	struct config c = {0};

	write_text(elsewhere, "drain = 5s\n");
	assert_int_equal(symlink(elsewhere, p->user), 0);
	config_load(&c, p->root, &why);
	assert_int_equal(why.len, 0);
	assert_string_equal(config_get(&c, SETTING_DRAIN), "5s");
	config_release(&c);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static size_t parse(struct config *c, const char *text, struct strbuf *why)
{
	_cleanup_free_ char *copy = xstrdup(text);

	config_parse(c, copy, "file", why);
	return why->len;
}

static void values_hold_anything(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct config c = {0};

	(void)state;
	assert_int_equal(parse(&c,
			       "# a comment\n"
			       "   # another\n"
			       "\n"
			       "job_tags=exp:one;run:2\n"
			       "  tags \t = \t k:v = w # no comment ; nor here \t \n"
			       "stage_dest = =\n"
			       "mask =\n"
			       "prefix = /a b/%u\r\n"
			       "events = '\"'\n"
			       "drain = 1s\n"
			       "drain = 2s",
			       &why),
			 0);
	check(&c, SETTING_JOB_TAGS, "exp:one;run:2", "file:4");
	check(&c, SETTING_TAGS, "k:v = w # no comment ; nor here", "file:5");
	check(&c, SETTING_STAGE_DEST, "=", "file:6");
	check(&c, SETTING_MASK, "", "file:7");
	check(&c, SETTING_PREFIX, "/a b/%u", "file:8");
	check(&c, SETTING_EVENTS, "'\"'", "file:9");
	/* the last one counts, and a file need not end in a newline */
	check(&c, SETTING_DRAIN, "2s", "file:11");
	assert_null(config_get(&c, SETTING_JOB));
	assert_int_equal(why.len, 0);
	config_release(&c);
}

static void long_values(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, text = STRBUF_INIT;
	struct config c = {0};

	(void)state;
	strbuf_addstr(&text, "mask = ");
	for (int i = 0; i < 5000; i++)
		strbuf_addstr(&text, "*X*:");
	assert_int_equal(parse(&c, text.buf, &why), 0);
	assert_int_equal(strlen(config_get(&c, SETTING_MASK)), 20000);
	config_release(&c);
}

static void errors_name_file_and_line(void **state)
{
	static const struct {
		const char *text, *place, *what;
	} cases[] = {
		{"drain = 1s\nnonsense\n", "file:2:", "name = value"},
		{"\n\n  colour = blue\n", "file:3:", "'colour'"},
		{"DRAIN = 1s", "file:1:", "'DRAIN'"},
		{"= 1", "file:1:", "''"},
		{"drain: 1s", "file:1:", "name = value"},
		{"[section]\ndrain = 1s", "file:1:", "name = value"},
		{"drain 1 = 1s", "file:1:", "'drain 1'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct config c = {0};

		assert_true(parse(&c, cases[i].text, &why) > 0);
		assert_true(str_prefix(why.buf, cases[i].place));
		assert_contains(why.buf, cases[i].what);
		config_release(&c);
	}
}

/* One mistake costs one line and no more; a name that is near is named. */
static void the_rest_of_a_file_counts(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct config c = {0};

	(void)state;
	parse(&c, "drian = 1s\nbogus = 1\nthreads = off\nwhat\ntags = a:b\n", &why);
	check(&c, SETTING_THREADS, "off", "file:3");
	check(&c, SETTING_TAGS, "a:b", "file:5");
	assert_contains(why.buf,
			"file:1: unknown setting 'drian', ignored; did you mean 'drain'?\n");
	assert_contains(why.buf, "file:2: unknown setting 'bogus', ignored; `plimsoll config`");
	assert_contains(why.buf, "file:4: expected 'name = value'");
	assert_null(setting_near("x"));
	assert_string_equal(setting_near("prefx"), "prefix");
	config_release(&c);
}

static void bad_values_leave_the_default(void **state)
{
	static const struct {
		enum setting_id id;
		const char *bad, *good;
	} cases[] = {
		{SETTING_DRAIN, "soon", "1s"},
		{SETTING_DB_WAIT, "-3", "2m"},
		{SETTING_KERNEL, "of", "off"},
		{SETTING_THREADS, "fullish", "full"},
	};
	const struct places *p = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		const struct setting *s = &settings[cases[i].id];
		struct config c = {0};

		setenv(s->env, cases[i].bad, 1);
		config_load(&c, p->root, &why);
		check(&c, cases[i].id, s->fallback, "default");
		assert_contains(why.buf, s->env);
		assert_contains(why.buf, cases[i].bad);
		strbuf_reset(&why);
		setenv(s->env, cases[i].good, 1);
		config_load(&c, p->root, &why);
		assert_int_equal(why.len, 0);
		assert_string_equal(config_get(&c, cases[i].id), cases[i].good);
		unsetenv(s->env);
		config_release(&c);
	}
}

static void refuse_user_file(const struct places *p, const char *why_has)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct config c = {0};

	config_load(&c, p->root, &why);
	assert_contains(why.buf, p->user);
	assert_contains(why.buf, why_has);
	config_release(&c);
}

static void files_that_are_none(void **state)
{
	static char large[70000];
	const struct places *p = *state;

	memset(large, '#', sizeof(large));
	write_file(p->user, "drain = 1s\0\n", 12);
	refuse_user_file(p, "NUL");
	write_text(p->user, "drain = 1s\nwhat\n");
	refuse_user_file(p, ":2:");
	write_file(p->user, large, sizeof(large));
	refuse_user_file(p, "large");
	/* an empty one is fine */
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct config c = {0};
	write_text(p->user, "");
	config_load(&c, p->root, &why);
	assert_int_equal(why.len, 0);
	check(&c, SETTING_DRAIN, "200ms", "default");
	config_release(&c);
}

/* ---- use ------------------------------------------------------------------------------------ */

static void paths_with_the_users_name(void **state)
{
	const struct passwd *pw = getpwuid(geteuid());
	_cleanup_free_ char *id = xasprintf("%u", (unsigned)geteuid());
	_cleanup_free_ char *want = xasprintf("/x/%s/%s/100%%/%%x%%", pw ? pw->pw_name : id, id);
	struct config c = {0};

	(void)state;
	config_set(&c, SETTING_PREFIX, "/x/%u/%i/100%/%x%", "flag");
	char *path = config_path(&c, SETTING_PREFIX);
	assert_string_equal(path, want);
	free(path);
	config_set(&c, SETTING_PREFIX, "", "flag");
	path = config_path(&c, SETTING_PREFIX);
	assert_string_equal(path, "");
	free(path);
	config_release(&c);
}

static void patterns(void **state)
{
	const char *mask = settings[SETTING_MASK].fallback,
		   *drop = settings[SETTING_ENV_DROP].fallback;

	(void)state;
	assert_true(pattern_list_matches(mask, "PASSWORD"));
	assert_true(pattern_list_matches(mask, "PGPASSWORD"));
	assert_true(pattern_list_matches(mask, "my_secret_thing"));
	assert_true(pattern_list_matches(mask, "AWS_SECRET_ACCESS_KEY"));
	assert_true(pattern_list_matches(mask, "GITHUB_TOKEN"));
	assert_false(pattern_list_matches(mask, "PATH"));
	assert_false(pattern_list_matches(mask, "KEYBOARD"));
	assert_true(pattern_list_matches(drop, "_"));
	assert_true(pattern_list_matches(drop, "LS_COLORS"));
	assert_false(pattern_list_matches(drop, "LS_COLORSX"));
	assert_false(pattern_list_matches("", ""));
	assert_false(pattern_list_matches("", "x"));
	assert_false(pattern_list_matches("::", ""));
	assert_true(pattern_list_matches(":a:", "a"));
	assert_true(pattern_list_matches("*", ""));
	assert_true(pattern_list_matches("[", "[")); /* no pattern, then a name */
}

/* Every pattern, whatever way it goes, matches what fnmatch() says. */
static void patterns_are_those_of_fnmatch(void **state)
{
	static const char *const all[] = {
		"*",    "**",   "a",   "A*",  "*a",   "*aB*", "a*b", "?a",  "*a?*",   "[ab]*",
		"\\*a", "*\\*", "*ab", "ab*", "*a*b", "_*",   "*@*", "*`*", "*ab*a*", "***a***"};
	static const char *const names[] = {"",     "a",   "A",  "ab",   "aB",   "xab",  "abx",
					    "xABx", "ba",  "*a", "a*",   "_",    "\177", "@",
					    "`",    "aab", "aa", "abab", "xaxb", "x*y"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (pattern_list_matches(all[i], names[k]) !=
			    (fnmatch(all[i], names[k], FNM_CASEFOLD) == 0))
				fail_msg("'%s' and '%s'", all[i], names[k]);
}

#define with_places(f) cmocka_unit_test_setup_teardown(f, places_setup, places_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_is_sound),
		with_places(defaults),
		with_places(each_place_beats_the_one_before),
		with_places(where_the_users_file_is),
		with_places(a_linked_file_is_read),
		cmocka_unit_test(values_hold_anything),
		cmocka_unit_test(long_values),
		cmocka_unit_test(errors_name_file_and_line),
		cmocka_unit_test(the_rest_of_a_file_counts),
		with_places(bad_values_leave_the_default),
		with_places(files_that_are_none),
		cmocka_unit_test(paths_with_the_users_name),
		cmocka_unit_test(patterns),
		cmocka_unit_test(patterns_are_those_of_fnmatch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
