/*
 * Finds frames of sample files; see sample_file.h. A frame is sound if its magic, length and
 * checksum are right; otherwise the next sound one is searched. A frame that reaches beyond the end
 * is being written: it is damage only if something sound follows it.
 */
#include "samples/sample_file.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "samples/sample_file_internal.h"

#define CHUNK 262144
#define LOOK_FOR_HEAD (32u << 20) /* how far a head is searched in a damaged file */
#define WASTE_MAX (64u << 20)

enum found { FOUND_END, FOUND_SOUND, FOUND_TORN, FOUND_BAD };

/* n bytes at an offset, which must be below the limit. NULL with a negative errno in b->error,
 * -EAGAIN: the file was truncated. */
static const unsigned char *bytes_at(struct sample_file *f, uint64_t offset, size_t n)
{
	struct sample_file_buffer *b = f->buffer;

	if (offset < b->base || offset > b->base + b->size) {
		b->base = offset;
		b->size = 0;
	}
	if (offset + n > b->base + b->size) {
		size_t want = n > CHUNK ? n : CHUNK, drop = (size_t)(offset - b->base);

		if (b->size > drop)
			memmove(b->data, b->data + drop, b->size - drop);
		b->base = offset;
		b->size -= drop;
		if (b->cap < want) {
			b->data = xreallocarray(b->data, want, 1);
			b->cap = want;
		}
	}
	while (offset + n > b->base + b->size) {
		uint64_t from = b->base + b->size;
		size_t room = b->cap - b->size;

		if (room > b->limit - from)
			room = (size_t)(b->limit - from);
		ssize_t got = pread(f->fd, b->data + b->size, room, (off_t)from);
		if (got <= 0) {
			if (got < 0 && errno == EINTR)
				continue;
			b->error = got < 0 ? -errno : -EAGAIN;
			return NULL;
		}
		b->size += (size_t)got;
	}
	return b->data + (offset - b->base);
}

static int refresh_limit(struct sample_file *f)
{
	struct stat st;

	if (f->fd < 0)
		return 0; /* all of it is in memory */
	if (fstat(f->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	f->buffer->size = 0; /* a writer may have taken its last frames back */
	f->buffer->limit = (uint64_t)st.st_size;
	return 0;
}

/*
 * Looks for a frame at an offset; *ret_size: of a sound one. A hostile file of many false frames,
 * each claiming megabytes, would be checksummed over and over: above four times its length, no
 * frame is accepted any more.
 */
static int look(struct sample_file *f, uint64_t offset, size_t *ret_size)
{
	struct sample_file_buffer *b = f->buffer;

	if (offset >= b->limit)
		return FOUND_END;
	uint64_t left = b->limit - offset;
	const unsigned char *p = bytes_at(f, offset, left < SMP_HEADER ? (size_t)left : SMP_HEADER);
	if (!p)
		return b->error;
	if (memcmp(p, SMP_MAGIC, left < 4 ? (size_t)left : 4) != 0)
		return FOUND_BAD;
	if (left < SMP_HEADER)
		return FOUND_TORN;
	size_t n = smp_get_u24(p + 5);
	if (SMP_HEADER + n > left)
		return FOUND_TORN;
	bool head = p[4] == SMP_HEAD || p[4] == SMP_REPEAT;
	if ((!head && !b->has_head) || b->wasted > 4 * b->limit + WASTE_MAX)
		return FOUND_BAD;
	p = bytes_at(f, offset, SMP_HEADER + n);
	if (!p)
		return b->error;
	*ret_size = SMP_HEADER + n;
	if (smp_crc(head ? 0 : b->session, p, n) == pl_get_u32(p + 8))
		return FOUND_SOUND;
	b->wasted += n;
	return FOUND_BAD;
}

/* The first place after an offset where a frame may begin; the limit: none. */
static int next_magic(struct sample_file *f, uint64_t offset, uint64_t *ret)
{
	struct sample_file_buffer *b = f->buffer;

	for (uint64_t at = offset + 1; at < b->limit;) {
		size_t n = b->limit - at < CHUNK ? (size_t)(b->limit - at) : CHUNK;
		const unsigned char *p = bytes_at(f, at, n);

		if (!p)
			return b->error;
		const unsigned char *hit = memmem(p, n, SMP_MAGIC, 4);
		if (hit) {
			*ret = at + (uint64_t)(hit - p);
			return 0;
		}
		/* a magic may continue in the next chunk, or behind the end of the file */
		size_t keep = n < 3 ? n : 3;
		while (keep && memcmp(p + n - keep, SMP_MAGIC, keep) != 0)
			keep--;
		at += n - keep;
		if (at + keep == b->limit) {
			*ret = at;
			return 0;
		}
	}
	*ret = b->limit;
	return 0;
}

/* Is there a sound frame between an offset and end? b->sound_at: the first one. */
static int sound_behind(struct sample_file *f, uint64_t offset, uint64_t end)
{
	struct sample_file_buffer *b = f->buffer;
	size_t size;

	for (;;) {
		int r = next_magic(f, offset, &offset);

		if (r < 0 || offset >= end)
			return r;
		r = look(f, offset, &size);
		if (r < 0)
			return r;
		if (r == FOUND_SOUND) {
			b->sound_at = offset;
			return 1;
		}
	}
}

static void count_damage(struct sample_file *f, uint64_t size)
{
	if (!f->buffer->in_damage)
		f->damaged_places++;
	f->buffer->in_damage = true;
	f->damaged_bytes += size;
}

static int skip_damage(struct sample_file *f)
{
	struct sample_file_buffer *b = f->buffer;
	uint64_t next = b->sound_at;

	if (next <= f->at) {
		int r = next_magic(f, f->at, &next);

		if (r < 0)
			return r;
	}
	count_damage(f, next - f->at);
	f->at = next;
	return 0;
}

/* A frame reaches beyond the end: 1: it is damage, 0: it may be completed later. */
static int is_torn_damage(struct sample_file *f)
{
	struct sample_file_buffer *b = f->buffer;

	if (b->sound_at > f->at)
		return 1;
	if (b->torn_at == f->at && b->torn_limit == b->limit)
		return 0;
	int r = sound_behind(f, f->at, b->limit);
	if (r == 0) {
		b->torn_at = f->at;
		b->torn_limit = b->limit;
	}
	return r;
}

/* Decodes the sound frame at f->at. */
static int take_frame(struct sample_file *f, size_t size)
{
	struct sample_file_buffer *b = f->buffer;
	const unsigned char *p = bytes_at(f, f->at, size);

	if (!p)
		return b->error;
	uint64_t payload = f->at + SMP_HEADER;
	f->at += size;
	b->in_damage = false;
	int r = smp_decode(f, p[4], p + SMP_HEADER, size - SMP_HEADER);
	if (r == -EBADMSG) {
		count_damage(f, size);
		return 0;
	}
	if (r == 0 && b->frame_size) {
		b->frame = payload;
		return smp_next_entity(f, p + SMP_HEADER);
	}
	return r;
}

/* The rest of the entities of a frame. */
static int more_entities(struct sample_file *f)
{
	const unsigned char *p = bytes_at(f, f->buffer->frame, f->buffer->frame_size);

	return p ? smp_next_entity(f, p) : f->buffer->error;
}

static int next_event(struct sample_file *f)
{
	struct sample_file_buffer *b = f->buffer;
	bool fresh = false; /* the limit is of this call */
	size_t size = 0;
	int r;

	if (b->frame_size && (r = more_entities(f)) != 0)
		return r;
	for (;;) {
		r = look(f, f->at, &size);
		if ((r == FOUND_END || r == FOUND_TORN) && !fresh) {
			r = refresh_limit(f);
			if (r < 0)
				return r;
			fresh = true;
			continue;
		}
		if (r == FOUND_TORN) {
			r = is_torn_damage(f);
			if (r <= 0)
				return r;
			r = FOUND_BAD;
		}
		if (r == FOUND_BAD)
			r = skip_damage(f);
		else if (r == FOUND_SOUND)
			r = take_frame(f, size);
		else
			return r;
		if (r)
			return r;
	}
}

int sample_file_next(struct sample_file *f)
{
	int r = next_event(f);

	return r == -EAGAIN ? 0 : r;
}

/* Does it begin like a sample file, or is there a head further on? */
static int check_start(struct sample_file *f, struct strbuf *why)
{
	struct sample_file_buffer *b = f->buffer;
	uint64_t end = b->limit < LOOK_FOR_HEAD ? b->limit : LOOK_FOR_HEAD;
	size_t size = 0;
	int r = look(f, 0, &size);

	if (r == FOUND_SOUND && size > SMP_HEADER && b->data[SMP_HEADER] != SMP_VERSION)
		return strbuf_fail(why, -EBADMSG,
				   "has version %u, but this program reads version %u",
				   b->data[SMP_HEADER], SMP_VERSION);
	if (r != FOUND_BAD || !memcmp(b->data, SMP_MAGIC, 4))
		return r < 0 ? r : 0;
	r = sound_behind(f, 0, end);
	if (r == 0)
		strbuf_addstr(why, "is not a sample file");
	return r == 0 ? -EBADMSG : r < 0 ? r : 0;
}

int sample_file_open(struct sample_file *f, int fd, struct strbuf *why)
{
	*f = (struct sample_file){.fd = fd};
	f->buffer = xcalloc(1, sizeof(*f->buffer));
	f->buffer->state_max = SMP_STATE_MAX;
	int r = refresh_limit(f);
	if (r == -EINVAL)
		strbuf_addstr(why, "is not a regular file");
	if (r == 0)
		r = check_start(f, why);
	if (r < 0) {
		if (!why->len)
			strbuf_addstr(why, strerror(-r));
		sample_file_close(f);
	}
	return r;
}

int sample_file_open_memory(struct sample_file *f, void *data, size_t n, uint64_t state_max,
			    struct strbuf *why)
{
	*f = (struct sample_file){.fd = -1};
	f->buffer = xcalloc(1, sizeof(*f->buffer));
	*f->buffer = (struct sample_file_buffer){.data = data,
						 .size = n,
						 .cap = n,
						 .limit = n,
						 .one_host = true,
						 .state_max = state_max};
	size_t size = 0;
	/* an incomplete frame is not accepted in memory */
	int r = n < SMP_HEADER || look(f, 0, &size) != FOUND_SOUND ? -EBADMSG : check_start(f, why);
	if (r < 0 && !why->len)
		strbuf_addstr(why, "is not a sample file");
	if (r < 0)
		sample_file_close(f);
	return r;
}

void sample_file_close(struct sample_file *f)
{
	if (f->buffer) {
		smp_forget(f);
		free(f->buffer->host);
		free(f->buffer->data);
		free(f->buffer);
	}
	free(f->reason);
	free(f->reading.rows);
	free(f->reading.values);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct sample_file){.fd = -1};
}
