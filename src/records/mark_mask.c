/* Masks secrets in the names of a mark file, for an archive that leaves the user's directory. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/text/secrets.h"
#include "core/util.h"
#include "records/mark_log.h"

/* The name keeps its length, because the slots of a mark follow from it. */
static void mask_name(struct plimsoll_mark_slot *s)
{
	size_t first = s->length < PLIMSOLL_MARK_INLINE ? s->length : PLIMSOLL_MARK_INLINE;
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	strbuf_add(&name, s->name, first);
	strbuf_add(&name, (const char *)(s + 1), s->length - first);
	secrets_mask_arguments(&name, ' ', "");
	while (name.len < s->length)
		strbuf_addch(&name, '*');
	memcpy(s->name, name.buf, first);
	memcpy(s + 1, name.buf + first, s->length - first);
}

static void mask_slots(struct plimsoll_mark_slot *slots, size_t count,
		       const struct plimsoll_mark_header *h)
{
	for (size_t i = 0; i < count;) {
		struct plimsoll_mark_slot *s = &slots[i];
		size_t left = count - i;

		if (!mark_slot_is_mark(s, h) || s->slots > left) {
			memset(s, 0, sizeof(*s));
			i++;
			continue;
		}
		/* what a writer never fills may hold anything */
		size_t room = PLIMSOLL_MARK_INLINE + (size_t)(s->slots - 1) * PLIMSOLL_MARK_SLOT;
		size_t tail = room - s->length;

		memset((char *)(s + s->slots) - tail, 0, tail);
		mask_name(s);
		i += s->slots;
	}
}

int mark_file_mask(int from, int to)
{
	_cleanup_free_ char *header = xcalloc(1, PLIMSOLL_MARK_HEADER);
	struct plimsoll_mark_header h;
	struct mark_file f;
	ssize_t n = pread(from, header, PLIMSOLL_MARK_HEADER, 0);

	if (n < 0)
		return -errno;
	if (n < PLIMSOLL_MARK_HEADER || mark_file_parse(header, &f) < 0)
		return 0;
	memcpy(&h, header, sizeof(h));
	memset(header + sizeof(h), 0, PLIMSOLL_MARK_HEADER - sizeof(h));
	_cleanup_free_ struct plimsoll_mark_slot *slots = xcalloc(f.slots + 1, sizeof(*slots));
	n = pread(from, slots, f.slots * sizeof(*slots), PLIMSOLL_MARK_HEADER);
	if (n < 0)
		return -errno;
	size_t count = (size_t)n / sizeof(*slots);
	mask_slots(slots, count, &h);
	int r = fs_write_all(to, header, PLIMSOLL_MARK_HEADER);
	return r < 0 ? r : fs_write_all(to, (const char *)slots, count * sizeof(*slots));
}
