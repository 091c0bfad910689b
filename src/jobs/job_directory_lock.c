/* Locks of a job directory, and its removal under the lock; see job_directory.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "jobs/job_directory.h"

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
