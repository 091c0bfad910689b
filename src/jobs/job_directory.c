/* Job directories; see job_directory.h. */
#include "jobs/job_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/process_stat.h"
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

#define LOCK_NAME ".lock"

static int open_lock(const struct job_directory *j)
{
	return openat(j->fd, LOCK_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
}

int job_directory_lock(const struct job_directory *j)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = open_lock(j);

	if (fd < 0)
		return -errno;
	while (fcntl(fd, F_OFD_SETLKW, &lock) < 0)
		if (errno != EINTR)
			break; /* no locks on this filesystem: continue without */
	return fd;
}

#define HOLD_TRIES 100
#define HOLD_STEP_NS 10000000L

/* Waits up to a second. */
static void try_lock(int fd, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET};

	for (int i = 0; i < HOLD_TRIES && fcntl(fd, F_OFD_SETLK, &lock) < 0; i++) {
		if (errno != EAGAIN && errno != EACCES && errno != EINTR)
			break; /* no locks on this filesystem */
		nanosleep(&(struct timespec){.tv_nsec = HOLD_STEP_NS}, NULL);
	}
}

#define REMOVED_SUFFIX ".removed"

bool job_directory_is_there(const struct job_directory *j)
{
	const char *name = path_base(j->path);
	struct stat own, named;

	/* it was opened just when it was renamed */
	if (name[0] == '.' && str_suffix(name, REMOVED_SUFFIX))
		return false;
	if (stat(j->path, &named) < 0)
		return errno != ENOENT;
	return fstat(j->fd, &own) < 0 || (own.st_dev == named.st_dev && own.st_ino == named.st_ino);
}

int job_directory_hold(const struct job_directory *j)
{
	int fd = open_lock(j);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	try_lock(fd, F_WRLCK);
	/* a lock file that we created in a renamed directory is not the one that was locked */
	if ((fstat(fd, &st) == 0 && st.st_nlink == 0) || !job_directory_is_there(j)) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int job_directory_lock_shared(const struct job_directory *j)
{
	int fd = openat(j->fd, LOCK_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0)
		try_lock(fd, F_RDLCK);
	return fd;
}

#define RMDIR_TRIES 100

/* The lock file goes last: whoever opens it earlier waits for us, and whoever creates it anew finds
 * an empty directory. */
static int remove_locked(const char *path)
{
	_cleanup_list_ DIR *dir = fs_open_list(AT_FDCWD, path);
	int r = dir ? 0 : -errno;

	for (const struct dirent *e; r == 0 && (e = readdir(dir));)
		if (fs_is_name(e->d_name) && strcmp(e->d_name, LOCK_NAME) != 0)
			r = fs_remove_tree(dirfd(dir), e->d_name);
	if (r < 0)
		return r;
	for (int i = 0; i < RMDIR_TRIES; i++) {
		(void)unlinkat(dirfd(dir), LOCK_NAME, 0);
		if (rmdir(path) == 0)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			break;
	}
	return -errno;
}

int job_directory_remove(const char *path)
{
	_cleanup_free_ char *own = xstrdup(path);

	for (size_t n = strlen(own); n > 1 && own[n - 1] == '/'; n--)
		own[n - 1] = 0;
	const char *name = path_base(own);
	_cleanup_free_ char *gone =
		xasprintf("%.*s.%s.%d" REMOVED_SUFFIX, (int)(name - own), own, name, (int)getpid());
	bool moved = fs_move_once(AT_FDCWD, own, AT_FDCWD, gone) == 0;
	int r = remove_locked(moved ? gone : own);
	/* what is left gets its name back, with a number if there is a new directory */
	if (r < 0 && moved)
		(void)fs_move_numbered(AT_FDCWD, gone, AT_FDCWD, own, NULL);
	return r;
}

void job_directory_remove_empty(const struct job_directory *j)
{
	(void)unlinkat(j->fd, LOCK_NAME, 0);
	(void)rmdir(j->path);
}

#define PREFIX_FILE_MAX 65536
#define SESSIONS_MAX 128 /* last jobs of so many sessions are remembered */

/* ---- current job ---------------------------------------------------------------------------- */

/* Start time and parent of a process; false: it does not exist. */
static bool read_start(pid_t pid, unsigned long long *ret_start, pid_t *ret_parent)
{
	struct process_stat stat;

	if (!process_stat_read("", pid, &stat))
		return false;
	*ret_start = stat.st.f[STAT_STARTTIME];
	*ret_parent = (pid_t)stat.st.f[STAT_PPID];
	return true;
}

static char *session_name(void)
{
	char host[65], boot[9];
	pid_t sid = getsid(0), parent;
	unsigned long long start = 0;

	/* session ids are reused: the start of the leader distinguishes them */
	this_host(host, sizeof(host), boot);
	(void)read_start(sid, &start, &parent);
	return xasprintf("current.%s.%d.%llu", boot, (int)sid, start);
}

static bool same_words(pid_t a, pid_t b)
{
	_cleanup_strbuf_ struct strbuf of_a = STRBUF_INIT, of_b = STRBUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)a);
	if (fs_read(AT_FDCWD, path, 65536, &of_a) < 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)b);
	return fs_read(AT_FDCWD, path, 65536, &of_b) == 0 && of_a.len && of_a.len == of_b.len &&
	       !memcmp(of_a.buf, of_b.buf, of_a.len);
}

/* "PID START" of the shell that called us. Subshells, as "$(...)" creates them, end at once: the
 * shell above them counts. */
static char *shell_name(void)
{
	pid_t pid = getppid(), parent = 0, above;
	unsigned long long start, other;

	if (!read_start(pid, &start, &parent))
		return xstrdup("");
	while (parent > 1 && same_words(pid, parent) && read_start(parent, &other, &above)) {
		pid = parent;
		start = other;
		parent = above;
	}
	return xasprintf("%d %llu", (int)pid, start);
}

/* A shell that is not known counts as alive. */
static bool shell_lives(const char *name)
{
	unsigned long long start, now;
	pid_t parent;
	int pid;

	if (sscanf(name, "%d %llu", &pid, &start) != 2)
		return true;
	return read_start(pid, &now, &parent) && now == start;
}

static int prefix_file_set(const struct config *c, const char *name, const char *text)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *prefix = config_path(c, SETTING_PREFIX);
	_cleanup_close_ int fd = open_prefix(prefix, true, &why);

	return fd < 0 ? fd : fs_replace(fd, name, text, strlen(text), 0600);
}

static char *prefix_file_get(const struct config *c, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, text = STRBUF_INIT;
	_cleanup_free_ char *prefix = config_path(c, SETTING_PREFIX);
	_cleanup_close_ int fd = open_prefix(prefix, false, &why);

	if (fd < 0 || fs_read(fd, name, PREFIX_FILE_MAX, &text) < 0 || !text.len)
		return NULL;
	return strbuf_take(&text);
}

int current_job_set(const struct config *c, const char *id, bool of_shell)
{
	_cleanup_free_ char *name = session_name(), *shell = of_shell ? shell_name() : NULL;
	_cleanup_free_ char *text = xasprintf("%s%s%s", id, shell ? "\n" : "", shell ? shell : "");

	return prefix_file_set(c, name, text);
}

void current_job_clear(const struct config *c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *name = session_name();
	_cleanup_free_ char *prefix = config_path(c, SETTING_PREFIX);
	_cleanup_close_ int fd = open_prefix(prefix, false, &why);

	if (fd >= 0)
		(void)unlinkat(fd, name, 0);
}

char *current_job_get(const struct config *c)
{
	_cleanup_free_ char *name = session_name(), *text = prefix_file_get(c, name);
	const char *shell = text ? strchr(text, '\n') : NULL;

	if (shell && !shell_lives(shell + 1)) {
		current_job_clear(c);
		return NULL;
	}
	return text ? xstrndup(text, strcspn(text, "\n")) : NULL;
}

/*
 * The file of the last jobs: the path of the last one, then that of each session, newest first, as
 * "SESSION PATH". Of two concurrent writers one may be lost; then the user has to name the job.
 */
int last_job_set(const struct config *c, const char *path)
{
	_cleanup_free_ char *session = session_name(), *before = prefix_file_get(c, "last");
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	size_t own = strlen(session), kept = 0;

	if (strchr(path, '\n'))
		return prefix_file_set(c, "last", "");
	strbuf_addf(&text, "%s\n%s %s\n", path, session, path);
	for (const char *p = before ? strchr(before, '\n') : NULL; p && *++p && kept < SESSIONS_MAX;
	     p = strchr(p, '\n')) {
		size_t n = strcspn(p, "\n");

		if ((!strncmp(p, session, own) && p[own] == ' ') ||
		    text.len + n > PREFIX_FILE_MAX / 2)
			continue;
		strbuf_addf(&text, "%.*s\n", (int)n, p);
		kept++;
	}
	return prefix_file_set(c, "last", text.buf);
}

char *last_job_get(const struct config *c)
{
	char *text = prefix_file_get(c, "last");

	if (text)
		text[strcspn(text, "\n")] = 0;
	if (text && !*text) {
		free(text);
		text = NULL;
	}
	return text;
}

char *session_job_get(const struct config *c)
{
	_cleanup_free_ char *session = session_name(), *text = prefix_file_get(c, "last");
	size_t own = strlen(session);

	for (const char *p = text ? strchr(text, '\n') : NULL; p && *++p; p = strchr(p, '\n'))
		if (!strncmp(p, session, own) && p[own] == ' ')
			return xstrndup(p + own + 1, strcspn(p + own + 1, "\n"));
	return NULL;
}
