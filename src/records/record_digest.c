/* Digests of record files; see record_digest.h. */
#include "records/record_digest.h"

#include <errno.h>
#include <fcntl.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static const bool is_text[METRIC_ID_END] = {
#define METRIC(id, symbol, name, unit, type, ...) [id] = TYPE_##type == TYPE_TEXT,
#include "core/metrics/metrics.def"
#undef METRIC
};

static uint64_t hash_texts(const struct record *r, uint64_t seed)
{
	static const enum metric_id texts[] = {METRIC_HOSTNAME, METRIC_BOOT_ID};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (record_has(r, texts[i]))
			seed = XXH3_64bits_withSeed(r->text[texts[i]].data, r->text[texts[i]].size,
						    seed);
	return seed;
}

void record_digest_add(struct record_digest *d, const struct record *r)
{
	uint64_t numbers[2 * METRIC_ID_END + 2];
	size_t n = 0;

	numbers[n++] = (uint64_t)r->type;
	numbers[n++] = r->flags;
	for (unsigned i = 0; i < ARRAY_SIZE(r->present); i++)
		for (uint64_t bits = r->present[i]; bits; bits &= bits - 1) {
			unsigned id = i * 64 + (unsigned)__builtin_ctzll(bits);

			if (is_text[id])
				continue;
			numbers[n++] = id;
			numbers[n++] = r->v[id];
		}
	d->hash = XXH3_64bits_withSeed(numbers, n * sizeof(*numbers), d->hash);
	if (r->type == PL_HOST)
		d->hash = hash_texts(r, d->hash);
	if (!d->records++)
		d->id = d->hash;
}

int record_file_digest(int fd, struct record_digest *ret)
{
	struct record_file f;
	struct record rec;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	*ret = (struct record_digest){0};
	if (own < 0)
		return -errno;
	int r = record_file_open(&f, own);
	while (r == 0 && (r = record_file_next(&f, &rec)) == 1) {
		record_digest_add(ret, &rec);
		r = 0;
	}
	record_file_close(&f);
	return r;
}
