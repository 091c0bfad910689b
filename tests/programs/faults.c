/* Makes system calls on files fail: linked into a unit test (faults.h), or preloaded into a program
 * with FAULTS=FILE, lines "CALL PATH AFTER TIMES ERRNO" as the arguments of fault_add(), read again
 * when it changes. What a failed sync was for stays in the page cache, clean, as with the kernel:
 * the next one says that all is well. FAULTS_SAID=1: says on stderr what fails. */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define FAULTS_MAX 16
#define PAGE 4096u
#define FILES_MAX 512
#define FILE_PAGES 4096u

struct fault {
	char call[16], path[256];
	unsigned after, seen;
	int times, error;
};

struct disk_file {
	ino_t inode; /* 0: free */
	size_t size, pages;
	unsigned char dirty[FILE_PAGES]; /* pages that were written since the last sync */
};

/* While there is a disk, it lies in memory that forked processes share, and images of the files, as
 * they are on the disk, behind it. */
struct world {
	pthread_mutex_t lock;
	struct fault faults[FAULTS_MAX];
	unsigned count, hits;
	char root[256];
	struct disk_file files[FILES_MAX];
};
static struct world alone = {.lock = PTHREAD_MUTEX_INITIALIZER}, *w = &alone;
static struct timespec changed;

#define IMAGES_SIZE ((size_t)FILES_MAX * FILE_PAGES * PAGE)

static unsigned char *image_of(const struct disk_file *f)
{
	return (unsigned char *)(w + 1) + (size_t)(f - w->files) * FILE_PAGES * PAGE;
}

/* Whoever had it may have been killed, and a waiter that was just woken, with its wake-up. */
static void take_lock(void)
{
	int r = ETIMEDOUT;

	for (struct timespec until; r == ETIMEDOUT;) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_sec++;
		r = pthread_mutex_clocklock(&w->lock, CLOCK_MONOTONIC, &until);
	}
	if (r == EOWNERDEAD)
		pthread_mutex_consistent(&w->lock);
}

static void leave_lock(void)
{
	pthread_mutex_unlock(&w->lock);
}

static void add(const char *call, const char *path, unsigned after, int times, int error)
{
	struct fault *f = &w->faults[w->count];

	if (w->count == FAULTS_MAX)
		return;
	memset(f, 0, sizeof(*f));
	snprintf(f->call, sizeof(f->call), "%s", call);
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->after = after;
	f->times = times;
	f->error = error;
	w->count++;
}

void fault_add(const char *call, const char *path, unsigned after, int times, int error)
{
	take_lock();
	add(call, path, after, times, error);
	leave_lock();
}

void fault_clear(void)
{
	take_lock();
	w->count = w->hits = 0;
	leave_lock();
}

unsigned fault_hits(void)
{
	take_lock();
	unsigned ret = w->hits;
	leave_lock();
	return ret;
}

/* Under lock. Calls of its own go to the kernel directly. */
static void read_file(void)
{
	const char *name = getenv("FAULTS");
	char text[4096], call[16], path[256];
	struct stat st;
	unsigned after;
	int times, error, used;

	if (!name)
		return;
	if (syscall(SYS_newfstatat, AT_FDCWD, name, &st, 0) < 0) {
		w->count = 0;
		changed = (struct timespec){0};
		return;
	}
	if (!memcmp(&st.st_mtim, &changed, sizeof(changed)))
		return;
	changed = st.st_mtim;
	w->count = 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : syscall(SYS_read, fd, text, sizeof(text) - 1);
	if (fd >= 0)
		syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
	for (char *p = text;
	     sscanf(p, "%15s %255s %u %d %d%n", call, path, &after, &times, &error, &used) == 5;
	     p += used)
		add(call, path, after, times, error);
}

/* 0, or what a call on this path fails with. */
static int fails(const char *call, const char *path)
{
	int error = 0;

	take_lock();
	read_file();
	for (unsigned i = 0; i < w->count && !error; i++) {
		struct fault *f = &w->faults[i];

		if (strcmp(f->call, call) != 0 ||
		    (strchr(f->path, '*') ? fnmatch(f->path, path, 0) != 0
					  : !strstr(path, f->path)))
			continue;
		if (f->seen++ < f->after || !f->times)
			continue;
		f->times -= f->times > 0;
		error = f->error;
		w->hits++;
	}
	leave_lock();
	if (error && getenv("FAULTS_SAID"))
		dprintf(2, "%s of %s: %d\n", call, path, error);
	return error;
}

static bool path_of(int fd, char *path, size_t size)
{
	char link[64];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, size - 1);
	path[n > 0 ? n : 0] = 0;
	return n > 0;
}

static bool any_faults(void)
{
	return w->count || getenv("FAULTS");
}

static int fails_on(const char *call, int fd)
{
	char path[4096];

	return any_faults() && path_of(fd, path, sizeof(path)) ? fails(call, path) : 0;
}

static int fails_at(const char *call, int dir, const char *name)
{
	char path[4096];
	size_t n;

	if (!any_faults())
		return 0;
	if (*name == '/' || dir == AT_FDCWD || !path_of(dir, path, sizeof(path)))
		return fails(call, name);
	n = strlen(path);
	snprintf(path + n, sizeof(path) - n, "/%s", name);
	return fails(call, path);
}

/* ---- what is on the disk --------------------------------------------------------------------- */

static struct disk_file *file_of(ino_t inode)
{
	for (unsigned i = 0; inode && i < FILES_MAX; i++)
		if (w->files[i].inode == inode)
			return &w->files[i];
	return NULL;
}

static void forget_file(struct disk_file *f)
{
	if (f->pages)
		madvise(image_of(f), f->pages * PAGE, MADV_REMOVE);
	memset(f, 0, sizeof(*f));
}

/* The file of a descriptor, when it is on the disk that is looked after; under lock. */
static struct disk_file *tracked(int fd, struct stat *st)
{
	char path[4096];

	if (!*w->root || fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
		return NULL;
	struct disk_file *f = file_of(st->st_ino);
	if (f)
		return f;
	if (!st->st_nlink || !path_of(fd, path, sizeof(path)) ||
	    strncmp(path, w->root, strlen(w->root)) != 0)
		return NULL;
	for (f = w->files; f->inode; f++)
		if (f == w->files + FILES_MAX - 1)
			abort(); /* too many to look after */
	f->inode = st->st_ino;
	return f;
}

static void note_write(int fd, off_t at, ssize_t n)
{
	struct stat st;

	if (!*w->root || n <= 0)
		return;
	take_lock();
	struct disk_file *f = tracked(fd, &st);
	if (at < 0)
		at = (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR) - n;
	/* another thread may have closed it meanwhile, and its number may be another file's */
	if (f && at >= 0) {
		size_t pages = ((size_t)at + (size_t)n + PAGE - 1) / PAGE;

		if (pages > FILE_PAGES)
			abort();
		f->pages = pages > f->pages ? pages : f->pages;
		memset(f->dirty + (size_t)at / PAGE, 1, pages - (size_t)at / PAGE);
	}
	leave_lock();
}

/* Cutting is taken as durable at once: the worst that it can be. */
static void note_size(int fd, off_t size)
{
	struct stat st;

	if (!*w->root)
		return;
	take_lock();
	struct disk_file *f = tracked(fd, &st);
	if (f && (size_t)size < f->size)
		f->size = (size_t)size;
	for (size_t p = ((size_t)size + PAGE - 1) / PAGE; f && p < f->pages; p++) {
		f->dirty[p] = 0;
		memset(image_of(f) + p * PAGE, 0, PAGE);
	}
	leave_lock();
}

/* What a sync that failed was for is there in part, with the size of the file or without. */
static void note_sync(int fd, int worked)
{
	char link[64];
	struct stat st;

	if (!*w->root)
		return;
	take_lock();
	struct disk_file *f = tracked(fd, &st);
	/* it may be open for writing only */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	fd = f ? (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC) : -1;
	for (size_t p = 0; f && p < f->pages; p++) {
		if (f->dirty[p] && (worked || (p + w->hits) % 2))
			(void)!syscall(SYS_pread64, fd, image_of(f) + p * PAGE, PAGE,
				       (off_t)(p * PAGE));
		f->dirty[p] = 0;
	}
	if (f && (worked || w->hits % 4 < 2))
		f->size = (size_t)st.st_size;
	if (fd >= 0)
		syscall(SYS_close, fd);
	leave_lock();
}

/* The name is another file's from now on, or nobody's. */
static void note_gone(const struct stat *st)
{
	take_lock();
	struct disk_file *f = *w->root && st->st_nlink < 2 ? file_of(st->st_ino) : NULL;
	if (f)
		forget_file(f);
	leave_lock();
}

void fault_disk(const char *dir)
{
	pthread_mutexattr_t attr;

	if (w != &alone) {
		struct world *before = w;

		w = &alone;
		memcpy(w->faults, before->faults, sizeof(w->faults));
		w->count = before->count;
		w->hits = before->hits;
		munmap(before, sizeof(*w) + IMAGES_SIZE);
	}
	if (!dir)
		return;
	struct world *shared = mmap(NULL, sizeof(*w) + IMAGES_SIZE, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shared == MAP_FAILED || strlen(dir) >= sizeof(shared->root))
		abort();
	memcpy(shared->faults, w->faults, sizeof(w->faults));
	shared->count = w->count;
	shared->hits = w->hits;
	strcpy(shared->root, dir);
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&shared->lock, &attr);
	w = shared;
}

static int restore(const char *path, const struct stat *st, int type, struct FTW *at)
{
	struct disk_file *f = type == FTW_F ? file_of(st->st_ino) : NULL;

	(void)at;
	if (!f)
		return 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	(void)!syscall(SYS_ftruncate, fd, 0);
	(void)!syscall(SYS_pwrite64, fd, image_of(f),
		       f->size < f->pages * PAGE ? f->size : f->pages * PAGE, 0);
	(void)!syscall(SYS_ftruncate, fd, f->size);
	syscall(SYS_close, fd);
	memset(f->dirty, 0, sizeof(f->dirty));
	return 0;
}

void fault_power_cut_below(const char *dir)
{
	take_lock();
	if (*w->root)
		nftw(dir, restore, 16, FTW_PHYS);
	leave_lock();
}

void fault_power_cut(void)
{
	fault_power_cut_below(w->root);
}

/* ---- the calls ------------------------------------------------------------------------------- */

static void die(void)
{
	for (;;)
		kill(getpid(), SIGKILL);
}

#define BEFORE(fault)                \
	int e = (fault);             \
	do {                         \
		if (e == FAULT_KILL) \
			die();       \
		if (e > 0) {         \
			errno = e;   \
			return -1;   \
		}                    \
	} while (0)

#define BEHIND(result)                      \
	do {                                \
		if (e == FAULT_KILL_BEHIND) \
			die();              \
		return (result);            \
	} while (0)

static int sync_with(long call, int fd)
{
	int e = fails_on("sync", fd);

	if (e == FAULT_KILL)
		die();
	int r = e > 0 ? -1 : (int)syscall(call, fd);
	note_sync(fd, r == 0);
	if (e > 0)
		errno = e;
	BEHIND(r);
}

int fsync(int fd)
{
	return sync_with(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return sync_with(SYS_fdatasync, fd);
}

static bool is_of_writing(int error)
{
	return error == EROFS || error == ENOSPC || error == EDQUOT;
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
	int e = fails_at("open", dir, path);

	if (e > 0 && !((flags & (O_ACCMODE | O_CREAT | O_TRUNC)) == 0 && is_of_writing(e))) {
		errno = e;
		return -1;
	}
	int fd = (int)syscall(SYS_openat, dir, path, flags, mode);
	if (fd >= 0 && flags & O_TRUNC)
		note_size(fd, 0);
	return fd;
}

#define MODE(flags)                             \
	mode_t mode = 0;                        \
	if ((flags) & (O_CREAT | O_TMPFILE)) {  \
		va_list ap;                     \
		va_start(ap, flags);            \
		mode = (mode_t)va_arg(ap, int); \
		va_end(ap);                     \
	}

int openat(int dir, const char *path, int flags, ...)
{
	MODE(flags)
	return open_at(dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
	MODE(flags)
	return open_at(AT_FDCWD, path, flags, mode);
}

int __openat_2(int dir, const char *path, int flags)
{
	return open_at(dir, path, flags, 0);
}

int __open_2(const char *path, int flags)
{
	return open_at(AT_FDCWD, path, flags, 0);
}

int open64(const char *path, int flags, ...)
{
	MODE(flags)
	return open_at(AT_FDCWD, path, flags, mode);
}

/* How much of a write is done. */
static size_t part_of(size_t n, int e)
{
	return (e == FAULT_SHORT || e == FAULT_KILL) && n > 1 ? n / 2 : n;
}

#define WRITTEN(fd, at, call)                                  \
	do {                                                   \
		ssize_t done = (call);                         \
		note_write(fd, at, done);                      \
		if (e == FAULT_KILL || e == FAULT_KILL_BEHIND) \
			die();                                 \
		return done;                                   \
	} while (0)

#define REFUSE(fault)              \
	int e = (fault);           \
	do {                       \
		if (e > 0) {       \
			errno = e; \
			return -1; \
		}                  \
	} while (0)

ssize_t write(int fd, const void *p, size_t n)
{
	REFUSE(fails_on("write", fd));
	WRITTEN(fd, -1, syscall(SYS_write, fd, p, part_of(n, e)));
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	REFUSE(fails_on("write", fd));
	WRITTEN(fd, at, syscall(SYS_pwrite64, fd, p, part_of(n, e), at));
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at)
{
	return pwrite(fd, p, n, at);
}

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
	REFUSE(fails_on("write", fd));
	WRITTEN(fd, at, syscall(SYS_pwritev, fd, v, (int)part_of((size_t)n, e), at, 0));
}

ssize_t read(int fd, void *p, size_t n)
{
	REFUSE(fails_on("read", fd));
	return syscall(SYS_read, fd, p, n);
}

ssize_t pread(int fd, void *p, size_t n, off_t at)
{
	REFUSE(fails_on("read", fd));
	return syscall(SYS_pread64, fd, p, n, at);
}

ssize_t pread64(int fd, void *p, size_t n, off_t at)
{
	return pread(fd, p, n, at);
}

int ftruncate(int fd, off_t size)
{
	BEFORE(fails_on("truncate", fd));
	int r = (int)syscall(SYS_ftruncate, fd, size);
	if (r == 0)
		note_size(fd, size);
	BEHIND(r);
}

int ftruncate64(int fd, off_t size)
{
	return ftruncate(fd, size);
}

int renameat(int from, const char *old, int to, const char *new)
{
	struct stat st;

	BEFORE(fails_at("rename", to, new));
	bool there = *w->root && syscall(SYS_newfstatat, to, new, &st, AT_SYMLINK_NOFOLLOW) == 0;
	int r = (int)syscall(SYS_renameat2, from, old, to, new, 0);
	if (r == 0 && there)
		note_gone(&st);
	BEHIND(r);
}

int rename(const char *old, const char *new)
{
	return renameat(AT_FDCWD, old, AT_FDCWD, new);
}

int unlinkat(int dir, const char *path, int flags)
{
	struct stat st;

	BEFORE(fails_at("unlink", dir, path));
	bool there = *w->root && syscall(SYS_newfstatat, dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
	int r = (int)syscall(SYS_unlinkat, dir, path, flags);
	if (r == 0 && there)
		note_gone(&st);
	BEHIND(r);
}

int unlink(const char *path)
{
	return unlinkat(AT_FDCWD, path, 0);
}
