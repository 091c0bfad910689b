/* The tables of the accounting: hosts, pid namespaces, programs, processes and images. */
#include <string.h>

#include "core/text/text.h"
#include "records/accounting_internal.h"

/* ---- hosts, namespaces, programs ------------------------------------------------------------ */

uint32_t accounting_host(struct accounting *b, const char *name, size_t n, const char *boot)
{
	for (size_t i = 0; i < b->host_count; i++)
		if (strlen(b->hosts[i].name) == n && !memcmp(b->hosts[i].name, name, n) &&
		    !strcmp(b->hosts[i].boot, boot))
			return (uint32_t)i;
	GROW(b->hosts, b->host_count, b->host_cap);
	b->hosts[b->host_count] = (struct accounting_host){
		.name = xstrndup(name, n), .boot = xstrdup(boot), .delayacct = -1};
	return (uint32_t)b->host_count++;
}

uint64_t accounting_space(struct accounting *b, uint32_t host, uint64_t number)
{
	uint64_t id = (uint64_t)host << 32 | (number & 0xffffffff);

	for (size_t i = 0; i < b->space_count; i++)
		if (b->spaces[i] == id)
			return i;
	GROW(b->spaces, b->space_count, b->space_cap);
	b->spaces[b->space_count] = id;
	return b->space_count++;
}

uint64_t accounting_home(struct accounting *b, const struct accounting_file *f)
{
	return accounting_space(b, f->host, f->pidns ? f->pidns : f->procdev);
}

void accounting_take_host(struct accounting *b, struct accounting_file *file,
			  const struct record *r)
{
	char boot[9] = "";

	if (record_has(r, METRIC_BOOT_ID) && r->text[METRIC_BOOT_ID].size >= 8)
		memcpy(boot, r->text[METRIC_BOOT_ID].data, 8);
	if (record_has(r, METRIC_HOSTNAME))
		file->host = accounting_host(b, r->text[METRIC_HOSTNAME].data,
					     r->text[METRIC_HOSTNAME].size, boot);
	struct accounting_host *h = &b->hosts[file->host];
	file->procdev = record_get(r, METRIC_PROCDEV, 0);
	file->pidns = record_get(r, METRIC_PIDNS, 0);
	file->begin_ns = record_get(r, METRIC_BOOTTIME, 0);
	if (record_has(r, METRIC_TASK_DELAYACCT))
		h->delayacct = record_get(r, METRIC_TASK_DELAYACCT, 0) ? 1 : 0;
}

void accounting_take_clock(struct accounting *b, struct accounting_file *file,
			   const struct record *r)
{
	uint64_t time = record_get(r, METRIC_BOOTTIME, 0);
	struct accounting_host *h = &b->hosts[file->host];
	int64_t offset = (int64_t)(record_get(r, METRIC_REALTIME, 0) - time / 1000);

	if (!record_has(r, METRIC_REALTIME) || !time)
		return;
	if (!h->has_clock) {
		h->has_clock = true;
		h->real_minus_boot_us = offset;
	} else if (r->type == PL_CLOCK) {
		h->clock_step_us = (int64_t)((uint64_t)offset - (uint64_t)h->real_minus_boot_us);
	}
	if (r->type == PL_CLOCK) {
		file->ended = true;
		file->lossy |= (r->flags & PL_F_LOSSY) != 0;
	}
}

/* A job runs few distinct programs; each name is kept once. */
uint32_t accounting_exe(struct accounting *b, const char *s, size_t n)
{
	n = n ? strnlen(s, n) : 0;
	if (!n)
		return NO_INDEX;
	uint64_t hash = hash_bytes(s, n);
	struct hash_slot *slot = hash_map_first(&b->exe_map, hash);
	for (; slot; slot = hash_map_next(&b->exe_map, slot)) {
		const char *known = b->exes[slot->value];

		if (!strncmp(known, s, n) && !known[n])
			return (uint32_t)slot->value;
	}
	hash_map_add(&b->exe_map, hash, b->exe_count);
	GROW(b->exes, b->exe_count, b->exe_cap);
	b->exes[b->exe_count] = xstrndup(s, n);
	return (uint32_t)b->exe_count++;
}

uint32_t accounting_path(struct accounting *b, const struct record *rec)
{
	return record_has(rec, METRIC_PATH)
		       ? accounting_exe(b, rec->text[METRIC_PATH].data, rec->text[METRIC_PATH].size)
		       : NO_INDEX;
}

uint32_t accounting_name(struct accounting *b, const struct record *rec)
{
	if (!record_has(rec, METRIC_ARGV))
		return NO_NAME;
	_cleanup_free_ char *name =
		xstrndup(rec->text[METRIC_ARGV].data, rec->text[METRIC_ARGV].size);
	const char *base = path_base(name);
	return accounting_exe(b, base, strlen(base)) & NO_NAME;
}

/* ---- processes ------------------------------------------------------------------------------ */

/* A table of its own: half of the memory of a hash_map, and a job may have millions of processes.
 */
static size_t slot(const struct accounting *b, uint64_t key)
{
	size_t mask = b->table_size - 1, at = hash_number(key) & mask;

	while (b->table[at] != NO_INDEX && b->processes[b->table[at]].key != key)
		at = (at + 1) & mask;
	return at;
}

static void grow_table(struct accounting *b)
{
	uint32_t *old = b->table;
	size_t old_size = b->table_size;

	b->table_size = old_size ? old_size * 2 : 1024;
	b->table = xmalloc(b->table_size * sizeof(*b->table));
	memset(b->table, 0xff, b->table_size * sizeof(*b->table));
	for (size_t i = 0; i < old_size; i++)
		if (old[i] != NO_INDEX)
			b->table[slot(b, b->processes[old[i]].key)] = old[i];
	free(old);
}

uint32_t accounting_newest(const struct accounting *b, uint64_t key)
{
	return b->table_size ? b->table[slot(b, key)] : NO_INDEX;
}

struct process *accounting_add_process(struct accounting *b, uint64_t key, uint32_t host)
{
	if (b->process_count * 2 >= b->table_size)
		grow_table(b);
	size_t at = slot(b, key);
	GROW(b->processes, b->process_count, b->process_cap);
	struct process *p = &b->processes[b->process_count];
	*p = (struct process){.key = key,
			      .previous = b->table[at],
			      .first = NO_INDEX,
			      .last = NO_INDEX,
			      .host = host,
			      .reap = NO_OFFSET,
			      .kernel = NO_OFFSET,
			      .peek = NO_OFFSET,
			      .peek_exe = NO_INDEX,
			      .comm_exe = NO_INDEX,
			      .outside = NO_INDEX,
			      .unnamed = NO_INDEX,
			      .status = -1};
	b->table[at] = (uint32_t)b->process_count++;
	return p;
}

struct image accounting_no_image(uint32_t process)
{
	return (struct image){.process = process,
			      .next = NO_INDEX,
			      .exe = NO_INDEX,
			      .name = NO_NAME,
			      .origin = NO_INDEX,
			      .numtids = 1,
			      .start = NO_OFFSET,
			      .end = NO_OFFSET,
			      .peek = NO_OFFSET};
}

struct image *accounting_add_image(struct accounting *b, struct process *p)
{
	GROW(b->images, b->image_count, b->image_cap);
	struct image *img = &b->images[b->image_count];
	*img = accounting_no_image((uint32_t)(p - b->processes));
	if (p->last == NO_INDEX)
		p->first = (uint32_t)b->image_count;
	else
		b->images[p->last].next = (uint32_t)b->image_count;
	p->last = (uint32_t)b->image_count++;
	return img;
}

uint32_t accounting_namesake(const struct accounting *b, uint32_t host, uint32_t copy, uint64_t pid)
{
	for (uint32_t i = (uint32_t)b->process_count; i-- > 0;) {
		const struct process *p = &b->processes[i];

		if (i != copy && p->host == host && !p->copy_of && p->last != NO_INDEX &&
		    !p->reaped && (uint64_t)process_pid(p) == pid)
			return i;
	}
	return NO_INDEX;
}

void accounting_note_copy(struct accounting *b, struct process *p, frame_ref ref)
{
	GROW(b->copies, b->copy_count, b->copy_cap);
	b->copies[b->copy_count++] = (struct accounting_copy){(uint32_t)(p - b->processes), ref};
	p->was_copy = true;
}

/* The records of one process are in one file. */
static int compare_copies(const void *a, const void *b)
{
	const struct accounting_copy *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->ref < y->ref ? -1 : x->ref > y->ref;
}

void accounting_sort_copies(struct accounting *b)
{
	if (b->copy_count)
		qsort(b->copies, b->copy_count, sizeof(*b->copies), compare_copies);
}

frame_ref accounting_copy_record(const struct accounting *b, const struct process *p)
{
	uint32_t process = (uint32_t)(p - b->processes);
	size_t from = 0, to = p->was_copy ? b->copy_count : 0;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (b->copies[middle].process <= process)
			from = middle + 1;
		else
			to = middle;
	}
	return from ? b->copies[from - 1].ref : NO_OFFSET;
}

struct image *accounting_insert_image(struct accounting *b, struct process *p, uint32_t before)
{
	uint32_t last = p->last, prior = NO_INDEX;

	struct image *img = accounting_add_image(b, p);
	if (before == NO_INDEX || last == NO_INDEX)
		return img;
	b->images[last].next = NO_INDEX;
	for (uint32_t i = p->first; i != before; i = b->images[i].next)
		prior = i;
	img->next = before;
	if (prior == NO_INDEX)
		p->first = p->last;
	else
		b->images[prior].next = p->last;
	p->last = last;
	return img;
}

int32_t process_pid(const struct process *p)
{
	return (int32_t)(p->key & 0xffffffff);
}

int32_t accounting_status(const struct record *rec)
{
	uint64_t sig = record_get(rec, METRIC_EXITSIGNAL, 0);

	if (sig)
		return (int32_t)(sig & 0x7f) | (record_get(rec, METRIC_COREDUMP, 0) ? 0x80 : 0);
	if (record_has(rec, METRIC_EXITCODE))
		return (int32_t)(rec->v[METRIC_EXITCODE] & 0xff) << 8;
	return -1;
}
