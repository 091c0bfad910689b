/* Rows of a statement in memory, packed, because libpq's results take about 2 KiB each. Each column
 * has its length (-1 for null), the bytes, and a NUL. */
#include "store/postgres/postgres.h"

#define BLOCK_MIN ((size_t)1 << 14)
#define BLOCK_MAX ((size_t)1 << 20)

struct pg_block {
	struct pg_block *next;
	size_t size, used, read;
	char data[];
};

static char *room(struct pg_kept *k, size_t n)
{
	struct pg_block *b = k->last;

	if (!b || b->size - b->used < n) {
		size_t size = b ? b->size * 2 : BLOCK_MIN;

		size = size > BLOCK_MAX ? BLOCK_MAX : size;
		size = size < n ? n : size;
		b = xmalloc(sizeof(*b) + size);
		*b = (struct pg_block){.size = size};
		*(k->last ? &k->last->next : &k->first) = b;
		k->last = b;
	}
	b->used += n;
	return b->data + b->used - n;
}

void pg_keep(struct pg_kept *k, const PGresult *row)
{
	int columns = PQnfields(row);
	size_t size = sizeof(int32_t);

	for (int i = 0; i < columns; i++)
		size += sizeof(int32_t) + (size_t)PQgetlength(row, 0, i) + 1;
	char *p = room(k, size);
	memcpy(p, &columns, sizeof(int32_t));
	p += sizeof(int32_t);
	for (int i = 0; i < columns; i++) {
		bool null = PQgetisnull(row, 0, i);
		int32_t len = null ? -1 : PQgetlength(row, 0, i);
		size_t n = null ? 0 : (size_t)len;

		memcpy(p, &len, sizeof(len));
		memcpy(p + sizeof(len), null ? "" : PQgetvalue(row, 0, i), n + 1);
		p += sizeof(len) + n + 1;
	}
}

static void drop_first(struct pg_kept *k)
{
	struct pg_block *b = k->first;

	k->first = b->next;
	if (!k->first)
		k->last = NULL;
	free(b);
}

/* Frees a block only when its last row is no longer used. */
bool pg_kept_take(struct pg_kept *k, struct pg_cell *cells, int count)
{
	int32_t columns;

	while (k->first && k->first->read == k->first->used)
		drop_first(k);
	if (!k->first)
		return false;
	char *p = k->first->data + k->first->read;
	memcpy(&columns, p, sizeof(columns));
	p += sizeof(columns);
	for (int i = 0; i < columns; i++) {
		int32_t len;

		memcpy(&len, p, sizeof(len));
		p += sizeof(len);
		if (i < count) {
			cells[i].data = len < 0 ? NULL : p;
			cells[i].len = len < 0 ? 0 : (size_t)len;
		}
		p += (len < 0 ? 0 : (size_t)len) + 1;
	}
	k->first->read = (size_t)(p - k->first->data);
	return true;
}

void pg_kept_drop(struct pg_kept *k)
{
	while (k->first)
		drop_first(k);
}
