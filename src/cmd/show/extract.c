/* plimsoll extract: metrics of a job in a window of time as gzipped JSON, for OAR's REST API. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "cmd/show/extract.h"

struct options {
	bool plain, skip;
};

static int usage(const char *text)
{
	(void)usage_error("extract", "extract: %s", text);
	return EXTRACT_USAGE;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct options *o = ctx->options;
	_cleanup_(extract_release) struct extract e = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (argc != 4 && argc != 5)
		return usage("wants PREFIX JOB START END METRICS, or without PREFIX for the store");
	char **rest = argv + argc - 4;
	e.job = rest[0];
	if (parse_i64(rest[1], &e.start_s) < 0 || parse_i64(rest[2], &e.end_s) < 0 ||
	    e.start_s > e.end_s)
		return usage("START and END are seconds since 1970, the later one last");
	if (!extract_parse_metrics(&e, rest[3]))
		return usage("METRICS are names with commas between them");
	int r = argc == 5 ? extract_from_files(&e, argv[0], o->skip) : extract_from_store(&e, ctx);
	if (r)
		return r;
	if (!e.row_count) {
		log_error("job %s has none of these metrics between these times", e.job);
		return EXTRACT_NO_DATA;
	}
	if (extract_write(&e, o->plain, stdout, &why) < 0) {
		log_error("%s", why.buf);
		return EXTRACT_FAILED;
	}
	return EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "plain", NULL, "print JSON as it is instead of packing it",
	 AT(struct options, plain)},
	{OPT_FLAG, 0, "skip-damaged", NULL, "leave out files that cannot be read, with a warning",
	 AT(struct options, skip)},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_extract = {
	.name = "extract",
	.summary = "metrics of a job in a window of time, as gzipped JSON",
	.arguments = "[PREFIX] JOB START END METRIC[,METRIC...]",
	.description =
		"Prints {\"METRIC\": [...], ..., \"timestamp\": [...], \"hostname\": [...]}, packed by gzip: what "
		"OAR's REST API asks an extractor for. Element n of each list belongs to one time and "
		"host, null where there is no value; times are in order and lie between START and END, both "
		"included, in seconds since 1970.\n\n"
		"JOB is a job id, as the batch system has it. "
		"PREFIX is the path of a collector's HDF5 files up to the time in their names: PREFIX.EPOCH.hdf5; "
		"or one such file. Without it, the store is asked. Where one of the files cannot be read, it is "
		"named and nothing is printed, unless such files may be left out (--skip-damaged).\n\n"
		"A METRIC is the name of a column in any of the job's tables; where several have it, "
		"TABLE.METRIC says which (jobprocstats.read_bytes), otherwise it is the first in the order of "
		"nodes' messages. Metrics of the node are those of the hosts that the job was on, at the times "
		"that the node lists the job where it does; job 0 is the nodes themselves. In a store, names "
		"are those that `plimsoll series` shows, with or without their source.\n\n"
		"The status is 0, 1 when it was called wrongly, 2 when there is no file, 3 when something "
		"failed, 4 when there are no data.",
	.examples =
		"  plimsoll extract /data/cluster 4711 1794709800 1794713400 cpu_run_real_total | gunzip\n"
		"  plimsoll extract --db jobs.db 4711 1794709800 1794713400 job_tasks.ac_utime --plain\n",
	.options = rows,
	.options_size = sizeof(struct options),
	.usage_status = EXTRACT_USAGE,
	.run = run,
};
