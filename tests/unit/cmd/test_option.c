/* Option rows: each type with good and bad values, the messages, help, and the rows of all
 * commands. */
#include "cmd/command.h"
#include "unit.h"

struct taken {
	bool flag, wait, has_when, called, insecure;
	int mode, form, times;
	const char *text, *json, *word;
	uint64_t wait_ns, interval_ns, bytes, count;
	int64_t step_us, when;
	const char *list[3], *names[4];
	size_t list_count, name_count;
};

static bool take_even(struct context *ctx, const char *value, struct strbuf *why)
{
	struct taken *o = ctx->options;

	if (!strcmp(value, "odd"))
		strbuf_addstr(why, "'odd' is what it says");
	o->called = !strcmp(value, "even");
	return o->called;
}

static const char *color(size_t i)
{
	static const char *const colors[] = {"red", "green", NULL};

	return colors[i];
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'f', "flag", NULL, "a flag", AT(struct taken, flag)},
	{OPT_FIXED, 0, "fast", NULL, "a mode", AT(struct taken, mode), .number = 7},
	{OPT_FIXED, 0, "plain", NULL, "a word", AT(struct taken, word), .text = "plain"},
	{OPT_TEXT, 't', "text", "TEXT", "a text", AT(struct taken, text)},
	{OPT_TEXT, 0, "json", "[FILE]", "may have a value", AT(struct taken, json), .text = "-"},
	{OPT_SETTING, 'j', "job", "ID", "a setting", .setting = SETTING_JOB},
	{OPT_SETTING, 0, "no-kernel", NULL, "fixed", .setting = SETTING_KERNEL, .text = "off"},
	{OPT_DURATION, 'i', "interval", "TIME", "a range", AT(struct taken, interval_ns),
	 RANGE(50 * MS, 3600 * SECONDS)},
	{OPT_DURATION, 0, "step", "TIME", "microseconds", AT(struct taken, step_us),
	 .unit_ns = 1000, .min = 10 * MS},
	{OPT_DURATION, 'w', "wait", "[TIME]", "given or not", AT(struct taken, wait_ns),
	 GIVEN(struct taken, wait)},
	{OPT_SIZE, 0, "bytes", "SIZE", "a size", AT(struct taken, bytes),
	 .setting = SETTING_COLLECT_LOG_LIMIT},
	{OPT_COUNT, 'n', "times", "N", "an int", AT(struct taken, times), RANGE(1, 9)},
	{OPT_COUNT, 0, "count", "N", "64 bits", AT(struct taken, count)},
	{OPT_TIME, 0, "when", "TIME", "a time", AT(struct taken, when),
	 GIVEN(struct taken, has_when)},
	{OPT_CHOICE, 0, "form", "FORM", "a number of a word", AT(struct taken, form),
	 WORDS({"table", 1}, {"csv", 2}, {"man", 3})},
	{OPT_CHOICE, 0, "color", "COLOR", "a word", AT(struct taken, word), .word_at = color},
	{OPT_CHOICE, 0, "threads", "DETAIL", "a setting", .setting = SETTING_THREADS,
	 WORDS({"full", 0}, {"off", 0})},
	{OPT_LIST, 'l', "list", "WORD", "a list", LIST(struct taken, list, list_count)},
	{OPT_LIST, 'm', "names", "NAMES", "a list with commas",
	 LIST(struct taken, names, name_count), .separator = ',', .takes = "names"},
	{OPT_CALL, 0, "even", "WORD", "computed", .call = take_even, .takes = "even"},
	{OPT_FLAG, 0, "insecure", NULL, "a flag of a setting", AT(struct taken, insecure),
	 .setting = SETTING_COLLECT_INSECURE},
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

/* ---- running it ----------------------------------------------------------------------------- */

static struct taken taken;
static int words;
static bool settings_too, settings_good;

static int run(struct context *ctx, int argc, char **argv)
{
	(void)argv;
	if (settings_too)
		settings_good = options_use_settings(rows, "thing", ctx);
	memcpy(&taken, ctx->options, sizeof(taken));
	words = argc;
	return EXIT_OK;
}

static const struct command thing = {
	.name = "thing",
	.summary = "a thing",
	.operands = {"WORD", 0, 3},
	.description = "A thing.",
	.options = rows,
	.defaults = &(const struct taken){.times = 1, .text = "default"},
	.options_size = sizeof(struct taken),
	.run = run,
};

static struct context ctx;
static char line[1024]; /* the words of the command line, which lists point into */
static char said[1024]; /* what it wrote to standard error */

/* Runs the command with words, blanks between; the status. */
static int execute(const char *text)
{
	char *argv[32] = {(char *)"thing"}, *save = NULL;
	int argc = 1, kept = dup(STDERR_FILENO), log = memfd_create("stderr", MFD_CLOEXEC);

	snprintf(line, sizeof(line), "%s", text);
	for (char *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	memset(&taken, 0, sizeof(taken));
	dup2(log, STDERR_FILENO);
	int status = command_execute(&thing, &ctx, argc, argv);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	ssize_t n = pread(log, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = 0;
	close(log);
	close(kept);
	return status;
}

static void good(const char *text)
{
	if (execute(text) != EXIT_OK)
		fail_msg("'%s' is refused: %s", text, said);
}

/* Refused, with exactly this said behind the name of the command, and one piece of advice. */
static void bad(const char *text, const char *message)
{
	_cleanup_free_ char *want =
		xasprintf("error: thing: %s%s\n", message,
			  strstr(message, "; ") ? "" : "; see `plimsoll help thing`");

	assert_int_equal(execute(text), EXIT_USAGE);
	if (!strstr(said, want))
		fail_msg("'%s' says: %swant: %s", text, said, want);
}

static int set_up(void **state)
{
	(void)state;
	ctx = (struct context){.program = "plimsoll"};
	log_init("plimsoll", LOG_WARN);
	for (int i = 0; i < SETTING_COUNT; i++)
		config_set(&ctx.config, (enum setting_id)i, "", "default");
	settings_too = false;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	config_release(&ctx.config);
	return 0;
}

/* ---- types ---------------------------------------------------------------------------------- */

static void test_flags(void **state)
{
	(void)state;
	good("");
	assert_false(taken.flag);
	assert_int_equal(taken.times, 1);
	assert_string_equal(taken.text, "default");
	good("-f --fast --plain a b");
	assert_true(taken.flag);
	assert_int_equal(taken.mode, 7);
	assert_string_equal(taken.word, "plain");
	assert_int_equal(words, 2);
	bad("--flag=yes", "--flag takes no value");
	bad("--help=x", "--help takes no value");
	bad("-Z", "unknown option -Z");
	bad("--flog", "unknown option --flog; did you mean --flag?");
}

static void test_texts(void **state)
{
	(void)state;
	good("--text one --text=two --json");
	assert_string_equal(taken.text, "two");
	assert_string_equal(taken.json, "-");
	good("--json=file -tx");
	assert_string_equal(taken.json, "file");
	assert_string_equal(taken.text, "x");
	bad("--text", "--text needs a value: TEXT");
	bad("-t", "--text needs a value: TEXT");
}

static void test_settings(void **state)
{
	(void)state;
	good("-j 4711 --no-kernel");
	assert_string_equal(config_get(&ctx.config, SETTING_JOB), "4711");
	assert_string_equal(ctx.config.origin[SETTING_JOB], "flag --job");
	assert_string_equal(config_get(&ctx.config, SETTING_KERNEL), "off");
	assert_string_equal(ctx.config.origin[SETTING_KERNEL], "flag --no-kernel");
}

static void test_durations(void **state)
{
	(void)state;
	good("-i 50ms --step 2s --wait");
	assert_int_equal(taken.interval_ns, 50 * MS);
	assert_int_equal(taken.step_us, 2000000);
	assert_true(taken.wait);
	assert_int_equal(taken.wait_ns, 0);
	good("--interval 1h -w3s");
	assert_int_equal(taken.interval_ns, 3600 * SECONDS);
	assert_int_equal(taken.wait_ns, 3 * SECONDS);
	bad("-i 49ms", "--interval takes a duration from 50ms to 1h, such as 500ms, 10s or 2h, not "
		       "'49ms'");
	bad("--interval=61m", "--interval takes a duration from 50ms to 1h, such as 500ms, 10s or "
			      "2h, not '61m'");
	bad("--step 9ms",
	    "--step takes a duration of 10ms or more, such as 500ms, 10s or 2h, not '9ms'");
	bad("--wait=soon", "--wait takes a duration such as 500ms, 10s or 2h, not 'soon'");
	bad("-i", "--interval needs a value: a duration from 50ms to 1h, such as 500ms, 10s or 2h");
}

static void test_numbers(void **state)
{
	(void)state;
	good("--bytes 2M -n 9 --count 18446744073709551615");
	assert_int_equal(taken.bytes, 2 << 20);
	assert_int_equal(taken.times, 9);
	assert_true(taken.count == UINT64_MAX);
	bad("--bytes many", "--bytes takes a size such as 500M or 2G, not 'many'");
	bad("-n 0", "--times takes a whole number from 1 to 9, not '0'");
	bad("-n 10", "--times takes a whole number from 1 to 9, not '10'");
	bad("-n 4294967297", "--times takes a whole number from 1 to 9, not '4294967297'");
	bad("--count -1", "--count takes a whole number, not '-1'");
	bad("--count 1x", "--count takes a whole number, not '1x'");
}

static void test_times(void **state)
{
	(void)state;
	good("--when 1700000000");
	assert_true(taken.has_when);
	assert_true(taken.when == 1700000000000000);
	bad("--when someday", "--when takes a time such as '2026-11-15 04:05', -2h, now or seconds "
			      "since 1970, not 'someday'");
}

static void test_choices(void **state)
{
	(void)state;
	good("--form csv --color green --threads off");
	assert_int_equal(taken.form, 2);
	assert_string_equal(taken.word, "green");
	assert_string_equal(config_get(&ctx.config, SETTING_THREADS), "off");
	assert_string_equal(ctx.config.origin[SETTING_THREADS], "flag --threads");
	bad("--form xml", "--form takes table, csv or man, not 'xml'");
	bad("--form cs", "--form takes table, csv or man, not 'cs'");
	bad("--color blue", "--color takes red or green, not 'blue'");
	bad("--form", "--form needs a value: table, csv or man");
}

static void test_lists(void **state)
{
	(void)state;
	good("-l a,b --list c word -l d");
	assert_int_equal(taken.list_count, 3);
	assert_string_equal(taken.list[0], "a,b");
	assert_string_equal(taken.list[2], "d");
	bad("-l a -l b -l c -l d", "--list: at most 3 values are allowed; 'd' is one too many");
	good("-m a,b --names c");
	assert_int_equal(taken.name_count, 3);
	assert_string_equal(taken.names[1], "b");
	assert_string_equal(taken.names[2], "c");
	bad("-m a,,b", "--names takes names, not 'a,,b'");
	bad("-m a,", "--names takes names, not 'a,'");
	bad("--names=", "--names takes names, not ''");
}

static void test_calls(void **state)
{
	(void)state;
	good("--even even");
	assert_true(taken.called);
	bad("--even odd", "--even: 'odd' is what it says");
	bad("--even x", "--even takes even, not 'x'");
	good("-vv");
	assert_int_equal(ctx.verbosity, 2);
	good("-q");
	assert_int_equal(ctx.verbosity, -1);
}

/* ---- names ---------------------------------------------------------------------------------- */

static void test_abbreviations(void **state)
{
	(void)state;
	good("--fl --inter 1s --thr full");
	assert_true(taken.flag);
	assert_int_equal(taken.interval_ns, SECONDS);
	assert_string_equal(ctx.config.origin[SETTING_THREADS], "flag --threads");
	bad("--inter x", "--interval takes a duration from 50ms to 1h, such as 500ms, 10s or 2h, "
			 "not 'x'");
	assert_int_equal(execute("--f"), EXIT_USAGE); /* --flag, --fast or --form */
}

static void test_words_behind(void **state)
{
	(void)state;
	good("-f -- --times 20");
	assert_int_equal(words, 2);
	assert_int_equal(ctx.behind, 2);
}

static void test_operands(void **state)
{
	(void)state;
	good("a b c");
	assert_int_equal(words, 3);
	bad("a b c d", "takes at most 3 WORD, not 4");
}

/* ---- settings behind options ---------------------------------------------------------------- */

static void test_use_settings(void **state)
{
	(void)state;
	settings_too = true;
	config_set(&ctx.config, SETTING_COLLECT_LOG_LIMIT, "3K", "/etc/plimsoll.conf:1");
	config_set(&ctx.config, SETTING_COLLECT_INSECURE, "yes", "/etc/plimsoll.conf:2");
	good("");
	assert_true(settings_good);
	assert_int_equal(taken.bytes, 3072);
	assert_true(taken.insecure);
	/* an option goes before, also where it says 0 */
	good("--bytes 0");
	assert_int_equal(taken.bytes, 0);
	config_set(&ctx.config, SETTING_COLLECT_INSECURE, "no", "/etc/plimsoll.conf:2");
	config_set(&ctx.config, SETTING_COLLECT_LOG_LIMIT, "lots", "/etc/plimsoll.conf:1");
	good("");
	assert_false(settings_good);
	assert_false(taken.insecure);
	assert_contains(said, "thing: collect_log_limit takes a size such as 500M or 2G, not "
			      "'lots'");
}

/* ---- help ----------------------------------------------------------------------------------- */

static void test_help(void **state)
{
	_cleanup_strbuf_ struct strbuf help = STRBUF_INIT, man = STRBUF_INIT;

	(void)state;
	command_help_text(&thing, &help);
	assert_contains(help.buf, "-i, --interval TIME        a range (from 50ms to 1h)\n");
	assert_contains(help.buf, "--step TIME            microseconds (10ms or more)\n");
	assert_contains(help.buf, "--color COLOR          a word (red or green)\n");
	assert_contains(help.buf, "--json[=FILE]          may have a value\n");
	command_man_text(&thing, &man);
	assert_contains(man.buf,
			"\\fB\\-\\-form\\fR FORM\na number of a word (table, csv or man)\n");
}

/* ---- the rows of all commands --------------------------------------------------------------- */

static size_t wanted_size(const struct option_row *o)
{
	switch (o->type) {
	case OPT_FLAG:
		return sizeof(bool);
	case OPT_TEXT:
		return sizeof(const char *);
	case OPT_DURATION:
	case OPT_SIZE:
	case OPT_TIME:
		return sizeof(uint64_t);
	case OPT_SETTING:
	case OPT_CALL:
		return 0;
	case OPT_COUNT:
		return o->max && o->max <= INT32_MAX && o->size == sizeof(int) ? sizeof(int)
									       : sizeof(uint64_t);
	case OPT_FIXED:
	case OPT_CHOICE:
		return o->text || o->word_at               ? sizeof(const char *)
		       : o->size == sizeof(bool)           ? sizeof(bool)
		       : o->type == OPT_CHOICE && !o->size ? 0
							   : sizeof(int);
	case OPT_LIST:
		return o->size / sizeof(const char *) * sizeof(const char *);
	}
	return 0;
}

static void check_row(const struct command *c, const struct option_row *o)
{
	bool no_value = o->type == OPT_FLAG || o->type == OPT_FIXED;

	if (o->size != wanted_size(o) || o->place + o->size > c->options_size ||
	    o->beside > c->options_size)
		fail_msg("%s --%s: its place is not that of its type", c->name, o->name);
	if ((no_value && o->arg) || (!no_value && !o->arg && !o->text && o->type != OPT_CALL))
		fail_msg("%s --%s: its type and its argument differ", c->name, o->name);
	if ((o->type == OPT_SETTING && !o->setting) || (o->type == OPT_CALL && !o->call) ||
	    (o->type == OPT_LIST && (!o->beside || !o->size)) ||
	    (o->type == OPT_CHOICE && !option_word(o, 0)) ||
	    (o->type == OPT_CHOICE && !o->size && !o->setting))
		fail_msg("%s --%s: something of its type is missing", c->name, o->name);
	for (const struct option_row *p = c->options; p < o; p++)
		if (!strcmp(p->name, o->name) || (p->letter && p->letter == o->letter))
			fail_msg("%s --%s: twice", c->name, o->name);
}

static void test_all_commands(void **state)
{
	(void)state;
	for (const struct command *const *c = commands; *c; c++) {
		size_t count = 0;

		for (const struct option_row *o = (*c)->options; o->name; o++, count++)
			check_row(*c, o);
		assert_in_range(count, 0, 64);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_flags, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_texts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_settings, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_durations, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_numbers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_times, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_choices, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lists, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_calls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_abbreviations, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_words_behind, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_operands, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_use_settings, set_up, tear_down),
		cmocka_unit_test(test_help),
		cmocka_unit_test(test_all_commands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
