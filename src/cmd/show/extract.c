/* plimsoll extract: metrics of a job in a time window as gzipped JSON, for the REST API of OAR. */
#include "cmd/actions.h"
#include "views/extract/extract.h"

struct options {
	bool plain, skip;
};

static int from_store(struct extract *e, struct context *ctx, struct strbuf *why)
{
	_cleanup_store_ struct store *s = NULL;

	return try_store(ctx, STORE_READ, &s, why) < 0 ? EXTRACT_FAILED
						       : extract_from_store(e, s, why);
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct options *o = ctx->options;
	_cleanup_(extract_release) struct extract e = {.job = argv[argc - 4]};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, notes = STRBUF_INIT;

	if (parse_i64(argv[argc - 3], &e.start_s) < 0 || parse_i64(argv[argc - 2], &e.end_s) < 0 ||
	    e.start_s > e.end_s) {
		usage_error("extract", "extract: START and END must be seconds since 1970, START "
				       "not after END");
		return EXTRACT_USAGE;
	}
	if (!extract_parse_metrics(&e, argv[argc - 1])) {
		usage_error("extract",
			    "extract: invalid list of metrics '%s', expected "
			    "METRIC,METRIC,...",
			    argv[argc - 1]);
		return EXTRACT_USAGE;
	}
	int status = argc == 5 ? extract_from_files(&e, argv[0], o->skip, &notes, &why)
			       : from_store(&e, ctx, &why);
	warn_lines(notes.buf, NULL);
	if (!status && !e.row_count) {
		strbuf_addf(&why, "job %s has no values of these metrics in this time window",
			    e.job);
		status = EXTRACT_NO_DATA;
	}
	if (!status && extract_write(&e, o->plain, stdout, &why) < 0)
		status = EXTRACT_FAILED;
	if (status)
		log_error("%s", why.buf);
	return status;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "plain", NULL, "do not compress the JSON", AT(struct options, plain)},
	{OPT_FLAG, 0, "skip-damaged", NULL, "ignore files that cannot be read, with a warning",
	 AT(struct options, skip)},
	ROWS_STORE,
};

const struct command command_extract = {
	.name = "extract",
	.summary = "print metrics of a job in a time window as gzipped JSON",
	.operands = {"JOB START END METRICS", 4, 5,
		     .usage = "[PREFIX] JOB START END METRIC[,METRIC...]"},
	.description =
		"Prints {\"METRIC\": [...], ..., \"timestamp\": [...], \"hostname\": [...]}, compressed "
		"with gzip, as the REST API of OAR expects from an extractor. Element n of each list "
		"belongs to one time and host, null if there is no value. Times are sorted and lie "
		"between START and END inclusive, in seconds since 1970.\n\n"
		"JOB is a job id of the batch system. PREFIX is the path of a collector's HDF5 files "
		"PREFIX.EPOCH.hdf5, or one such file. Without it, the store is read, and JOB may also "
		"be a job name or `last`, the job stored last. If a file cannot be read, it is named "
		"and nothing is printed, unless --skip-damaged is given.\n\n"
		"METRIC is the name of a column in any table of the job. If several tables have it, "
		"TABLE.METRIC selects one (jobprocstats.read_bytes); otherwise the first in the order "
		"of the nodes' messages is used. Metrics of nodes are taken from the hosts that the "
		"job ran on, at the times at which the node lists the job; job 0 stands for the nodes "
		"themselves. In a store, the names are those of `plimsoll series`, with or without the "
		"source.\n\n"
		"The exit status is 0, 1 for wrong usage, 2 if there is no file, 3 for other errors, "
		"4 if there are no data.",
	.examples =
		"  plimsoll extract /data/cluster 4711 1794709800 1794713400 cpu_run_real_total | gunzip\n"
		"  plimsoll extract --db jobs.db 4711 1794709800 1794713400 job_tasks.ac_utime --plain\n"
		"  plimsoll extract --plain last 0 9999999999 process.rss\n",
	OPTIONS(struct options, rows),
	.usage_status = EXTRACT_USAGE,
	.run = run,
};
