/*
 * Opens a log; see commit_log.h. Only the last segment is read: those before it were synced when it
 * was created. The file "state" has what segments cannot tell: how far the log was trimmed, what
 * was dropped, and the next number in case every segment is lost.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "transport/log/commit_log_internal.h"

#define STATE_FORMAT                                                            \
	"plimsoll log 1\nid %016" PRIx64 "\nnext %" PRIu64 "\ntrimmed %" PRIu64 \
	"\ndropped %" PRIu64 " %" PRIu64 "\n"
#define STATE_SCAN                                                                                \
	"plimsoll log 1\nid %" SCNx64 "\nnext %" SCNu64 "\ntrimmed %" SCNu64 "\ndropped %" SCNu64 \
	" %" SCNu64 "\n"

void log_segment_name(char *name, size_t size, uint64_t first)
{
	snprintf(name, size, LOG_NAME_FORMAT, (unsigned long long)first);
}

uint64_t log_total(const struct commit_log *l)
{
	uint64_t n = 0;

	for (size_t i = 0; i < l->segment_count; i++)
		n += l->segments[i].bytes;
	return n;
}

void log_count_damage(struct commit_log *l, uint64_t segment, uint64_t at)
{
	for (uint64_t i = 0; i < l->damaged && i < LOG_PLACES_MAX; i++)
		if (l->places[i].segment == segment && l->places[i].at == at)
			return;
	l->places[l->damaged++ % LOG_PLACES_MAX] = (struct log_place){segment, at};
}

/* ---- the state ---- */

int log_save_state(struct commit_log *l)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, STATE_FORMAT, l->id, l->synced_next, l->trimmed, l->dropped_entries,
		    l->dropped_bytes);
	return fs_replace_durable(l->dir, "state", text.buf, text.len, 0600);
}

/* Is it an error that may pass: neither damage nor a missing file? */
static bool may_pass(int error)
{
	return error < 0 && error != -ENOENT && error != -EIO && error != -EFBIG &&
	       error != -EINVAL && error != -ELOOP;
}

/* A damaged state is ignored: segments are enough to go on. */
static int read_state(struct commit_log *l)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t id, next, trimmed, entries, bytes;
	int r = fs_read(l->dir, "state", 4096, &text);

	if (may_pass(r))
		return r;
	if (r < 0 || sscanf(text.buf, STATE_SCAN, &id, &next, &trimmed, &entries, &bytes) != 5 ||
	    next >= LOG_NUMBER_END || trimmed >= LOG_NUMBER_END)
		return 0;
	l->id = id;
	l->next = l->synced_next = next;
	l->trimmed = trimmed;
	l->dropped_entries = entries;
	l->dropped_bytes = bytes;
	return 0;
}

/* ---- segments ---- */

int log_new_segment(struct commit_log *l, uint64_t first)
{
	static const char aside[] = "new";
	unsigned char header[LOG_HEADER];
	char name[32];

	log_segment_name(name, sizeof(name), first);
	(void)unlinkat(l->dir, aside, 0);
	int fd = openat(l->dir, aside, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	log_put_header(header, l->id, first);
	int r = fs_write_once(fd, header, sizeof(header), 0);
	if (r == 0)
		r = fs_sync(fd);
	if (r == 0 && renameat(l->dir, aside, l->dir, name) < 0)
		r = -errno;
	if (r == 0)
		r = fs_sync_dir(l->dir);
	if (r == 0)
		return fd;
	close(fd);
	(void)unlinkat(l->dir, aside, 0);
	return r;
}

static int by_first(const void *a, const void *b)
{
	const struct log_segment *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

static void add_segment(struct commit_log *l, uint64_t first, uint64_t bytes)
{
	GROW(l->segments, l->segment_count, l->segment_cap);
	l->segments[l->segment_count++] = (struct log_segment){first, bytes, 0};
}

static int list_segments(struct commit_log *l)
{
	int fd = openat(l->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!d)
		return -errno;
	while ((e = readdir(d))) {
		unsigned long long first;
		char name[32];
		struct stat st;

		if (sscanf(e->d_name, "%20llu.log", &first) != 1 || !first ||
		    first >= LOG_NUMBER_END)
			continue;
		log_segment_name(name, sizeof(name), first);
		if (strcmp(name, e->d_name) != 0)
			continue;
		if (fstatat(l->dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			r = errno == ENOENT ? r : -errno;
		else if (S_ISREG(st.st_mode))
			add_segment(l, first, (uint64_t)st.st_size);
	}
	closedir(d);
	if (l->segment_count)
		qsort(l->segments, l->segment_count, sizeof(*l->segments), by_first);
	return r;
}

/* Reads the id from a segment if the state had none. */
static int learn_id(struct commit_log *l)
{
	for (size_t i = l->segment_count; i-- && !l->id;) {
		unsigned char header[LOG_HEADER];
		uint64_t id, first;
		char name[32];

		log_segment_name(name, sizeof(name), l->segments[i].first);
		_cleanup_close_ int fd = openat(l->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0 && may_pass(-errno))
			return -errno;
		if (fd >= 0 && pread(fd, header, sizeof(header), 0) == sizeof(header) &&
		    log_get_header(header, &id, &first))
			l->id = id;
	}
	return 0;
}

/* Completes an interrupted trim or drop. */
static void remove_trimmed(struct commit_log *l)
{
	size_t gone = 0;
	char name[32];

	while (gone + 1 < l->segment_count && l->segments[gone + 1].first <= l->trimmed) {
		log_segment_name(name, sizeof(name), l->segments[gone++].first);
		(void)unlinkat(l->dir, name, 0);
	}
	l->segment_count -= gone;
	if (gone)
		memmove(l->segments, l->segments + gone, l->segment_count * sizeof(*l->segments));
}

/* Counts segments that were dropped while the state could not be written. */
static void count_dropped(struct commit_log *l)
{
	if (!l->drop_oldest || !l->segment_count || l->segments[0].first <= l->trimmed)
		return;
	l->dropped_entries += l->segments[0].first - l->trimmed;
	l->trimmed = l->segments[0].first;
}

/* Reads the last segment: numbers continue after its last sound entry, and the rest is removed. */
static int recover_last(struct commit_log *l)
{
	struct log_segment *s = &l->segments[l->segment_count - 1];
	struct log_scan scan = {.fd = -1, .seed = l->seed};
	unsigned char header[LOG_HEADER];
	uint64_t at = LOG_HEADER, next = s->first, id, first;
	struct log_entry e;
	char name[32];

	log_segment_name(name, sizeof(name), s->first);
	l->fd = openat(l->dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (l->fd < 0)
		return -errno;
	if (pread(l->fd, header, sizeof(header), 0) != sizeof(header) ||
	    !log_get_header(header, &id, &first)) {
		log_put_header(header, l->id, s->first);
		int r = fs_write_once(l->fd, header, sizeof(header), 0);

		if (r < 0)
			return r;
		if (s->bytes > sizeof(header))
			log_count_damage(l, s->first, 0);
	}
	log_scan_use(&scan, l->fd);
	for (;;) {
		enum log_found found = log_scan_at(&scan, at, s->bytes, next, LOG_NUMBER_END, &e);

		if (found == LOG_END)
			break;
		if (found == LOG_BAD) {
			if (!log_scan_behind(&scan, at, s->bytes, next, LOG_NUMBER_END, &e))
				break;
			log_count_damage(l, s->first, at);
		}
		next = e.number + 1;
		at = e.at + LOG_ENTRY + e.size;
	}
	int error = scan.error;
	scan.fd = -1; /* the log's */
	log_scan_release(&scan);
	if (error < 0)
		return error;
	s->bytes = at;
	if (next > l->next)
		l->next = next;
	return ftruncate(l->fd, (off_t)at) < 0 ? -errno : fs_sync(l->fd);
}

int log_recover(struct commit_log *l, struct strbuf *why)
{
	l->next = l->synced_next = l->trimmed = 1;
	int r = read_state(l);
	if (r == 0)
		r = list_segments(l);
	bool has_state = l->id;
	if (r == 0)
		r = learn_id(l);
	while (r == 0 && !l->id)
		if (getrandom(&l->id, sizeof(l->id), 0) < 0)
			r = -errno;
	l->seed = log_seed(l->id);
	if (r == 0)
		remove_trimmed(l);
	if (r == 0 && has_state)
		count_dropped(l);
	if (r == 0 && l->segment_count) {
		r = recover_last(l);
	} else if (r == 0) {
		r = log_save_state(l);
		l->fd = r < 0 ? -1 : log_new_segment(l, l->next);
		if (l->fd >= 0)
			add_segment(l, l->next, LOG_HEADER);
		else if (r == 0)
			r = l->fd;
	}
	if (r < 0)
		return strbuf_fail(why, r, "cannot open the log: %s", strerror(-r));
	if (l->trimmed > l->next)
		l->next = l->trimmed;
	l->synced_next = l->next;
	l->synced_bytes = l->segments[l->segment_count - 1].bytes;
	return 0;
}
