/*
 * The driver file that makes commits of HDF5 files atomic; see hdf5_module.h.
 *
 * Pages of 4 KiB that the library wrote are held here. Those behind the end of the last commit
 * ("fresh") are written to the file when there are many, and at the commit; rows that go there are
 * not held at all. Those before it are compared with the file, 64 bytes at a time, and only the
 * differences go to the journal: the library rewrites the whole header of a table, 12 KiB with the
 * attributes that PyTables wants, when one number in it has changed.
 *
 * A separate process that shares our memory overwrites the file: if we are killed it still
 * finishes, so that a reader without our journal finds the file complete. If it is killed too,
 * there is the journal.
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/hash_map.h"
#include "tables/hdf5/hdf5_module.h"

#define PAGE 4096u
#define BLOCK 64u /* a page has as many blocks as a word has bits */
#define SPILL ((size_t)16 << 20)
#define STACK (64u << 10)
#define THROUGH 1024u
#define AHEAD ((uint64_t)8 << 20) /* the disk gets what was written after this many bytes */

struct page {
	uint64_t index;
	uint64_t changed;  /* blocks that differ from the file */
	struct page *next; /* of those unused */
	unsigned char data[PAGE];
};

struct shadow {
	struct driver_file driver;
	int fd;
	struct file_identity id;
	uint64_t base;         /* end of the last commit */
	uint64_t sent;         /* written back to the disk up to here */
	struct hash_map pages; /* by index */
	size_t fresh;          /* pages */
	struct page *unused;
	bool discarded;
	enum { GATHERING, APPENDED, NOTED } phase; /* of the commit */
	struct strbuf pieces;
};

/* ---- pages ---- */

static struct hash_slot *slot_of(const struct shadow *s, uint64_t index)
{
	struct hash_slot *h = hash_map_first(&s->pages, hash_number(index));

	while (h && ((const struct page *)h->value)->index != index)
		h = hash_map_next(&s->pages, h);
	return h;
}

static struct page *find_page(const struct shadow *s, uint64_t index)
{
	struct hash_slot *h = slot_of(s, index);

	return h ? (struct page *)h->value : NULL;
}

static bool is_fresh(const struct shadow *s, uint64_t index)
{
	return index * PAGE >= s->base;
}

/* Reads from the file; zeros behind its end. */
static int read_page(const struct shadow *s, uint64_t index, unsigned char *to)
{
	size_t have = 0;

	while (have < PAGE) {
		ssize_t n = pread(s->fd, to + have, PAGE - have, (off_t)(index * PAGE + have));

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		if (n > 0)
			have += (size_t)n;
	}
	memset(to + have, 0, PAGE - have);
	return 0;
}

static struct page *add_page(struct shadow *s, uint64_t index)
{
	struct page *p = s->unused;

	if (p)
		s->unused = p->next;
	else
		p = xmalloc(sizeof(*p));
	p->index = index;
	p->changed = 0;
	/* a page behind the end of the file need not be read */
	if (index * PAGE >= s->driver.size)
		memset(p->data, 0, PAGE);
	else if (read_page(s, index, p->data) < 0) {
		p->next = s->unused;
		s->unused = p;
		return NULL;
	}
	hash_map_add(&s->pages, hash_number(index), (uintptr_t)p);
	s->fresh += is_fresh(s, index);
	return p;
}

static void forget_page(struct shadow *s, struct page *p)
{
	s->fresh -= is_fresh(s, p->index);
	p->next = s->unused;
	s->unused = p;
}

static void drop_page(struct shadow *s, struct page *p)
{
	hash_map_remove(&s->pages, slot_of(s, p->index));
	forget_page(s, p);
}

static void drop_all(struct shadow *s)
{
	for (struct hash_slot *h = hash_map_each(&s->pages, NULL); h;
	     h = hash_map_each(&s->pages, h))
		forget_page(s, (struct page *)h->value);
	hash_map_clear(&s->pages);
	/* memory for a large commit is not kept for small ones */
	size_t kept = 0;
	for (struct page **p = &s->unused; *p;) {
		if (kept++ < SPILL / PAGE / 2) {
			p = &(*p)->next;
			continue;
		}
		struct page *gone = *p;
		*p = gone->next;
		free(gone);
	}
}

static void put(struct page *p, unsigned at, const unsigned char *from, unsigned n)
{
	for (unsigned i = at; i < at + n;) {
		unsigned end = (i / BLOCK + 1) * BLOCK;

		if (end > at + n)
			end = at + n;
		if (memcmp(p->data + i, from + (i - at), end - i) != 0) {
			memcpy(p->data + i, from + (i - at), end - i);
			p->changed |= (uint64_t)1 << i / BLOCK;
		}
		i = end;
	}
}

/* ---- the end of the file ---- */

static int by_index(const void *a, const void *b)
{
	const struct page *x = *(struct page *const *)a, *y = *(struct page *const *)b;

	return x->index < y->index ? -1 : x->index > y->index;
}

/* The pages that are fresh, or those that are not, by index. */
static struct page **sorted(const struct shadow *s, bool fresh, size_t *ret)
{
	struct page **list = xcalloc(s->pages.count + 1, sizeof(*list));
	size_t n = 0;

	for (struct hash_slot *h = hash_map_each(&s->pages, NULL); h;
	     h = hash_map_each(&s->pages, h)) {
		struct page *p = (struct page *)h->value;

		if (is_fresh(s, p->index) == fresh)
			list[n++] = p;
	}
	qsort(list, n, sizeof(*list), by_index);
	*ret = n;
	return list;
}

/* Starts writing back before the commit, which then waits less for the disk. */
static void send_ahead(struct shadow *s)
{
	if (s->driver.size < s->sent + AHEAD)
		return;
	(void)sync_file_range(s->fd, (off_t)s->sent, (off_t)(s->driver.size - s->sent),
			      SYNC_FILE_RANGE_WRITE);
	s->sent = s->driver.size;
}

static int write_run(struct shadow *s, struct page **run, size_t n)
{
	struct iovec vector[256];
	uint64_t at = run[0]->index * PAGE, end = at + n * PAGE;

	while (at < end) {
		size_t first = (size_t)(at / PAGE - run[0]->index), used = 0;
		size_t skip = at % PAGE;

		for (size_t i = first; i < n && used < ARRAY_SIZE(vector); i++)
			vector[used++] = (struct iovec){run[i]->data, PAGE};
		vector[0].iov_base = run[first]->data + skip;
		vector[0].iov_len = PAGE - skip;
		ssize_t done = pwritev(s->fd, vector, (int)used, (off_t)at);
		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0)
			at += (uint64_t)done;
		if (at > s->driver.size)
			s->driver.size = at;
	}
	send_ahead(s);
	return 0;
}

/* How many of these bytes, from the first, are fresh and in no held page. */
static size_t unheld(const struct shadow *s, uint64_t addr, size_t size)
{
	uint64_t at = addr;

	while (at < addr + size && is_fresh(s, at / PAGE) && !find_page(s, at / PAGE))
		at = (at / PAGE + 1) * PAGE;
	return at < addr + size ? (size_t)(at - addr) : size;
}

/* Writes fresh bytes directly to the file. 0: that failed, or they are not worth a call. */
static size_t write_through(struct shadow *s, uint64_t addr, size_t size, const unsigned char *from)
{
	size_t n = unheld(s, addr, size);

	if (n < THROUGH)
		return 0;
	ssize_t done = pwrite(s->fd, from, n, (off_t)addr);
	if (done <= 0)
		return 0;
	if (addr + (uint64_t)done > s->driver.size)
		s->driver.size = addr + (uint64_t)done;
	send_ahead(s);
	return (size_t)done;
}

/* Writes fresh pages to the file; those that were written are no longer held. */
static int write_fresh(struct shadow *s)
{
	size_t n;
	_cleanup_free_ struct page **list = sorted(s, true, &n);
	int r = 0;

	for (size_t i = 0, j; i < n && r == 0; i = j) {
		for (j = i + 1; j < n && list[j]->index == list[j - 1]->index + 1;)
			j++;
		r = write_run(s, list + i, j - i);
		for (size_t k = i; k < j && r == 0; k++)
			drop_page(s, list[k]);
	}
	return r;
}

/* ---- commit ---- */

static void gather_pieces(struct shadow *s)
{
	size_t n;
	_cleanup_free_ struct page **list = sorted(s, false, &n);

	strbuf_reset(&s->pieces);
	for (size_t i = 0; i < n; i++)
		for (unsigned b = 0, e; b < PAGE / BLOCK; b = e) {
			for (e = b; e < PAGE / BLOCK && (list[i]->changed >> e & 1);)
				e++;
			if (e == b) {
				e++;
				continue;
			}
			uint64_t at = list[i]->index * PAGE + b * BLOCK;
			uint32_t size = (e - b) * BLOCK;

			strbuf_add(&s->pieces, &at, sizeof(at));
			strbuf_add(&s->pieces, &size, sizeof(size));
			strbuf_add(&s->pieces, list[i]->data + (size_t)b * BLOCK, size);
		}
}

struct overwriting {
	int fd, result;
	const struct strbuf *pieces;
};

static int overwrite(void *user)
{
	struct overwriting *o = user;

	o->result = journal_apply(o->fd, o->pieces->buf, o->pieces->len);
	return 0;
}

static int overwrite_apart(void *user)
{
	/* signals to our process group must not reach it */
	(void)setsid();
	return overwrite(user);
}

/* Overwrites in a process that shares our memory, and waits for it. */
static int apply(struct shadow *s)
{
	struct overwriting o = {.fd = s->fd, .pieces = &s->pieces, .result = -EINTR};
	void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	sigset_t all, before;
	pid_t pid = -1;

	if (stack != MAP_FAILED) {
		sigfillset(&all);
		pthread_sigmask(SIG_BLOCK, &all, &before);
		pid = clone(overwrite_apart, (char *)stack + STACK, CLONE_VM | CLONE_VFORK, &o);
		if (pid > 0)
			(void)waitpid(pid, NULL, __WALL);
		pthread_sigmask(SIG_SETMASK, &before, NULL);
		munmap(stack, STACK);
	}
	/* it could not be started, or was killed: overwriting twice is harmless */
	if (pid < 0 || o.result == -EINTR)
		overwrite(&o);
	return o.result;
}

static int append(struct shadow *s)
{
	int r = write_fresh(s);

	if (r == 0 && s->driver.size < s->driver.eoa) {
		if (ftruncate(s->fd, (off_t)s->driver.eoa) < 0)
			return -errno;
		s->driver.size = s->driver.eoa;
	}
	return r;
}

/* A full disk is no reason to give up: everything is still held here. */
static int failed(int error, const char *path, struct strbuf *why)
{
	strbuf_addf(why, "cannot write '%s': %s", path, strerror(-error));
	return error == -ENOSPC || error == -EDQUOT || error == -EFBIG ? -EAGAIN : error;
}

/* After a failed sync the kernel may have dropped the pages, and a second sync would not report it:
 * never retry. */
static int not_synced(int error, const char *path, struct strbuf *why)
{
	return strbuf_fail(why, -EIO, "cannot sync '%s': %s", path, strerror(-error));
}

int shadow_commit(struct shadow *s, struct journal *j, const char *path, uint64_t position,
		  struct strbuf *why)
{
	int r = 0;

	if (s->phase == GATHERING) {
		r = append(s);
		if (r < 0)
			return failed(r, path, why);
		/* also syncs what the last commit overwrote: its journal is overwritten next */
		r = fs_sync(s->fd);
		if (r < 0)
			return not_synced(r, path, why);
		gather_pieces(s);
		s->phase = APPENDED;
	}
	if (s->phase == APPENDED) {
		r = j ? journal_write(j, path, &s->id, position, s->driver.eoa, &s->pieces) : 0;
		if (r == 0 && j && (r = journal_sync(j)) < 0)
			return not_synced(r, "the journal", why);
		if (r < 0)
			return failed(r, "the journal", why);
		s->phase = NOTED;
	}
	r = apply(s);
	if (r < 0)
		return failed(r, path, why);
	drop_all(s);
	s->base = s->driver.eoa;
	s->phase = GATHERING;
	return 0;
}

int shadow_note(struct shadow *s, struct journal *j, const char *path, uint64_t position,
		struct strbuf *why)
{
	const struct strbuf nothing = STRBUF_INIT;
	int r = journal_write(j, path, &s->id, position, s->base, &nothing);

	if (r < 0)
		return failed(r, "the journal", why);
	r = journal_sync(j);
	return r < 0 ? not_synced(r, "the journal", why) : 0;
}

int shadow_settle(struct shadow *s)
{
	int r = fs_sync(s->fd);

	if (r < 0)
		return r;
	if (s->driver.size > s->base && ftruncate(s->fd, (off_t)s->base) == 0)
		s->driver.size = s->base;
	return fs_sync(s->fd);
}

void shadow_discard(struct shadow *s)
{
	s->discarded = true;
	drop_all(s);
	/* pages that could not be synced may still be readable, but must not be compared with
	 * later: truncate. A commit that may be in the journal has synced them, and needs them. */
	if (s->phase == GATHERING && s->driver.size > s->base &&
	    ftruncate(s->fd, (off_t)s->base) == 0)
		s->driver.size = s->base;
}

/* ---- reading and writing ---- */

static int shadow_read(struct driver_file *f, uint64_t addr, size_t size, void *buffer)
{
	struct shadow *s = (struct shadow *)f;
	unsigned char *to = buffer, other[PAGE];

	while (size) {
		unsigned at = (unsigned)(addr % PAGE);
		size_t n = PAGE - at < size ? PAGE - at : size;
		const struct page *p = find_page(s, addr / PAGE);

		if (!p && read_page(s, addr / PAGE, other) < 0)
			return -1;
		memcpy(to, (p ? p->data : other) + at, n);
		to += n;
		addr += n;
		size -= n;
	}
	return 0;
}

/* Writes into one page; the number of bytes, 0: it failed. */
static size_t write_page(struct shadow *s, uint64_t addr, size_t size, const unsigned char *from)
{
	unsigned at = (unsigned)(addr % PAGE);
	size_t n = PAGE - at < size ? PAGE - at : size;
	struct page *p = find_page(s, addr / PAGE);

	if (!p && !(p = add_page(s, addr / PAGE)))
		return 0;
	if (is_fresh(s, p->index))
		memcpy(p->data + at, from, n);
	else
		put(p, at, from, (unsigned)n);
	/* it is the same as in the file */
	if (!p->changed && !is_fresh(s, p->index))
		drop_page(s, p);
	return n;
}

static int shadow_write(struct driver_file *f, uint64_t addr, size_t size, const void *buffer,
			bool rows)
{
	struct shadow *s = (struct shadow *)f;
	const unsigned char *from = buffer;

	while (size && !s->discarded) {
		size_t n = rows ? write_through(s, addr, size, from) : 0;

		if (!n)
			n = write_page(s, addr, size, from);
		if (!n)
			return -1;
		from += n;
		addr += n;
		size -= n;
	}
	/* what cannot be written now stays here, and the commit reports it */
	if (s->fresh > SPILL / PAGE)
		(void)write_fresh(s);
	return 0;
}

/* ---- life ---- */

struct shadow *shadow_new(int fd)
{
	struct shadow *s = xcalloc(1, sizeof(*s));
	struct stat st;

	s->fd = fd;
	s->driver.read = shadow_read;
	s->driver.write = shadow_write;
	s->pieces = (struct strbuf)STRBUF_INIT;
	if (fstat(fd, &st) == 0)
		s->driver.size = s->base = s->sent = (uint64_t)st.st_size;
	(void)file_identify(fd, &s->id);
	return s;
}

void shadow_free(struct shadow *s)
{
	if (!s)
		return;
	drop_all(s);
	for (struct page *p = s->unused, *next; p; p = next) {
		next = p->next;
		free(p);
	}
	hash_map_release(&s->pages);
	strbuf_release(&s->pieces);
	close_fd(&s->fd);
	free(s);
}

struct driver_file *shadow_driver(struct shadow *s)
{
	return &s->driver;
}

uint64_t shadow_end(const struct shadow *s)
{
	return s->driver.eoa;
}

/* 1: this file, 0: another or none, negative: unknown. */
static int is_at(const struct stat *file, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	return st.st_ino == file->st_ino && st.st_dev == file->st_dev;
}

bool shadow_is_gone(const struct shadow *s, const char *path)
{
	char link[40], now[PATH_MAX];
	struct stat st;

	if (fstat(s->fd, &st) < 0)
		return errno == ESTALE;
	if (!st.st_nlink)
		return true;
	if (is_at(&st, path) != 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", s->fd);
	ssize_t n = readlink(link, now, sizeof(now) - 1);
	if (n < 0)
		return false;
	now[n] = 0;
	/* NFS renames an open file that was removed */
	const char *slash = strrchr(now, '/');
	return (slash && str_prefix(slash + 1, ".nfs")) || is_at(&st, now) == 0;
}
