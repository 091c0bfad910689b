/* plimsoll db: maintains the store. Each action is a row of a table. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "core/text/text.h"
#include "store/import/databases.h"
#include "store/ingest/merge_streamed.h"

struct db_options {
	bool force, json;
};

static int store_failed(const struct store *s)
{
	return report_store_error(s, -EIO);
}

static int do_migrate(struct context *ctx, struct store *s, const char *arg PL_UNUSED)
{
	int have = 0, now = 0;

	if (schema_current(s, &have) < 0)
		return store_failed(s);
	if (have > schema_newest())
		return fail_with(
			EXIT_FAILED,
			"'%s' has schema %d, but this program knows only %d; use a newer plimsoll",
			s->where, have, schema_newest());
	if (schema_migrate(s) < 0 || schema_current(s, &now) < 0)
		return store_failed(s);
	if (ctx->verbosity >= 0)
		printf(have == now ? "schema %d, nothing to do\n" : "schema %d, was %d\n", now,
		       have);
	return EXIT_OK;
}

static int do_schema(struct context *ctx PL_UNUSED, struct store *s, const char *arg PL_UNUSED)
{
	for (const struct migration *m = migrations; m->number; m++) {
		_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

		schema_expand(s->engine, m->sql, &sql);
		printf("-- migration %d: %s\n%s\n", m->number, m->name,
		       sql.buf + strspn(sql.buf, "\n"));
	}
	return EXIT_OK;
}

static int do_size(struct context *ctx, struct store *s, const char *arg PL_UNUSED)
{
	const struct db_options *o = ctx->options;
	int64_t bytes = 0, jobs = 0, processes = 0, images = 0, samples = 0;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (s->engine->size(s, &bytes) < 0 ||
	    store_number(s, "SELECT count(*) FROM job", &jobs) < 0 ||
	    store_number(s, "SELECT coalesce(sum(processes), 0) FROM job", &processes) < 0 ||
	    store_number(s, "SELECT coalesce(sum(" STORE_RECORDED "), 0) FROM job j", &images) <
		    0 ||
	    store_number(s, "SELECT coalesce(sum(count), 0) FROM sample_series", &samples) < 0)
		return store_failed(s);
	if (o && o->json) {
		_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

		json_begin_object(&j, NULL);
		json_str(&j, "store", s->where);
		json_i64(&j, "bytes", bytes);
		json_i64(&j, "jobs", jobs);
		json_i64(&j, "processes", processes);
		json_i64(&j, "images", images);
		json_i64(&j, "samples", samples);
		json_end_object(&j);
		return json_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	}
	text_add_bytes(&text, (double)bytes);
	printf("%s: %s, %lld %s, %lld %s", s->where, text.buf, (long long)jobs,
	       plural(jobs, "job", "jobs"), (long long)processes,
	       plural(processes, "process", "processes"));
	if (images != processes)
		printf(" (%lld %s)", (long long)images, plural(images, "image", "images"));
	if (samples)
		printf(", %lld %s", (long long)samples, plural(samples, "sample", "samples"));
	else if (images)
		printf(", %lld bytes per image", (long long)(bytes / images));
	putchar('\n');
	return EXIT_OK;
}

static int do_check_store(struct context *ctx, struct store *s, const char *arg PL_UNUSED)
{
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;
	int have = 0;

	if (schema_current(s, &have) < 0)
		return store_failed(s);
	if (have != schema_newest())
		strbuf_addf(&problems, "schema %d, this program needs %d\n", have, schema_newest());
	if (s->engine->check(s, &problems) < 0)
		return store_failed(s);
	if (problems.len) {
		fputs(problems.buf, stdout);
		return EXIT_FAILED;
	}
	if (ctx->verbosity >= 0)
		printf("%s: sound, schema %d\n", s->where, have);
	return EXIT_OK;
}

static int do_vacuum(struct context *ctx, struct store *s, const char *arg PL_UNUSED)
{
	int64_t before = 0, after = 0;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (s->engine->size(s, &before) < 0 || s->engine->vacuum(s) < 0 ||
	    s->engine->size(s, &after) < 0)
		return store_failed(s);
	if (ctx->verbosity < 0)
		return EXIT_OK;
	text_add_bytes(&text, (double)before);
	strbuf_addstr(&text, " before, ");
	text_add_bytes(&text, (double)after);
	printf("%s: %s now\n", s->where, text.buf);
	return EXIT_OK;
}

/* Removes all jobs with --force, or if a person confirms it. */
int do_drop(struct context *ctx, struct store *s, bool force)
{
	char answer[8] = "";

	if (!force) {
		if (!isatty(STDIN_FILENO))
			return fail_with(EXIT_FAILED,
					 "drop removes every job in '%s'; confirm with --force",
					 s->where);
		fprintf(stderr, "This removes every job in '%s'. Continue (yes/NO)? ", s->where);
		if (!fgets(answer, sizeof(answer), stdin) || strcmp(answer, "yes\n") != 0)
			return EXIT_FAILED;
	}
	if (schema_drop(s) < 0)
		return store_failed(s);
	if (ctx->verbosity >= 0)
		printf("%s: empty\n", s->where);
	return EXIT_OK;
}

static int do_drop_word(struct context *ctx, struct store *s, const char *arg PL_UNUSED)
{
	const struct db_options *o = ctx->options;

	return do_drop(ctx, s, o->force);
}

static int do_backup(struct context *ctx, struct store *s, const char *arg)
{
	if (access(arg, F_OK) == 0)
		return fail_with(EXIT_FAILED, "'%s' already exists", arg);
	if (s->engine->backup(s, arg) < 0)
		return store_failed(s);
	if (ctx->verbosity >= 0)
		printf("%s\n", arg);
	return EXIT_OK;
}

/* ---- import --------------------------------------------------------------------------------- */

struct importing {
	const struct context *ctx;
	bool terminal;
};

static void print_progress(void *user, const struct database_import *so_far, size_t done,
			   const char *jobid, int result, const char *sentence)
{
	const struct importing *i = user;
	_cleanup_strbuf_ struct strbuf id = STRBUF_INIT;

	text_add_printable(&id, jobid, strlen(jobid));
	if (result < 0 && result != -EEXIST) {
		if (i->terminal)
			fputs("\r\033[K", stderr);
		log_error("job %s not imported: %s", id.buf, sentence);
	} else if (i->ctx->verbosity > 0) {
		fprintf(stderr, "job %s %s\n", id.buf, result ? "already exists" : "imported");
	}
	if (i->terminal && i->ctx->verbosity == 0)
		fprintf(stderr, "\r\033[K%zu of %zu %s, %llu %s", done, so_far->jobs,
			plural(so_far->jobs, "job", "jobs"), (unsigned long long)so_far->processes,
			plural(so_far->processes, "process", "processes"));
}

static int print_import(const struct context *ctx, const struct database_import *sum)
{
	const struct db_options *o = ctx->options;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	if (!o || !o->json) {
		printf("%zu %s imported (%llu %s), %zu already there, %zu failed, %zu %s\n",
		       sum->stored, plural(sum->stored, "job", "jobs"),
		       (unsigned long long)sum->processes,
		       plural(sum->processes, "process", "processes"), sum->there, sum->failed,
		       sum->models, plural(sum->models, "model", "models"));
		return 0;
	}
	json_begin_object(&j, NULL);
	json_u64(&j, "jobs", sum->jobs);
	json_u64(&j, "imported", sum->stored);
	json_u64(&j, "there_already", sum->there);
	json_u64(&j, "left_out", sum->failed);
	json_u64(&j, "processes", sum->processes);
	json_u64(&j, "models", sum->models);
	json_end_object(&j);
	return json_write(&j, stdout);
}

static int do_import(struct context *ctx, struct store *s, const char *arg)
{
	struct importing i = {ctx, isatty(STDERR_FILENO)};
	_cleanup_store_ struct store *from = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct database *database;
	struct database_import sum = {0};

	if (database_open(&from, &database, arg, &why) < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	int r = database->import(from, s, print_progress, &i, &sum, &why);
	if (i.terminal && ctx->verbosity == 0)
		fputs("\r\033[K", stderr);
	if (r < 0)
		log_error("%s; the jobs imported so far are stored, repeat the command to continue",
			  why.buf);
	if (ctx->verbosity >= 0 && print_import(ctx, &sum) < 0)
		return EXIT_FAILED;
	return r < 0 || sum.failed ? EXIT_FAILED : EXIT_OK;
}

static const struct {
	const char *name, *arg;
	enum store_access access;
	int (*run)(struct context *ctx, struct store *s, const char *arg);
} words[] = {
	{"migrate", NULL, STORE_MANAGE, do_migrate}, {"schema", NULL, STORE_MANAGE, do_schema},
	{"size", NULL, STORE_READ, do_size},         {"check", NULL, STORE_MANAGE, do_check_store},
	{"vacuum", NULL, STORE_WRITE, do_vacuum},    {"drop", NULL, STORE_MANAGE, do_drop_word},
	{"backup", "FILE", STORE_READ, do_backup},   {"import", "URL", STORE_WRITE, do_import},
};

int do_db(struct context *ctx, const char *word, const char *arg)
{
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		_cleanup_store_ struct store *s = NULL;

		if (strcmp(words[i].name, word) != 0)
			continue;
		if (!words[i].arg != !arg)
			return usage_error("db",
					   words[i].arg ? "db %s: missing %s"
							: "db %s takes no argument",
					   word, words[i].arg);
		if (open_store(ctx, words[i].access, &s) < 0)
			return EXIT_FAILED;
		return words[i].run(ctx, s, arg);
	}
	return usage_error("db", "db: unknown action '%s'", word);
}

static int run(struct context *ctx, int argc, char **argv)
{
	return do_db(ctx, argv[0], argc == 2 ? argv[1] : NULL);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'f', "force", NULL, "drop without asking", AT(struct db_options, force)},
	ROW_JSON(struct db_options),
	ROWS_STORE,
};

const struct command command_db = {
	.name = "db",
	.summary = "maintain the store",
	.operands = {"ACTION", 1, 2,
		     .usage = "migrate|schema|size|check|vacuum|drop|backup FILE|import URL",
		     .hint = "actions are migrate, schema, size, check, vacuum, drop, backup FILE "
			     "and import URL"},
	.description =
		"migrate updates the tables, each step in a transaction. schema prints their "
		"definitions, size their size. check looks for damage and exits with 1 if there is "
		"any. vacuum frees unused space and updates statistics. drop removes every job. backup "
		"writes a copy of a SQLite store while others may write to it.\n\n"
		"import copies the jobs of another tool's database, a SQLite file or postgresql://..., "
		"into the store: processes, threads, tags, annotations, and analyses and reference "
		"models as that tool has them. The source is only read. A job is copied completely or "
		"not at all, and existing jobs are skipped, so that an interrupted import can be "
		"repeated. The exit status is 1 if a job could not be imported.",
	.examples = "  plimsoll db size\n  plimsoll db backup jobs-2026.db\n"
		    "  plimsoll db import postgresql://reader@dbhost/jobs\n",
	OPTIONS(struct db_options, rows),
	.run = run,
};
