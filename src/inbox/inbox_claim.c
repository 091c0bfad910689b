/* Claims by rename; see inbox_claim.h. */
#include "inbox/inbox_claim.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "jobs/job_directory.h"
#include "jobs/job_files.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
#define TRIES_SUFFIX ".tries"

/* ---- taking --------------------------------------------------------------------------------- */

static void own_name(char *buf, size_t size)
{
	char host[65], boot[9];

	this_host(host, sizeof(host), boot);
	snprintf(buf, size, "%s-%d", host, (int)getpid());
}

/* Another daemon that cleaned up dead claims may have removed our empty directory. */
static bool removed(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_nlink == 0;
}

static void close_both(struct claim *c)
{
	close_fd(&c->fd);
	close_fd(&c->claimed);
	c->fd = c->claimed = -1;
}

/* Opens the claims of a directory that others may write to. */
static int open_claimed(int dirfd, char name[64], struct strbuf *why)
{
	uint64_t random = 0;

	snprintf(name, 64, "%s", CLAIMED_DIR);
	int fd = fs_open_subdir(dirfd, name, true, why);
	if (fd >= 0 || (fd != -EPERM && fd != -ELOOP && fd != -ENOTDIR && fd != -EACCES))
		return fd;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return fd;
	strbuf_reset(why);
	snprintf(name, 64, CLAIMED_DIR "-%016llx", (unsigned long long)random);
	return fs_open_subdir(dirfd, name, true, why);
}

static int open_claim(struct claim *c, struct strbuf *why)
{
	char own[96];

	own_name(own, sizeof(own));
	c->claimed = open_claimed(c->dirfd, c->claimed_name, why);
	if (c->claimed < 0)
		return c->claimed;
	c->fd = fs_open_subdir(c->claimed, own, true, why);
	if (c->fd < 0)
		return c->fd;
	/* without locks, only the pid in the name tells whether the owner lives */
	(void)flock(c->fd, LOCK_EX);
	return 0;
}

static int take_by_rename(struct claim *c)
{
	struct stat st;

	if (renameat2(c->dirfd, c->name, c->fd, c->name, RENAME_NOREPLACE) == 0)
		return 0;
	int e = -errno;
	/* the directory is ours: there is no other file of that name even without the flag */
	if (e == -EINVAL || e == -ENOSYS)
		e = renameat(c->dirfd, c->name, c->fd, c->name) < 0 ? -errno : 0;
	/* NFS may repeat a request that succeeded, and then report an error */
	if (e == -ENOENT && fstatat(c->fd, c->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		e = 0;
	return e;
}

static unsigned count_deaths(const struct claim *c)
{
	_cleanup_free_ char *tries = xasprintf("%s" TRIES_SUFFIX, c->name);
	struct stat st;

	return fstatat(c->claimed, tries, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)
		       ? (unsigned)st.st_size
		       : 0;
}

static int try_take(struct claim *c, struct strbuf *why)
{
	for (int i = 0; i < 16; i++) {
		int r = open_claim(c, why);

		if (r == 0)
			r = take_by_rename(c);
		if (r != -ENOENT || (c->fd >= 0 && !removed(c->fd)))
			return r;
		strbuf_reset(why);
		close_both(c);
	}
	return -EAGAIN;
}

int claim_take(struct claim *c, const char *dir, const char *name, struct strbuf *why)
{
	struct stat st;

	*c = (struct claim)CLAIM_INIT;
	c->dir = xstrdup(dir);
	c->name = xstrdup(name);
	c->dirfd = open(dir, DIR_FLAGS);
	if (c->dirfd < 0)
		return -errno;
	int r = try_take(c, why);
	if (r < 0) {
		if (!why->len)
			strbuf_addf(why, "cannot claim it: %s", strerror(-r));
		return r;
	}
	_cleanup_free_ char *where = fs_path_of(c->fd);
	c->path = xasprintf("%s/%s", where ? where : ".", name);
	c->deaths = count_deaths(c);
	/* it may have been replaced before; now nobody else can change it */
	if (fstatat(c->fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		strbuf_addstr(why, "is not a regular file or directory");
		(void)claim_back(c);
		return -ELOOP;
	}
	return 0;
}

/* ---- results --------------------------------------------------------------------- */

static void forget_deaths(struct claim *c)
{
	_cleanup_free_ char *tries = xasprintf("%s" TRIES_SUFFIX, c->name);

	if (c->deaths)
		(void)unlinkat(c->claimed, tries, 0);
}

int claim_back(struct claim *c)
{
	return fs_move_numbered(c->fd, c->name, c->dirfd, c->name, NULL);
}

char *claim_foreign(struct claim *c)
{
	struct stat st;

	return fstatat(c->fd, c->name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)
		       ? job_files_foreign(c->fd, c->name)
		       : NULL;
}

int claim_remove(struct claim *c)
{
	int r = fs_remove_tree(c->fd, c->name);

	if (r == 0)
		forget_deaths(c);
	return r;
}

/* A directory next to the input. Others may have put a link or their own directory there. */
static int open_beside(const struct claim *c, const char *name, struct strbuf *why)
{
	struct stat st;

	if (mkdirat(c->dirfd, name, 0700) < 0 && errno != EEXIST)
		return strbuf_fail(why, -errno, "cannot create '%s/%s': %s", c->dir, name,
				   strerror(errno));
	int fd = openat(c->dirfd, name, DIR_FLAGS);
	if (fd < 0)
		return strbuf_fail(why, -ELOOP, "'%s/%s' is not a directory; remove it", c->dir,
				   name);
	if (fstat(fd, &st) < 0 || (st.st_uid != geteuid() && st.st_uid != 0)) {
		strbuf_addf(why, "'%s/%s' belongs to uid %u; remove it", c->dir, name,
			    (unsigned)st.st_uid);
		close(fd);
		return -EPERM;
	}
	return fd;
}

int claim_move(struct claim *c, const char *to, int *ret_fd, char **ret_name, struct strbuf *why)
{
	int fd = strchr(to, '/') ? fs_open_named(to, true, why) : open_beside(c, to, why);

	if (fd < 0)
		return fd;
	int r = fs_move_numbered(c->fd, c->name, fd, c->name, ret_name);
	if (r < 0) {
		strbuf_addf(why, "cannot move it to '%s': %s", to, strerror(-r));
		close(fd);
		return r;
	}
	forget_deaths(c);
	*ret_fd = fd;
	return 0;
}

void claim_release(struct claim *c)
{
	char own[96];

	own_name(own, sizeof(own));
	if (c->claimed >= 0)
		(void)unlinkat(c->claimed, own, AT_REMOVEDIR);
	if (c->dirfd >= 0)
		(void)unlinkat(c->dirfd, c->claimed_name, AT_REMOVEDIR);
	close_both(c);
	close_fd(&c->dirfd);
	free(c->dir);
	free(c->name);
	free(c->path);
	*c = (struct claim)CLAIM_INIT;
}

/* ---- claims of the dead --------------------------------------------------------------------- */

/* The pid in "HOST-PID"; 0: of another host. */
static pid_t owner_of(const char *name)
{
	char host[65], boot[9];
	uint64_t pid;

	this_host(host, sizeof(host), boot);
	size_t n = strlen(host);
	if (strncmp(name, host, n) != 0 || name[n] != '-' || parse_u64(name + n + 1, &pid) < 0 ||
	    pid > INT32_MAX)
		return 0;
	return (pid_t)pid;
}

/* A free lock is the best sign: pids are reused, and differ in containers. */
static bool is_dead(int fd, pid_t owner)
{
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return true;
	if (errno == EWOULDBLOCK)
		return false;
	return owner == getpid() || (kill(owner, 0) < 0 && errno == ESRCH);
}

static void count_death(int claimed, const char *name)
{
	_cleanup_free_ char *tries = xasprintf("%s" TRIES_SUFFIX, name);
	_cleanup_close_ int fd = openat(
		claimed, tries, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)!write(fd, "x", 1);
}

static int recover_one(const char *dir, int dir_fd, int claimed, const char *owner,
		       void (*tell)(void *user, const char *dir, const char *name), void *user)
{
	_cleanup_list_ DIR *list = fs_open_list(claimed, owner);
	int r = 0;

	if (!list || !is_dead(dirfd(list), owner_of(owner)))
		return 0;
	for (struct dirent *e; (e = readdir(list));) {
		_cleanup_free_ char *as = NULL;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		count_death(claimed, e->d_name);
		int moved = fs_move_numbered(dirfd(list), e->d_name, dir_fd, e->d_name, &as);
		if (moved == 0)
			tell(user, dir, as);
		else
			r = moved;
	}
	(void)unlinkat(claimed, owner, AT_REMOVEDIR);
	return r;
}

/* Puts back all claims of one directory, which must be ours. */
static int recover_all(const char *dir, int dir_fd, const char *claimed,
		       void (*tell)(void *user, const char *dir, const char *name), void *user)
{
	int fd = fs_open_subdir(dir_fd, claimed, false, NULL), r = 0;
	_cleanup_list_ DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (!list) {
		close_fd(&fd);
		return 0;
	}
	for (struct dirent *e; (e = readdir(list));)
		if (owner_of(e->d_name) > 0) {
			int one = recover_one(dir, dir_fd, dirfd(list), e->d_name, tell, user);

			r = one < 0 ? one : r;
		}
	(void)unlinkat(dir_fd, claimed, AT_REMOVEDIR);
	return r;
}

int claims_recover(const char *dir, void (*tell)(void *user, const char *dir, const char *name),
		   void *user)
{
	_cleanup_close_ int dir_fd = open(dir, DIR_FLAGS);
	_cleanup_list_ DIR *list = dir_fd >= 0 ? fs_open_list(dir_fd, ".") : NULL;
	int r = 0;

	if (!list)
		return 0;
	for (struct dirent *e; (e = readdir(list));)
		if (str_prefix(e->d_name, CLAIMED_DIR)) {
			int one = recover_all(dir, dir_fd, e->d_name, tell, user);

			r = one < 0 ? one : r;
		}
	return r;
}

int claims_clock_ns(const char *dir, int64_t *ret, struct strbuf *why)
{
	_cleanup_close_ int dir_fd = open(dir, DIR_FLAGS);
	_cleanup_close_ int fd = -1;
	char name[64];
	struct stat st;

	if (dir_fd < 0)
		return strbuf_fail(why, -errno, "cannot open '%s': %s", dir, strerror(errno));
	for (int i = 0; i < 16 && (fd = open_claimed(dir_fd, name, why)) == -ENOENT; i++)
		strbuf_reset(why);
	if (fd < 0)
		return fd;
	if (futimens(fd, NULL) < 0 || fstat(fd, &st) < 0)
		return -errno;
	*ret = st.st_ctim.tv_sec * INT64_C(1000000000) + st.st_ctim.tv_nsec;
	(void)unlinkat(dir_fd, name, AT_REMOVEDIR);
	return 0;
}
