/* Job directories; see job_directory.h. */
#include "jobs/job_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "jobs/metadata.h"
#include "jobs/metadata_file.h"
#include "jobs/scheduler.h"

void job_directory_release(struct job_directory *j)
{
	if (j->records >= 0 && j->records != j->fd)
		close(j->records);
	close_fd(&j->fd);
	free(j->id);
	free(j->path);
	free(j->local);
	*j = (struct job_directory)JOB_DIRECTORY_INIT;
}

/* Cached: commands need it several times. */
static void this_boot(char boot[9])
{
	static _Thread_local char known[9];
	_cleanup_strbuf_ struct strbuf id = STRBUF_INIT;

	if (!*known && fs_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &id) == 0 &&
	    id.len >= 8)
		memcpy(known, id.buf, 8);
	memcpy(boot, *known ? known : "00000000", 9);
}

void this_host(char *name, size_t name_size, char boot[9])
{
	if (gethostname(name, name_size - 1) < 0)
		snprintf(name, name_size, "unknown");
	name[name_size - 1] = 0;
	for (char *p = name; *p; p++)
		if (*p == '/')
			*p = '_';
	this_boot(boot);
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Opens <prefix>, which must be private, as <parent>/<name>. */
static int open_prefix(const char *prefix, bool create, struct strbuf *why)
{
	_cleanup_free_ char *copy = xstrdup(prefix);
	size_t n = strlen(copy);

	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = 0;
	char *slash = strrchr(copy, '/');
	if (copy[0] != '/' || !slash[1])
		return strbuf_fail(why, -EINVAL,
				   "prefix '%s' is not an absolute path of a directory", prefix);
	*slash = 0;
	return fs_open_private(*copy ? copy : "/", slash + 1, create, why);
}

int job_directory_open_prefix(const struct config *c, const struct job_layout *layout, bool create,
			      struct strbuf *why)
{
	_cleanup_free_ char *prefix = config_path(c, SETTING_PREFIX);
	_cleanup_free_ char *user = effective_user();

	if (layout->of_user)
		return fs_open_private(prefix, user, create, why);
	return open_prefix(prefix, create, why);
}

/* Determines where runs are written, once the directory is open. */
static int settle(struct job_directory *j, const struct config *c, bool create, struct strbuf *why)
{
	j->path = fs_path_of(j->fd);
	if (!j->path)
		return -ENOENT;
	j->records = j->fd;
	if (j->layout->records) {
		j->records = fs_open_subdir(j->fd, j->layout->records, create, why);
		if (j->records == -ENOENT) {
			j->records = j->fd;
			strbuf_reset(why);
		} else if (j->records < 0) {
			int r = j->records;

			j->records = -1;
			return r;
		}
	}
	if (fs_is_network(j->fd)) {
		_cleanup_free_ char *prefix = config_path(c, SETTING_LOCAL_PREFIX);

		j->local = xasprintf("%s/spool/%s", prefix, j->id);
	}
	return 0;
}

void job_directory_keep(const struct job_directory *j)
{
	/* on a network filesystem this may wait for a server */
	if (!fs_is_network(j->fd))
		(void)flock(j->fd, LOCK_EX | LOCK_NB);
}

/* Words with a special meaning, and other names beside the job directories. */
static bool refuse_reserved(const char *id, struct strbuf *why)
{
	bool last = !strcmp(id, "last");

	if (!last && strcmp(id, "spool") != 0 && !str_prefix(id, "current."))
		return false;
	strbuf_addf(why, "'%s' is a reserved word, not a job id%s; choose another", id,
		    last ? ": it means the last job" : "");
	return true;
}

int job_directory_open(struct job_directory *j, const struct config *c,
		       const struct job_layout *layout, const char *id, bool create,
		       struct strbuf *why)
{
	_cleanup_close_ int parent = -1;

	*j = (struct job_directory)JOB_DIRECTORY_INIT;
	if (!job_id_valid(id))
		return strbuf_fail(why, -EINVAL,
				   "invalid job id '%s': use at most 128 printable characters, no "
				   "slash, no blank, no leading dot",
				   id);
	if (!layout->any_id && refuse_reserved(id, why))
		return -EINVAL;
	j->layout = layout;
	j->id = xstrdup(id);
	parent = job_directory_open_prefix(c, layout, create, why);
	if (parent < 0)
		return parent;
	j->fd = fs_open_subdir(parent, id, create, why);
	if (j->fd < 0)
		return j->fd;
	return settle(j, c, create, why);
}

static bool has_file(int dir, const char *name)
{
	return faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Are there metadata of this layout? */
static bool has_metadata(int dir, const struct job_layout *l)
{
	return has_file(dir, l->metadata) ||
	       (l->metadata_running && has_file(dir, l->metadata_running));
}

/* The layout of a directory that is there. */
static const struct job_layout *layout_of(int dir)
{
	for (const struct job_layout *const *l = job_layouts; *l; l++)
		if (has_metadata(dir, *l))
			return *l;
	for (const struct job_layout *const *l = job_layouts; *l; l++)
		if ((*l)->records && has_file(dir, (*l)->records))
			return *l;
	return &job_layout_native;
}

char *job_directory_find(const struct config *c, const char *id)
{
	_cleanup_free_ char *dest = config_path(c, SETTING_STAGE_DEST);

	for (const struct job_layout *const *l = job_layouts; *l; l++) {
		_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
		_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;

		if (job_directory_open(&j, c, *l, id, false, &ignored) == 0 &&
		    has_metadata(j.fd, layout_of(j.fd)))
			return xstrdup(j.path);
	}
	_cleanup_free_ char *staged =
		xasprintf("%s%s%s.tgz", dest, str_suffix(dest, "/") ? "" : "/", id);
	return job_id_valid(id) && access(staged, R_OK) == 0 ? xstrdup(staged) : NULL;
}

int job_directory_open_path(struct job_directory *j, const struct config *c, const char *path,
			    const char *id, bool create, struct strbuf *why)
{
	_cleanup_value_ struct value *meta = NULL;

	*j = (struct job_directory)JOB_DIRECTORY_INIT;
	if (create && id && refuse_reserved(id, why))
		return -EINVAL;
	j->fd = fs_open_named(path, create, why);
	if (j->fd < 0)
		return j->fd;
	j->layout = layout_of(j->fd);
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	if (job_directory_read_meta(j, &meta, NULL, &ignored) == 0) {
		const char *known = metadata_text(meta, KEY_ID);

		if (known)
			j->id = xstrdup(known);
	}
	if (!j->id) {
		_cleanup_free_ char *absolute = fs_path_of(j->fd);

		j->id = xstrdup(id ? id : absolute ? path_base(absolute) : "unknown");
	}
	return settle(j, c, create, why);
}

/* ---- metadata ------------------------------------------------------------------------------- */

/* By the name of the file, or by its content. */
static bool is_stopped(const struct job_layout *l, const char *name, const struct value *meta)
{
	return l->metadata_running ? !strcmp(name, l->metadata)
				   : value_get(meta, l->keys[KEY_STOP][0]) != NULL;
}

bool job_directory_is_stopped(int dir)
{
	for (const struct job_layout *const *l = job_layouts; *l; l++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
		_cleanup_value_ struct value *meta = NULL;

		if ((*l)->metadata_running && has_file(dir, (*l)->metadata))
			return true;
		if (!(*l)->metadata_running &&
		    fs_read(dir, (*l)->metadata, META_FILE_MAX, &text) == 0 &&
		    meta_parse(text.buf, text.len, &meta, &why) == 0 &&
		    is_stopped(*l, (*l)->metadata, meta))
			return true;
	}
	return false;
}

int job_directory_read_meta(const struct job_directory *j, struct value **ret, bool *ret_stopped,
			    struct strbuf *why)
{
	const struct job_layout *l = j->layout;
	const char *const names[] = {l->metadata, l->metadata_running, NULL};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, reason = STRBUF_INIT;

	for (const char *const *name = names; *name; name++) {
		int r = fs_read(j->fd, *name, META_FILE_MAX, &text);

		if (r == -ENOENT)
			continue;
		if (r < 0)
			return strbuf_fail(why, r, "cannot read '%s/%s': %s",
					   j->path ? j->path : "", *name, strerror(-r));
		r = meta_parse(text.buf, text.len, ret, &reason);
		if (r < 0)
			return strbuf_fail(why, r, "'%s/%s' is damaged: %s", j->path ? j->path : "",
					   *name, reason.buf);
		if (ret_stopped)
			*ret_stopped = is_stopped(l, *name, *ret);
		return 0;
	}
	return -ENOENT;
}

int job_directory_write_meta(const struct job_directory *j, const struct value *meta, bool stopped)
{
	const struct job_layout *l = j->layout;
	const char *name = !stopped && l->metadata_running ? l->metadata_running : l->metadata;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	l->format->write(meta, &text);
	int r = fs_replace(j->fd, name, text.buf, text.len, 0600);
	if (r == 0 && stopped && l->metadata_running)
		(void)unlinkat(j->fd, l->metadata_running, 0);
	return r;
}

bool job_directory_has_meta(const struct job_directory *j)
{
	return has_metadata(j->fd, j->layout);
}

int job_directory_create_meta(const struct job_directory *j, const struct value *meta)
{
	const struct job_layout *l = j->layout;
	const char *name = l->metadata_running ? l->metadata_running : l->metadata;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *aside = xasprintf(".%s.new.%d", name, (int)getpid());

	if (l->metadata_running && has_file(j->fd, l->metadata))
		return -EEXIST;
	l->format->write(meta, &text);
	int r = fs_replace(j->fd, aside, text.buf, text.len, 0600);
	/* link() is atomic, and fails if the name exists */
	if (r == 0 && linkat(j->fd, aside, j->fd, name, 0) < 0)
		r = -errno;
	(void)unlinkat(j->fd, aside, 0);
	return r;
}
