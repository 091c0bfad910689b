/*
 * plimsoll stage: a stopped job becomes one archive, handed to the stage command, and its directory
 * is removed once that succeeded.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "cmd/record/stage_place.h"
#include "codecs/archive.h"
#include "core/files/fs.h"
#include "jobs/metadata.h"
#include "jobs/metadata_file.h"
#include "records/record_mask.h"

struct staging {
	struct context *ctx;
	const struct stage_options *o;
	struct jobdir *j;
	const struct archive_functions *a;
	struct archive_writer *w;
	struct strbuf why;
};

/* ---- what goes in --------------------------------------------------------------------------- */

/* An archive leaves the user's own directory: arguments go into it without what is secret. */
static int add_records(struct staging *s, int fd, const char *as, mode_t mode)
{
	_cleanup_close_ int masked = fs_scratch_file();
	struct stat st;

	if (masked < 0) {
		strbuf_addf(&s->why, "no room for a temporary file: %s", strerror(-masked));
		return masked;
	}
	int r = record_file_mask(fd, masked, &s->why);
	if (r == 0 && (fstat(masked, &st) < 0 || lseek(masked, 0, SEEK_SET) < 0))
		r = -errno;
	return r < 0 ? r : s->a->add(s->w, as, mode, NULL, (uint64_t)st.st_size, masked, &s->why);
}

static int add_open_file(struct staging *s, int dir, const char *name, const char *as)
{
	struct stat st;
	_cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0) {
		int e = errno;

		strbuf_addf(&s->why, "cannot open '%s/%s': %s; make it readable (chmod -R u+rX)",
			    s->j->path, str_prefix(as, "./") ? as + 2 : as, strerror(e));
		return -e;
	}
	if (!S_ISREG(st.st_mode))
		return 0;
	if (str_suffix(name, ".rec"))
		return add_records(s, fd, as, st.st_mode & 0777);
	return s->a->add(s->w, as, st.st_mode & 0777, NULL, (uint64_t)st.st_size, fd, &s->why);
}

static int add_tree(struct staging *s, int dir, const char *prefix)
{
	struct dirent **list = NULL;
	int n = scandirat(dir, ".", &list, NULL, alphasort), r = 0;

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		_cleanup_free_ char *as = xasprintf("%s/%s", prefix, name);

		if (r == 0 && name[0] != '.') {
			_cleanup_close_ int sub =
				openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			r = sub >= 0 ? add_tree(s, sub, as) : add_open_file(s, dir, name, as);
		}
		free(list[i]);
	}
	free(list);
	return n < 0 ? -errno : r;
}

static int add_named(struct job_archive *a, const char *name)
{
	struct staging *s = a->user;
	_cleanup_free_ char *as = xasprintf("./%s", name);

	return add_open_file(s, s->j->fd, name, as);
}

static int add_text(struct job_archive *a, const char *name, const struct strbuf *text)
{
	struct staging *s = a->user;
	_cleanup_free_ char *as = xasprintf("./%s", name);

	return s->a->add(s->w, as, 0600, text->buf, text->len, -1, &s->why);
}

static int fill_archive(struct staging *s)
{
	struct job_archive a = {.job = s->j,
				.config = &s->ctx->config,
				.apart = s->o->no_collate,
				.strict = s->o->error,
				.add_file = add_named,
				.add_text = add_text,
				.user = s};

	return s->j->layout->pack ? s->j->layout->pack(&a) : add_tree(s, s->j->fd, ".");
}

/* Into a descriptor that is at its beginning. */
static int make_archive(struct staging *s, int fd)
{
	s->a = archive_module(&s->why);
	s->w = s->a ? s->a->create(fd, &s->why) : NULL;
	if (!s->w)
		return -EIO;
	int r = fill_archive(s);
	if (r < 0) {
		s->a->abandon(s->w);
		return r;
	}
	return s->a->finish(s->w, &s->why);
}

/* ---- where it goes -------------------------------------------------------------------------- */

/* Runs "<stage command> <what> <destination>"; the command may have words of its own. */
static int hand_over(struct staging *s, const char *command, const char *what, const char *dest)
{
	_cleanup_free_ char *script = xasprintf("%s \"$1\" \"$2\"", command);
	const char *argv[] = {"sh", "-c", script, "plimsoll-stage", what, dest, NULL};
	pid_t pid;
	int status = 0;

	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, (char *const *)argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid)
		return -ECHILD;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	log_error("stage command `%s %s %s` failed with status %d; the job stays in '%s'", command,
		  what, dest, shell_status(status), s->j->path);
	return -EIO;
}

/* The file that a command wrote is as large as the one it was given, and on the disk. */
static int check_copy(struct staging *s, const char *path, off_t size)
{
	struct stat st;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == size &&
	    fs_sync(fd) == 0)
		return 0;
	strbuf_addf(&s->why,
		    "the stage command succeeded and '%s' is not the archive; the job "
		    "stays in '%s'",
		    path, s->j->path);
	return -EIO;
}

/* Commands of which it is known what they do with a local destination. */
static bool is_copying(const char *command)
{
	size_t n = strcspn(command, " \t");
	_cleanup_free_ char *word = xstrndup(command, n);

	return !strcmp(path_base(word), "mv") || !strcmp(path_base(word), "cp");
}

/* By the site's own command, from a file in the temporary directory. */
static int by_command(struct staging *s, const char *command, const char *dest, const char *name)
{
	const char *tmp = getenv("TMPDIR");
	_cleanup_free_ char *dir =
		xasprintf("%s/plimsoll-stage-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	_cleanup_place_ struct stage_place place = STAGE_PLACE_INIT, there = STAGE_PLACE_INIT;
	_cleanup_free_ char *path = NULL, *target = NULL;
	bool copying = is_copying(command);
	struct stat st = {0};

	if (!mkdtemp(dir)) {
		strbuf_addf(&s->why, "cannot make a temporary directory '%s': %s", dir,
			    strerror(errno));
		return -errno;
	}
	bool into = stat(dest, &st) == 0 && S_ISDIR(st.st_mode);
	int r = copying || into ? stage_place_open(&there, dest, name, s->j->path, &s->why) : 0;
	if (r == 0 && there.dir >= 0)
		target = stage_place_free_name(&there);
	const char *base = target ? path_base(target) : name;
	if (r == 0)
		r = stage_place_open(&place, dir, base, s->j->path, &s->why);
	if (r == 0)
		r = stage_place_create(&place, &s->why);
	if (r == 0)
		r = make_archive(s, place.fd);
	if (r == 0 && fstat(place.fd, &st) < 0)
		r = -errno;
	if (r == 0)
		r = stage_place_publish(&place, &path, &s->why);
	if (r == 0)
		r = hand_over(s, command, path, target && copying ? target : dest);
	/* what a command does elsewhere only it knows; in a directory here it can be seen */
	if (r == 0 && target)
		r = check_copy(s, target, st.st_size);
	if (r == 0)
		puts(target ? target : dest);
	if (path)
		(void)unlink(path);
	(void)rmdir(dir);
	return r;
}

/* Into the destination itself: there is no second copy that could fail. */
static int by_ourselves(struct staging *s, const char *dest, const char *name)
{
	_cleanup_place_ struct stage_place place = STAGE_PLACE_INIT;
	_cleanup_free_ char *path = NULL;

	int r = stage_place_open(&place, dest, name, s->j->path, &s->why);
	if (r == 0)
		r = stage_place_create(&place, &s->why);
	if (r == 0)
		r = make_archive(s, place.fd);
	if (r == 0)
		r = stage_place_publish(&place, &path, &s->why);
	if (r == 0)
		puts(path);
	return r;
}

static int stage_archive(struct staging *s, const char *command, const char *dest)
{
	_cleanup_free_ char *name = xasprintf("%s.tgz", path_base(s->j->path));
	struct jobdir_weight before = jobdir_weigh(s->j);
	int r = !strcmp(command, "mv") ? by_ourselves(s, dest, name)
				       : by_command(s, command, dest, name);
	if (r < 0) {
		if (s->why.len || r != -EIO)
			log_error("job %s is not staged: %s", s->j->id,
				  s->why.len ? s->why.buf : strerror(-r));
		return r;
	}
	/* first who runs: one that has ended meanwhile has written before */
	bool running = jobdir_running(s->j, false, NULL) > 0;
	struct jobdir_weight after = jobdir_weigh(s->j);
	if (running || before.bytes != after.bytes || before.files != after.files) {
		log_error("processes of job %s went on while it was packed: the archive lacks the "
			  "last of them, and '%s' is kept; stage it again",
			  s->j->id, s->j->path);
		return -EBUSY;
	}
	r = jobdir_remove(s->j->path);
	if (r < 0)
		log_warn("cannot remove '%s': %s", s->j->path, strerror(-r));
	return 0;
}

/* The directory as it is. */
static int stage_directory(struct staging *s, const char *command, const char *dest)
{
	_cleanup_place_ struct stage_place place = STAGE_PLACE_INIT;
	_cleanup_free_ char *path = NULL;
	int r = 0;

	if (is_copying(command))
		r = stage_place_open(&place, dest, path_base(s->j->path), s->j->path, &s->why);
	if (r == 0 && !strcmp(command, "mv")) {
		r = stage_place_move(&place, s->j->path, &path, &s->why);
		if (r == -EXDEV) {
			path = stage_place_free_name(&place);
			r = hand_over(s, "mv -T --", s->j->path, path);
		}
	} else if (r == 0) {
		path = place.dir >= 0 ? stage_place_free_name(&place)
				      : xasprintf("%s%s%s", dest, str_suffix(dest, "/") ? "" : "/",
						  path_base(s->j->path));
		r = hand_over(s, command, s->j->path, place.dir >= 0 ? path : dest);
	}
	if (r == 0)
		puts(path);
	else if (s->why.len)
		log_error("job %s is not staged: %s", s->j->id, s->why.buf);
	return r;
}

/* Their records would go with the directory. */
static int check_running(const struct jobdir *j)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;
	size_t n = jobdir_running(j, false, &names);

	if (!n)
		return 0;
	log_error("job %s is not staged: it is still recorded by %s; stage it when %s ended "
		  "(`tail --pid=PID -f /dev/null` waits for one)",
		  j->id, names.buf, n == 1 ? "that has" : "they have");
	return -EBUSY;
}

static int stage_job(struct context *ctx, const struct stage_options *o, struct jobdir *j)
{
	struct staging s = {.ctx = ctx, .o = o, .j = j, .why = STRBUF_INIT};
	_cleanup_free_ char *configured = config_path(&ctx->config, SETTING_STAGE_DEST);
	const char *dest = o->dest ? o->dest : configured;
	const char *command = config_get(&ctx->config, SETTING_STAGE_COMMAND);
	_cleanup_close_ int lock = jobdir_lock(j);
	_cleanup_value_ struct value *meta = NULL;
	bool stopped = false;

	int r = jobdir_read_meta(j, &meta, &stopped, &s.why);
	if (r < 0 || !stopped) {
		log_error("job %s cannot be staged: %s", j->id,
			  r == -ENOENT ? "it has no metadata"
			  : r < 0      ? s.why.buf
				       : "it is running, `stop` it first");
		strbuf_release(&s.why);
		return r < 0 ? r : -EBUSY;
	}
	strbuf_reset(&s.why);
	r = check_running(j);
	if (r == 0 && (r = jobdir_collect(j, &s.why)) < 0)
		log_error("%s", s.why.buf);
	/* a job that another tool recorded has its files already */
	if (r == 0 && j->records != j->fd)
		r = export_job(ctx, j);
	strbuf_reset(&s.why);
	if (r == 0)
		r = o->no_archive ? stage_directory(&s, command, dest)
				  : stage_archive(&s, command, dest);
	strbuf_release(&s.why);
	return r;
}

int do_stage(struct context *ctx, const struct stage_options *o, int argc, char **argv)
{
	int status = EXIT_OK;

	for (int i = 0; i < (argc ? argc : 1); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
		int r = argc ? jobdir_open_path(&j, &ctx->config, argv[i], NULL, false, &why)
			     : job_open_current(ctx, &j, false);

		if (r < 0 && argc)
			log_error("%s", why.buf);
		if (r == 0)
			r = stage_job(ctx, o, &j);
		if (r < 0) {
			status = EXIT_FAILED;
			if (o->error)
				break;
		}
	}
	if (fflush(stdout) != 0)
		status = EXIT_FAILED;
	return status;
}

static int run(struct context *ctx, int argc, char **argv)
{
	return do_stage(ctx, ctx->options, argc, argv);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'e', "error", NULL,
	 "stop at the first job, and the first file, that cannot be staged",
	 AT(struct stage_options, error)},
	{OPT_TEXT, 'd', "dest", "PLACE", "where to, instead of the configured stage_dest",
	 AT(struct stage_options, dest)},
	{OPT_FLAG, 0, "no-collate", NULL,
	 "keep files of single processes apart, where the layout puts them together",
	 AT(struct stage_options, no_collate)},
	{OPT_FLAG, 0, "no-compress-and-tar", NULL, "hand over the directory itself, and keep it",
	 AT(struct stage_options, no_archive)},
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_stage = {
	.name = "stage",
	.summary = "pack a stopped job into an archive and move it away",
	.arguments = "[DIRECTORY...]",
	.description =
		"Packs the job's directory into JOB.tgz at the destination, prints where it went, and removes "
		"the directory once the archive is complete and on the disk. The destination is a "
		"directory, which is made when it is missing, or the name of an archive that is not there. "
		"Nothing is written over: where there is a JOB.tgz, this one becomes JOB.1.tgz; `submit` "
		"puts them together as one job. A stage command other than mv is run with the archive and the "
		"destination. A job with processes that are still recorded on this host is refused: their "
		"records would go with the directory. Without an argument: the current job, else the last one of this session. A job directory in the layout of "
		"another tool becomes the archive that this tool would have made.",
	.examples = "  plimsoll stage --dest /archive/jobs/\n",
	.options = rows,
	.options_size = sizeof(struct stage_options),
	.run = run,
};
