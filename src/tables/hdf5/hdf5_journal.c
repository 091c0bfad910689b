/*
 * The journal of the module "hdf5": what a commit overwrites, written before it is overwritten. A
 * slot is a header, the path of the file and the pieces, with one checksum over all of it. A slot
 * with a wrong checksum was being written during a crash, and its commit never happened.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/crc32c_bulk.h"
#include "core/files/fs.h"
#include "tables/hdf5/hdf5_module.h"

#define MAGIC "plimjrn1"
#define SLOT_MAX ((uint64_t)1 << 30)
#define SLOT_KEPT (4 << 20) /* a larger slot is truncated before it is reused */

struct slot_head {
	char magic[8];
	uint32_t sum; /* of everything after it */
	uint32_t path_size;
	uint64_t sequence, position;
	uint64_t end; /* of the file after the commit */
	uint64_t pieces_size;
	struct file_identity id;
};
#define SUM_FROM (offsetof(struct slot_head, sum) + sizeof(uint32_t))

static const char *const slot_names[] = {"journal.0", "journal.1"};

int file_identify(int fd, struct file_identity *ret)
{
	struct statx st;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &st) < 0)
		return -errno;
	*ret = (struct file_identity){.inode = st.stx_ino};
	if (st.stx_mask & STATX_BTIME) {
		ret->born_s = st.stx_btime.tv_sec;
		ret->born_ns = st.stx_btime.tv_nsec;
	}
	return 0;
}

/* ---- writing ---- */

static int write_whole(int fd, const void *data, size_t n, uint64_t at)
{
	const char *p = data;

	while (n) {
		ssize_t done = pwrite(fd, p, n, (off_t)at);

		if (done < 0 && errno != EINTR)
			return -errno;
		if (done > 0) {
			p += done;
			n -= (size_t)done;
			at += (uint64_t)done;
		}
	}
	return 0;
}

int journal_write(struct journal *j, const char *path, const struct file_identity *id,
		  uint64_t position, uint64_t end, const struct strbuf *pieces)
{
	int fd = j->slots[(j->sequence + 1) % 2];
	_cleanup_strbuf_ struct strbuf first = STRBUF_INIT;
	struct slot_head h;
	struct stat st;

	memset(&h, 0, sizeof(h));
	memcpy(h.magic, MAGIC, sizeof(h.magic));
	h.path_size = (uint32_t)strlen(path);
	h.sequence = j->sequence + 1;
	h.position = position;
	h.end = end;
	h.pieces_size = pieces->len;
	h.id.inode = id->inode;
	h.id.born_s = id->born_s;
	h.id.born_ns = id->born_ns;
	strbuf_add(&first, &h, sizeof(h));
	strbuf_add(&first, path, h.path_size);
	uint32_t sum = crc32c_bulk(0, first.buf + SUM_FROM, first.len - SUM_FROM);
	sum = crc32c_bulk(sum, pieces->buf, pieces->len);
	memcpy(first.buf + offsetof(struct slot_head, sum), &sum, sizeof(sum));
	/* a slot that was much larger gives space back */
	if (fstat(fd, &st) == 0 && st.st_size > SLOT_KEPT &&
	    (uint64_t)st.st_size > 4 * (first.len + pieces->len))
		(void)!ftruncate(fd, 0);
	int r = write_whole(fd, first.buf, first.len, 0);
	if (r == 0)
		r = write_whole(fd, pieces->buf, pieces->len, first.len);
	return r;
}

int journal_sync(struct journal *j)
{
	int r = fs_sync(j->slots[(j->sequence + 1) % 2]);

	if (r == 0)
		j->sequence++;
	return r;
}

int journal_apply(int fd, const void *pieces, size_t n)
{
	const unsigned char *p = pieces, *end = p + n;

	while (end - p >= 12) {
		uint64_t at;
		uint32_t size;

		memcpy(&at, p, sizeof(at));
		memcpy(&size, p + 8, sizeof(size));
		p += 12;
		if (size > (size_t)(end - p))
			return -EBADMSG;
		int r = write_whole(fd, p, size, at);
		if (r < 0)
			return r;
		p += size;
	}
	return 0;
}

/* ---- opening ---- */

int journal_open(struct journal *j, const char *dir, struct strbuf *why)
{
	*j = (struct journal){.dir = -1, .slots = {-1, -1}};
	j->dir = fs_open_named(dir, true, why);
	if (j->dir < 0)
		return j->dir;
	for (int i = 0; i < 2; i++) {
		j->slots[i] = openat(j->dir, slot_names[i],
				     O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (j->slots[i] < 0) {
			int r = -errno;

			strbuf_addf(why, "cannot open '%s/%s': %s", dir, slot_names[i],
				    strerror(-r));
			journal_close(j);
			return r;
		}
	}
	if (flock(j->slots[0], LOCK_EX | LOCK_NB) < 0) {
		strbuf_addf(why, "another process uses '%s'", dir);
		journal_close(j);
		return -EBUSY;
	}
	int r = fs_sync_dir(j->dir);
	if (r < 0) {
		strbuf_addf(why, "cannot sync '%s': %s", dir, strerror(-r));
		journal_close(j);
	}
	return r;
}

void journal_close(struct journal *j)
{
	close_fd(&j->slots[0]);
	close_fd(&j->slots[1]);
	close_fd(&j->dir);
	*j = (struct journal){.dir = -1, .slots = {-1, -1}};
}

/* ---- recovery ---- */

/* Reads a slot; false: it is not valid. */
static bool read_slot(int fd, struct slot_head *h, struct strbuf *out)
{
	struct stat st;

	strbuf_reset(out);
	if (fstat(fd, &st) < 0 || pread(fd, h, sizeof(*h), 0) != sizeof(*h) ||
	    memcmp(h->magic, MAGIC, sizeof(h->magic)) != 0 || h->path_size >= PATH_MAX ||
	    h->pieces_size > SLOT_MAX ||
	    (uint64_t)st.st_size < sizeof(*h) + h->path_size + h->pieces_size)
		return false;
	size_t n = sizeof(*h) + h->path_size + (size_t)h->pieces_size;
	strbuf_grow(out, n);
	while (out->len < n) {
		ssize_t got = pread(fd, out->buf + out->len, n - out->len, (off_t)out->len);

		if (got <= 0)
			return false;
		out->len += (size_t)got;
	}
	out->buf[n] = 0;
	return crc32c_bulk(0, out->buf + SUM_FROM, n - SUM_FROM) == h->sum;
}

static int apply_slot(const struct slot_head *h, const struct strbuf *slot, const char *path,
		      bool *ret_same, struct strbuf *why)
{
	size_t before = sizeof(*h) + h->path_size;
	_cleanup_close_ int fd = open(path, O_RDWR | O_CLOEXEC);
	struct file_identity id = {0};
	struct stat st;

	/* it was moved away or replaced by another: not ours to change */
	if (fd < 0 || file_identify(fd, &id) < 0 || id.inode != h->id.inode ||
	    id.born_s != h->id.born_s || id.born_ns != h->id.born_ns)
		return 0;
	*ret_same = true;
	if (fstat(fd, &st) < 0 || (uint64_t)st.st_size < h->end)
		return strbuf_fail(why, -EBADMSG, "'%s' is shorter than after the last commit",
				   path);
	int r = journal_apply(fd, slot->buf + before, slot->len - before);
	if (r == 0)
		r = fs_sync(fd);
	if (r < 0)
		strbuf_addf(why, "cannot complete the last commit to '%s': %s", path, strerror(-r));
	return r;
}

int journal_recover(struct journal *j, struct hdf5_commit *ret, struct strbuf *why)
{
	struct strbuf slots[2] = {STRBUF_INIT, STRBUF_INIT};
	struct slot_head heads[2];
	bool there[2];

	for (int i = 0; i < 2; i++)
		there[i] = read_slot(j->slots[i], &heads[i], &slots[i]);
	int last = there[0] && there[1] ? heads[1].sequence > heads[0].sequence : there[1];
	int r = -ENOENT;
	if (there[last]) {
		const struct slot_head *h = &heads[last];

		j->sequence = h->sequence;
		memset(ret, 0, sizeof(*ret));
		memcpy(ret->path, slots[last].buf + sizeof(*h), h->path_size);
		ret->position = h->position;
		/* it may be in the page cache only, if an earlier sync failed */
		r = write_whole(j->slots[last], slots[last].buf, slots[last].len, 0);
		if (r == 0)
			r = fs_sync(j->slots[last]);
		if (r < 0)
			strbuf_addf(why, "cannot sync the journal: %s", strerror(-r));
		else
			r = apply_slot(h, &slots[last], ret->path, &ret->same, why);
	}
	strbuf_release(&slots[0]);
	strbuf_release(&slots[1]);
	return r;
}

int hdf5_recover(const char *dir, struct hdf5_commit *ret, struct strbuf *why)
{
	struct journal j;
	int r = journal_open(&j, dir, why);

	if (r < 0)
		return r;
	r = journal_recover(&j, ret, why);
	journal_close(&j);
	return r;
}
