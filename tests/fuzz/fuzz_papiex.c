/*
 * papiex's files: TSV when the first byte is a brace, the first line being the header file then,
 * else CSV. What comes out does not depend on how the bytes were cut.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "compat/epmt/papiex/papiex_read.h"

#define EVENTS_MAX 512

struct seen {
	struct strbuf log, why;
	size_t input_size, threads;
	bool tsv;
};

static bool is_thread_column(enum metric_id id)
{
	switch (id) {
	case METRIC_TAGS:
	case METRIC_HOSTNAME:
	case METRIC_EXENAME:
	case METRIC_PATH:
	case METRIC_ARGS:
	case METRIC_EXITCODE:
	case METRIC_PID:
	case METRIC_NUMTIDS:
		return false;
	default:
		return true;
	}
}

/* Writes down all of a row, and sees that it is one. */
static void see_row(struct seen *s, const struct row *row, bool thread)
{
	static struct counter counters[EVENTS_MAX];
	size_t n = row_counters(row, counters, EVENTS_MAX);

	strbuf_add(&s->log, row->present, sizeof(row->present));
	for (unsigned i = 0; i < sizeof(row->present) * 8; i++) {
		if (!(row->present[i / 64] >> (i % 64) & 1))
			continue;
		const struct metric *m = metric_by_id(i);
		REQUIRE(m && (m->names[METRIC_TOOL_papiex] || i == METRIC_EVENTS ||
			      i == METRIC_COUNTERS));
		REQUIRE(!thread || is_thread_column(i));
		if (m->type != TYPE_TEXT) {
			strbuf_add(&s->log, &row->v[i], sizeof(row->v[i]));
			continue;
		}
		const struct strbuf *text = &row->text[i];
		REQUIRE(text->len && text->buf[text->len] == 0);
		REQUIRE(text->len <= s->input_size || i == METRIC_COUNTERS);
		strbuf_add(&s->log, &text->len, sizeof(text->len));
		strbuf_add(&s->log, text->buf, text->len);
	}
	REQUIRE(row_has(row, METRIC_EVENTS) == (n > 0));
	REQUIRE(row_has(row, METRIC_COUNTERS) == (n > 0));
	for (size_t i = 0; i < n; i++) {
		REQUIRE(counters[i].name_size);
		REQUIRE(counters[i].present ? !counters[i].problem
					    : counters[i].problem == ENODATA);
	}
}

static int see_thread(void *user, const struct row *row)
{
	struct seen *s = user;

	s->threads++;
	strbuf_addch(&s->log, 't');
	see_row(s, row, true);
	REQUIRE(!s->tsv || !row_has(row, METRIC_START));
	return 0;
}

static int see_process(void *user, const struct row *row, uint64_t rssmax_sum, size_t tids)
{
	struct seen *s = user;

	REQUIRE(tids == (s->threads ? s->threads : 1));
	REQUIRE(tids != 1 || rssmax_sum == row_get(row, METRIC_RSSMAX, 0));
	s->threads = 0;
	REQUIRE(row_has(row, METRIC_HOSTNAME));
	strbuf_addch(&s->log, 'p');
	strbuf_add(&s->log, &rssmax_sum, sizeof(rssmax_sum));
	see_row(s, row, false);
	return 0;
}

/* Pieces of up to so many bytes, 0: all at once. */
static int read_pieces(struct seen *s, const char *data, size_t size, size_t most)
{
	const struct papiex_receiver to = {s, see_thread, see_process};
	const char *eol = s->tsv ? memchr(data, '\n', size) : NULL;
	size_t head = !s->tsv ? 0 : eol ? (size_t)(eol - data) + 1 : size;
	struct papiex_reader *r =
		papiex_reader_new(&to, s->tsv ? data : NULL, head, "host", &s->why);
	uint64_t random = size + most;
	int error = 0;

	if (!r) {
		REQUIRE(s->tsv && s->why.len);
		return -EBADMSG;
	}
	for (size_t at = head, len; at < size && !error; at += len) {
		random = random * 6364136223846793005ull + 1442695040888963407ull;
		len = most ? 1 + (size_t)(random >> 33) % most : size;
		len = len < size - at ? len : size - at;
		error = papiex_reader_feed(r, data + at, len, &s->why);
	}
	if (!error)
		error = papiex_reader_finish(r, &s->why);
	bool shifted = papiex_reader_shifted(r);
	strbuf_addch(&s->log, shifted ? 's' : '-');
	papiex_reader_free(r);
	return error;
}

static void seen_init(struct seen *s, const char *data, size_t size)
{
	*s = (struct seen){.log = STRBUF_INIT, .why = STRBUF_INIT, .input_size = size + 8};
	s->tsv = size && *data == '{';
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const size_t most[] = {1, 7, 100};
	const char *data = (const char *)bytes;
	struct seen whole, cut;

	seen_init(&whole, data, size);
	int error = read_pieces(&whole, data, size, 0);
	REQUIRE(error == 0 || error == -EBADMSG);
	REQUIRE(!error == !whole.why.len);
	for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
		seen_init(&cut, data, size);
		REQUIRE(read_pieces(&cut, data, size, most[i]) == error);
		REQUIRE(cut.log.len == whole.log.len && cut.why.len == whole.why.len);
		REQUIRE(!memcmp(cut.log.buf, whole.log.buf, whole.log.len));
		REQUIRE(!memcmp(cut.why.buf, whole.why.buf, whole.why.len));
		strbuf_release(&cut.log);
		strbuf_release(&cut.why);
	}
	(void)papiex_format_of(data, size);
	strbuf_release(&whole.log);
	strbuf_release(&whole.why);
	return 0;
}
