/* Logs that tests fill with entries whose content follows from their number, so that none can be
 * half, twice or another's. */
#pragma once

#include "unit.h"

#include "transport/log/commit_log.h"
#include "transport/log/commit_log_internal.h"

static inline size_t entry_size(uint64_t i)
{
	return (size_t)(i * 7919 % 900);
}

static inline void make_entry(uint64_t i, struct strbuf *out)
{
	uint64_t seed = i * 2654435761u + 1;

	strbuf_reset(out);
	strbuf_add(out, &i, sizeof(i));
	for (size_t n = entry_size(i); n; n--)
		strbuf_addch(out, (char)random_next(&seed));
}

static inline struct commit_log *open_log(const char *dir, uint64_t limit, uint64_t segment,
					  bool drop_oldest)
{
	struct commit_log_options o = {dir, limit, segment, drop_oldest};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct commit_log *l = NULL;

	if (commit_log_open(&l, &o, &why) < 0)
		fail_msg("%s", why.buf);
	return l;
}

/* Appends the entries with these contents; the numbers follow each other. */
static inline uint64_t append_some(struct commit_log *l, uint64_t from, uint64_t count)
{
	_cleanup_strbuf_ struct strbuf e = STRBUF_INIT;
	uint64_t number = 0, before = 0;

	for (uint64_t i = from; i < from + count; i++) {
		make_entry(i, &e);
		assert_int_equal(commit_log_append(l, e.buf, e.len, &number), 0);
		if (before)
			assert_int_equal(number, before + 1);
		before = number;
	}
	return number;
}

/* Is this the content that was appended as i-th? */
static inline void check_entry(const void *p, size_t n, uint64_t i)
{
	_cleanup_strbuf_ struct strbuf e = STRBUF_INIT;

	make_entry(i, &e);
	assert_int_equal(n, e.len);
	assert_memory_equal(p, e.buf, n);
}

/* Reads on to the end: contents are those of the numbers less shift; how many, and the last. */
static inline size_t read_on(struct commit_log_reader *r, uint64_t shift, uint64_t *last)
{
	uint64_t number;
	size_t count = 0, n;
	const void *p;
	int got;

	while ((got = commit_log_reader_next(r, &p, &n, &number)) > 0) {
		assert_true(number > *last);
		check_entry(p, n, number - shift);
		*last = number;
		count++;
	}
	assert_int_equal(got, 0);
	return count;
}

static inline size_t read_all_entries(struct commit_log *l, uint64_t from, uint64_t shift,
				      uint64_t *last)
{
	struct commit_log_reader *r = commit_log_read_from(l, from);
	size_t n = read_on(r, shift, last);

	commit_log_reader_close(r);
	return n;
}
