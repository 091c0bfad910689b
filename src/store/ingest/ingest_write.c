/* The end of an ingest: the tree, the sums and the job itself; see ingest.h. */
#include "store/ingest/ingest_write.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/text/text.h"
#include "jobs/job_layout.h"
#include "store/ingest/merge_streamed.h"
#include "store/job_admin.h"

/* The rows of one table are complete, or r says that they are not. */
static int end_bulk(const struct store_engine *e, struct bulk *b, int r)
{
	if (r == 0)
		r = e->bulk_flush(b);
	e->bulk_close(b);
	return r;
}

static int write_tree(struct ingest *in)
{
	const struct store_engine *e = in->store->engine;
	struct bulk *b = e->bulk_open(
		in->store, "tree", "id,parent,first,last,depth,children,inclusive_cpu,exclusive");
	int r = b ? 0 : -EIO;

	for (size_t i = 0; i < in->forest.count && r == 0; i++) {
		const struct node *n = &in->forest.nodes[i];

		e->bulk_int(b, store_key(in->job, (uint32_t)i + 1));
		if (n->parent == NO_NODE)
			e->bulk_null(b);
		else
			e->bulk_int(b, n->parent + 1);
		e->bulk_int(b, n->first);
		e->bulk_int(b, n->last);
		e->bulk_int(b, n->depth);
		e->bulk_int(b, n->children);
		e->bulk_int(b, (int64_t)n->cpu);
		if (n->exclusive < 0)
			e->bulk_null(b);
		else
			e->bulk_int(b, n->exclusive);
		r = e->bulk_row(b);
	}
	return end_bulk(e, b, r);
}

static int write_profile(struct ingest *in, uint32_t *ret_processes, uint32_t *ret_threads)
{
	const struct store_engine *e = in->store->engine;
	_cleanup_free_ struct process_tree_step *steps =
		xreallocarray(NULL, PROFILE_STEPS, sizeof(*steps));
	size_t n =
		process_tree_profile(&in->forest, steps, PROFILE_STEPS, ret_processes, ret_threads);
	struct bulk *b = e->bulk_open(in->store, "job_profile", "job,n,time_us,processes,threads");
	int r = b ? 0 : -EIO;

	for (size_t i = 0; i < n && r == 0; i++) {
		e->bulk_int(b, in->job);
		e->bulk_int(b, (int64_t)i);
		e->bulk_int(b, (int64_t)steps[i].time);
		e->bulk_int(b, steps[i].processes);
		e->bulk_int(b, steps[i].threads);
		r = e->bulk_row(b);
	}
	return end_bulk(e, b, r);
}

static int write_sum(const struct store_engine *e, struct bulk *b, int64_t job, const char *name,
		     int64_t sum, int64_t max)
{
	e->bulk_int(b, job);
	e->bulk_text(b, name, strlen(name));
	e->bulk_int(b, sum);
	e->bulk_int(b, max);
	return e->bulk_row(b);
}

/* A cycle counter that went back in one process makes the sum worthless: -1. */
static int write_sums(struct ingest *in)
{
	const struct store_engine *e = in->store->engine;
	struct bulk *b = e->bulk_open(in->store, "job_sum", "job,metric,sum,max");
	int r = b ? 0 : -EIO;

	for (size_t i = 0; i < ingest_process_metric_count && r == 0; i++) {
		enum metric_id id = ingest_process_metrics[i];
		bool bad = id == METRIC_RDTSC_DURATION && in->bad_pids;

		if (in->sums[i].present)
			r = write_sum(e, b, in->job, metric_by_id(id)->name,
				      bad ? -1 : (int64_t)in->sums[i].sum,
				      (int64_t)in->sums[i].max);
	}
	for (size_t i = 0; i < in->event_count && r == 0; i++)
		r = write_sum(e, b, in->job, in->event_sums[i].name, (int64_t)in->event_sums[i].sum,
			      (int64_t)in->event_sums[i].max);
	return end_bulk(e, b, r);
}

static int write_hosts(struct ingest *in)
{
	const struct store_engine *e = in->store->engine;
	struct bulk *b = e->bulk_open(in->store, "job_host", "job,host,num_procs");
	int r = b ? 0 : -EIO;

	for (size_t i = 0; i < in->host_count && r == 0; i++) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		text_add_printable(&name, in->hosts[i].name, in->hosts[i].size);
		e->bulk_int(b, in->job);
		e->bulk_text(b, name.buf, name.len);
		e->bulk_int(b, (int64_t)in->hosts[i].images);
		r = e->bulk_row(b);
	}
	return end_bulk(e, b, r);
}

static int write_tagsets(struct ingest *in)
{
	const struct store_engine *e = in->store->engine;
	struct bulk *b = e->bulk_open(in->store, "job_proc_tag", "job,tags,num_procs");
	int r = b ? 0 : -EIO;

	for (size_t i = 0; i < in->tagset_count && r == 0; i++) {
		e->bulk_int(b, in->job);
		e->bulk_int(b, in->tagsets[i].string.number);
		e->bulk_int(b, (int64_t)in->tagsets[i].images);
		r = e->bulk_row(b);
	}
	return end_bulk(e, b, r);
}

/* A dict as rows of key and value; json: values as JSON, else as plain text. */
static int write_dict(struct ingest *in, const char *table, const struct value *dict, bool json)
{
	const struct store_engine *e = in->store->engine;
	struct bulk *b = e->bulk_open(in->store, table, "job,key,value");
	int r = b ? 0 : -EIO;

	for (size_t i = 0; i < value_pairs(dict) && r == 0; i++) {
		_cleanup_strbuf_ struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;

		if (!pair_texts(dict, i, json, &key, &text))
			continue;
		e->bulk_int(b, in->job);
		e->bulk_text(b, key.buf, key.len);
		e->bulk_text(b, text.buf, text.len);
		r = e->bulk_row(b);
	}
	return end_bulk(e, b, r);
}

static int write_warnings(struct ingest *in)
{
	const struct store_engine *e = in->store->engine;
	struct bulk *b = e->bulk_open(in->store, "job_warning", "job,n,text");
	int r = b ? 0 : -EIO;

	for (size_t i = 0; i < in->warnings->list.count && r == 0; i++) {
		const struct value *w = in->warnings->list.items[i];
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		text_add_printable(&text, w->str.data, w->str.size);
		e->bulk_int(b, in->job);
		e->bulk_int(b, (int64_t)i + 1);
		e->bulk_text(b, text.buf, text.len);
		r = e->bulk_row(b);
	}
	return end_bulk(e, b, r);
}

/* The times of a job without metadata are those of its processes. One that a run began lasts until
 * the last of its processes has ended, where the run left some behind. */
static int64_t end_of_job(const struct ingest *in, const struct jobmeta *m)
{
	bool by_processes = !m->has_end || (m->by_run && (int64_t)in->latest > m->end_us);

	return by_processes ? (int64_t)in->latest : m->end_us;
}

static int64_t start_of_job(const struct ingest *in, const struct jobmeta *m)
{
	return m->has_start ? m->start_us : (int64_t)in->earliest;
}

static void bind_times(struct stmt *st, const struct ingest *in, const struct jobmeta *m)
{
	int64_t start = start_of_job(in, m), end = end_of_job(in, m);

	if (m->has_submit || m->has_start)
		stmt_int(st, 5, m->has_submit ? m->submit_us : m->start_us);
	else
		stmt_null(st, 5);
	if (start)
		stmt_int(st, 6, start);
	else
		stmt_null(st, 6);
	if (end)
		stmt_int(st, 7, end);
	else
		stmt_null(st, 7);
	if (start && end && end >= start)
		stmt_int(st, 8, end - start);
	else
		stmt_null(st, 8);
}

static int write_job(struct ingest *in, const struct jobmeta *m, const char *format,
		     const char *source, const uint32_t peaks[2])
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		in->store,
		"INSERT INTO job (no, jobid, jobname, username, submit_us, start_us, end_us, "
		"duration_us, cpu_us, exitcode, num_procs, num_threads, peak_procs, peak_threads, "
		"bytes, format, source, ingested_us, processes, cluster, nth) VALUES ($1, $2, $3, "
		"$4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, "
		"$21)");

	if (!st)
		return -EIO;
	stmt_int(st, 1, in->job);
	stmt_str(st, 2, m->jobid);
	stmt_str(st, 3, m->jobname);
	stmt_str(st, 4, m->user);
	bind_times(st, in, m);
	const bool recorded = in->forest.count > 0;
	stmt_int(st, 9, (int64_t)(recorded ? in->cpu_us : in->sampled_cpu_us));
	if (m->layout->exitcode_of_root && in->root_known && !m->exitcode)
		stmt_int(st, 10, in->root_exitcode);
	else if (m->has_exitcode)
		stmt_int(st, 10, m->exitcode);
	else
		stmt_null(st, 10);
	stmt_int(st, 11, (int64_t)in->forest.count);
	stmt_int(st, 12, (int64_t)in->thread_count);
	stmt_int(st, 13, peaks[0]);
	stmt_int(st, 14, peaks[1]);
	stmt_int(st, 15, (int64_t)in->bytes);
	stmt_str(st, 16, format);
	stmt_str(st, 17, source);
	stmt_int(st, 18, clock_realtime_us());
	stmt_int(st, 19, (int64_t)(recorded ? in->process_count : in->sampled_processes));
	stmt_str(st, 20, m->cluster ? m->cluster : "");
	stmt_int(st, 21, in->nth);
	return stmt_run(st);
}

static int write_meta(struct ingest *in, const struct jobmeta *m)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(in->store, "INSERT INTO job_meta (job, json) VALUES ($1, $2)");

	if (!st)
		return -EIO;
	stmt_int(st, 1, in->job);
	stmt_bytes(st, 2, m->json.buf, m->json.len);
	return stmt_run(st);
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

/* What a reader of the job should know; the number of processes outside of its time. */
static uint64_t add_warnings(struct ingest *in, const struct jobmeta *m)
{
	uint64_t outside = 0;

	for (size_t i = 0; i < in->forest.count; i++) {
		const struct node *n = &in->forest.nodes[i];

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

/* Under the names that scripts look for. */
static void add_annotations(struct ingest *in, struct value *annotations)
{
	/* one that is there came with the job */
	if (!in->bad_pids || value_get(annotations, "papiex-error"))
		return;
	value_set(annotations, "papiex-error", value_str("rdtsc_duration is not positive"));
	value_set(annotations, "papiex-error-process-ids", value_ref(in->bad_pids));
}

/* Who called may remove the input: a commit counts where others find it. It may have waited long
 * for somebody else who wrote. */
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

	int r = flush_all(in);
	if (r == 0)
		r = write_tree(in);
	if (r == 0)
		r = write_profile(in, &peaks[0], &peaks[1]);
	if (r == 0)
		r = write_sums(in);
	if (r == 0)
		r = write_hosts(in);
	if (r == 0)
		r = write_tagsets(in);
	if (r == 0)
		r = write_dict(in, "job_tag", m->tags, false);
	if (r == 0)
		r = write_dict(in, "job_annotation", m->annotations, true);
	if (r == 0)
		r = write_dict(in, "job_analysis", m->analyses, true);
	if (r == 0)
		r = write_warnings(in);
	if (r == 0)
		r = write_meta(in, m);
	/* a collector may have fed the same job */
	int64_t fed = r == 0 ? store_set_aside(in->store, m->jobid, m->user, start_of_job(in, m),
					       end_of_job(in, m))
			     : r;
	r = fed < 0 ? (int)fed : write_job(in, m, format, source, peaks);
	if (r == 0)
		r = commit(in->store);
	/* otherwise, and where this fails, the next collector that opens the store does it */
	if (r == 0 && fed)
		(void)store_merge_streamed(in->store);
	return r;
}

int ingest_finish(struct ingest *in, const struct jobmeta *m, const char *format,
		  const char *source, bool strict, struct ingest_result *ret, struct strbuf *why)
{
	int r = 0;

	process_tree_build(&in->forest, m->layout->images_dropped);
	uint64_t outside = add_warnings(in, m);
	if (outside && strict) {
		strbuf_addf(why, "'%s': corrupted: %llu %s outside of the job's time", source,
			    (unsigned long long)outside,
			    plural(outside, "process is", "processes are"));
		return -EBADMSG;
	}
	add_annotations(in, m->annotations);
	if (in->store)
		r = write_all(in, m, format, source);
	if (r < 0)
		strbuf_addstr(why, store_error(in->store));
	/* somebody was faster with a job of this id; any other key is ours to keep */
	if (r == -EEXIST)
		return strstr(why->buf, "nth") ? -ESTALE : -EINVAL;
	if (r < 0)
		return r;
	*ret = (struct ingest_result){.processes = in->process_count,
				      .images = in->forest.count,
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
