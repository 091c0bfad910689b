/*
 * A record file: every frame of it, then the books that are made of it, and every row that they can
 * show. Once as it is, and once with lengths and checksums put right: hardly any change would get
 * past them otherwise.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/crc32c.h"
#include "records/accounting.h"
#include "records/record_file.h"

static int memory_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, data, size) == (ssize_t)size);
	return fd;
}

/* Sums what the texts hold, so that reading them is not left out. */
static unsigned touch(const struct record *r)
{
	unsigned sum = 0;

	for (unsigned id = 1; id < METRIC_ID_END; id++)
		if (record_has(r, (enum metric_id)id))
			for (uint32_t i = 0; i < r->text[id].size; i++)
				sum += (unsigned char)r->text[id].data[i];
	return sum;
}

static void read_frames(const uint8_t *data, size_t size)
{
	static struct record r, again;
	struct record_file f;
	uint64_t at[64], behind = 0, frames = 0;

	REQUIRE(record_file_open(&f, memory_file(data, size)) == 0);
	int e;
	while ((e = record_file_next(&f, &r)) == 1) {
		/* in order, inside the file, and no byte twice */
		REQUIRE(r.offset >= behind && r.size >= PL_RECORD_HEADER);
		behind = r.offset + r.size;
		REQUIRE(behind <= size);
		(void)touch(&r);
		if (frames < 64)
			at[frames] = r.offset;
		frames++;
	}
	REQUIRE(e == 0);
	REQUIRE(f.damage.bytes <= size && (f.damage.bytes > 0) == (f.damage.places > 0));
	if (f.damage.places)
		REQUIRE(f.damage.first_offset < size);
	/* what was there is there */
	for (uint64_t i = 0; i < frames && i < 64; i++) {
		REQUIRE(record_file_read_at(&f, at[i], &again) == 0);
		REQUIRE(again.offset == at[i]);
		(void)touch(&again);
	}
	record_file_close(&f);
}

static void show_books(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct accounting_sums sums;
	struct accounting b;
	struct row row;

	accounting_init(&b);
	b.keep_threads = true;
	row_init(&row);
	REQUIRE(accounting_add(&b, memory_file(data, size), "fuzz", "host.0123abcd") == 0);
	REQUIRE(accounting_load(&b, &why) == 0);
	accounting_sum(&b, &sums);
	uint64_t processes = 0;
	for (size_t i = 0; i < b.process_count; i++)
		processes += !b.processes[i].merged;
	REQUIRE(sums.processes == processes);
	uint32_t *order = accounting_order(&b);
	for (size_t i = 0; i < b.image_count; i++) {
		struct counter counters[16];
		const struct image *img = &b.images[order[i]];

		(void)image_source(&b, img);
		(void)image_ended(&b, img);
		(void)image_row(&b, img, &row);
		(void)row_counters(&row, counters, 16);
	}
	free(order);
	accounting_sort_threads(&b);
	for (size_t i = 0; i < b.thread_count; i++) {
		REQUIRE(accounting_first_thread(&b, b.threads[i].image) <= i);
		(void)thread_row(&b, &b.threads[i], &row);
	}
	row_release(&row);
	accounting_release(&b);
}

static void repair(uint8_t *p, size_t n)
{
	while (n >= PL_RECORD_HEADER) {
		if (pl_get_u32(p) != PL_RECORD_MAGIC) {
			p++;
			n--;
			continue;
		}
		size_t room = n - PL_RECORD_HEADER, size = pl_get_u32(p + 8);

		if (size > room) {
			/* it ends where the next one begins */
			const uint8_t *next = memmem(p + 4, n - 4, "PLR1", 4);

			size = next ? (size_t)(next - p) : n;
			size = size > PL_RECORD_HEADER ? size - PL_RECORD_HEADER : 0;
			pl_put_u32(p + 8, (uint32_t)size);
		}
		pl_put_u32(p + 12, crc32c(crc32c(0, p + 4, 8), p + PL_RECORD_HEADER, size));
		p += PL_RECORD_HEADER + size;
		n -= PL_RECORD_HEADER + size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ uint8_t *repaired = xmalloc(size);

	read_frames(data, size);
	show_books(data, size);
	if (size)
		memcpy(repaired, data, size);
	repair(repaired, size);
	read_frames(repaired, size);
	show_books(repaired, size);
	return 0;
}
