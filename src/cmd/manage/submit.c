/*
 * plimsoll submit: jobs into the store, each wholly or not at all. What is in the store already is
 * left alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "codecs/archive.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "jobs/job_files.h"
#include "jobs/metadata_file.h"
#include "store/import/import.h"

#define WORKERS_MAX 256

struct submitting {
	struct context *ctx;
	const struct submit_options *o;
	struct store *store;
	char **inputs;
	int count;
	bool progress;
};

/* ---- after it ------------------------------------------------------------------------------- */

/* What is not of a job is in no store. */
static int refuse_foreign(const char *path, const char *foreign)
{
	log_error("'%s' was submitted and is kept: '%s' in it is not of a job, and would be lost",
		  path, foreign);
	return -EBUSY;
}

/* Only what was read goes: a process that is still recorded has more to write, and no run begins in
 * the directory while it is looked at and removed. */
static int remove_directory(struct submitting *s, const char *path, struct jobdir_weight before)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	int r = jobdir_open_path(&j, &s->ctx->config, path, NULL, false, &names);

	if (r < 0)
		return r;
	_cleanup_close_ int lock = jobdir_lock(&j);
	_cleanup_free_ char *foreign = NULL;
	/* first who runs: one that has ended meanwhile has written before */
	size_t n = jobdir_running(&j, false, &names);
	struct jobdir_weight now = jobdir_weigh(&j);
	if (n)
		log_error(
			"'%s' was submitted and is kept: it is still recorded by %s; submit it again "
			"when %s ended (`tail --pid=PID -f /dev/null` waits for one)",
			path, names.buf, n == 1 ? "that has" : "they have");
	else if (now.bytes != before.bytes || now.files != before.files)
		log_error(
			"'%s' was submitted and is kept: more was recorded meanwhile; submit it again",
			path);
	else if ((foreign = jobfiles_foreign(AT_FDCWD, path)))
		return refuse_foreign(path, foreign);
	else
		return jobdir_remove(path);
	return -EBUSY;
}

static struct jobdir_weight weigh_input(struct submitting *s, const char *path)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    jobdir_open_path(&j, &s->ctx->config, path, NULL, false, &ignored) < 0)
		return (struct jobdir_weight){0};
	return jobdir_weigh(&j);
}

static int remove_input(struct submitting *s, const char *path, struct jobdir_weight before,
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
		log_error("'%s' was submitted and cannot be removed: %s", path, strerror(-r));
	return r;
}

/* Into the configured directory, else failed/ beside the input. */
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

/* ---- telling -------------------------------------------------------------------------------- */

static void tell_json(const char *path, const struct import_result *in, double seconds, int error,
		      const char *why)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	jsonw_begin_object(&j, NULL);
	jsonw_str(&j, "input", path);
	jsonw_str(&j, "jobid", in->jobid);
	jsonw_str(&j, "result", !error ? "submitted" : error == -EEXIST ? "exists" : "failed");
	jsonw_str(&j, "format", in->format);
	jsonw_u64(&j, "parts", in->parts);
	jsonw_u64(&j, "processes", in->sums.processes);
	jsonw_u64(&j, "images", in->sums.images);
	jsonw_u64(&j, "threads", in->sums.threads);
	jsonw_u64(&j, "cpu_time", in->sums.cpu_us);
	jsonw_u64(&j, "samples", in->samples.values);
	jsonw_f64(&j, "seconds", seconds);
	jsonw_str(&j, "error", error ? why : NULL);
	jsonw_end_object(&j);
	strbuf_addch(&j.out, '\n');
	/* one write: several workers share the output */
	(void)!write(STDOUT_FILENO, j.out.buf, j.out.len);
}

static void tell(const struct submitting *s, const struct import_result *in, double seconds)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT, duration = STRBUF_INIT;
	_cleanup_strbuf_ struct strbuf id = STRBUF_INIT;
	double rate = seconds > 0 ? (double)in->sums.images / seconds : 0;

	if (s->ctx->verbosity < 0)
		return;
	/* what a terminal would act on may be in the id */
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
	/* where the bar is */
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

/* Which of several inputs it was is said once. */
static void tell_failure(const struct submitting *s, const char *path, const char *why)
{
	bool named = strstr(why, path) != NULL;
	/* of a file with many jobs some may be there */
	bool none = !s->o->dry && !strstr(why, " stored");

	log_error("%s%s%s%s%s", why, none ? "; nothing of it was stored" : "", named ? "" : ": '",
		  named ? "" : path, named ? "" : "'");
}

/* Metadata of a first job in an archive, and of another one in it. */
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

/* Reading an archive ends with the metadata of a job that is stored: is there another behind it? */
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
		strbuf_addf(
			why,
			", and behind it '%s' is a second job in one archive; submit them one by "
			"one",
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
	struct jobdir_weight before = {0};
	if (remove)
		before = weigh_input(s, path);
	int r = s->o->dry ? import_submit(&s->ctx->config, NULL, path, &how, &in, &why)
			  : submit_input(s->ctx, &s->store, path, &how, &in, &why);
	double seconds = (double)((int64_t)clock_boottime_ns() - begin) / 1e9;
	if (r == -EEXIST && has_second_job(path, &why))
		r = -EBADMSG;
	if (s->o->json)
		tell_json(path, &in, seconds, r, why.buf);
	else if (r == 0)
		tell(s, &in, seconds);
	if (r == 0 && s->ctx->verbosity > 0)
		fprintf(stderr, "%s", in.details.buf);
	if (r == -EEXIST && !s->o->error)
		log_warn("%s, skipped: '%s'", why.buf, path);
	else if (r < 0)
		tell_failure(s, path, why.buf);
	/* what is there already may go, too, where it is certain that all of it is */
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

/* Shared by the workers: who takes the next input, and whether to go on. */
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
	/* a connection does not survive a fork: every worker has its own */
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

/* ---- command -------------------------------------------------------------------------------- */

/* The store is emptied only where something readable takes the place of what it holds. */
static int drop_store(struct submitting *s)
{
	const struct import_options how = {.strict = s->ctx->personality->strict_import};
	int r = 0;

	for (int i = 0; i < s->count && r == 0; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct import_result in;

		r = import_submit(&s->ctx->config, NULL, s->inputs[i], &how, &in, &why);
		if (r < 0)
			log_error("%s; the store is left as it was", why.buf);
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
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
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

static int run(struct context *ctx, int argc, char **argv)
{
	return do_submit(ctx, ctx->options, argc, argv);
}

static const struct submit_options defaults = {.workers = 1};

const struct command command_submit = {
	.name = "submit",
	.summary = "put jobs into the store",
	.arguments = "[DIRECTORY|ARCHIVE|FILE...]",
	.description =
		"Reads a stopped job and writes it into the store with its process tree, sums and "
		"profile, in one transaction: it is there wholly or not at all. Takes directories "
		"and archives of ours and of the tools that this program stands in for: CSV files of "
		"single processes or collated, TSV files, with metadata as JSON or pickle; samples "
		"(*.smp) beside records or alone; directories of JSON files that other monitors leave; and "
		"HDF5 files of colmet's collector or ours, with all their jobs. "
		"Compression is told by content. Without an argument: the current job, else the "
		"last one of this session.\n\n"
		"A job may come in parts: one from each host where the hosts share no directory, or steps "
		"that were staged one by one. Each part is added to those that are there, whatever their "
		"order, and the result is that of one directory.\n\n"
		"What is in the store already is left alone, with a warning: a job of another tool "
		"with the same id, or the same part. A part that went on since is stored with what is new.",
	.examples = "plimsoll submit\n  the job that was just stopped\n"
		    "plimsoll submit -p 4 --remove /archive/jobs/*.tgz\n"
		    "  many, with four workers, each removed once it is stored\n"
		    "plimsoll submit node1/685000.tgz node2/685000.tgz\n  the parts of one job\n",
	.options =
		(const struct option_row[]){
			{OPT_FLAG, 'e', "error", NULL,
			 "stop at the first input that fails; a job that is there already fails too",
			 AT(struct submit_options, error)},
			{OPT_FLAG, 'n', "dry-run", NULL, "read and check everything, store nothing",
			 AT(struct submit_options, dry)},
			{OPT_FLAG, 'r', "remove", NULL,
			 "remove an input once all of it is stored, and nothing records it any more",
			 AT(struct submit_options, remove)},
			{OPT_FLAG, 'm', "move-away", NULL,
			 "move an input that failed into the configured failed_dir",
			 AT(struct submit_options, move_away)},
			{OPT_FLAG, 0, "drop", NULL,
			 "empty the store first, once all inputs were read without an error",
			 AT(struct submit_options, drop)},
			{OPT_COUNT, 'p', "parallel", "N", "so many workers",
			 AT(struct submit_options, workers), RANGE(1, WORKERS_MAX)},
			ROW_DB,
			ROW_JSON(struct submit_options),
			ROW_VERBOSE,
			ROW_QUIET,
			ROW_END,
		},
	.defaults = &defaults,
	.options_size = sizeof(defaults),
	.run = run,
};
