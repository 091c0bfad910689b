/* Sample files of a job; see sample_files.h. */
#include "jobs/sample_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/cached_file.h"
#include "core/files/fs.h"
#include "jobs/metadata_file.h"

struct sample_file_head sample_files_head(const struct job_directory *j, const struct run_file *r,
					  const char *host, uint64_t period_ns)
{
	char *boot = read_fact("/proc/sys/kernel/random/boot_id");
	struct sample_file_head h = {0};

	h.host = xstrdup(host);
	h.boot = boot ? boot : xstrdup("");
	h.job = xstrdup(j->id);
	h.run = xstrdup(r->run);
	h.period_ns = period_ns;
	clock_pair(&h.boottime_ns, &h.realtime_ns);
	return h;
}

/* ---- hosts that have ended ------------------------------------------------------------------ */

/* By its metadata; own: the run that asks, which has. */
static bool run_ended(const struct value *run, const char *own)
{
	const char *name = value_get_str(run, "run");

	return value_get(run, "end") || (name && !strcmp(name, own));
}

static bool has_ended(const struct value *runs, const char *host, const char *own)
{
	bool ended = false;

	for (size_t i = 0; i < runs->list.count; i++) {
		const struct value *run = runs->list.items[i];
		const char *name = value_get_str(run, "host");

		if (!name || strcmp(name, host) != 0 || !value_get(run, "sampling"))
			continue;
		if (!run_ended(run, own))
			return false;
		ended = true;
	}
	return ended;
}

static size_t count_ended(const struct value *runs, const char *own)
{
	size_t n = 0;

	for (size_t i = 0; i < runs->list.count; i++)
		n += value_get(runs->list.items[i], "sampling") &&
		     run_ended(runs->list.items[i], own);
	return n;
}

size_t sample_files_ended(const struct job_directory *j, const struct job_hosts *p, const char *own,
			  struct strbuf *missing)
{
	_cleanup_value_ struct value *runs = job_directory_runs(j);
	size_t n = 0;

	if (!p->name_count) {
		n = count_ended(runs, own);
		if (n < p->expected)
			strbuf_addf(missing, "%zu of %zu", p->expected - n, p->expected);
		return n;
	}
	for (size_t i = 0; i < p->name_count; i++) {
		if (has_ended(runs, p->names[i], own))
			n++;
		else
			strbuf_addf(missing, "%s%s", missing->len ? " " : "", p->names[i]);
	}
	return n;
}

/* ---- merging ----------------------------------------------------------------------- */

struct merging {
	const struct job_directory *job;
	int to;
	char **names; /* of the files that were copied */
	size_t count, cap;
};

/* Has the host that wrote this file ended, by the metadata beside it? The merged file has none. */
static bool is_complete(const struct job_directory *j, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_value_ struct value *metadata = NULL;
	_cleanup_free_ char *beside =
		xasprintf("%.*s.json", (int)(strlen(name) - strlen(SAMPLE_FILES_SUFFIX)), name);

	return !strchr(name, '/') || (fs_read(j->records, beside, META_FILE_MAX, &text) == 0 &&
				      value_from_json(text.buf, text.len, &metadata, &why) == 0 &&
				      value_get(metadata, "end"));
}

static int append(void *user, int fd, const char *name)
{
	struct merging *m = user;
	_cleanup_close_ int from = fd;

	if (!is_complete(m->job, name))
		return 0;
	int r = fs_copy(from, m->to);
	if (r < 0)
		return r;
	GROW(m->names, m->count, m->cap);
	m->names[m->count++] = xstrdup(name);
	return 0;
}

int sample_files_merge(const struct job_directory *j, struct strbuf *why)
{
	const char *aside = "." SAMPLE_FILES_MERGED ".part";
	struct merging m = {.job = j};

	m.to = openat(j->records, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		      0600);
	int r = m.to < 0 ? -errno
			 : job_directory_visit_samples(j, JOB_DIRECTORY_RECORDS, append, &m, NULL);
	if (r == 0)
		r = fs_sync(m.to);
	if (r == 0 && m.count && renameat(j->records, aside, j->records, SAMPLE_FILES_MERGED) < 0)
		r = -errno;
	/* remove the parts only when the merged file is on disk */
	if (r == 0 && m.count)
		r = fs_sync_dir(j->records);
	if (r < 0 || !m.count)
		(void)unlinkat(j->records, aside, 0);
	if (r < 0)
		strbuf_addf(why, "cannot merge the samples of job %s in '%s': %s", j->id, j->path,
			    strerror(-r));
	close_fd(&m.to);
	for (size_t i = 0; i < m.count; i++) {
		if (r == 0 && strcmp(m.names[i], SAMPLE_FILES_MERGED) != 0)
			(void)unlinkat(j->records, m.names[i], 0);
		free(m.names[i]);
	}
	free(m.names);
	return r < 0 ? r : (int)m.count;
}
