/*
 * Makes system calls on files fail: linked into a unit test (faults.h), or preloaded into a
 * program. FAULTS=FILE   lines "CALL PATH AFTER TIMES ERRNO", as the arguments of fault_add(); read
 * anew whenever the file has changed, and no faults while it is not there What a failed sync was
 * for stays in the page cache, clean: the next sync says that all is well, as the kernel does it.
 */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FAULTS_MAX 16

static struct fault {
	char call[16], path[256];
	unsigned after, seen;
	int times, error;
} faults[FAULTS_MAX];
static unsigned count, hits;
static struct timespec changed;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void add(const char *call, const char *path, unsigned after, int times, int error)
{
	struct fault *f = &faults[count];

	if (count == FAULTS_MAX)
		return;
	memset(f, 0, sizeof(*f));
	snprintf(f->call, sizeof(f->call), "%s", call);
	snprintf(f->path, sizeof(f->path), "%s", path);
	f->after = after;
	f->times = times;
	f->error = error;
	count++;
}

void fault_add(const char *call, const char *path, unsigned after, int times, int error)
{
	pthread_mutex_lock(&lock);
	add(call, path, after, times, error);
	pthread_mutex_unlock(&lock);
}

void fault_clear(void)
{
	pthread_mutex_lock(&lock);
	count = hits = 0;
	pthread_mutex_unlock(&lock);
}

unsigned fault_hits(void)
{
	pthread_mutex_lock(&lock);
	unsigned ret = hits;
	pthread_mutex_unlock(&lock);
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
		count = 0;
		changed = (struct timespec){0};
		return;
	}
	if (!memcmp(&st.st_mtim, &changed, sizeof(changed)))
		return;
	changed = st.st_mtim;
	count = 0;
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

/* 0, or the errno that a call on this path fails with. */
static int fails(const char *call, const char *path)
{
	int error = 0;

	pthread_mutex_lock(&lock);
	read_file();
	for (unsigned i = 0; i < count && !error; i++) {
		struct fault *f = &faults[i];

		if (strcmp(f->call, call) != 0 || !strstr(path, f->path))
			continue;
		if (f->seen++ < f->after || !f->times)
			continue;
		f->times -= f->times > 0;
		error = f->error;
		hits++;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

static int fails_on(const char *call, int fd)
{
	char link[64], path[4096];

	if (!count && !getenv("FAULTS"))
		return 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return 0;
	path[n] = 0;
	return fails(call, path);
}

/* ---- what is on the disk -----------------------------------------------------------------------
 */

#define PAGE 4096u
#define FILES_MAX 512

static struct disk_file {
	ino_t inode;
	unsigned char *image; /* as it is on the disk, whole pages */
	size_t size, pages;
	unsigned char *dirty; /* pages that were written since the last sync */
} files[FILES_MAX];
static unsigned file_count;
static char *root;

static struct disk_file *file_of(ino_t inode)
{
	for (unsigned i = 0; i < file_count; i++)
		if (files[i].inode == inode)
			return &files[i];
	return NULL;
}

static void need_pages(struct disk_file *f, size_t pages)
{
	if (pages <= f->pages)
		return;
	f->image = realloc(f->image, pages * PAGE);
	f->dirty = realloc(f->dirty, pages);
	memset(f->image + f->pages * PAGE, 0, (pages - f->pages) * PAGE);
	memset(f->dirty + f->pages, 0, pages - f->pages);
	f->pages = pages;
}

/* The file of a descriptor, when it is on the disk that is looked after; under lock. */
static struct disk_file *tracked(int fd, struct stat *st)
{
	char link[64], path[4096];

	if (!root || fstat(fd, st) < 0 || !S_ISREG(st->st_mode))
		return NULL;
	struct disk_file *f = file_of(st->st_ino);
	if (f)
		return f;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = 0;
	if (strncmp(path, root, strlen(root)) != 0 || file_count == FILES_MAX)
		return NULL;
	f = &files[file_count++];
	memset(f, 0, sizeof(*f));
	f->inode = st->st_ino;
	return f;
}

static void note_write(int fd, off_t at, ssize_t n)
{
	struct stat st;

	if (!root || n <= 0)
		return;
	pthread_mutex_lock(&lock);
	struct disk_file *f = tracked(fd, &st);
	if (at < 0)
		at = (off_t)syscall(SYS_lseek, fd, 0, SEEK_CUR) - n;
	if (f) {
		need_pages(f, ((size_t)at + (size_t)n + PAGE - 1) / PAGE);
		for (size_t p = (size_t)at / PAGE; p <= ((size_t)at + (size_t)n - 1) / PAGE; p++)
			f->dirty[p] = 1;
	}
	pthread_mutex_unlock(&lock);
}

/* Cutting is taken as durable at once: the worst that it can be. */
static void note_size(int fd, off_t size)
{
	struct stat st;

	if (!root)
		return;
	pthread_mutex_lock(&lock);
	struct disk_file *f = tracked(fd, &st);
	if (f && (size_t)size < f->size)
		f->size = (size_t)size;
	for (size_t p = ((size_t)size + PAGE - 1) / PAGE; f && p < f->pages; p++) {
		f->dirty[p] = 0;
		memset(f->image + p * PAGE, 0, PAGE);
	}
	pthread_mutex_unlock(&lock);
}

/* What a sync that failed was for is there in part, with the size of the file or without. */
static void note_sync(int fd, int worked)
{
	char link[64];
	struct stat st;

	if (!root)
		return;
	pthread_mutex_lock(&lock);
	struct disk_file *f = tracked(fd, &st);
	/* it may be open for writing only */
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	fd = f ? (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC) : -1;
	for (size_t p = 0; f && p < f->pages; p++) {
		if (f->dirty[p] && (worked || (p + hits) % 2))
			(void)!syscall(SYS_pread64, fd, f->image + p * PAGE, PAGE,
				       (off_t)(p * PAGE));
		f->dirty[p] = 0;
	}
	if (f && (worked || hits % 4 < 2))
		f->size = (size_t)st.st_size;
	if (fd >= 0)
		syscall(SYS_close, fd);
	pthread_mutex_unlock(&lock);
}

void fault_disk(const char *dir)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < file_count; i++) {
		free(files[i].image);
		free(files[i].dirty);
	}
	file_count = 0;
	free(root);
	root = dir ? strdup(dir) : NULL;
	pthread_mutex_unlock(&lock);
}

static int restore(const char *path, const struct stat *st, int type, struct FTW *at)
{
	const struct disk_file *f = type == FTW_F ? file_of(st->st_ino) : NULL;

	(void)at;
	if (!f)
		return 0;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	(void)!syscall(SYS_ftruncate, fd, 0);
	(void)!syscall(SYS_pwrite64, fd, f->image,
		       f->size < f->pages * PAGE ? f->size : f->pages * PAGE, 0);
	(void)!syscall(SYS_ftruncate, fd, f->size);
	syscall(SYS_close, fd);
	return 0;
}

void fault_power_cut(void)
{
	if (root)
		nftw(root, restore, 16, FTW_PHYS);
	for (unsigned i = 0; i < file_count; i++)
		if (files[i].pages)
			memset(files[i].dirty, 0, files[i].pages);
}

/* ---- the calls ---------------------------------------------------------------------------------
 */

#define REFUSE(error)              \
	do {                       \
		int e = (error);   \
		if (e) {           \
			errno = e; \
			return -1; \
		}                  \
	} while (0)

static int sync_with(long call, int fd)
{
	int error = fails_on("sync", fd);
	int r = error ? -1 : (int)syscall(call, fd);

	note_sync(fd, r == 0);
	if (error)
		errno = error;
	return r;
}

int fsync(int fd)
{
	return sync_with(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return sync_with(SYS_fdatasync, fd);
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
	REFUSE(fails("open", path));
	return (int)syscall(SYS_openat, dir, path, flags, mode);
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

ssize_t write(int fd, const void *p, size_t n)
{
	REFUSE(fails_on("write", fd));
	ssize_t done = syscall(SYS_write, fd, p, n);
	note_write(fd, -1, done);
	return done;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at)
{
	REFUSE(fails_on("write", fd));
	ssize_t done = syscall(SYS_pwrite64, fd, p, n, at);
	note_write(fd, at, done);
	return done;
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

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at)
{
	return pwrite(fd, p, n, at);
}

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
	REFUSE(fails_on("write", fd));
	ssize_t done = syscall(SYS_pwritev, fd, v, n, at, 0);
	note_write(fd, at, done);
	return done;
}

int ftruncate(int fd, off_t size)
{
	REFUSE(fails_on("truncate", fd));
	int r = (int)syscall(SYS_ftruncate, fd, size);
	if (r == 0)
		note_size(fd, size);
	return r;
}

int ftruncate64(int fd, off_t size)
{
	return ftruncate(fd, size);
}
