/*
 * Compresses chunks of tables in place of the library, which would read and decompress the last
 * chunk of each table to add a few rows to it, and whose deflate is less than half as fast as
 * libdeflate. The result is readable by the library's own filters, shuffle and deflate.
 */
#include <libdeflate.h>
#include <string.h>

#include "tables/hdf5/hdf5_module.h"

#define CHUNK_MAX ((size_t)1 << 20) /* of files that others created */
#define DEFLATE_SKIPPED 2u          /* the second filter of a chunk was not applied */

struct chunk_writer {
	struct libdeflate_compressor *compressor;
	unsigned char *plain, *shuffled, *packed;
	size_t room; /* of each */
};

struct chunk_writer *chunk_writer_new(int level)
{
	struct chunk_writer *p = xcalloc(1, sizeof(*p));

	p->compressor = libdeflate_alloc_compressor(level);
	return p;
}

void chunk_writer_free(struct chunk_writer *p)
{
	if (!p)
		return;
	if (p->compressor)
		libdeflate_free_compressor(p->compressor);
	free(p->plain);
	free(p->shuffled);
	free(p->packed);
	free(p);
}

static void make_room(struct chunk_writer *p, size_t size)
{
	if (size <= p->room)
		return;
	p->plain = xreallocarray(p->plain, size, 1);
	p->shuffled = xreallocarray(p->shuffled, size, 1);
	p->packed = xreallocarray(p->packed, size, 1);
	p->room = size;
}

/* Transposes eight rows of eight bytes. */
static void transpose(uint64_t w[8])
{
	static const struct {
		unsigned apart, shift;
		uint64_t mask;
	} steps[] = {{4, 32, UINT64_C(0x00000000ffffffff)},
		     {2, 16, UINT64_C(0x0000ffff0000ffff)},
		     {1, 8, UINT64_C(0x00ff00ff00ff00ff)}};

	for (unsigned s = 0; s < 3; s++)
		for (unsigned i = 0; i < 8; i++) {
			unsigned a = steps[s].apart, n = steps[s].shift;

			if (i & a)
				continue;
			uint64_t x = (w[i] >> n ^ w[i + a]) & steps[s].mask;
			w[i] ^= x << n;
			w[i + a] ^= x;
		}
}

/* All first bytes, then all second ones. Most of a row is text, most of which is padding. */
static void shuffle(const unsigned char *from, unsigned char *to, size_t rows, size_t row_size)
{
	size_t whole = rows & ~(size_t)7, words = row_size & ~(size_t)7;

	memset(to, 0, rows * row_size);
	for (size_t r = 0; r < whole; r += 8)
		for (size_t i = 0; i < words; i += 8) {
			uint64_t w[8], any = 0;

			for (unsigned k = 0; k < 8; k++) {
				memcpy(&w[k], from + (r + k) * row_size + i, 8);
				any |= w[k];
			}
			if (!any)
				continue;
			transpose(w);
			for (unsigned k = 0; k < 8; k++)
				memcpy(to + (i + k) * rows + r, &w[k], 8);
		}
	for (size_t i = 0; i < row_size; i++)
		for (size_t r = i < words ? whole : 0; r < rows; r++)
			to[i * rows + r] = from[r * row_size + i];
}

bool chunk_write(struct chunk_writer *p, hid_t table, uint64_t at, const unsigned char *rows,
		 size_t n, size_t chunk_rows, size_t row_size)
{
	const size_t size = chunk_rows * row_size;
	const hsize_t offset = at;
	const unsigned char *data = rows;

	make_room(p, size);
	/* zeros for rows that do not exist yet compress best */
	if (n < chunk_rows) {
		memcpy(p->plain, rows, n * row_size);
		memset(p->plain + n * row_size, 0, size - n * row_size);
		data = p->plain;
	}
	shuffle(data, p->shuffled, chunk_rows, row_size);
	size_t packed = p->compressor ? libdeflate_zlib_compress(p->compressor, p->shuffled, size,
								 p->packed, size)
				      : 0;
	/* it would not get smaller */
	if (!packed)
		return H5Dwrite_chunk(table, H5P_DEFAULT, DEFLATE_SKIPPED, &offset, size,
				      p->shuffled) >= 0;
	return H5Dwrite_chunk(table, H5P_DEFAULT, 0, &offset, packed, p->packed) >= 0;
}

static H5Z_filter_t filter_of(hid_t how, unsigned i)
{
	unsigned flags, config;
	size_t none = 0;

	return H5Pget_filter2(how, i, &flags, &none, NULL, 0, NULL, &config);
}

size_t chunk_rows_of(hid_t table, size_t row_size, bool *ret_packed)
{
	_cleanup_id_ hid_t how = H5Dget_create_plist(table);
	hsize_t rows = 0;

	*ret_packed = false;
	if (how < 0)
		return 0;
	bool chunked = H5Pget_layout(how) == H5D_CHUNKED && H5Pget_chunk(how, 1, &rows) == 1;
	int filters = H5Pget_nfilters(how);
	bool packed = filters == 2 && filter_of(how, 0) == H5Z_FILTER_SHUFFLE &&
		      filter_of(how, 1) == H5Z_FILTER_DEFLATE;
	if (!chunked || (filters && !packed) || rows > CHUNK_MAX / row_size)
		return 0;
	*ret_packed = packed;
	return (size_t)rows;
}
