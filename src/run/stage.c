/* See stage.h. */
#include "run/stage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codecs/archive.h"
#include "context/current_job.h"
#include "core/files/fs.h"
#include "jobs/metadata.h"
#include "jobs/metadata_file.h"
#include "records/mark_log.h"
#include "records/record_mask.h"
#include "run/run.h"
#include "run/stage_place.h"

struct staging {
	struct context *ctx;
	const struct stage_options *o;
	struct job_directory *j;
	const struct archive_functions *a;
	struct archive_writer *w;
	struct strbuf why;
};

/* ---- content of the archive ----------------------------------------------------------------- */

/* Masks secrets in arguments and names of marks: the archive leaves the user's directory. */
static int add_masked(struct staging *s, int fd, const char *as, mode_t mode)
{
	_cleanup_close_ int masked = fs_scratch_file();
	struct stat st;

	if (masked < 0)
		return strbuf_fail(&s->why, masked, "cannot create a temporary file: %s",
				   strerror(-masked));
	int r = str_suffix(as, ".mark") ? mark_file_mask(fd, masked)
					: record_file_mask(fd, masked, &s->why);
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

		return strbuf_fail(&s->why, -e,
				   "cannot open '%s/%s': %s; make it readable (chmod -R u+rX)",
				   s->j->path, str_prefix(as, "./") ? as + 2 : as, strerror(e));
	}
	if (!S_ISREG(st.st_mode))
		return 0;
	if (str_suffix(name, ".rec") || str_suffix(name, ".mark"))
		return add_masked(s, fd, as, st.st_mode & 0777);
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

/* Writes the archive to a descriptor at its start. */
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

/* ---- destination ---------------------------------------------------------------------------- */

/* Runs "<stage command> <what> <destination>"; the command may include arguments. */
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

/* Checks that the file written by the command has the right size, and syncs it. */
static int check_copy(struct staging *s, const char *path, off_t size)
{
	struct stat st;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == size &&
	    fs_sync(fd) == 0)
		return 0;
	return strbuf_fail(
		&s->why, -EIO,
		"the stage command succeeded, but '%s' is not the archive; the job stays in "
		"'%s'",
		path, s->j->path);
}

/* Commands whose effect on a local destination is known. */
static bool is_copying(const char *command)
{
	size_t n = strcspn(command, " \t");
	_cleanup_free_ char *word = xstrndup(command, n);

	return !strcmp(path_base(word), "mv") || !strcmp(path_base(word), "cp");
}

/* Runs the site's command on a file in the temporary directory. */
static int by_command(struct staging *s, const char *command, const char *dest, const char *name)
{
	const char *tmp = getenv("TMPDIR");
	_cleanup_free_ char *dir =
		xasprintf("%s/plimsoll-stage-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	_cleanup_place_ struct stage_place place = STAGE_PLACE_INIT, there = STAGE_PLACE_INIT;
	_cleanup_free_ char *path = NULL, *target = NULL;
	bool copying = is_copying(command);
	struct stat st = {0};

	if (!mkdtemp(dir))
		return strbuf_fail(&s->why, -errno,
				   "cannot create the temporary directory '%s': %s", dir,
				   strerror(errno));
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
	/* only a local destination can be checked */
	if (r == 0 && target)
		r = check_copy(s, target, st.st_size);
	if (r == 0)
		puts(target ? target : dest);
	if (path)
		(void)unlink(path);
	(void)rmdir(dir);
	return r;
}

/* Writes the archive to the destination directly: no second copy that could fail. */
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
	struct job_directory_weight before = job_directory_weigh(s->j);
	int r = !strcmp(command, "mv") ? by_ourselves(s, dest, name)
				       : by_command(s, command, dest, name);
	if (r < 0) {
		if (s->why.len || r != -EIO)
			log_error("cannot stage job %s: %s", s->j->id,
				  s->why.len ? s->why.buf : strerror(-r));
		return r;
	}
	/* running processes first: one that ends in between has written everything */
	bool running = job_directory_running(s->j, false, NULL) > 0;
	struct job_directory_weight after = job_directory_weigh(s->j);
	if (running || job_directory_weight_differs(&before, &after)) {
		log_error("processes of job %s wrote records while it was packed: the archive is "
			  "incomplete and '%s' is kept; stage it again",
			  s->j->id, s->j->path);
		return -EBUSY;
	}
	r = job_directory_remove(s->j->path);
	if (r < 0)
		log_warn("cannot remove '%s': %s", s->j->path, strerror(-r));
	return 0;
}

/* Hands over the directory as it is. */
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
		log_error("cannot stage job %s: %s", s->j->id, s->why.buf);
	return r;
}

/* A running process would lose its records with the directory. */
static int check_running(const struct job_directory *j)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;
	size_t n = job_directory_running(j, false, &names);

	if (!n)
		return 0;
	log_error("cannot stage job %s: %s still %s to it; stage it afterwards (`tail --pid=PID -f "
		  "/dev/null` waits for a process)",
		  j->id, names.buf, n == 1 ? "records" : "record");
	return -EBUSY;
}

static int stage_job(struct context *ctx, const struct stage_options *o, struct job_directory *j)
{
	struct staging s = {.ctx = ctx, .o = o, .j = j, .why = STRBUF_INIT};
	_cleanup_free_ char *configured = config_path(&ctx->config, SETTING_STAGE_DEST);
	const char *dest = o->dest ? o->dest : configured;
	const char *command = config_get(&ctx->config, SETTING_STAGE_COMMAND);
	_cleanup_close_ int lock = job_directory_lock(j);
	_cleanup_value_ struct value *meta = NULL;
	bool stopped = false;

	int r = job_directory_read_meta(j, &meta, &stopped, &s.why);
	if (r < 0 || !stopped) {
		log_error("cannot stage job %s: %s", j->id,
			  r == -ENOENT ? "it has no metadata"
			  : r < 0      ? s.why.buf
				       : "it is running; `stop` it first");
		strbuf_release(&s.why);
		return r < 0 ? r : -EBUSY;
	}
	strbuf_reset(&s.why);
	r = check_running(j);
	if (r == 0 && (r = job_directory_collect(j, &s.why)) < 0)
		log_error("%s", s.why.buf);
	/* a job recorded by another tool already has its files */
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
		_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
		int r = argc ? job_directory_open_path(&j, &ctx->config, argv[i], NULL, false, &why)
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
