/* plimsoll retire: old jobs out of the store, by age, number or size. Nothing goes by default. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "core/clock.h"
#include "core/text/text.h"
#include "store/job_admin.h"

struct telling {
	bool dry;
	int verbosity;
};

static void tell(void *user, const char *jobid, int64_t end_us)
{
	const struct telling *t = user;
	_cleanup_strbuf_ struct strbuf when = STRBUF_INIT, id = STRBUF_INIT;

	if (t->verbosity < 0)
		return;
	text_add_time(&when, end_us, false);
	text_add_printable(&id, jobid, strlen(jobid));
	printf("%s %s, ended %.19s\n", t->dry ? "would retire" : "retired", id.buf, when.buf);
}

/* What is configured, where a flag did not say otherwise. */
static int limits_of(struct context *ctx, struct retire_limits *l)
{
	const char *age = config_get(&ctx->config, SETTING_RETIRE_AGE);
	const char *keep = config_get(&ctx->config, SETTING_RETIRE_KEEP);
	const char *size = config_get(&ctx->config, SETTING_RETIRE_SIZE);
	uint64_t ns = 0;

	*l = (struct retire_limits){0};
	if (*age && parse_duration_ns(age, &ns) < 0) {
		log_error("'%s' is no age such as 90d or 12h", age);
		return -EINVAL;
	}
	if (ns)
		l->before_us = clock_realtime_us() - (int64_t)(ns / 1000);
	if (*keep && parse_u64(keep, &l->keep) < 0) {
		log_error("'%s' is no number of jobs", keep);
		return -EINVAL;
	}
	if (*size && parse_size(size, &l->bytes) < 0) {
		log_error("'%s' is no size such as 500M or 20G", size);
		return -EINVAL;
	}
	return 0;
}

int64_t retire_configured(struct context *ctx, struct store *s, bool dry)
{
	struct telling t = {dry, ctx->verbosity};
	struct retire_limits l;

	int r = limits_of(ctx, &l);
	if (r < 0)
		return r;
	if (!l.before_us && !l.keep && !l.bytes)
		return 0;
	int64_t n = store_retire(s, &l, dry, tell, &t);
	if (n < 0)
		log_error("%s", store_error(s));
	return n;
}

struct retire_options {
	bool dry;
};

int do_retire(struct context *ctx, bool dry)
{
	_cleanup_store_ struct store *s = NULL;
	struct retire_limits l;

	if (limits_of(ctx, &l) < 0)
		return ctx->personality->bad_value_fails ? EXIT_FAILED : EXIT_USAGE;
	if (!l.before_us && !l.keep && !l.bytes) {
		log_warn("no limit is set, so every job stays; --older-than, --keep or --max-size "
			 "sets one");
		return EXIT_OK;
	}
	if (open_store(ctx, STORE_WRITE, &s) < 0)
		return EXIT_FAILED;
	int64_t n = retire_configured(ctx, s, dry);
	if (n == 0 && ctx->verbosity >= 0)
		puts("no job is over the limits");
	return n < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct retire_options *o = ctx->options;

	if (argc)
		return usage_error("retire", "retire takes no argument, but '%s'", argv[0]);
	return do_retire(ctx, o->dry);
}

const struct command command_retire = {
	.name = "retire",
	.summary = "remove old jobs from the store",
	.arguments = "",
	.description =
		"Removes the oldest jobs until none is over the limits that are given or configured "
		"(retire_age, retire_keep, retire_size). Without a limit nothing is removed. The age of "
		"a job counts from its end.",
	.examples = "  plimsoll retire --older-than 400d --dry-run\n"
		    "  plimsoll retire --keep 10000 --max-size 20G\n",
	.options =
		(const struct option_row[]){
			{OPT_SETTING, 0, "older-than", "AGE",
			 "jobs that ended longer ago: 90d, 12h", .setting = SETTING_RETIRE_AGE},
			{OPT_SETTING, 0, "keep", "N", "all but the newest N jobs",
			 .setting = SETTING_RETIRE_KEEP},
			{OPT_SETTING, 0, "max-size", "BYTES",
			 "the oldest while the jobs take more than about this: 500M, 20G",
			 .setting = SETTING_RETIRE_SIZE},
			{OPT_FLAG, 'n', "dry-run", NULL, "tell which, remove nothing",
			 AT(struct retire_options, dry)},
			ROW_DB,
			ROW_VERBOSE,
			ROW_QUIET,
			ROW_END,
		},
	.options_size = sizeof(struct retire_options),
	.run = run,
};
