/* The files of a part; see part_inventory.h. */
#include "store/ingest/part_inventory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/util.h"

void inventory_release(struct inventory *inv)
{
	free(inv->files);
	*inv = (struct inventory){0};
}

void inventory_add(struct inventory *inv, struct inventory_file file)
{
	GROW(inv->files, inv->count, inv->cap);
	inv->files[inv->count++] = file;
	inv->sorted = false;
}

static int compare_ids(const void *a, const void *b)
{
	const struct inventory_file *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Of the same id the longest first. */
static int compare_files(const void *a, const void *b)
{
	const struct inventory_file *x = a, *y = b;
	int ids = compare_ids(a, b);

	return ids ? ids : x->count > y->count ? -1 : x->count < y->count;
}

static void settle(struct inventory *inv)
{
	size_t n = 0;

	if (inv->sorted || !inv->count)
		return;
	qsort(inv->files, inv->count, sizeof(*inv->files), compare_files);
	for (size_t i = 0; i < inv->count; i++)
		if (!n || compare_ids(&inv->files[n - 1], &inv->files[i]) != 0)
			inv->files[n++] = inv->files[i];
	inv->count = n;
	inv->sorted = true;
}

const struct inventory_file *inventory_find(struct inventory *inv, char kind, uint64_t id)
{
	const struct inventory_file key = {.kind = kind, .id = id};

	settle(inv);
	return inv->count ? bsearch(&key, inv->files, inv->count, sizeof(key), compare_ids) : NULL;
}

/* ---- as text -------------------------------------------------------------------------------- */

void inventory_text(struct inventory *inv, struct strbuf *out)
{
	settle(inv);
	for (size_t i = 0; i < inv->count; i++) {
		const struct inventory_file *f = &inv->files[i];

		strbuf_addf(out, "%s%c%016" PRIx64 ":%" PRIu64 ":%016" PRIx64, i ? " " : "",
			    f->kind, f->id, f->count, f->hash);
		if (f->rows)
			strbuf_addf(out, ":%" PRIu32, f->rows);
	}
}

/* Parses a number up to one of the marks, or the end if a blank is a mark. */
static bool take_number(const char **text, int base, const char *marks, uint64_t *ret)
{
	char *end;

	*ret = strtoull(*text, &end, base);
	if (end == *text || (*end ? !strchr(marks, *end) : !strchr(marks, ' ')))
		return false;
	*text = *end ? end + 1 : end;
	return true;
}

bool inventory_parse(struct inventory *inv, const char *text)
{
	while (*text) {
		struct inventory_file f = {.kind = *text++};
		uint64_t rows = 0;

		if (!strchr("rsm", f.kind) || !take_number(&text, 16, ":", &f.id) ||
		    !take_number(&text, 10, ":", &f.count) ||
		    !take_number(&text, 16, ": ", &f.hash) ||
		    (text[-1] == ':' && !take_number(&text, 10, " ", &rows)) || rows > UINT32_MAX)
			return false;
		f.rows = (uint32_t)rows;
		inventory_add(inv, f);
	}
	return true;
}

/* ---- what is new ---------------------------------------------------------------------------- */

static unsigned compare_file(const struct inventory_file *now, const struct inventory_file *before)
{
	if (!before)
		return INVENTORY_NEW;
	if (now->count != before->count)
		return now->count > before->count ? INVENTORY_GROWN : INVENTORY_LACKS;
	return now->hash != before->hash ? INVENTORY_DIFFERS : 0;
}

unsigned inventory_compare(struct inventory *now, struct inventory *before)
{
	unsigned what = 0;

	settle(now);
	for (size_t i = 0; i < now->count; i++) {
		const struct inventory_file *f = &now->files[i];

		what |= compare_file(f, inventory_find(before, f->kind, f->id));
	}
	for (size_t i = 0; i < before->count; i++) {
		const struct inventory_file *f = &before->files[i];

		what |= inventory_find(now, f->kind, f->id) ? 0 : INVENTORY_LACKS;
	}
	return what;
}
