/* Devices that a file of /proc lists; see device_list.h. */
#include "sources/device_list.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

/* Devices that are gone and remembered, so that one which comes back continues. */
#define GONE_MAX 256
/* No host has as many. Further devices are left out, and after some of those the rest of the text,
 * so that searching ends. */
#define DEVICES_MAX 8192
#define SURPLUS_MAX 64

static struct device *find(struct device_list *l, const struct words *name)
{
	size_t size = l->class->size;

	for (size_t i = 0; i < l->count; i++) {
		size_t at = (l->hint + i) % l->count;
		struct device *d = device_at(l, at);

		if (word_is(name, d->name)) {
			l->hint = at + 1;
			return d;
		}
	}
	if (l->count >= DEVICES_MAX)
		return NULL;
	if (l->count == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 16;
		l->devices = xreallocarray(l->devices, l->cap, size);
	}
	struct device *d = device_at(l, l->count++);
	memset(d, 0, size);
	d->name = xstrndup(name->p, (size_t)(name->end - name->p));
	return d;
}

static void release(const struct device_list *l, struct device *d)
{
	if (l->class->release)
		l->class->release(d);
	free(d->name);
}

static bool operations_fell(const struct device_class *c, const struct device *d,
			    const uint64_t *raw)
{
	for (size_t i = 0; i < ARRAY_SIZE(c->operations); i++) {
		unsigned m = c->operations[i];
		const struct unwrap *u = &d->counts[m];

		if (u->seen && raw[m] < u->last && !count_wrapped(u, raw[m]))
			return true;
	}
	return false;
}

static void put_row(struct device_list *l, struct sample_set *set, struct device *d,
		    const uint64_t *raw, unsigned count, bool again, bool came)
{
	sample_row(set, d->entity);
	for (unsigned m = 0; m < count; m++) {
		uint64_t before = d->counts[m].total;

		if ((int)m == l->class->level) {
			/* kernels before 3.x could print a negative number as unsigned */
			d->added[m] = raw[m] <= INT32_MAX ? raw[m] : 0;
			if (raw[m] <= INT32_MAX)
				sample_put(set, m, (int64_t)raw[m]);
			continue;
		}
		sample_put(set, m, (int64_t)count_on(&d->counts[m], raw[m], again));
		/* one that comes later has counted elsewhere */
		d->added[m] = came && l->reading > 1 ? 0 : d->counts[m].total - before;
	}
	l->summed |= set->rows[set->row_count - 1].present;
}

static void take(struct device_list *l, struct sample_set *set, const struct words *name,
		 const uint64_t *raw, unsigned count)
{
	const struct device_class *c = l->class;
	struct device *d = find(l, name);

	l->surplus += !d;
	if (!d || d->reading == l->reading)
		return; /* too many, or twice in one text */
	d->reading = l->reading;
	memset(d->added, 0, sizeof(d->added));
	if (c->skip && c->skip(l, d, raw, count))
		return;
	bool came = !d->present;
	if (came) {
		d->entity = sample_entity(set, c->kind, d->name);
		d->present = true;
	}
	bool other = c->examine(l, set, d, came);
	if (came || other)
		d->reported = false;
	bool again = other || (came && d->counts[0].seen) || operations_fell(c, d, raw);
	put_row(l, set, d, raw, count, again, came);
}

/* Ends the devices that are gone, and forgets the oldest of too many. */
static void end_gone(struct device_list *l, struct sample_set *set)
{
	struct device *oldest = NULL;
	size_t gone = 0, at = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct device *d = device_at(l, i);

		if (d->reading == l->reading)
			continue;
		if (d->present)
			sample_end(set, d->entity);
		d->present = d->known = false;
		gone++;
		if (!oldest || d->reading < oldest->reading) {
			oldest = d;
			at = i;
		}
	}
	if (gone <= GONE_MAX)
		return;
	release(l, oldest);
	memmove(oldest, device_at(l, at + 1), (l->count - at - 1) * l->class->size);
	l->count--;
}

static void add_to_sum(struct device_list *l, struct sample_set *set, struct device *d,
		       const char *left_out)
{
	if (!d->reported || left_out != d->left_out) {
		sample_set_metadata(set, d->entity, "in_node_sum", left_out ? "no" : "yes");
		sample_set_metadata(set, d->entity, "left_out", left_out);
	}
	d->reported = true;
	d->left_out = left_out;
	for (unsigned m = 0; m < l->class->counters && !left_out; m++) {
		l->sum[m] += d->added[m];
		if (l->sum[m] > INT64_MAX)
			l->sum[m] = INT64_MAX;
	}
	l->has_node |= !left_out;
}

static void put_node(struct device_list *l, struct sample_set *set)
{
	bool any_hardware = false;

	for (size_t i = 0; i < l->count; i++) {
		const struct device *d = device_at(l, i);

		any_hardware |= d->present && d->hardware;
	}
	if (l->class->level >= 0)
		l->sum[l->class->level] = 0;
	for (size_t i = 0; i < l->count; i++) {
		struct device *d = device_at(l, i);

		if (d->present)
			add_to_sum(l, set, d, l->class->left_out(l, d, any_hardware));
	}
	if (!l->has_node)
		return;
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	for (unsigned m = 0; m < l->class->counters; m++)
		if (l->summed >> m & 1)
			sample_put(set, m, (int64_t)l->sum[m]);
}

int devices_read(void *state, struct sample_set *set)
{
	struct device_list *l = state;
	int r = cached_file_read(&l->file);
	uint64_t raw[DEVICE_COUNTERS_MAX];
	struct words line, name;

	if (r < 0)
		return r;
	struct words text = cached_file_words(&l->file);
	l->reading++;
	l->hint = 0;
	l->surplus = 0;
	while (l->surplus < SURPLUS_MAX && line_next(&text, &line)) {
		unsigned count = l->class->parse(line, &name, raw);

		if (count && name.end - name.p <= NAME_MAX)
			take(l, set, &name, raw, count);
	}
	end_gone(l, set);
	if (l->class->refresh && l->count) {
		struct device *d = device_at(l, l->refreshed++ % l->count);

		if (d->present)
			l->class->refresh(l, set, d);
	}
	put_node(l, set);
	return 0;
}

void devices_close(void *state)
{
	struct device_list *l = state;

	for (size_t i = 0; i < l->count; i++)
		release(l, device_at(l, i));
	free(l->devices);
	cached_file_release(&l->file);
	free(l);
}

int devices_open(const struct device_class *class, const struct source_context *ctx, void **state,
		 struct strbuf *why)
{
	struct device_list *l = xcalloc(1, sizeof(*l));

	l->class = class;
	l->root = ctx->root;
	cached_file_init(&l->file, "%s%s", ctx->root, class->file);
	int r = cached_file_read(&l->file);
	if (r < 0) {
		strbuf_addf(why, "cannot read '%s': %s", l->file.file.path, strerror(-r));
		devices_close(l);
		return r;
	}
	*state = l;
	return 0;
}
