/* plimsoll db: looking after the store. Each of its words is a row of a table. */
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

static int say(const struct store *s)
{
	log_error("%s", store_error(s));
	return EXIT_FAILED;
}

static int do_migrate(struct context *ctx, struct store *s, const char *arg)
{
	int have = 0, now = 0;

	(void)arg;
	if (schema_current(s, &have) < 0)
		return say(s);
	if (have > schema_newest()) {
		log_error("'%s' has schema %d and this program knows %d; use a newer plimsoll",
			  s->where, have, schema_newest());
		return EXIT_FAILED;
	}
	if (schema_migrate(s) < 0 || schema_current(s, &now) < 0)
		return say(s);
	if (ctx->verbosity >= 0)
		printf(have == now ? "schema %d, nothing to do\n" : "schema %d, was %d\n", now,
		       have);
	return EXIT_OK;
}

static int do_schema(struct context *ctx, struct store *s, const char *arg)
{
	(void)ctx, (void)arg;
	for (const struct migration *m = migrations; m->number; m++) {
		_cleanup_strbuf_ struct strbuf sql = STRBUF_INIT;

		schema_expand(s->engine, m->sql, &sql);
		printf("-- migration %d: %s\n%s\n", m->number, m->name,
		       sql.buf + strspn(sql.buf, "\n"));
	}
	return EXIT_OK;
}

static int do_size(struct context *ctx, struct store *s, const char *arg)
{
	const struct db_options *o = ctx->options;
	int64_t bytes = 0, jobs = 0, processes = 0, images = 0, samples = 0;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)arg;
	if (s->engine->size(s, &bytes) < 0 ||
	    store_number(s, "SELECT count(*) FROM job", &jobs) < 0 ||
	    store_number(s, "SELECT coalesce(sum(processes), 0) FROM job", &processes) < 0 ||
	    store_number(s, "SELECT coalesce(sum(" STORE_RECORDED "), 0) FROM job j", &images) <
		    0 ||
	    store_number(s, "SELECT coalesce(sum(count), 0) FROM sample_series", &samples) < 0)
		return say(s);
	if (o && o->json) {
		_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

		jsonw_begin_object(&j, NULL);
		jsonw_str(&j, "store", s->where);
		jsonw_i64(&j, "bytes", bytes);
		jsonw_i64(&j, "jobs", jobs);
		jsonw_i64(&j, "processes", processes);
		jsonw_i64(&j, "images", images);
		jsonw_i64(&j, "samples", samples);
		jsonw_end_object(&j);
		return jsonw_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
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
		printf(", %lld bytes an image", (long long)(bytes / images));
	putchar('\n');
	return EXIT_OK;
}

static int do_check_store(struct context *ctx, struct store *s, const char *arg)
{
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;
	int have = 0;

	(void)arg;
	if (schema_current(s, &have) < 0)
		return say(s);
	if (have != schema_newest())
		strbuf_addf(&problems, "schema %d, this program wants %d\n", have, schema_newest());
	if (s->engine->check(s, &problems) < 0)
		return say(s);
	if (problems.len) {
		fputs(problems.buf, stdout);
		return EXIT_FAILED;
	}
	if (ctx->verbosity >= 0)
		printf("%s: sound, schema %d\n", s->where, have);
	return EXIT_OK;
}

static int do_vacuum(struct context *ctx, struct store *s, const char *arg)
{
	int64_t before = 0, after = 0;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)arg;
	if (s->engine->size(s, &before) < 0 || s->engine->vacuum(s) < 0 ||
	    s->engine->size(s, &after) < 0)
		return say(s);
	if (ctx->verbosity < 0)
		return EXIT_OK;
	text_add_bytes(&text, (double)before);
	strbuf_addstr(&text, " before, ");
	text_add_bytes(&text, (double)after);
	printf("%s: %s now\n", s->where, text.buf);
	return EXIT_OK;
}

/* Everything goes: by --force, or by a person who says yes. */
int do_drop(struct context *ctx, struct store *s, bool force)
{
	char answer[8] = "";

	if (!force) {
		if (!isatty(STDIN_FILENO)) {
			log_error("drop removes every job in '%s'; --force does it", s->where);
			return EXIT_FAILED;
		}
		fprintf(stderr, "This removes every job in '%s'. Go on (yes/NO)? ", s->where);
		if (!fgets(answer, sizeof(answer), stdin) || strcmp(answer, "yes\n") != 0)
			return EXIT_FAILED;
	}
	if (schema_drop(s) < 0)
		return say(s);
	if (ctx->verbosity >= 0)
		printf("%s: empty\n", s->where);
	return EXIT_OK;
}

static int do_drop_word(struct context *ctx, struct store *s, const char *arg)
{
	const struct db_options *o = ctx->options;

	(void)arg;
	return do_drop(ctx, s, o->force);
}

static int do_backup(struct context *ctx, struct store *s, const char *arg)
{
	if (access(arg, F_OK) == 0) {
		log_error("'%s' is there already", arg);
		return EXIT_FAILED;
	}
	if (s->engine->backup(s, arg) < 0)
		return say(s);
	if (ctx->verbosity >= 0)
		printf("%s\n", arg);
	return EXIT_OK;
}

/* ---- import -----------------------------------------------------------------------------------
 */

struct importing {
	const struct context *ctx;
	bool terminal;
};

static void tell_import(void *user, const struct database_import *so_far, size_t done,
			const char *jobid, int result, const char *sentence)
{
	const struct importing *i = user;
	_cleanup_strbuf_ struct strbuf id = STRBUF_INIT;

	text_add_printable(&id, jobid, strlen(jobid));
	if (result < 0 && result != -EEXIST) {
		if (i->terminal)
			fputs("\r\033[K", stderr);
		log_error("job %s: %s; left out", id.buf, sentence);
	} else if (i->ctx->verbosity > 0) {
		fprintf(stderr, "job %s %s\n", id.buf, result ? "is there already" : "imported");
	}
	if (i->terminal && i->ctx->verbosity == 0)
		fprintf(stderr, "\r\033[K%zu of %zu %s, %llu %s", done, so_far->jobs,
			plural(so_far->jobs, "job", "jobs"), (unsigned long long)so_far->processes,
			plural(so_far->processes, "process", "processes"));
}

static int print_import(const struct context *ctx, const struct database_import *sum)
{
	const struct db_options *o = ctx->options;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	if (!o || !o->json) {
		printf("%zu %s imported (%llu %s), %zu there already, %zu left out, %zu %s\n",
		       sum->stored, plural(sum->stored, "job", "jobs"),
		       (unsigned long long)sum->processes,
		       plural(sum->processes, "process", "processes"), sum->there, sum->failed,
		       sum->models, plural(sum->models, "model", "models"));
		return 0;
	}
	jsonw_begin_object(&j, NULL);
	jsonw_u64(&j, "jobs", sum->jobs);
	jsonw_u64(&j, "imported", sum->stored);
	jsonw_u64(&j, "there_already", sum->there);
	jsonw_u64(&j, "left_out", sum->failed);
	jsonw_u64(&j, "processes", sum->processes);
	jsonw_u64(&j, "models", sum->models);
	jsonw_end_object(&j);
	return jsonw_write(&j, stdout);
}

static int do_import(struct context *ctx, struct store *s, const char *arg)
{
	struct importing i = {ctx, isatty(STDERR_FILENO)};
	_cleanup_store_ struct store *from = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct database *database;
	struct database_import sum = {0};

	if (database_open(&from, &database, arg, &why) < 0) {
		log_error("%s", why.buf);
		return EXIT_FAILED;
	}
	int r = database->import(from, s, tell_import, &i, &sum, &why);
	if (i.terminal && ctx->verbosity == 0)
		fputs("\r\033[K", stderr);
	if (r < 0)
		log_error("%s; what was imported before is stored, the same command goes on",
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
					   words[i].arg ? "db %s needs its %s"
							: "db %s takes no argument",
					   word, words[i].arg);
		if (open_store(ctx, words[i].access, &s) < 0)
			return EXIT_FAILED;
		return words[i].run(ctx, s, arg);
	}
	return usage_error("db", "there is no 'db %s'", word);
}

static int run(struct context *ctx, int argc, char **argv)
{
	if (argc < 1 || argc > 2)
		return usage_error("db", "db needs one of migrate, schema, size, check, vacuum, "
					 "drop, backup, import");
	return do_db(ctx, argv[0], argc == 2 ? argv[1] : NULL);
}

const struct command command_db = {
	.name = "db",
	.summary = "look after the store",
	.arguments = "migrate|schema|size|check|vacuum|drop|backup FILE|import URL",
	.description =
		"migrate brings the tables up to date, each step in a transaction; schema prints what "
		"they are; size tells what they take; check has the engine look for damage and exits "
		"with 1 when there is some; vacuum gives space back and renews the statistics; drop "
		"removes every job; backup writes a copy of a SQLite store that can be opened by "
		"itself, while others go on writing.\n\n"
		"import copies the jobs of another tool's database, a SQLite file or "
		"postgresql://..., into the store: processes, threads, tags, annotations, and "
		"analyses and reference models as that tool has them. The source is only read. A job is "
		"copied wholly or not at all and those that are there are passed over, so an import "
		"that was broken off goes on where it was. It exits with 1 when a job was left out.",
	.examples = "  plimsoll db size\n  plimsoll db backup jobs-2026.db\n"
		    "  plimsoll db import postgresql://reader@dbhost/jobs\n",
	.options =
		(const struct option_row[]){
			{OPT_FLAG, 'f', "force", NULL, "drop without asking",
			 AT(struct db_options, force)},
			ROW_DB,
			ROW_JSON(struct db_options),
			ROW_VERBOSE,
			ROW_QUIET,
			ROW_END,
		},
	.options_size = sizeof(struct db_options),
	.run = run,
};
