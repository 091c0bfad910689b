/* plimsoll bench: repeats one or two commands, records them, and compares them. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/compare/comparison.h"
#include "core/text/text.h"
#include "run/bench.h"
#include "store/query.h"

struct bench_options {
	struct comparison_options c;
	const char *names[BENCH_COMMANDS_MAX];
	size_t name_count;
	uint64_t rounds, warmup, seed;
	bool show_output, ignore_failure, gate;
};

/* Splits the arguments at "--" into commands. */
static int take_commands(struct bench_request *q, const struct bench_options *o, int argc,
			 char **argv)
{
	int begin = 0;

	for (int i = 0; i <= argc; i++) {
		if (i < argc && strcmp(argv[i], "--") != 0)
			continue;
		if (i == begin)
			return usage_error("bench", argc ? "bench: a command is empty"
							 : "bench needs a command");
		if (q->count == BENCH_COMMANDS_MAX)
			return usage_error("bench",
					   "bench: at most %d commands; -- separates them, use "
					   "sh -c for a command that needs it",
					   BENCH_COMMANDS_MAX);
		argv[i] = NULL;
		q->commands[q->count].argv = argv + begin;
		q->commands[q->count].name =
			q->count < o->name_count ? o->names[q->count] : path_base(argv[begin]);
		q->count++;
		begin = i + 1;
	}
	if (o->name_count > q->count)
		return usage_error("bench", "bench: more names than commands");
	return 0;
}

/* The jobs of one command in the order of its runs. */
static int find_jobs(struct store *s, const struct bench_result *r, size_t command, int64_t *jobs,
		     size_t *count, struct strbuf *why)
{
	for (size_t i = 0; i < r->runs[command]; i++) {
		int e = job_find_id(s, r->ids[command][i], &jobs[*count], why);

		if (e < 0) {
			if (!why->len)
				strbuf_addf(
					why,
					"run %s is not in the store; do its processes still run?",
					r->ids[command][i]);
			return e;
		}
		++*count;
	}
	return 0;
}

static int print(const struct bench_options *o, const struct run_comparison *c)
{
	if (c->b_count)
		return o->c.json  ? run_comparison_json(c, stdout)
		       : o->c.csv ? run_comparison_csv(c, stdout)
				  : run_comparison_table(c, NULL, stdout);
	if (!o->c.json && !o->c.csv) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		text_add_printable(&name, c->a_name, strlen(c->a_name));
		printf("%zu %s of %s\n\n", c->a_count, plural(c->a_count, "run", "runs"), name.buf);
	}
	return o->c.json  ? run_summary_json(c, stdout)
	       : o->c.csv ? run_summary_csv(c, stdout)
			  : run_summary_table(c, stdout);
}

/* The second command is compared with the first; if one of them never succeeded, the other is
 * summarised. */
static int conclude(struct context *ctx, const struct bench_options *o,
		    const struct bench_request *q, const struct bench_result *r)
{
	const size_t now = q->count > 1 && r->runs[1] ? 1 : 0, base = 0;
	const size_t all = r->runs[0] + r->runs[1];
	_cleanup_store_ struct store *s = NULL;
	_cleanup_run_comparison_ struct run_comparison c = {
		.alpha = 1 - o->c.confidence,
		.min_effect = o->c.min_effect,
		.a_count = r->runs[now],
		.b_count = now != base ? r->runs[base] : 0,
		.a_name = q->commands[now].name,
		.b_name = q->commands[base].name,
	};
	_cleanup_free_ int64_t *jobs = xcalloc(all + 1, sizeof(*jobs));
	_cleanup_free_ const char **names = xcalloc(all + 1, sizeof(*names));
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	size_t count = 0;

	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	int e = find_jobs(s, r, now, jobs, &count, &why);
	if (e >= 0 && now != base)
		e = find_jobs(s, r, base, jobs, &count, &why);
	for (size_t i = 0; i < count; i++)
		names[i] = i < c.a_count ? r->ids[now][i] : r->ids[base][i - c.a_count];
	c.run_names = names;
	if (e >= 0)
		e = run_comparison_make(&c, s, jobs, o->c.metrics, o->c.metric_count, 0, &why);
	if (e < 0)
		return fail_with(EXIT_FAILED, "%s", why.len ? why.buf : store_error(s));
	e = print(o, &c);
	if (e < 0)
		return fail_with(EXIT_FAILED, "cannot write: %s", strerror(-e));
	return o->gate && c.b_count ? comparison_status(c.verdict) : EXIT_OK;
}

/* Nothing runs that could not be stored. */
static bool is_store_ready(struct context *ctx)
{
	_cleanup_store_ struct store *s = NULL;

	return open_store(ctx, STORE_WRITE, &s) >= 0;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct bench_options *o = ctx->options;
	struct bench_request q = {.rounds = o->rounds,
				  .warmup = o->warmup,
				  .seed = o->seed,
				  .show_output = o->show_output,
				  .ignore_failure = o->ignore_failure,
				  .progress = isatty(STDERR_FILENO) && ctx->verbosity >= 0 &&
					      !o->show_output};
	_cleanup_bench_result_ struct bench_result r = {0};
	int status = take_commands(&q, o, argc, argv);

	if (status != 0)
		return status;
	if (o->gate && q.count < 2)
		return usage_error("bench", "bench: --gate needs two commands to compare");
	if (!is_store_ready(ctx))
		return EXIT_FAILED;
	int e = bench_run(ctx, &q, &r);
	if (!r.runs[0] && (q.count < 2 || !r.runs[1])) {
		ctx->end_by = r.signal;
		return EXIT_FAILED;
	}
	if (r.signal)
		log_warn("interrupted: showing the runs that are complete");
	status = conclude(ctx, o, &q, &r);
	if (r.signal)
		ctx->end_by = r.signal;
	return e < 0 || r.signal ? EXIT_FAILED : status;
}

static const struct option_row rows[] = {
	{OPT_COUNT, 'n', "runs", "N", "runs of each command; default: 10",
	 AT(struct bench_options, rounds), RANGE(1, BENCH_ROUNDS_MAX)},
	{OPT_COUNT, 0, "warmup", "N", "runs of each command before that, not recorded",
	 AT(struct bench_options, warmup), RANGE(0, BENCH_ROUNDS_MAX)},
	{OPT_LIST, 'N', "name", "NAME",
	 "name of the jobs; repeat for the second command; default: the program",
	 LIST(struct bench_options, names, name_count)},
	{OPT_SETTING, 0, "job-tags", "TAGS", "tags to add to the jobs",
	 .setting = SETTING_JOB_TAGS},
	{OPT_COUNT, 0, "seed", "N", "determines the order of the commands; default: 1",
	 AT(struct bench_options, seed)},
	{OPT_FLAG, 0, "show-output", NULL, "show the output of the commands",
	 AT(struct bench_options, show_output)},
	{OPT_FLAG, 'i', "ignore-failure", NULL, "go on if a command fails, and count that run",
	 AT(struct bench_options, ignore_failure)},
	ROW_COMPARED_METRIC(struct bench_options),
	ROW_MIN_EFFECT,
	ROW_CONFIDENCE,
	{OPT_FLAG, 0, "gate", NULL, "exit with the status of the verdict, as `plimsoll gate`",
	 AT(struct bench_options, gate)},
	ROW_CSV(struct comparison_options),
	ROW_JSON(struct comparison_options),
	ROWS_STORE,
};

static const struct bench_options defaults = {.c = COMPARISON_DEFAULTS, .rounds = 10, .seed = 1};

const struct command command_bench = {
	.name = "bench",
	.summary = "run commands repeatedly, record them and compare them",
	.operands = {.usage = "[--] COMMAND [ARGUMENT...] [-- COMMAND...]"},
	.description =
		"Runs a command several times and records each run as a job of the store, with time, "
		"CPU time, memory and I/O of all its processes. With two commands, each round runs "
		"both, in random order, so that a machine that becomes slower meanwhile affects both "
		"alike; the second command is then compared with the first, as `plimsoll compare` "
		"does. With one command, the median of each metric is shown with its confidence "
		"interval.\n\n"
		"Commands get no input; their output is discarded unless --show-output is given. A "
		"command that fails ends the benchmark. Runs that were complete before a failure or "
		"^C are in the store and are shown.\n\n"
		"`--` separates the commands, so a command that has it as an argument needs sh -c.\n\n"
		"The exit status is 0 if all runs succeeded, 1 or 2 after an error. With --gate, it is "
		"also 3 if the second command is worse and 4 if that is inconclusive.",
	.examples = "  plimsoll bench -n 20 -- ./model small.nml\n"
		    "  plimsoll bench -n 20 --warmup 2 -N old -N new -- ./old -- ./new\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.stops_at_words = true,
	.run = run,
};
