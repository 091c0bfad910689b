/* plimsoll records: every image of a job, from its directory or archive. */
#include <string.h>

#include "cmd/command.h"
#include "context/job_records.h"
#include "views/processes/record_rows.h"

struct records_options {
	const char *format; /* name of a row writer */
	bool threads;
};

/* Reports damaged files; returns false if there are any. */
static bool report_damage(const struct accounting *b)
{
	bool whole = true;

	for (size_t i = 0; i < b->file_count; i++) {
		const struct record_file_damage *d = &b->files[i].rec.damage;

		if (!d->bytes)
			continue;
		whole = false;
		log_error("%s: damaged at offset %llu; skipped %llu bytes in %u place%s",
			  b->files[i].name, (unsigned long long)d->first_offset,
			  (unsigned long long)d->bytes, d->places, plural(d->places, "", "s"));
	}
	return whole;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct records_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct accounting b;

	accounting_init(&b);
	b.keep_threads = o->threads;
	bool whole = true;
	int r = job_records_add(ctx, argc ? argv[0] : NULL, &b, &whole, &why);
	bool found = r == 0; /* otherwise a missing current job was reported */
	if (r == 0)
		r = accounting_load(&b, &why);
	if (r == 0) {
		accounting_find_running(&b);
		r = rows_write(&b, row_writer_find(o->format), o->threads, stdout);
	}
	if (r == 0 && !report_damage(&b))
		whole = false;
	accounting_release(&b);
	if (r < 0 && (why.len || argc || found))
		log_error("%s", why.len ? why.buf : strerror(-r));
	return r < 0 || !whole ? EXIT_FAILED : EXIT_OK;
}

static const char *writer_name(size_t i)
{
	return row_writers[i] ? row_writers[i]->name : NULL;
}

#define ROW_FORMAT(option, format_name, help)                                         \
	{                                                                             \
		OPT_FIXED, 0, option, NULL, help, AT(struct records_options, format), \
			.text = (format_name)                                         \
	}

static const struct option_row rows[] = {
	{OPT_CHOICE, 'f', "format", "FORMAT", "output format", AT(struct records_options, format),
	 .word_at = writer_name},
	ROW_FORMAT("jsonl", "jsonl", "like --format=jsonl: one JSON object per line"),
	ROW_FORMAT("json", "jsonl", "like --jsonl"),
	ROW_FORMAT("csv", "csv", "like --format=csv"),
	ROW_FORMAT("tsv", "tsv", "like --format=tsv"),
	{OPT_FLAG, 't', "threads", NULL, "also print the threads of each process",
	 AT(struct records_options, threads)},
	ROWS_STORE,
};

const struct command command_records = {
	.name = "records",
	.summary = "list every program image of a job with all its counters",
	.operands = {"DIRECTORY|ARCHIVE|FILE.rec|JOB", 0, 1},
	.description =
		"Lists, sorted by start time, every executed program and every forked copy that ended "
		"without executing one. The names are those of plimsoll-metrics(7); unknown values are "
		"absent. `ended` is exit, signal, exec, running or unknown; `source` is where the data "
		"came from: preload, reaped, taskstats or cn_proc.\n\n"
		"JOB is a stored job. Its records are not in the store; they are read from where it "
		"was recorded. If the job has several parts, all are read; if one is gone, it is "
		"named, the rest is listed, and the exit status is 1. Without an argument, lists the "
		"current job, else the last one. Damaged parts of a file are skipped and reported, and "
		"the exit status is 1.",
	.examples = "  plimsoll records\n"
		    "  plimsoll records --jsonl job.tgz | jq 'select(.exitsignal == 9)'\n",
	OPTIONS(struct records_options, rows),
	.defaults = &(const struct records_options){.format = "table"},
	.run = run,
};
