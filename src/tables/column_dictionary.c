/* Distinct values of a column; see column_dictionary.h. */
#include "tables/column_dictionary.h"

#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/text/text.h"

#define ROOM_FIRST 256u
#define ROOM_KEPT 65536u      /* a reset keeps memory for this many entries */
#define BYTES_KEPT (1u << 20) /* and this many bytes of texts */

/* Texts come from outside: a random seed prevents chosen collisions. */
void column_dictionary_init(struct column_dictionary *d)
{
	*d = (struct column_dictionary){.bytes = STRBUF_INIT};
	if (getrandom(&d->seed, sizeof(d->seed), GRND_NONBLOCK) < 0)
		d->seed = (uintptr_t)d;
}

static void forget(struct column_dictionary *d)
{
	strbuf_release(&d->bytes);
	free(d->begin);
	free(d->numbers);
	free(d->slots);
	d->begin = NULL;
	d->numbers = NULL;
	d->slots = NULL;
	d->room = d->mask = 0;
}

void column_dictionary_release(struct column_dictionary *d)
{
	forget(d);
	d->count = 0;
}

void column_dictionary_reset(struct column_dictionary *d)
{
	d->count = 0;
	if (d->room > ROOM_KEPT || d->bytes.cap > BYTES_KEPT) {
		forget(d);
		return;
	}
	strbuf_reset(&d->bytes);
	if (d->slots)
		memset(d->slots, 0, ((size_t)d->mask + 1) * sizeof(*d->slots));
}

/* Mixes all bits and uses the high ones. */
static inline uint32_t number_hash(const struct column_dictionary *d, uint64_t v)
{
	v = (v ^ d->seed) * 0x9e3779b97f4a7c15u;
	v ^= v >> 32;
	return (uint32_t)((v * 0xd6e8feb86659fd93u) >> 32);
}

static inline uint32_t text_hash(const struct column_dictionary *d, const char *s, size_t n)
{
	return (uint32_t)XXH3_64bits_withSeed(s, n, d->seed);
}

static uint32_t hash_of(const struct column_dictionary *d, uint32_t i)
{
	size_t n;

	if (d->numbers)
		return number_hash(d, d->numbers[i]);
	const char *s = column_dictionary_at(d, i, &n);
	return text_hash(d, s, n);
}

/* Doubles the room; there are at least two slots per entry. */
static void grow(struct column_dictionary *d, bool numbers)
{
	d->room = d->room ? d->room * 2 : ROOM_FIRST;
	if (numbers) {
		d->numbers = xreallocarray(d->numbers, d->room, sizeof(*d->numbers));
	} else {
		d->begin = xreallocarray(d->begin, (size_t)d->room + 1, sizeof(*d->begin));
		d->begin[0] = 0;
	}
	d->mask = d->room * 2 - 1;
	free(d->slots);
	d->slots = xcalloc((size_t)d->mask + 1, sizeof(*d->slots));
	for (uint32_t i = 0; i < d->count; i++) {
		uint32_t at = hash_of(d, i) & d->mask;

		while (d->slots[at])
			at = (at + 1) & d->mask;
		d->slots[at] = i + 1;
	}
}

uint32_t column_dictionary_number(struct column_dictionary *d, uint64_t value, uint32_t max)
{
	if (d->count >= d->room)
		grow(d, true);
	uint32_t at = number_hash(d, value) & d->mask;
	for (; d->slots[at]; at = (at + 1) & d->mask)
		if (d->numbers[d->slots[at] - 1] == value)
			return d->slots[at] - 1;
	if (d->count >= max)
		return COLUMN_DICTIONARY_NONE;
	d->numbers[d->count] = value;
	d->slots[at] = ++d->count;
	return d->count - 1;
}

void table_add_utf8(struct strbuf *out, const char *s, size_t n)
{
	if (utf8_valid(s, n)) {
		strbuf_add(out, s, n);
		return;
	}
	while (n) {
		size_t len = utf8_sequence(s, n);

		if (len)
			strbuf_add(out, s, len);
		else
			strbuf_addstr(out, "\xef\xbf\xbd");
		s += len ? len : 1;
		n -= len ? len : 1;
	}
}

/* Appends the text first, as UTF-8, and removes it again if it is known. */
uint32_t column_dictionary_text(struct column_dictionary *d, const char *s, size_t n)
{
	if (d->count >= d->room)
		grow(d, false);
	size_t before = d->bytes.len;
	table_add_utf8(&d->bytes, s, n);
	const char *text = d->bytes.buf + before;
	size_t len = d->bytes.len - before;
	uint32_t at = text_hash(d, text, len) & d->mask;

	for (; d->slots[at]; at = (at + 1) & d->mask) {
		size_t size;
		const char *known = column_dictionary_at(d, d->slots[at] - 1, &size);

		if (size == len && !memcmp(known, text, len)) {
			strbuf_cut(&d->bytes, before);
			return d->slots[at] - 1;
		}
	}
	d->begin[d->count + 1] = (uint32_t)d->bytes.len;
	d->slots[at] = ++d->count;
	return d->count - 1;
}

void column_dictionary_texts(struct column_dictionary *d, const struct table_texts *t, uint32_t *to)
{
	for (uint32_t i = 0; i < t->count; i++)
		to[i] = column_dictionary_text(d, t->bytes + t->begin[i],
					       t->begin[i + 1] - t->begin[i]);
}

int table_text_order(const char *a, size_t a_size, const char *b, size_t b_size)
{
	int order = memcmp(a, b, a_size < b_size ? a_size : b_size);

	return order ? order : (a_size > b_size) - (a_size < b_size);
}

bool column_dictionary_range(const struct column_dictionary *d, uint32_t *least, uint32_t *greatest)
{
	*least = *greatest = 0;
	for (uint32_t i = 1; i < d->count; i++) {
		size_t n, min_size, max_size;
		const char *s = column_dictionary_at(d, i, &n);
		const char *min = column_dictionary_at(d, *least, &min_size);
		const char *max = column_dictionary_at(d, *greatest, &max_size);

		if (table_text_order(s, n, min, min_size) < 0)
			*least = i;
		else if (table_text_order(s, n, max, max_size) > 0)
			*greatest = i;
	}
	return d->count > 0;
}
