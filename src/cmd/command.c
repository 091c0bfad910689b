/* Parses the command line and runs commands; see command.h. */
#include "cmd/command.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "context/job_argument.h"
#include "store/query.h"
#include "tables/table.h"
#include "views/stream_table.h"

#define COMMAND(symbol) extern const struct command command_##symbol;
#include "cmd/commands.def"
#undef COMMAND

const struct command *const commands[] = {
#define COMMAND(symbol) &command_##symbol,
#include "cmd/commands.def"
#undef COMMAND
	NULL,
};

const struct command *command_find(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (!strcmp((*c)->name, name))
			return *c;
	return NULL;
}

/* ---- options -------------------------------------------------------------------------------- */

#define OPTIONS_MAX 64 /* bits of ctx->given */
#define LONG_BASE 256  /* what getopt_long() returns for the first row */
#define HELP_ID (LONG_BASE + OPTIONS_MAX)

struct parser {
	struct option longs[OPTIONS_MAX + 2];
	char shorts[3 * OPTIONS_MAX + 8];
};

static int arg_kind(const struct option_row *o)
{
	return !o->arg ? no_argument : o->arg[0] == '[' ? optional_argument : required_argument;
}

static void make_parser(const struct command *c, struct parser *p)
{
	size_t n = 0, s = 0;

	/* '+': an argument ends the options; ':': we report missing values ourselves */
	if (c->stops_at_words)
		p->shorts[s++] = '+';
	p->shorts[s++] = ':';
	p->shorts[s++] = 'h';
	for (const struct option_row *o = c->options; o && o->name && n < OPTIONS_MAX; o++) {
		p->longs[n] = (struct option){o->name, arg_kind(o), NULL, LONG_BASE + (int)n};
		n++;
		if (!o->letter)
			continue;
		p->shorts[s++] = o->letter;
		for (int i = 0; i < arg_kind(o); i++)
			p->shorts[s++] = ':';
	}
	p->longs[n++] = (struct option){"help", no_argument, NULL, HELP_ID};
	p->longs[n] = (struct option){0};
	p->shorts[s] = 0;
}

/* The row for a result of getopt_long(); NULL: none. */
static const struct option_row *row_of(const struct command *c, int got)
{
	if (got >= LONG_BASE)
		return got < HELP_ID ? c->options + (got - LONG_BASE) : NULL;
	for (const struct option_row *o = c->options; o && o->name; o++)
		if (o->letter == (char)got)
			return o;
	return NULL;
}

static int print_help(const struct command *c)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	command_help_text(c, &text);
	fwrite(text.buf, 1, text.len, stdout);
	return EXIT_OK;
}

/* Reports an unknown option, or a missing or unexpected value. */
static int bad_option(const struct command *c, int got, const char *word)
{
	_cleanup_strbuf_ struct strbuf takes = STRBUF_INIT;
	const struct option_row *o = optopt ? row_of(c, optopt) : NULL;

	if (got == ':' && o) {
		option_add_takes(o, &takes);
		return usage_error(c->name, "%s: --%s needs a value: %s", c->name, o->name,
				   takes.len ? takes.buf : o->arg);
	}
	if (optopt >= LONG_BASE)
		return usage_error(c->name, "%s: --%s takes no value", c->name,
				   o ? o->name : "help");
	return optopt ? usage_error(c->name, "%s: unknown option -%c", c->name, optopt)
		      : unknown_option(c, word);
}

/* Takes the options. Returns -1, or the exit status if there is nothing to run. */
static int take_options(const struct command *c, struct context *ctx, int argc, char **argv)
{
	struct parser p;
	int got;

	make_parser(c, &p);
	optind = 0;
	opterr = 0;
	while ((got = getopt_long(argc, argv, p.shorts, p.longs, NULL)) != -1) {
		if (got == 'h' || got == HELP_ID)
			return print_help(c);
		if (got == '?' || got == ':')
			return bad_option(c, got, argv[optind - 1]);
		const struct option_row *o = row_of(c, got);
		_cleanup_free_ char *what = xasprintf("--%s", o->name);

		if (!option_take(o, c->name, what, ctx, optarg))
			return EXIT_USAGE;
		ctx->given |= 1ull << (o - c->options);
	}
	return -1;
}

/* Counts the words after "--", before getopt() moves them. */
static int words_behind(int argc, char **argv)
{
	int i = 1;

	while (i < argc && strcmp(argv[i], "--") != 0)
		i++;
	return i < argc ? argc - i - 1 : 0;
}

/* ---- operands ------------------------------------------------------------------------------- */

/* Is the number of operands right? Reports it if not. */
static bool check_operands(const struct command *c, int argc, char **argv)
{
	const struct operands *o = &c->operands;
	const char *hint = o->hint ? o->hint : "", *link = o->hint ? "; " : "";

	if (c->stops_at_words || (argc >= o->min && argc <= o->max))
		return true;
	if (!o->max)
		usage_error(c->name, "%s: unexpected argument '%s'%s%s", c->name, argv[0], link,
			    hint);
	else if (argc < o->min)
		usage_error(c->name, "%s: missing %s%s%s", c->name, o->name, link, hint);
	else
		usage_error(c->name, "%s: takes %s%d %s, not %d%s%s", c->name,
			    o->min == o->max ? "" : "at most ", o->max, o->name, argc, link, hint);
	return false;
}

int report_store_error(const struct store *s, int r)
{
	if (r < 0)
		log_error("%s", s->error.len ? store_error(s) : strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int show_job(const struct command *c, struct context *ctx, const char *name)
{
	_cleanup_store_ struct store *s = NULL;
	int64_t job = 0;
	int status = c->check ? c->check(ctx) : EXIT_OK;
	bool paths = c->shows_paths || (c->shows_unstored && getenv(COMMAND_OF_SERVER));

	if (status != EXIT_OK)
		return status;
	if (paths ? job_argument_open(ctx, name, &s, &job) < 0
		  : open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (!paths && (job = find_stored_job(s, name)) < 0)
		return EXIT_FAILED;
	status = c->show(ctx, s, job);
	return status < 0 ? report_store_error(s, status) : status;
}

int command_execute(const struct command *c, struct context *ctx, int argc, char **argv)
{
	_cleanup_free_ void *options = xcalloc(1, c->options_size);

	if (c->defaults)
		memcpy(options, c->defaults, c->options_size);
	ctx->options = options;
	ctx->given = 0;
	ctx->behind = words_behind(argc, argv);
	const char *format = getenv(COMMAND_OF_SERVER);
	stream_table_format = format ? table_format_by_name(format) : NULL;
	int status = take_options(c, ctx, argc, argv);
	argc -= optind;
	argv += optind;
	if (status < 0 && !check_operands(c, argc - (c->passes_on ? ctx->behind : 0), argv))
		status = EXIT_USAGE;
	if (status == EXIT_USAGE && c->usage_status)
		return c->usage_status;
	if (status >= 0)
		return status;
	if (ctx->problems)
		warn_lines(ctx->problems, NULL);
	ctx->problems = NULL;
	return c->show ? show_job(c, ctx, argc ? argv[0] : "last") : c->run(ctx, argc, argv);
}
