/* Reads a log while others append to it; see commit_log.h. */
#include <errno.h>
#include <fcntl.h>

#include "core/clock.h"
#include "transport/log/commit_log_internal.h"

struct commit_log_reader {
	struct commit_log *log;
	struct log_scan scan;
	uint64_t segment, made; /* identify the open segment */
	uint64_t at;            /* offset of the next entry in it */
	uint64_t number;        /* the next one wanted */
};

/* The part of the log to search for the next entry. */
struct stretch {
	uint64_t segment, made, end, high;
};

struct commit_log_reader *commit_log_read_from(struct commit_log *l, uint64_t number)
{
	struct commit_log_reader *r = xcalloc(1, sizeof(*r));

	*r = (struct commit_log_reader){.log = l, .number = number};
	r->scan = (struct log_scan){.fd = -1, .seed = l->seed};
	pthread_mutex_lock(&l->lock);
	if (number > l->next)
		r->number = l->next;
	pthread_mutex_unlock(&l->lock);
	return r;
}

void commit_log_reader_close(struct commit_log_reader *r)
{
	if (!r)
		return;
	log_scan_release(&r->scan);
	free(r);
}

/* The number of the next entry, after older ones may have been removed. The caller holds lock. */
static uint64_t wanted(struct commit_log_reader *r)
{
	if (r->number < r->log->trimmed)
		r->number = r->log->trimmed;
	if (r->number < r->log->segments[0].first)
		r->number = r->log->segments[0].first;
	return r->number;
}

/* False: there is no entry to read yet. */
static bool find_stretch(struct commit_log_reader *r, struct stretch *s)
{
	struct commit_log *l = r->log;
	size_t i;

	pthread_mutex_lock(&l->lock);
	bool there = wanted(r) < l->synced_next;
	for (i = l->segment_count - 1; i && l->segments[i].first > r->number;)
		i--;
	bool last = i + 1 == l->segment_count;
	*s = (struct stretch){
		.segment = l->segments[i].first,
		.made = l->segments[i].made,
		.end = last ? l->synced_bytes : l->segments[i].bytes,
		.high = last ? l->synced_next : l->segments[i + 1].first,
	};
	pthread_mutex_unlock(&l->lock);
	return there;
}

static int use_segment(struct commit_log_reader *r, const struct stretch *s)
{
	char name[32];

	if (r->scan.fd >= 0 && r->segment == s->segment && r->made == s->made)
		return 0;
	log_segment_name(name, sizeof(name), s->segment);
	int fd = openat(r->log->dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	log_scan_use(&r->scan, fd);
	r->segment = s->segment;
	r->made = s->made;
	r->at = LOG_HEADER;
	return 0;
}

/* The next sound entry of the stretch; skips damage. */
static bool next_in(struct commit_log_reader *r, const struct stretch *s, struct log_entry *e)
{
	enum log_found found = log_scan_at(&r->scan, r->at, s->end, s->segment, s->high, e);

	if (r->scan.error)
		return false;
	/* an entry that was taken back and could not be truncated: the next segment has its number
	 */
	if (found == LOG_BAD &&
	    log_scan_at(&r->scan, r->at, s->end, s->high, LOG_NUMBER_END, e) == LOG_SOUND)
		return false;
	if (found == LOG_BAD) {
		pthread_mutex_lock(&r->log->lock);
		log_count_damage(r->log, s->segment, r->at);
		pthread_mutex_unlock(&r->log->lock);
		if (log_scan_behind(&r->scan, r->at, s->end, s->segment, s->high, e))
			found = LOG_SOUND;
	}
	if (found != LOG_SOUND)
		return false;
	r->at = e->at + LOG_ENTRY + e->size;
	return true;
}

int commit_log_reader_next(struct commit_log_reader *r, const void **ret_p, size_t *ret_n,
			   uint64_t *ret_number)
{
	struct log_entry e;
	struct stretch s;

	while (find_stretch(r, &s)) {
		int error = use_segment(r, &s);

		if (error == -ENOENT) {
			/* removed just now, or by somebody else: then all of it is lost */
			struct stretch again;

			if (find_stretch(r, &again) && again.segment == s.segment)
				r->number = s.high;
			continue;
		}
		if (error < 0)
			return error;
		bool found = next_in(r, &s, &e);
		if (r->scan.error) {
			/* start the segment again when it can be read */
			error = r->scan.error;
			log_scan_use(&r->scan, -1);
			return error;
		}
		if (!found) {
			r->number = s.high;
			continue;
		}
		if (e.number < r->number)
			continue;
		r->number = e.number + 1;
		*ret_p = log_scan_bytes(&r->scan, &e);
		*ret_n = e.size;
		*ret_number = e.number;
		return 1;
	}
	return 0;
}

bool commit_log_reader_wait(struct commit_log_reader *r, uint64_t timeout_ns)
{
	struct commit_log *l = r->log;
	const struct timespec until = clock_deadline(timeout_ns);
	int error = 0;

	pthread_mutex_lock(&l->lock);
	/* a reader that starts with the first entry starts with the next if there is none */
	while (l->synced_next <= wanted(r) && error == 0)
		error = pthread_cond_timedwait(&l->grown, &l->lock, &until);
	bool ret = l->synced_next > wanted(r);
	pthread_mutex_unlock(&l->lock);
	return ret;
}
