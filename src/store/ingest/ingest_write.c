/* Finishing an ingest: the tree, the sums and the job itself; see ingest.h. */
#include "store/ingest/ingest_write.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/text/text.h"
#include "jobs/job_layout.h"
#include "store/ingest/ingest_phases.h"
#include "store/ingest/merge_streamed.h"
#include "store/job_admin.h"
#include "store/job_figures.h"
#include "store/job_words.h"

static struct bulk *open_rows(struct ingest *in, const char *table, const char *columns)
{
	return in->store->engine->bulk_open(in->store, table, columns);
}

static int write_tree(struct ingest *in)
{
	struct bulk *b = open_rows(in, "tree",
				   "id,parent,first,last,depth,children,inclusive_cpu,exclusive");
	int r = 0;

	for (size_t i = 0; b && i < in->tree.count && r == 0; i++) {
		const struct node *n = &in->tree.nodes[i];

		r = bulk_put(b, db_int(store_key(in->job, (uint32_t)i + 1)),
			     db_int_if(n->parent != NO_NODE, (int64_t)n->parent + 1),
			     db_int(n->first), db_int(n->last), db_int(n->depth),
			     db_int(n->children), db_int((int64_t)n->cpu),
			     db_int_if(n->exclusive >= 0, n->exclusive));
	}
	return bulk_end(b, r);
}

static int write_profile(struct ingest *in, uint32_t *ret_processes, uint32_t *ret_threads)
{
	_cleanup_free_ struct process_tree_step *steps =
		xreallocarray(NULL, PROFILE_STEPS, sizeof(*steps));
	size_t n =
		process_tree_profile(&in->tree, steps, PROFILE_STEPS, ret_processes, ret_threads);
	struct bulk *b = open_rows(in, "job_profile", "job,n,time_us,processes,threads");
	int r = 0;

	for (size_t i = 0; b && i < n && r == 0; i++)
		r = bulk_put(b, db_int(in->job), db_int((int64_t)i), db_int((int64_t)steps[i].time),
			     db_int(steps[i].processes), db_int(steps[i].threads));
	return bulk_end(b, r);
}

/* A cycle counter that went back in one process makes the sum worthless: -1. */
static int write_sums(struct ingest *in)
{
	struct bulk *b = open_rows(in, "job_sum", "job,metric,sum,max");
	int r = 0;

	for (size_t i = 0; b && i < ingest_process_metric_count && r == 0; i++) {
		enum metric_id id = ingest_process_metrics[i];
		bool bad = id == METRIC_RDTSC_DURATION && in->bad_pids;

		if (in->sums[i].present)
			r = bulk_put(b, db_int(in->job), db_str(metric_by_id(id)->name),
				     db_int(bad ? -1 : (int64_t)in->sums[i].sum),
				     db_int((int64_t)in->sums[i].max));
	}
	for (size_t i = 0; b && i < in->event_count && r == 0; i++)
		r = bulk_put(b, db_int(in->job), db_str(in->event_sums[i].name),
			     db_int((int64_t)in->event_sums[i].sum),
			     db_int((int64_t)in->event_sums[i].max));
	return bulk_end(b, r);
}

static int write_hosts(struct ingest *in, int64_t start_us)
{
	struct bulk *b = open_rows(in, "job_host", "job,host,num_procs,start_us");
	int r = 0;

	for (size_t i = 0; b && i < in->host_count && r == 0; i++) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		text_add_printable(&name, in->hosts[i].name, in->hosts[i].size);
		r = bulk_put(b, db_int(in->job), db_text(name.buf, name.len),
			     db_int((int64_t)in->hosts[i].images), db_int(start_us));
	}
	return bulk_end(b, r);
}

static int write_tagsets(struct ingest *in)
{
	struct bulk *b = open_rows(in, "job_proc_tag", "job,tags,num_procs");
	int r = 0;

	for (size_t i = 0; b && i < in->tagset_count && r == 0; i++)
		r = bulk_put(b, db_int(in->job), db_int(in->tagsets[i].string.number),
			     db_int((int64_t)in->tagsets[i].images));
	return bulk_end(b, r);
}

/* A dict as rows of key and value, which is JSON. */
static int write_dict(struct ingest *in, const char *table, const struct value *dict)
{
	struct bulk *b = open_rows(in, table, "job,key,value");
	int r = 0;

	for (size_t i = 0; b && i < value_pairs(dict) && r == 0; i++) {
		_cleanup_strbuf_ struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;

		if (pair_texts(dict, i, true, &key, &text))
			r = bulk_put(b, db_int(in->job), db_text(key.buf, key.len),
				     db_text(text.buf, text.len));
	}
	return bulk_end(b, r);
}

static int write_warnings(struct ingest *in)
{
	struct bulk *b = open_rows(in, "job_warning", "job,n,text");
	int r = 0;

	for (size_t i = 0; b && i < in->warnings->list.count && r == 0; i++) {
		const struct value *w = in->warnings->list.items[i];
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		text_add_printable(&text, w->str.data, w->str.size);
		r = bulk_put(b, db_int(in->job), db_int((int64_t)i + 1),
			     db_text(text.buf, text.len));
	}
	return bulk_end(b, r);
}

static int write_tags(struct ingest *in, const struct value *dict, int64_t start_us)
{
	struct bulk *b = open_rows(in, "job_tag", "job,key,value,start_us");
	int r = 0;

	for (size_t i = 0; b && i < value_pairs(dict) && r == 0; i++) {
		_cleanup_strbuf_ struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;

		if (pair_texts(dict, i, false, &key, &text))
			r = bulk_put(b, db_int(in->job), db_text(key.buf, key.len),
				     db_text(text.buf, text.len), db_int(start_us));
	}
	return bulk_end(b, r);
}

/* Without metadata the times of a job are those of its processes. A job that a run began lasts
 * until its last process has ended, even if that is after the run. */
static int64_t end_of_job(const struct ingest *in, const struct jobmeta *m)
{
	bool by_processes = !m->has_end || (m->by_run && (int64_t)in->latest > m->end_us);

	return by_processes ? (int64_t)in->latest : m->end_us;
}

static int64_t start_of_job(const struct ingest *in, const struct jobmeta *m)
{
	return m->has_start ? m->start_us : (int64_t)in->earliest;
}

static int write_job(struct ingest *in, const struct jobmeta *m, const char *format,
		     const char *source, const uint32_t peaks[2])
{
	int64_t start = start_of_job(in, m), end = end_of_job(in, m);
	bool recorded = in->tree.count > 0;
	bool by_root = m->layout->exitcode_of_root && in->root_known && !m->exitcode;
	struct bulk *b = open_rows(
		in, "job",
		"no,jobid,jobname,username,submit_us,start_us,end_us,duration_us,cpu_us,exitcode,"
		"num_procs,num_threads,peak_procs,peak_threads,bytes,format,source,ingested_us,"
		"processes,cluster,nth,core_us,energy_mj");
	bool timed = start && end && end >= start;
	int64_t energy = 0;
	bool has_energy = false;

	int r = b ? job_energy(in->store, in->job, &energy, &has_energy) : -EIO;
	if (r < 0)
		return bulk_end(b, r);
	bool granted = timed && m->cores > 0 && end - start <= INT64_MAX / m->cores;
	r = bulk_put(
		b, db_int(in->job), db_str(m->jobid), db_str(m->jobname), db_str(m->user),
		db_int_if(m->has_submit || m->has_start,
			  m->has_submit ? m->submit_us : m->start_us),
		db_int_if(start, start), db_int_if(end, end), db_int_if(timed, end - start),
		db_int((int64_t)(recorded ? in->cpu_us : in->sampled_cpu_us)),
		db_int_if(by_root || m->has_exitcode, by_root ? in->root_exitcode : m->exitcode),
		db_int((int64_t)in->tree.count), db_int((int64_t)in->thread_count),
		db_int(peaks[0]), db_int(peaks[1]), db_int((int64_t)in->bytes), db_str(format),
		db_str(source), db_int(clock_realtime_us()),
		db_int((int64_t)(recorded ? in->process_count : in->sampled_processes)),
		db_str(m->cluster ? m->cluster : ""), db_int(in->nth),
		db_int_if(granted, granted ? m->cores * (end - start) : 0),
		db_int_if(has_energy, energy));
	return bulk_end(b, r);
}

static int write_meta(struct ingest *in, const struct jobmeta *m)
{
	return store_run(in->store, "INSERT INTO job_meta (job, json) VALUES ($1, $2)",
			 db_int(in->job), db_bytes(m->json.buf, m->json.len));
}

static int write_account(struct ingest *in, const struct jobmeta *m)
{
	if (!m->account)
		return 0;
	return store_run(in->store, "INSERT INTO job_account (job, account) VALUES ($1, $2)",
			 db_int(in->job), db_str(m->account));
}

static int flush_all(struct ingest *in)
{
	const struct store_engine *e = in->store->engine;
	struct bulk *const all[] = {in->strings, in->processes, in->threads, in->events};
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(all) && r == 0; i++)
		r = e->bulk_flush(all[i]);
	return r;
}

/* Adds warnings; returns the number of processes outside of the job's time. */
static uint64_t add_warnings(struct ingest *in, const struct jobmeta *m)
{
	uint64_t outside = 0;

	for (size_t i = 0; i < in->tree.count; i++) {
		const struct node *n = &in->tree.nodes[i];

		outside += (m->has_start && n->start && n->start < (uint64_t)m->start_us) ||
			   (m->has_end && (int64_t)n->end > end_of_job(in, m));
	}
	if (outside)
		ingest_warn(in, "%llu %s began before the job or ended after it, by the clocks",
			    (unsigned long long)outside, plural(outside, "process", "processes"));
	if (in->bad_pids)
		ingest_warn(in, "%zu %s a rdtsc_duration that is not positive",
			    in->bad_pids->list.count,
			    plural(in->bad_pids->list.count, "process has", "processes have"));
	if (in->tagset_count == TAGSETS_MAX)
		ingest_warn(in, "more than %d different process tags; the rest is not listed",
			    TAGSETS_MAX);
	return outside;
}

/* Annotations under the names that scripts use. */
static void add_annotations(struct ingest *in, struct value *annotations)
{
	static const char *const names[][2] = {
#define IMPORTER(symbol, annotation) {annotation, annotation "-process-ids"},
#include "store/import/importers.def"
#undef IMPORTER
		{NULL, NULL},
	};

	for (size_t i = 0; in->bad_pids && names[i][0]; i++) {
		if (value_get(annotations, names[i][0]))
			continue; /* came with the job */
		value_set(annotations, names[i][0], value_str("rdtsc_duration is not positive"));
		value_set(annotations, names[i][1], value_ref(in->bad_pids));
	}
}

/* The caller may remove the input, so the data must be in the file that has the store's path, also
 * after waiting for other writers. */
static int commit(struct store *s)
{
	int r = store_check_moved(s);

	if (r == 0)
		r = store_commit(s);
	return r == 0 ? store_check_moved(s) : r;
}

static int write_all(struct ingest *in, const struct jobmeta *m, const char *format,
		     const char *source)
{
	uint32_t peaks[2] = {0, 0};
	int64_t start = start_of_job(in, m);

	/* before the strings, to which it adds; write_profile() destroys the tree */
	int r = ingest_phases_finish(in);
	if (r == 0)
		r = flush_all(in);
	if (r == 0)
		r = write_tree(in);
	if (r == 0)
		r = write_profile(in, &peaks[0], &peaks[1]);
	if (r == 0)
		r = write_sums(in);
	if (r == 0)
		r = write_hosts(in, start);
	if (r == 0)
		r = write_tagsets(in);
	if (r == 0)
		r = usage_sums_write(&in->usage, in->store, in->job);
	if (r == 0)
		r = write_tags(in, m->tags, start);
	if (r == 0)
		r = job_words_write(in->store, in->job, m->jobid, m->jobname, start);
	if (r == 0)
		r = write_account(in, m);
	if (r == 0)
		r = write_dict(in, "job_annotation", m->annotations);
	if (r == 0)
		r = write_dict(in, "job_analysis", m->analyses);
	if (r == 0)
		r = write_warnings(in);
	if (r == 0)
		r = write_meta(in, m);
	/* a collector may have streamed the same job */
	int64_t streamed =
		r == 0 ? store_set_aside(in->store, m->jobid, m->user, start, end_of_job(in, m))
		       : r;
	r = streamed < 0 ? (int)streamed : write_job(in, m, format, source, peaks);
	if (r == 0)
		r = commit(in->store);
	/* if this fails, the next collector that opens the store does it */
	if (r == 0 && streamed)
		(void)store_merge_streamed(in->store);
	return r;
}

int ingest_finish(struct ingest *in, const struct jobmeta *m, const char *format,
		  const char *source, bool strict, struct ingest_result *ret, struct strbuf *why)
{
	int r = 0;

	process_tree_build(&in->tree, m->layout->images_dropped);
	uint64_t outside = add_warnings(in, m);
	if (outside && strict)
		return strbuf_fail(why, -EBADMSG,
				   "'%s': corrupted: %llu %s outside of the job's time", source,
				   (unsigned long long)outside,
				   plural(outside, "process is", "processes are"));
	add_annotations(in, m->annotations);
	if (in->store)
		r = write_all(in, m, format, source);
	if (r < 0)
		strbuf_addstr(why, store_error(in->store));
	/* another process stored a job of this id first; other keys are unique by design */
	if (r == -EEXIST)
		return strstr(why->buf, "nth") ? -ESTALE : -EINVAL;
	if (r < 0)
		return r;
	*ret = (struct ingest_result){.processes = in->process_count,
				      .images = in->tree.count,
				      .threads = in->thread_count,
				      .earliest_us = in->earliest,
				      .latest_us = in->latest,
				      .start_us = start_of_job(in, m),
				      .end_us = end_of_job(in, m),
				      .cpu_us = in->cpu_us,
				      .hosts = in->host_count};
	return 0;
}

int64_t ingest_number(const struct ingest *in)
{
	return in->job;
}

void ingest_describe(const struct ingest *in, struct strbuf *out)
{
	for (size_t i = 0; i < in->host_count; i++) {
		strbuf_addstr(out, "host ");
		text_add_printable(out, in->hosts[i].name, in->hosts[i].size);
		strbuf_addf(out, ": %llu %s\n", (unsigned long long)in->hosts[i].images,
			    plural(in->hosts[i].images, "image", "images"));
	}
	strbuf_addstr(out, "metrics");
	for (size_t i = 0; i < ingest_process_metric_count; i++)
		if (in->sums[i].present)
			strbuf_addf(out, " %s", metric_by_id(ingest_process_metrics[i])->name);
	for (size_t i = 0; i < in->event_count; i++) {
		strbuf_addch(out, ' ');
		text_add_printable(out, in->event_sums[i].name, strlen(in->event_sums[i].name));
	}
	strbuf_addch(out, '\n');
}
