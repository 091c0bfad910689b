/* See submit.h. */
#include "inbox/submit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codecs/archive.h"
#include "context/current_job.h"
#include "context/stored_job.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "jobs/job_files.h"
#include "jobs/metadata_file.h"
#include "store/import/import.h"

struct submitting {
	struct context *ctx;
	const struct submit_options *o;
	struct store *store;
	char **inputs;
	int count;
	bool progress;
};

/* ---- the input after submission ------------------------------------------------------------- */

/* A foreign file is not in the store and must not be lost. */
static int refuse_foreign(const char *path, const char *foreign)
{
	log_error(
		"'%s' was submitted but is kept: it contains '%s', which is not part of a job and would be lost",
		path, foreign);
	return -EBUSY;
}

/* Removes only what was read: a recorded process that still runs would write more. The lock keeps
 * new runs out of the directory meanwhile. */
static int remove_directory(struct submitting *s, const char *path,
			    struct job_directory_weight before)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	int r = job_directory_open_path(&j, &s->ctx->config, path, NULL, false, &names);

	if (r < 0)
		return r;
	_cleanup_close_ int lock = job_directory_lock(&j);
	_cleanup_free_ char *foreign = NULL;
	if (!job_directory_is_there(&j))
		return -ENOENT; /* somebody else has removed it */
	/* running processes first: one that ends in between has written everything */
	size_t n = job_directory_running(&j, false, &names);
	struct job_directory_weight now = job_directory_weigh(&j);
	if (n)
		log_error(
			"'%s' was submitted but is kept: %s still %s to it; submit it again afterwards "
			"(`tail --pid=PID -f /dev/null` waits for a process)",
			path, names.buf, n == 1 ? "records" : "record");
	else if (job_directory_weight_differs(&now, &before))
		log_error(
			"'%s' was submitted but is kept: more was recorded meanwhile; submit it again",
			path);
	else if ((foreign = job_files_foreign(AT_FDCWD, path)))
		return refuse_foreign(path, foreign);
	else
		return job_directory_remove(path);
	return -EBUSY;
}

static struct job_directory_weight weigh_input(struct submitting *s, const char *path)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    job_directory_open_path(&j, &s->ctx->config, path, NULL, false, &ignored) < 0)
		return (struct job_directory_weight){0};
	return job_directory_weigh(&j);
}

static int remove_input(struct submitting *s, const char *path, struct job_directory_weight before,
			const char *member)
{
	struct stat st;
	int r;

	if (member)
		r = refuse_foreign(path, member);
	else if (lstat(path, &st) < 0)
		r = -errno;
	else if (!S_ISDIR(st.st_mode))
		r = unlink(path) < 0 ? -errno : 0;
	else
		r = remove_directory(s, path, before);
	if (r < 0 && r != -EBUSY)
		log_error("'%s' was submitted but cannot be removed: %s", path, strerror(-r));
	return r;
}

/* Moves an input to the configured directory, else to failed/ next to it. */
static void move_away(struct submitting *s, const char *path)
{
	_cleanup_free_ char *dir = config_path(&s->ctx->config, SETTING_FAILED_DIR);
	_cleanup_free_ char *own = xstrdup(path);
	_cleanup_free_ char *beside = NULL;

	for (size_t n = strlen(own); n > 1 && own[n - 1] == '/'; n--)
		own[n - 1] = 0;
	char *slash = strrchr(own, '/');
	if (!*dir)
		beside = slash ? xasprintf("%.*s/failed", (int)(slash - own), own)
			       : xstrdup("failed");
	const char *to = beside ? beside : dir;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_close_ int fd = fs_open_named(to, true, &why);
	_cleanup_free_ char *name = NULL;
	if (fd < 0) {
		log_error("%s; '%s' stays where it is", why.buf, own);
		return;
	}
	int r = fs_move_numbered(AT_FDCWD, own, fd, path_base(own), &name);
	if (r < 0)
		log_error("cannot move '%s' to '%s': %s", own, to, strerror(-r));
	else
		log_warn("moved '%s' to '%s/%s'", own, to, name);
}

/* ---- results -------------------------------------------------------------------------------- */

static void print_json(const char *path, const struct import_result *in, double seconds, int error,
		       const char *why)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_str(&j, "input", path);
	json_str(&j, "jobid", in->jobid);
	json_str(&j, "result", !error ? "submitted" : error == -EEXIST ? "exists" : "failed");
	json_str(&j, "format", in->format);
	json_u64(&j, "parts", in->parts);
	json_u64(&j, "processes", in->sums.processes);
	json_u64(&j, "images", in->sums.images);
	json_u64(&j, "threads", in->sums.threads);
	json_u64(&j, "cpu_time", in->sums.cpu_us);
	json_u64(&j, "samples", in->samples.values);
	json_f64(&j, "seconds", seconds);
	json_str(&j, "error", error ? why : NULL);
	json_end_object(&j);
	strbuf_addch(&j.out, '\n');
	/* one write, because several workers share the output */
	(void)!write(STDOUT_FILENO, j.out.buf, j.out.len);
}

static void print_line(const struct submitting *s, const struct import_result *in, double seconds)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT, duration = STRBUF_INIT;
	_cleanup_strbuf_ struct strbuf id = STRBUF_INIT;
	double rate = seconds > 0 ? (double)in->sums.images / seconds : 0;

	if (s->ctx->verbosity < 0)
		return;
	/* the id may contain control characters */
	text_add_printable(&id, in->jobid, strlen(in->jobid));
	if (s->ctx->personality->add_import) {
		s->ctx->personality->add_import(&line, id.buf, in->sums.images, rate, s->o->dry);
	} else {
		text_add_duration(&duration, seconds);
		strbuf_addf(&line, "%s %s: ", s->o->dry ? "read" : "submitted", id.buf);
		if (in->parts > 1)
			strbuf_addf(&line, "now %zu parts with ", in->parts);
		strbuf_addf(&line, "%llu process%s", (unsigned long long)in->sums.processes,
			    plural(in->sums.processes, "", "es"));
		if (in->sums.images != in->sums.processes)
			strbuf_addf(&line, ", %llu %s", (unsigned long long)in->sums.images,
				    plural(in->sums.images, "image", "images"));
		strbuf_addf(&line, ", %llu thread%s", (unsigned long long)in->sums.threads,
			    plural(in->sums.threads, "", "s"));
		if (in->samples.values)
			strbuf_addf(&line, ", %llu %s", (unsigned long long)in->samples.values,
				    plural(in->samples.values, "sample", "samples"));
		strbuf_addf(&line, " in %s", duration.buf);
		if (in->sums.processes || !in->samples.values)
			strbuf_addf(&line, ", %.0f images/s", rate);
		strbuf_addch(&line, '\n');
	}
	/* erase the progress bar */
	if (s->progress)
		fputs("\r\x1b[K", stderr);
	(void)!write(STDOUT_FILENO, line.buf, line.len);
}

#define BAR 30

static void show_progress(const struct submitting *s, int done)
{
	static const char full[BAR + 1] = "##############################";
	int part = s->count ? BAR * done / s->count : BAR;

	if (s->progress)
		fprintf(stderr, "\r[%-*.*s] %d of %d%s", BAR, part, full, done, s->count,
			done == s->count ? "\n" : "");
}

/* ---- one input ------------------------------------------------------------------------------ */

/* Names the input, unless the reason does. */
static void report_failure(const struct submitting *s, const char *path, const char *why)
{
	bool named = strstr(why, path) != NULL;
	/* a file with many jobs may be stored in part */
	bool none = !s->o->dry && !strstr(why, " stored");

	log_error("%s%s%s%s%s", why, none ? "; nothing of it was stored" : "", named ? "" : ": '",
		  named ? "" : path, named ? "" : "'");
}

/* Directory of the first job in an archive, and metadata of a second one. */
struct two_jobs {
	char *dir;
	char *second;
};

static int look_for_second(void *user, const struct archive_member *m)
{
	struct two_jobs *t = user;
	size_t n = (size_t)(path_base(m->name) - m->name);

	if (!meta_is_name(path_base(m->name)))
		return 0;
	if (!t->dir)
		t->dir = xstrndup(m->name, n);
	if (strlen(t->dir) == n && !strncmp(t->dir, m->name, n))
		return 0;
	t->second = xstrdup(m->name);
	return -ECANCELED;
}

/* Import stops at the metadata of a job that is already stored: does another job follow? */
static bool has_second_job(const char *path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	const struct archive_functions *a = archive_module(&reason);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct two_jobs t = {0};
	struct stat st;

	if (a && fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		(void)a->read(fd, look_for_second, &t, &reason);
	if (t.second)
		strbuf_addf(why,
			    ", and the archive contains a second job, '%s'; submit them separately",
			    t.second);
	bool second = t.second;
	free(t.dir);
	free(t.second);
	return second;
}

static int submit_one(struct submitting *s, const char *path)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct import_result in;
	int64_t begin = (int64_t)clock_boottime_ns();

	const struct import_options how = {.strict = s->ctx->personality->strict_import};
	bool remove = s->o->remove && !s->o->dry;
	struct job_directory_weight before = {0};
	if (remove)
		before = weigh_input(s, path);
	int r = s->o->dry ? import_submit(&s->ctx->config, NULL, path, &how, &in, &why)
			  : submit_input(s->ctx, &s->store, path, &how, &in, &why);
	double seconds = (double)((int64_t)clock_boottime_ns() - begin) / 1e9;
	if (r == -EEXIST && has_second_job(path, &why))
		r = -EBADMSG;
	if (s->o->json)
		print_json(path, &in, seconds, r, why.buf);
	else if (r == 0)
		print_line(s, &in, seconds);
	if (r == 0 && s->ctx->verbosity > 0)
		fprintf(stderr, "%s", in.details.buf);
	if (r == -EEXIST && !s->o->error)
		log_warn("%s, skipped: '%s'", why.buf, path);
	else if (r < 0)
		report_failure(s, path, why.buf);
	/* remove an input that was stored before only if all of it is in the store */
	bool stored = r == 0 || (remove && r == -EEXIST &&
				 import_is_stored(&s->ctx->config, s->store, path, &how, &in));
	if (remove && stored) {
		int e = store_check_moved(s->store);

		if (e < 0)
			log_error("'%s' is kept: %s", path, store_error(s->store));
		else
			e = remove_input(s, path, before, in.foreign);
		if (e == 0 && r == -EEXIST)
			log_warn("'%s' was removed: all of it is in the store", path);
		r = e < 0 ? e : r;
	}
	import_result_release(&in);
	if (r < 0 && r != -EEXIST && s->o->move_away && !s->o->dry)
		move_away(s, path);
	bool fails = s->o->error || s->ctx->personality->resubmission_fails;
	return r == -EEXIST && !fails ? 0 : r;
}

static int submit_all(struct submitting *s)
{
	int failed = 0;

	for (int i = 0; i < s->count; i++) {
		show_progress(s, i);
		if (submit_one(s, s->inputs[i]) < 0) {
			failed++;
			if (s->o->error)
				break;
		}
	}
	show_progress(s, s->count);
	return failed;
}

/* ---- several workers ------------------------------------------------------------------------ */

/* Shared by the workers: the next input, and whether to go on. */
struct shared {
	int next, done, failed;
	bool stop;
};

static int work(struct submitting *s, struct shared *sh)
{
	int failed = 0;

	if (!s->o->dry && open_store(s->ctx, STORE_WRITE, &s->store) < 0)
		return 1;
	if (s->store && store_stage(s->store) < 0) {
		log_error("%s", store_error(s->store));
		store_close(s->store);
		return 1;
	}
	while (!__atomic_load_n(&sh->stop, __ATOMIC_RELAXED)) {
		int i = __atomic_fetch_add(&sh->next, 1, __ATOMIC_RELAXED);

		if (i >= s->count)
			break;
		if (submit_one(s, s->inputs[i]) < 0) {
			failed++;
			__atomic_store_n(&sh->stop, s->o->error, __ATOMIC_RELAXED);
		}
		show_progress(s, __atomic_add_fetch(&sh->done, 1, __ATOMIC_RELAXED));
	}
	store_close(s->store);
	return failed > 0;
}

static int submit_parallel(struct submitting *s, unsigned workers)
{
	struct shared *sh =
		mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int failed = 0, status;

	if (sh == MAP_FAILED)
		return submit_all(s);
	/* a connection does not survive fork(): every worker opens its own */
	store_close(s->store);
	s->store = NULL;
	for (unsigned i = 0; i < workers; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(work(s, sh));
		failed += pid < 0;
	}
	while (wait(&status) > 0)
		failed += !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	munmap(sh, sizeof(*sh));
	return failed;
}

/* ---- all inputs ----------------------------------------------------------------------------- */

/* Empties the store, but only if all inputs can be read. */
static int drop_store(struct submitting *s)
{
	const struct import_options how = {.strict = s->ctx->personality->strict_import};
	int r = 0;

	for (int i = 0; i < s->count && r == 0; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct import_result in;

		r = import_submit(&s->ctx->config, NULL, s->inputs[i], &how, &in, &why);
		if (r < 0)
			log_error("%s; the store is unchanged", why.buf);
		import_result_release(&in);
	}
	if (r < 0)
		return r;
	r = schema_drop(s->store);
	if (r < 0)
		log_error("%s", store_error(s->store));
	return r;
}

int do_submit(struct context *ctx, const struct submit_options *o, int argc, char **argv)
{
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	struct submitting s = {.ctx = ctx, .o = o, .inputs = argv, .count = argc};
	int failed = 0;

	if (!argc) {
		if (job_open_current(ctx, &j, false) < 0)
			return EXIT_FAILED;
		s.inputs = &j.path;
		s.count = 1;
	}
	s.progress = s.count > 3 && isatty(STDERR_FILENO) && ctx->verbosity >= 0 && !o->json;
	if (!o->dry && open_store(ctx, STORE_WRITE, &s.store) < 0)
		return EXIT_FAILED;
	if (o->drop && !o->dry && drop_store(&s) < 0)
		failed = 1;
	else if (o->workers > 1 && s.count > 1)
		failed = submit_parallel(&s, (unsigned)o->workers);
	else
		failed = submit_all(&s);
	store_close(s.store);
	return failed ? EXIT_FAILED : EXIT_OK;
}
