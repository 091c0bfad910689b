/*
 * Called as `epmt`: its commands and options, each a row with its own help, from which parsing and
 * the help of every command are made. Options stand before or behind the command, as in older
 * EPMTs.
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "compat/epmt/epmt.h"

/* commands: those that take it, NULL: all. loose: taken, and without effect, by the others, too,
 * because older EPMTs had it in front of any command. */
static const struct option_of {
	char letter;
	const char *name, *arg, *commands, *help;
	size_t flag; /* place of a bool in struct epmt; 0: see take_value() */
	bool loose;
} rows[] = {
#define FLAG(field) offsetof(struct epmt, field)
	{'h', "help", NULL, NULL, "show this and exit", FLAG(help), true},
	{'V', "version", NULL, NULL, "print the version and exit", FLAG(version), true},
	{'v', "verbose", NULL, NULL, "say more; twice for even more", 0, true},
	{'d', "debug", NULL, NULL, "the same", 0, true},
	{'j', "jobid", "ID", NULL, "the job, instead of the batch system's", 0, true},
	{'a', "auto", NULL, "run", "start before and stop after the command", FLAG(automatic),
	 true},
	{'n', "dry-run", NULL, "run submit retire", "show what would be done", FLAG(dry), true},
	{'e', "error", NULL, "start stop stage submit concat", "exit at the first sign of trouble",
	 FLAG(error), true},
	{0, "drop", NULL, "submit", "empty the store first", FLAG(drop), true},
	{'s', "slurm", NULL, "source", "lines for a TaskProlog of Slurm", FLAG(slurm), false},
	{0, "no-collate", NULL, "stage", "keep one CSV file a process", FLAG(no_collate), false},
	{0, "no-compress-and-tar", NULL, "stage", "move the directory as it is", FLAG(no_archive),
	 false},
	{'r', "remove", NULL, "submit", "remove an input once it is stored", FLAG(remove), false},
	{'m', "move-away", NULL, "submit", "move an input that failed to ingest_failed_dir",
	 FLAG(move_away), false},
	{'p', "num-cpus", "[N]", "submit", "so many at once; without N one for each CPU", 0, false},
	{'k', "key", "KEY", "dump", "only the value of this key", 0, false},
	{0, "replace", NULL, "annotate", "remove the annotations that are there first",
	 FLAG(replace), false},
	{'f', "force", NULL, "drop", "do not ask", FLAG(force), false},
	{'u', "skip-unproc", NULL, "retire",
	 "leave unprocessed jobs; there are none, as submit processes every job", FLAG(skip_unproc),
	 false},
	{'r', "retire-jobs", NULL, "dbcare", "remove jobs that are older than retire_jobs_ndays",
	 FLAG(retire_jobs), false},
	{0, "vacuum-tables", NULL, "dbcare", "give space back", FLAG(vacuum), false},
	{'p', "post-process", NULL, "dbcare",
	 "process what is unprocessed; nothing ever is, as submit processes every job",
	 FLAG(post_process), false},
	{'m', "metric", "METRIC", "explore", "metric to look at; duration unless it is named", 0,
	 false},
	{'l', "limit", "N", "explore", "so many components; 10 unless it is given", 0, false},
	{'o', "output-file", "FILE", "concat", "name of the output", 0, false},
	{'E', "error-dir", "DIR", "concat", "where bad files are put", 0, false},
#undef FLAG
};

static bool among(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; p && *p; p += strcspn(p, " "), p += *p == ' ')
		if (!strncmp(p, word, n) && (!p[n] || p[n] == ' '))
			return true;
	return false;
}

/* Does the command take it? Before one is known, every option may be its own. */
static bool fits(const struct option_of *r, const char *command)
{
	return !r->commands || !command || among(r->commands, command) || r->loose;
}

static const struct option_of *by_letter(char letter, const char *command)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].letter == letter && fits(&rows[i], command))
			return &rows[i];
	return NULL;
}

/* By name or by the beginning of a name, where that is one option's alone. */
static const struct option_of *by_name(const char *name, size_t n, const char *command)
{
	const struct option_of *found = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strncmp(rows[i].name, name, n) != 0 || !fits(&rows[i], command))
			continue;
		if (!rows[i].name[n])
			return &rows[i];
		if (found)
			return NULL;
		found = &rows[i];
	}
	return found;
}

PL_PRINTF(2, 3)
static int bad(const struct epmt *e, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	log_error("%s; `epmt %s%shelp` lists the options", text.buf, e->command ? e->command : "",
		  e->command ? " --" : "");
	return -EINVAL;
}

static int take_value(struct context *ctx, struct epmt *e, const struct option_of *r,
		      const char *value)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	switch (r->letter) {
	case 'k':
		e->key = value;
		return 0;
	case 'j':
		config_set(&ctx->config, SETTING_JOB, value, "flag -j");
		return 0;
	case 'o':
		e->output = value;
		return 0;
	case 'E':
		e->error_dir = value;
		return 0;
	case 'm':
		e->metric = value;
		return 0;
	case 'l':
		if (parse_u64(value, &e->limit) < 0 || !e->limit)
			return bad(e, "--limit takes a number, not '%s'", value);
		return 0;
	case 'p':
		e->workers = cpus > 0 ? (uint64_t)cpus : 1;
		if (value && (parse_u64(value, &e->workers) < 0 || !e->workers))
			return bad(e, "--num-cpus takes a number, not '%s'", value);
		return 0;
	default: /* -v and -d */
		ctx->verbosity++;
		log_init("epmt", ctx->verbosity > 1 ? LOG_DEBUG : LOG_INFO);
		return 0;
	}
}

/* One option with its value, which may be the next word; *i moves on over it. */
static int take(struct context *ctx, struct epmt *e, const struct option_of *r, const char *given,
		char **argv, int *i)
{
	if (r->flag) {
		*(bool *)((char *)e + r->flag) = true;
		return 0;
	}
	if (!r->arg || given)
		return take_value(ctx, e, r, given);
	const char *next = argv[*i + 1];
	uint64_t n;
	if (*r->arg == '[') { /* a number, or nothing: what follows may be a file */
		bool number = next && parse_u64(next, &n) == 0;

		*i += number;
		return take_value(ctx, e, r, number ? next : NULL);
	}
	if (!next)
		return bad(e, "option --%s needs a value", r->name);
	++*i;
	return take_value(ctx, e, r, next);
}

static int take_long(struct context *ctx, struct epmt *e, char **argv, int *i)
{
	const char *name = argv[*i] + 2;
	size_t n = strcspn(name, "=");
	const struct option_of *r = by_name(name, n, e->command);

	if (!r)
		return bad(e, "there is no option %s", argv[*i]);
	if (name[n] && !r->arg)
		return bad(e, "option --%s takes no value", r->name);
	return take(ctx, e, r, name[n] ? name + n + 1 : NULL, argv, i);
}

/* "-e", "-er", "-vv", "-j1", "-p4" */
static int take_letters(struct context *ctx, struct epmt *e, char **argv, int *i)
{
	int r = 0;

	for (const char *p = argv[*i] + 1; *p && r == 0; p++) {
		const struct option_of *row = by_letter(*p, e->command);

		if (!row)
			return bad(e, "there is no option -%c", *p);
		bool value = row->arg && p[1];
		r = take(ctx, e, row, value ? p + 1 : NULL, argv, i);
		if (row->arg)
			break;
	}
	return r;
}

/* The command is the first word that is neither an option nor the value of one. */
static const char *find_command(char **argv)
{
	for (int i = 1; argv[i]; i++) {
		if (argv[i][0] != '-' || !argv[i][1])
			return argv[i];
		const struct option_of *r =
			argv[i][1] == '-' ? by_name(argv[i] + 2, strlen(argv[i] + 2), NULL)
					  : by_letter(argv[i][1], NULL);
		bool alone = argv[i][1] == '-' || !argv[i][2];

		if (r && r->arg && *r->arg != '[' && alone && argv[i + 1])
			i++;
	}
	return NULL;
}

int epmt_parse(struct context *ctx, struct epmt *e, int argc, char **argv)
{
	bool seen = false;
	int r = 0;

	e->words = argv; /* words overwrite what was read before them */
	e->command = find_command(argv);
	bool running = e->command && !strcmp(e->command, "run");
	bool notebook = e->command && !strcmp(e->command, "notebook");
	bool daemon = e->command && !strcmp(e->command, "daemon");
	bool python = e->command && among("python shell", e->command);
	for (int i = 1; i < argc && r == 0; i++) {
		const char *arg = argv[i];
		bool end = !strcmp(arg, "--");

		/* the rest belongs to another program, or to the command's own parser */
		bool help = !strcmp(arg, "-h") || !strcmp(arg, "--help");
		if (seen && ((running && (end || arg[0] != '-')) || (notebook && end) ||
			     ((daemon || python) && !help))) {
			e->words = argv + i + (end && !daemon);
			e->word_count = argc - i - (end && !daemon);
			return 0;
		}
		if (!seen && arg == e->command)
			seen = true;
		else if (end)
			continue;
		else if (arg[0] != '-' || !arg[1])
			e->words[e->word_count++] = argv[i];
		else
			r = arg[1] == '-' ? take_long(ctx, e, argv, &i)
					  : take_letters(ctx, e, argv, &i);
	}
	return r;
}

/* ---- help ----------------------------------------------------------------------------------- */

static void print_options(const char *command, FILE *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		if (rows[i].commands ? !among(rows[i].commands, command) : rows[i].letter == 'd')
			continue;
		if (rows[i].letter)
			strbuf_addf(&name, "-%c, ", rows[i].letter);
		strbuf_addf(&name, "--%s", rows[i].name);
		if (rows[i].arg)
			strbuf_addf(&name, " %s", rows[i].arg);
		fprintf(f, "  %-28s %s\n", name.buf, rows[i].help);
	}
}

void epmt_print_command(const struct epmt_command *c, FILE *f)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "usage: epmt %s [option ...]", c->name);
	if (*c->arguments)
		strbuf_addf(&line, " %s", c->arguments);
	fprintf(f, "%s\n\n%s\n", line.buf, c->summary);
	if (c->more)
		fprintf(f, "%s\n", c->more);
	fputs("\noptions:\n", f);
	print_options(c->name, f);
}

void epmt_print_usage(FILE *f)
{
	fputs("usage: epmt [-h] [-V] [-v ...] COMMAND [option ...] [argument ...]\n\ncommands:\n",
	      f);
	for (const struct epmt_command *c = epmt_commands; c->name; c++)
		fprintf(f, "  %-12s %s\n", c->name, c->summary);
	fputs("\n`epmt COMMAND --help` tells more of one.\n", f);
}
