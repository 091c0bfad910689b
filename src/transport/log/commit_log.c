/*
 * Appends to a log and trims it; see commit_log.h. An entry is one write at a known offset: a
 * failed write leaves nothing valid, and the next one overwrites it. Entries that could not be
 * synced are taken back, since nobody knows what of them is on the disk. The next entry then starts
 * a new segment, since a later sync of the same pages would report nothing.
 */
#include "transport/log/commit_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/system/thread.h"
#include "transport/log/commit_log_internal.h"

#define SEGMENT_DEFAULT ((uint64_t)16 << 20)
#define SEGMENT_SMALLEST 4096

/* ---- opening and closing ---- */

static void free_log(struct commit_log *l)
{
	if (l->fd >= 0)
		close(l->fd);
	/* close() alone does not unlock it if a process was forked meanwhile */
	if (l->lock_fd >= 0)
		(void)flock(l->lock_fd, LOCK_UN);
	if (l->lock_fd >= 0)
		close(l->lock_fd);
	if (l->dir >= 0)
		close(l->dir);
	pthread_cond_destroy(&l->grown);
	pthread_mutex_destroy(&l->lock);
	pthread_mutex_destroy(&l->writer);
	strbuf_release(&l->out);
	free(l->segments);
	free(l);
}

static struct commit_log *new_log(const struct commit_log_options *o)
{
	struct commit_log *l = xcalloc(1, sizeof(*l));

	*l = (struct commit_log){.dir = -1, .lock_fd = -1, .fd = -1, .out = STRBUF_INIT};
	pthread_mutex_init(&l->writer, NULL);
	pthread_mutex_init(&l->lock, NULL);
	thread_cond_init(&l->grown);
	l->limit = o->limit;
	l->drop_oldest = o->drop_oldest;
	l->segment_max = o->segment ? o->segment : SEGMENT_DEFAULT;
	/* space is freed by whole segments */
	if (l->limit && l->segment_max > l->limit / 8)
		l->segment_max = l->limit / 8;
	if (l->segment_max < SEGMENT_SMALLEST)
		l->segment_max = SEGMENT_SMALLEST;
	return l;
}

static int take_lock(struct commit_log *l, const char *dir, struct strbuf *why)
{
	l->lock_fd = openat(l->dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (l->lock_fd < 0)
		return strbuf_fail(why, -errno, "cannot write in '%s': %s", dir, strerror(errno));
	if (flock(l->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return strbuf_fail(why, -EBUSY, "another process uses '%s'", dir);
}

int commit_log_open(struct commit_log **ret, const struct commit_log_options *o, struct strbuf *why)
{
	struct commit_log *l = new_log(o);
	int r = l->dir = fs_open_named(o->dir, true, why);

	if (r >= 0)
		r = take_lock(l, o->dir, why);
	if (r >= 0)
		r = log_recover(l, why);
	if (r < 0) {
		free_log(l);
		return r;
	}
	*ret = l;
	return 0;
}

void commit_log_close(struct commit_log *l)
{
	if (!l)
		return;
	(void)commit_log_sync(l);
	(void)log_save_state(l); /* without it, some entries are read again */
	free_log(l);
}

/* ---- numbers ---- */

static uint64_t first_number(const struct commit_log *l)
{
	uint64_t first = l->segments[0].first > l->trimmed ? l->segments[0].first : l->trimmed;

	return first < l->next ? first : l->next;
}

static uint64_t locked(const struct commit_log *l, uint64_t (*number)(const struct commit_log *l))
{
	pthread_mutex_t *lock = &((struct commit_log *)l)->lock;

	pthread_mutex_lock(lock);
	uint64_t ret = number(l);
	pthread_mutex_unlock(lock);
	return ret;
}

static uint64_t next_number(const struct commit_log *l)
{
	return l->next;
}

static uint64_t synced_next(const struct commit_log *l)
{
	return l->synced_next;
}

uint64_t commit_log_first(const struct commit_log *l)
{
	return locked(l, first_number);
}

uint64_t commit_log_next_number(const struct commit_log *l)
{
	return locked(l, next_number);
}

uint64_t commit_log_synced_next(const struct commit_log *l)
{
	return locked(l, synced_next);
}

uint64_t commit_log_id(const struct commit_log *l)
{
	return l->id;
}

void commit_log_counts(struct commit_log *l, struct commit_log_counts *ret)
{
	pthread_mutex_lock(&l->lock);
	*ret = (struct commit_log_counts){
		.bytes = log_total(l),
		.entries = l->next - first_number(l),
		.dropped_entries = l->dropped_entries,
		.dropped_bytes = l->dropped_bytes,
		.damaged = l->damaged,
	};
	pthread_mutex_unlock(&l->lock);
}

/* ---- syncing ---- */

/* Removes what was appended since the last sync. The caller holds writer. */
static void take_back(struct commit_log *l)
{
	pthread_mutex_lock(&l->lock);
	l->taken_back++;
	l->next = l->synced_next;
	l->segments[l->segment_count - 1].bytes = l->synced_bytes;
	uint64_t bytes = l->synced_bytes;
	pthread_mutex_unlock(&l->lock);
	l->unsure = true;
	/* if that fails too, their numbers show that they are not part of the log */
	if (ftruncate(l->fd, (off_t)bytes) < 0)
		return;
}

static void set_synced(struct commit_log *l, uint64_t next, uint64_t bytes)
{
	pthread_mutex_lock(&l->lock);
	l->synced_next = next;
	l->synced_bytes = bytes;
	pthread_cond_broadcast(&l->grown);
	pthread_mutex_unlock(&l->lock);
}

/* The caller holds writer. */
static int sync_last(struct commit_log *l)
{
	if (l->next == l->synced_next)
		return 0;
	int r = fs_sync(l->fd);
	if (r == 0)
		set_synced(l, l->next, l->segments[l->segment_count - 1].bytes);
	else
		take_back(l);
	return r;
}

int commit_log_sync(struct commit_log *l)
{
	pthread_mutex_lock(&l->writer);
	int r = sync_last(l);
	pthread_mutex_unlock(&l->writer);
	return r;
}

/* ---- segments ---- */

/* Starts a segment after everything was synced or taken back. The caller holds writer. */
static int next_segment(struct commit_log *l)
{
	int fd = log_new_segment(l, l->next);

	/* a file with its name may exist: entries written to the old segment would be lost */
	l->unsure = fd < 0;
	if (fd < 0)
		return fd;
	close(l->fd);
	l->fd = fd;
	pthread_mutex_lock(&l->lock);
	/* replaces one without valid entries */
	if (l->segments[l->segment_count - 1].first == l->next)
		l->segment_count--;
	GROW(l->segments, l->segment_count, l->segment_cap);
	l->segments[l->segment_count++] = (struct log_segment){l->next, LOG_HEADER, l->taken_back};
	l->synced_bytes = LOG_HEADER;
	pthread_mutex_unlock(&l->lock);
	return 0;
}

/* Syncs the last segment and starts another. The caller holds writer. */
static int begin_segment(struct commit_log *l)
{
	int r = l->unsure ? 0 : fs_sync(l->fd);

	if (r < 0) {
		take_back(l);
		return r;
	}
	set_synced(l, l->next, l->segments[l->segment_count - 1].bytes);
	return next_segment(l);
}

/*
 * Removes the oldest segments. What was trimmed and dropped is saved first, so that a kill in
 * between counts nothing twice; on a full disk that may work only afterwards. Entries that a spool
 * lacks without a record in its state count as dropped, so there a trim can wait. The caller holds
 * writer.
 */
static void remove_segments(struct commit_log *l, size_t count, bool can_wait)
{
	bool saved = log_save_state(l) == 0;
	char name[32];

	if (!saved && can_wait)
		return;
	for (size_t i = 0; i < count; i++) {
		log_segment_name(name, sizeof(name), l->segments[i].first);
		(void)unlinkat(l->dir, name, 0);
	}
	pthread_mutex_lock(&l->lock);
	l->segment_count -= count;
	memmove(l->segments, l->segments + count, l->segment_count * sizeof(*l->segments));
	pthread_mutex_unlock(&l->lock);
	if (!saved)
		(void)log_save_state(l);
}

/* Drops the oldest segment, which is not the only one. The caller holds writer. */
static void drop_segment(struct commit_log *l)
{
	uint64_t first = l->segments[0].first, end = l->segments[1].first;
	uint64_t kept = first > l->trimmed ? first : l->trimmed, lost = end > kept ? end - kept : 0;
	uint64_t bytes = l->segments[0].bytes - LOG_HEADER;

	pthread_mutex_lock(&l->lock);
	l->dropped_entries += lost;
	if (lost)
		l->dropped_bytes +=
			(uint64_t)((double)bytes * (double)lost / (double)(end - first));
	if (l->trimmed < end)
		l->trimmed = end;
	pthread_mutex_unlock(&l->lock);
	remove_segments(l, 1, false);
}

static bool is_empty(const struct commit_log *l)
{
	return l->segments[l->segment_count - 1].bytes == LOG_HEADER;
}

static int make_room(struct commit_log *l, uint64_t need)
{
	while (l->limit && log_total(l) + need > l->limit) {
		if (!l->drop_oldest)
			return -ENOSPC;
		if (l->segment_count == 1) {
			int r = is_empty(l) ? -ENOSPC : begin_segment(l);

			if (r < 0)
				return r;
		}
		drop_segment(l);
	}
	return 0;
}

void commit_log_trim(struct commit_log *l, uint64_t number)
{
	size_t gone = 0;

	pthread_mutex_lock(&l->writer);
	pthread_mutex_lock(&l->lock);
	if (number > l->synced_next)
		number = l->synced_next;
	if (number > l->trimmed)
		l->trimmed = number;
	pthread_mutex_unlock(&l->lock);
	/* everything is trimmed: frees the last segment soon */
	if (l->trimmed >= l->next && l->segments[l->segment_count - 1].bytes > l->segment_max / 4 &&
	    !is_empty(l))
		(void)begin_segment(l);
	while (gone + 1 < l->segment_count && l->segments[gone + 1].first <= l->trimmed)
		gone++;
	if (gone)
		remove_segments(l, gone, l->drop_oldest);
	pthread_mutex_unlock(&l->writer);
}

/* ---- appending ---- */

static int append(struct commit_log *l, const void *p, size_t n, uint64_t *ret_number)
{
	uint64_t size = LOG_ENTRY + n, at = l->segments[l->segment_count - 1].bytes;
	int r = make_room(l, size);

	if (r < 0)
		return r;
	if (l->unsure || (!is_empty(l) && at + size > l->segment_max))
		r = begin_segment(l);
	if (r < 0)
		return r;
	strbuf_reset(&l->out);
	strbuf_grow(&l->out, size);
	log_put_entry((unsigned char *)l->out.buf, l->seed, p, n, l->next);
	at = l->segments[l->segment_count - 1].bytes;
	r = fs_write_once(l->fd, l->out.buf, size, (off_t)at);
	if (r < 0) {
		if (ftruncate(l->fd, (off_t)at) < 0)
			return r; /* the next one overwrites it */
		return r;
	}
	pthread_mutex_lock(&l->lock);
	l->segments[l->segment_count - 1].bytes += size;
	*ret_number = l->next++;
	pthread_mutex_unlock(&l->lock);
	return 0;
}

/* The disk may be full before the limit is reached: drops the oldest for the newest. Not after
 * others were taken back, which must come first. */
static int append_or_drop(struct commit_log *l, const void *p, size_t n, uint64_t *ret_number)
{
	uint64_t taken_back = l->taken_back;

	if (n > COMMIT_LOG_ENTRY_MAX)
		return -E2BIG;
	int r = append(l, p, n, ret_number);
	if ((r == -ENOSPC || r == -EDQUOT) && l->drop_oldest && l->segment_count > 1 &&
	    l->taken_back == taken_back) {
		drop_segment(l);
		r = append(l, p, n, ret_number);
	}
	return r;
}

int commit_log_append(struct commit_log *l, const void *p, size_t n, uint64_t *ret_number)
{
	pthread_mutex_lock(&l->writer);
	int r = append_or_drop(l, p, n, ret_number);
	pthread_mutex_unlock(&l->writer);
	return r;
}

int commit_log_append_all(struct commit_log *l, const struct commit_log_part *parts, size_t count,
			  size_t *ret_kept)
{
	uint64_t number;
	int r = 0;

	pthread_mutex_lock(&l->writer);
	uint64_t first = l->next;
	for (size_t i = 0; i < count && r == 0; i++)
		r = append_or_drop(l, parts[i].p, parts[i].n, &number);
	int synced = sync_last(l);
	*ret_kept = l->synced_next > first ? (size_t)(l->synced_next - first) : 0;
	pthread_mutex_unlock(&l->writer);
	return r < 0 ? r : synced;
}
