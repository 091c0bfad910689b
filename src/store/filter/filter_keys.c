/* The keys of filters: the rows of filter_keys.def, then the metrics. */
#include "store/filter/filter_internal.h"

#include <string.h>

#include "core/text/similar.h"
#include "core/text/text.h"
#include "store/ingest/ingest.h"

const struct filter_key filter_keys[] = {
#define FILTER_KEY(scope, name, type, unit, sql, help) \
	{FILTER_##scope, name, FILTER_##type, UNIT_##unit, sql, help},
#include "store/filter/filter_keys.def"
#undef FILTER_KEY
};
const size_t filter_key_count = ARRAY_SIZE(filter_keys);

static const struct {
	const char *name, *operators;
} types[] = {
	[FILTER_NUMBER] = {"number", "= != < <= > >="},
	[FILTER_DURATION] = {"duration", "= != < <= > >="},
	[FILTER_SIZE] = {"size", "= != < <= > >="},
	[FILTER_TIME] = {"time", "< <= > >="},
	[FILTER_TEXT] = {"text", "= != ~ !~"},
	[FILTER_PERIOD] = {"time or FROM..TO", "="},
	[FILTER_EARLIEST] = {"time", "="},
	[FILTER_LATEST] = {"time", "="},
	[FILTER_HOSTS] = {"text", "= != ~ !~"},
	[FILTER_STRING] = {"text", "= != ~ !~"},
	[FILTER_TAG] = {"text", "= != ~ !~"},
	[FILTER_TAG_SET] = {"tags", "= != >="},
	[FILTER_NOTE] = {"text", "= != ~ !~"},
	[FILTER_NOTES] = {"''", "= !="},
	[FILTER_WORDS] = {"words", "= !="},
	[FILTER_STATUS] = {"completed, failed, running or unknown", "= !="},
};

const char *const filter_statuses[STATUSES] = {
	[STATUS_COMPLETED] = "completed",
	[STATUS_FAILED] = "failed",
	[STATUS_RUNNING] = "running",
	[STATUS_UNKNOWN] = "unknown",
};

const char *filter_type_name(enum filter_type type)
{
	return types[type].name;
}

const char *filter_type_operators(enum filter_type type)
{
	return types[type].operators;
}

/* ---- metrics -------------------------------------------------------------------------------- */

static enum filter_type type_of(enum metric_unit unit)
{
	switch (unit) {
	case UNIT_MICROSECONDS:
	case UNIT_NANOSECONDS:
		return FILTER_DURATION;
	case UNIT_BYTES:
	case UNIT_KIBIBYTES:
	case UNIT_BLOCKS:
		return FILTER_SIZE;
	default:
		return FILTER_NUMBER;
	}
}

/* A metric of a job is the sum over its processes, or the maximum where a sum means nothing. */
static bool metric_key(enum filter_scope scope, const struct metric *m, struct filter_key *ret)
{
	if (scope == FILTER_JOBS && m->kind == KIND_LABEL)
		return false;
	*ret = (struct filter_key){
		.scope = scope,
		.name = m->name,
		.type = type_of(m->unit),
		.unit = m->unit,
		.sql = scope == FILTER_PROCESSES ? NULL
		       : m->agg == AGG_MAX ? "SELECT s.max FROM job_sum s WHERE s.job = @j.no "
					     "AND s.metric = ?"
					   : "SELECT s.sum FROM job_sum s WHERE s.job = @j.no "
					     "AND s.metric = ?",
		.help = m->help};
	return true;
}

static bool is_stored(const struct metric *m)
{
	for (size_t i = 0; i < ingest_process_metric_count; i++)
		if (ingest_process_metrics[i] == m->id)
			return true;
	return false;
}

static const struct filter_key *row_of(enum filter_scope scope, const char *name, size_t n)
{
	for (size_t i = 0; i < filter_key_count; i++)
		if (filter_keys[i].scope == scope && strlen(filter_keys[i].name) == n &&
		    !memcmp(filter_keys[i].name, name, n))
			return &filter_keys[i];
	return NULL;
}

bool filter_key_at(enum filter_scope scope, size_t i, struct filter_key *ret)
{
	for (size_t k = 0; k < filter_key_count; k++)
		if (filter_keys[k].scope == scope && i-- == 0) {
			*ret = filter_keys[k];
			return true;
		}
	for (size_t k = 0; k < ingest_process_metric_count; k++) {
		const struct metric *m = metric_by_id(ingest_process_metrics[k]);

		if (!row_of(scope, m->name, strlen(m->name)) && metric_key(scope, m, ret) &&
		    i-- == 0)
			return true;
	}
	return false;
}

/* ---- finding a key -------------------------------------------------------------------------- */

bool filter_key_find(enum filter_scope scope, const char *word, struct filter_key *ret,
		     const char **ret_name)
{
	const char *dot = strchr(word, '.');
	size_t n = dot ? (size_t)(dot + 1 - word) : strlen(word);
	const struct filter_key *row = row_of(scope, word, n);

	*ret_name = dot ? dot + 1 : NULL;
	if (row) {
		*ret = *row;
		return true;
	}
	if (dot)
		return false;
	if (scope == FILTER_PROCESSES && !strcmp(word, "hostname")) {
		*ret = *row_of(scope, "host", 4);
		return true;
	}
	const struct metric *m = metric_by_name(word);
	if (!m || !is_stored(m) || !metric_key(scope, m, ret))
		return false;
	if (scope == FILTER_JOBS)
		*ret_name = m->name;
	return true;
}

bool filter_order_known(enum filter_scope scope, const char *order, bool *ret_text)
{
	struct filter_key k;
	const char *name;

	if (!filter_key_find(scope, order + (*order == '-'), &k, &name) || k.type > FILTER_STRING)
		return false;
	if (ret_text)
		*ret_text = k.type > FILTER_TIME;
	return !str_suffix(k.name, ".") || (name && *name);
}

/* The most similar key; NULL: none is. */
static const char *near_key(enum filter_scope scope, const char *word)
{
	unsigned least = strlen(word) < 4 ? 1 : strlen(word) < 8 ? 2 : 3;
	const char *near = NULL;
	struct filter_key k;

	for (size_t i = 0; filter_key_at(scope, i, &k); i++) {
		unsigned d = word_distance(word, k.name);

		if (d <= least) {
			least = d ? d - 1 : 0;
			near = k.name;
		}
	}
	return near;
}

/* Words that people use for a key. */
static const struct {
	const char *words, *key;
} meanings[] = {
	{",id,job_id,slurm_jobid,", "jobid"},
	{",name,job_name,", "jobname"},
	{",username,owner,", "user"},
	{",hosts,node,nodes,", "host"},
	{",exe,program,command,comm,executable,", "exename"},
	{",time,elapsed,runtime,wall,walltime,", "duration"},
	{",cpu,cputime,", "cpu_time"},
	{",mem,memory,rss,maxrss,", "rssmax"},
	{",exit,exit_code,rc,", "exitcode"},
	{",state,", "status"},
	{",text,words,", "word"},
	{",procs,nprocs,", "processes"},
	{",threads,", "num_threads"},
	{",date,started,", "start"},
	{",ended,finish,stop,", "end"},
	{",arguments,argv,", "args"},
};

void filter_key_unknown(enum filter_scope scope, const char *word, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf shown = STRBUF_INIT;
	_cleanup_free_ char *want = xasprintf(",%.*s,", NEAR_BYTES_MAX, word);
	const char *dot = strchr(word, '.'), *near = NULL;

	text_add_printable(&shown, word, strnlen(word, FILTER_SHOWN_MAX));
	strbuf_addf(why, "unknown key '%s'", shown.buf);
	for (size_t i = 0; !near && i < ARRAY_SIZE(meanings); i++)
		if (!strchr(word, ',') && strcasestr(meanings[i].words, want))
			near = meanings[i].key;
	struct filter_key key;
	const char *name;
	if (near && !filter_key_find(scope, near, &key, &name))
		near = NULL;
	if (!near && !dot)
		near = near_key(scope, word);
	if (near)
		strbuf_addf(why, "; did you mean '%s%s'?", near,
			    str_suffix(near, ".") ? "NAME" : "");
	else
		strbuf_addstr(why, "; `plimsoll query --keys` lists the keys");
}
