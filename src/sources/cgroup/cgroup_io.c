/* I/O of a control group by device; see cgroup_io.h. */
#include "sources/cgroup/cgroup_io.h"

#include <string.h>

#include "core/strbuf.h"

/* More devices are ignored. */
#define DEVICES_MAX 4096

/* "8:0" */
static bool parse_device(const struct words *word, uint32_t *major, uint32_t *minor)
{
	uint64_t numbers[2] = {0, 0};
	unsigned part = 0;
	bool digits = false;

	for (const char *p = word->p; p < word->end; p++) {
		if (*p == ':' && digits && !part) {
			part = 1;
			digits = false;
			continue;
		}
		if (*p < '0' || *p > '9')
			return false;
		numbers[part] = numbers[part] * 10 + (uint64_t)(*p - '0');
		if (numbers[part] > UINT32_MAX)
			return false;
		digits = true;
	}
	*major = (uint32_t)numbers[0];
	*minor = (uint32_t)numbers[1];
	return part && digits;
}

static struct io_device *find(struct cgroup_io *io, uint32_t major, uint32_t minor)
{
	for (size_t i = 0; i < io->count; i++) {
		size_t at = (io->hint + i) % io->count;

		if (io->list[at].major == major && io->list[at].minor == minor) {
			io->hint = at;
			return &io->list[at];
		}
	}
	if (io->count == DEVICES_MAX)
		return NULL;
	GROW(io->list, io->count, io->cap);
	io->hint = io->count++;
	struct io_device *d = &io->list[io->hint];
	*d = (struct io_device){.major = major, .minor = minor};
	d->counted = !io->devices || !blockdevs_find(io->devices, major, minor)->left_out;
	io->reported &= d->counted;
	return d;
}

void cgroup_io_begin(struct cgroup_io *io)
{
	for (size_t i = 0; i < io->count; i++) {
		io->list[i].fresh = 0;
		memset(io->list[i].now, 0, sizeof(io->list[i].now));
	}
}

void cgroup_io_add(struct cgroup_io *io, const struct words *device, unsigned field, uint64_t value)
{
	uint32_t major, minor;
	struct io_device *d = parse_device(device, &major, &minor) ? find(io, major, minor) : NULL;

	if (!d)
		return;
	d->now[field] = value > INT64_MAX - d->now[field] ? INT64_MAX : d->now[field] + value;
	d->fresh |= (uint8_t)(1u << field);
}

uint64_t cgroup_io_sum(struct cgroup_io *io, unsigned field)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < io->count; i++) {
		struct io_device *d = &io->list[i];

		/* a device that was removed and returns counts from 0 */
		if (d->fresh >> field & 1)
			unwrap(&d->counts[field], d->now[field], UNWRAP_SET_BACK);
		d->fresh &= (uint8_t) ~(1u << field);
		if (!d->counted)
			continue;
		uint64_t v = d->counts[field].total;
		sum = v > INT64_MAX - sum ? INT64_MAX : sum + v;
	}
	return sum;
}

void cgroup_io_partly(struct cgroup_io *io)
{
	if (!io->devices || io->changes == io->devices->changes)
		return;
	io->changes = io->devices->changes;
	for (size_t i = 0; i < io->devices->count; i++) {
		const struct blockdev *b = &io->devices->list[i];
		struct io_device *d = b->uncounted ? find(io, b->major, b->minor) : NULL;

		/* for good: what it did before a limit was set is unknown */
		if (d)
			d->partly = true;
	}
	io->reported = false;
}

void cgroup_io_again(struct cgroup_io *io)
{
	for (size_t i = 0; i < io->count; i++)
		for (unsigned f = 0; f < IO_FIELDS; f++)
			io->list[i].counts[f].last = 0;
}

void cgroup_io_tell(struct cgroup_io *io, struct sample_set *set, uint32_t entity)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (io->reported)
		return;
	io->reported = true;
	for (size_t i = 0; i < io->count; i++) {
		const struct io_device *d = &io->list[i];

		if (d->counted && !d->partly)
			continue;
		const struct blockdev *b = blockdevs_find(io->devices, d->major, d->minor);
		strbuf_addf(&text, "%s%s (%s)", text.len ? ", " : "", b->name,
			    d->partly ? BLOCK_UNCOUNTED : b->left_out);
	}
	sample_set_metadata(set, entity, "io_left_out", text.len ? text.buf : NULL);
}

void cgroup_io_release(struct cgroup_io *io)
{
	free(io->list);
	io->list = NULL;
	io->count = io->cap = 0;
}
