/* The end of sampling: the first host waits for the others, merges their samples and stores the
 * job. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "context/stored_job.h"
#include "core/clock.h"
#include "core/text/text.h"
#include "jobs/metadata.h"
#include "monitor/monitor_internal.h"
#include "store/import/import.h"

/* How often to look whether late hosts have ended. */
#define LOOK_MS 200
#define LOOK_SIZE_NS 1000000000ull
#define HURRY_NS 10000000000ull
#define PATIENCE_NS 120000000000ull

void monitor_sleep(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
			      .tv_nsec = (long)(ns % 1000000000u)};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static int write_metadata(struct monitoring *m)
{
	int r = run_file_write_metadata(&m->file, m->metadata);

	if (r < 0)
		log_error("cannot write the metadata of sampling in '%s': %s", m->job.path,
			  strerror(-r));
	return r;
}

/* The host that merges the samples waits for the end in this metadata. */
static int end_metadata(struct monitoring *m)
{
	metadata_set_time(m->metadata, "end", m->ended_us);
	return write_metadata(m);
}

int monitor_keep_result(struct monitoring *m, struct value *sampling)
{
	if (sampling)
		value_set(m->metadata, "sampling", sampling);
	if (m->status >= 0)
		value_set(m->metadata, "exitcode", value_int(m->status));
	if (!m->ended_us)
		m->ended_us = clock_realtime_us();
	return m->peers.first ? write_metadata(m) : end_metadata(m);
}

static void end_job(struct monitoring *m, const char *missing)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;

	if (job_directory_read_meta(&m->job, &meta, NULL, &why) < 0 ||
	    !value_get(meta, "started_by_monitor"))
		return;
	m->began = !job_inherited_dir(m->ctx);
	/* other hosts may have ended later */
	int64_t end = m->peers.expected <= 1 ? m->ended_us : clock_realtime_us();
	m->job.layout->stop(meta, &m->ctx->config, end, m->status >= 0 ? m->status : -1, NULL,
			    environment_metadata(&m->ctx->config, environ));
	if (*missing)
		value_set(meta, "missing_hosts", value_str(missing));
	int r = job_directory_write_meta(&m->job, meta, true);
	if (r < 0)
		log_warn("cannot write the end of job %s in '%s': %s", m->job.id, m->job.path,
			 strerror(-r));
}

/* A batch job is stored when it has ended; samples beside it are easily forgotten. */
static void say_not_stored(const struct monitoring *m)
{
	_cleanup_strbuf_ struct strbuf dir = STRBUF_INIT;

	if (!m->began || m->o->finish || m->o->no_submit || m->o->quiet || m->ctx->verbosity < 0)
		return;
	text_add_shell(&dir, m->o->dir ? m->o->dir : path_base(m->job.path));
	fprintf(stderr,
		"plimsoll: these samples are not in the store: `plimsoll submit %s` adds them to "
		"job %s\n",
		dir.buf, m->job.id);
}

static void submit(struct monitoring *m)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;
	const struct import_options how = {.replace = true};
	struct import_result in;

	if (m->o->no_submit || m->o->finish ||
	    (!m->o->submit && (m->origin != JOB_NONE || job_inherited_dir(m->ctx)))) {
		say_not_stored(m);
		return;
	}
	if (open_store(m->ctx, STORE_WRITE, &s) < 0) {
		log_warn("the job stays in '%s' and is not in the store", m->job.path);
		return;
	}
	if (submit_input(m->ctx, &s, m->job.path, &how, &in, &why) < 0)
		log_warn("the job is not in the store: %s", why.buf);
	import_result_release(&in);
}

static int add_size(void *user, int fd, const char *name)
{
	uint64_t *total = user;
	struct stat st;

	(void)name;
	if (fstat(fd, &st) == 0)
		*total += (uint64_t)st.st_size;
	close(fd);
	return 0;
}

/*
 * Waits for the given time; with wait_sampling as long as they sample and then for that time. A
 * batch system that ended us kills us soon, and has ended the others, too.
 */
static void wait_for_hosts(struct monitoring *m, struct strbuf *missing)
{
	const char *ended_by = value_get_str(value_get(m->metadata, "sampling"), "ended_by");
	bool hurry = ended_by && !strcmp(ended_by, "signal");
	bool patient = m->o->wait_sampling && !hurry;
	uint64_t wait = m->o->merge_ns, size = 0, next_look = 0;
	/* with less than two periods a sampling host would seem to have stopped */
	uint64_t least = 2 * m->o->interval_ns < PATIENCE_NS ? 2 * m->o->interval_ns : PATIENCE_NS;

	if (hurry && wait > HURRY_NS)
		wait = HURRY_NS;
	if (patient && wait < least)
		wait = least;
	uint64_t until = clock_boottime_ns() + wait;
	while (sample_files_ended(&m->job, &m->peers, m->file.run, missing) < m->peers.expected) {
		uint64_t now = clock_boottime_ns(), sampled = 0;

		if (now >= until)
			return;
		if (patient && now >= next_look) {
			(void)job_directory_visit_samples(&m->job, JOB_DIRECTORY_RECORDS, add_size,
							  &sampled, NULL);
			until = sampled != size ? now + wait : until;
			size = sampled;
			next_look = now + LOOK_SIZE_NS;
		}
		monitor_sleep(LOOK_MS * 1000000ull);
		strbuf_reset(missing);
	}
}

int monitor_merge_hosts(struct monitoring *m)
{
	_cleanup_strbuf_ struct strbuf missing = STRBUF_INIT, why = STRBUF_INIT;
	int r = 0;

	wait_for_hosts(m, &missing);
	if (missing.len)
		log_warn("hosts that did not report within %.0f s: %s; their samples are in '%s'",
			 (double)m->o->merge_ns * 1e-9, missing.buf, m->job.path);
	/* together, so that nobody stores or removes the job in between */
	_cleanup_close_ int lock = job_directory_lock(&m->job);
	int ended = end_metadata(m);
	end_job(m, missing.buf);
	const struct monitor_finish f = {&m->job, &m->peers, missing.buf};
	if (m->o->finish) {
		close_fd(&lock);
		r = m->o->finish(m->o->user, &f);
		return ended < 0 ? ended : r;
	}
	if (m->o->layout)
		r = m->o->layout->write(m->o, &f);
	if (r == 0 && (m->peers.expected > 1 || m->peers.name_count > 1) &&
	    (r = sample_files_merge(&m->job, &why)) < 0)
		log_error("%s", why.buf);
	close_fd(&lock);
	submit(m);
	return ended < 0 ? ended : r < 0 ? r : 0;
}
