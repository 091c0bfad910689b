/* Outputs of a sampler; see sample_output.h. */
#include "sampler/sample_output.h"

#include <string.h>

/* ---- a file ---- */

struct file_output {
	int fd;
	struct sample_writer *writer;
};

static unsigned file_source(void *user, const char *name, unsigned every, struct sample_set *set)
{
	struct file_output *f = user;

	return sample_writer_source(f->writer, name, every, set);
}

static void file_add(void *user, unsigned source, struct sample_set *set)
{
	struct file_output *f = user;

	sample_writer_add(f->writer, source, set);
}

static void file_clock(void *user, uint64_t boottime_ns, int64_t realtime_ns)
{
	struct file_output *f = user;

	sample_writer_clock(f->writer, boottime_ns, realtime_ns);
}

static int file_flush(void *user, bool sync)
{
	struct file_output *f = user;

	return sample_writer_flush(f->writer, sync);
}

/* Concatenated sample files are a sample file. */
static int file_restart(void *user, const struct sample_file_head *head)
{
	struct file_output *f = user;
	int r = sample_writer_close(f->writer, "other settings");

	f->writer = sample_writer_open(f->fd, head);
	return r;
}

static int file_end(void *user, const char *reason)
{
	struct file_output *f = user;
	int r = sample_writer_close(f->writer, reason);

	free(f);
	return r;
}

void sample_output_file(struct sample_output *ret, int fd, const struct sample_file_head *head)
{
	struct file_output *f = xcalloc(1, sizeof(*f));

	f->fd = fd;
	f->writer = sample_writer_open(fd, head);
	*ret = (struct sample_output){.source = file_source,
				      .add = file_add,
				      .clock = file_clock,
				      .flush = file_flush,
				      .restart = file_restart,
				      .end = file_end,
				      .user = f};
}

/* ---- several ---- */

struct tee {
	struct sample_output *list;
	size_t count;
	unsigned *numbers; /* of each source: its numbers in the count outputs */
	size_t source_count, source_cap;
	unsigned char *fresh; /* saved marks of the current set */
	size_t fresh_cap;
};

static unsigned tee_source(void *user, const char *name, unsigned every, struct sample_set *set)
{
	struct tee *t = user;

	if (t->source_count == t->source_cap) {
		t->source_cap = t->source_cap ? 2 * t->source_cap : 16;
		t->numbers =
			xreallocarray(t->numbers, t->source_cap * t->count, sizeof(*t->numbers));
	}
	unsigned *numbers = t->numbers + t->source_count * t->count;
	for (size_t i = 0; i < t->count; i++)
		numbers[i] = t->list[i].source(t->list[i].user, name, every, set);
	return (unsigned)t->source_count++;
}

static void keep_fresh(struct tee *t, const struct sample_set *set)
{
	size_t n = set->entity_count + set->absence_count;

	if (t->fresh_cap < n) {
		t->fresh_cap = 2 * n;
		t->fresh = xreallocarray(t->fresh, t->fresh_cap, 1);
	}
	for (size_t i = 0; i < set->entity_count; i++)
		t->fresh[i] = set->entities[i].fresh;
	for (size_t i = 0; i < set->absence_count; i++)
		t->fresh[set->entity_count + i] = set->absences[i].fresh;
}

static void put_fresh(const struct tee *t, struct sample_set *set)
{
	for (size_t i = 0; i < set->entity_count; i++)
		set->entities[i].fresh = t->fresh[i];
	for (size_t i = 0; i < set->absence_count; i++)
		set->absences[i].fresh = t->fresh[set->entity_count + i];
}

static void tee_add(void *user, unsigned source, struct sample_set *set)
{
	struct tee *t = user;

	keep_fresh(t, set);
	for (size_t i = 0; i < t->count; i++) {
		put_fresh(t, set);
		t->list[i].add(t->list[i].user, t->numbers[source * t->count + i], set);
	}
}

static void tee_clock(void *user, uint64_t boottime_ns, int64_t realtime_ns)
{
	const struct tee *t = user;

	for (size_t i = 0; i < t->count; i++)
		t->list[i].clock(t->list[i].user, boottime_ns, realtime_ns);
}

static void keep_first(int *r, int error)
{
	*r = *r < 0 ? *r : error;
}

/* All are called; the first error counts. */
static int tee_flush(void *user, bool sync)
{
	const struct tee *t = user;
	int r = 0;

	for (size_t i = 0; i < t->count; i++)
		keep_first(&r, t->list[i].flush(t->list[i].user, sync));
	return r;
}

static int tee_restart(void *user, const struct sample_file_head *head)
{
	struct tee *t = user;
	int r = 0;

	t->source_count = 0;
	for (size_t i = 0; i < t->count; i++)
		keep_first(&r, t->list[i].restart(t->list[i].user, head));
	return r;
}

static int tee_end(void *user, const char *reason)
{
	struct tee *t = user;
	int r = 0;

	for (size_t i = 0; i < t->count; i++)
		keep_first(&r, t->list[i].end(t->list[i].user, reason));
	free(t->list);
	free(t->numbers);
	free(t->fresh);
	free(t);
	return r;
}

void sample_output_tee(struct sample_output *ret, const struct sample_output *list, size_t count)
{
	struct tee *t = xcalloc(1, sizeof(*t));

	t->list = xreallocarray(NULL, count, sizeof(*list));
	memcpy(t->list, list, count * sizeof(*list));
	t->count = count;
	*ret = (struct sample_output){.source = tee_source,
				      .add = tee_add,
				      .clock = tee_clock,
				      .flush = tee_flush,
				      .restart = tee_restart,
				      .end = tee_end,
				      .user = t};
}
