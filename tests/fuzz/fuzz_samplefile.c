/*
 * A sample file: every event of it, and all that an event makes readable, then the way into a
 * store, without one. Once as it is, and once with lengths and check sums put right: hardly any
 * change would get past them otherwise.
 */
#include "fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "samples/sample_file.h"
#include "samples/sample_file_internal.h"
#include "store/ingest/sample_ingest.h"

static int memory_file(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, data, size) == (ssize_t)size);
	return fd;
}

static size_t touch_source(const struct sample_file_source *s)
{
	size_t sum = strlen(s->name);

	REQUIRE(s->metric_count <= SAMPLE_METRICS_MAX);
	for (size_t i = 0; i < s->metric_count; i++) {
		const struct sample_metric *m = &s->metrics[i];

		sum += strlen(m->name) + (m->help ? strlen(m->help) : 0);
		sum += strlen(metric_unit_name(m->unit)) + strlen(metric_kind_name(m->kind)) +
		       strlen(metric_agg_name(m->agg));
	}
	return sum;
}

static size_t touch_entity(const struct entity *e)
{
	const char *value = "";
	size_t size = 0;

	REQUIRE(e->kind > 0);
	(void)entity_metadata(e, "model", &value, &size);
	return strlen(e->name) + strlen(entity_kind_name(e->kind)) + size;
}

static double touch_reading(const struct sample_file *f)
{
	const struct sample_set *s = &f->reading;
	double sum = 0;

	REQUIRE(f->source < f->source_count);
	REQUIRE(s->row_count <= s->entity_count);
	for (size_t i = 0; i < s->row_count; i++) {
		REQUIRE(s->rows[i].entity < s->entity_count);
		sum += (double)touch_entity(&s->entities[s->rows[i].entity]);
		for (unsigned m = 0; m < s->metric_count; m++)
			if (s->rows[i].present >> m & 1)
				sum += sample_value(s, i, m);
		if (s->metric_count < 64)
			REQUIRE(s->rows[i].present >> s->metric_count == 0);
	}
	return sum;
}

static void read_all(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sample_file f;
	int r = sample_file_open(&f, memory_file(data, size), &why);

	if (r < 0) {
		REQUIRE(why.len > 0);
		return;
	}
	while ((r = sample_file_next(&f)) > 0) {
		REQUIRE(r <= SAMPLE_END && f.at <= size);
		if (r == SAMPLE_SOURCE)
			(void)touch_source(&f.sources[f.source]);
		else if (r == SAMPLE_ENTITY)
			(void)touch_entity(&f.sources[f.source].entities[f.entity]);
		else if (r == SAMPLE_READING)
			(void)touch_reading(&f);
		else if (r == SAMPLE_ABSENT)
			REQUIRE(strlen(f.reason) <= SMP_NAME_MAX && f.metric <= SAMPLE_METRICS_MAX);
	}
	REQUIRE(r == 0);
	REQUIRE(f.damaged_bytes <= size && (f.damaged_bytes > 0) == (f.damaged_places > 0));
	REQUIRE(f.buffer->state <= SMP_STATE_MAX);
	sample_file_close(&f);
}

static void make_curves(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sample_ingest_result result;
	struct ingest *in;

	REQUIRE(ingest_begin(&in, NULL, &why) == 0);
	struct sample_ingest *c = sample_ingest_new(in);
	REQUIRE(sample_ingest_file(c, memory_file(data, size), "fuzz", &why) == 0);
	/* once more: nothing of it is new */
	REQUIRE(sample_ingest_file(c, memory_file(data, size), "fuzz", &why) == 0);
	REQUIRE(sample_ingest_finish(c, &result, &why) == 0);
	REQUIRE(result.series <= result.values);
	sample_ingest_free(c);
	ingest_free(in);
}

static void repair(uint8_t *p, size_t n)
{
	uint32_t session = 0;

	while (n >= SMP_HEADER) {
		if (memcmp(p, SMP_MAGIC, 4) != 0) {
			p++;
			n--;
			continue;
		}
		size_t size = smp_get_u24(p + 5);

		if (size > n - SMP_HEADER) {
			/* it ends where the next one begins */
			const uint8_t *next = memmem(p + 4, n - 4, SMP_MAGIC, 4);

			size = next ? (size_t)(next - p) : n;
			size = size > SMP_HEADER ? size - SMP_HEADER : 0;
			smp_put_u24(p + 5, (uint32_t)size);
		}
		if (p[4] == SMP_HEAD || p[4] == SMP_REPEAT) {
			pl_put_u32(p + 8, smp_crc(0, p, size));
			session = crc32c_bulk(0, p + SMP_HEADER, size);
		} else {
			pl_put_u32(p + 8, smp_crc(session, p, size));
		}
		p += SMP_HEADER + size;
		n -= SMP_HEADER + size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ uint8_t *repaired = xmalloc(size + 1);

	read_all(data, size);
	make_curves(data, size);
	if (size)
		memcpy(repaired, data, size);
	repair(repaired, size);
	read_all(repaired, size);
	make_curves(repaired, size);
	return 0;
}
