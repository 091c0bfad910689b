/*
 * Files of /proc and /sys that are read at every tick: the descriptor stays open and is read from
 * the start again, which is several times cheaper than opening it anew. With it what sources need
 * to take numbers from such a text: whole lines, words, numbers that fit, counters that go on when
 * the kernel starts them again.
 */
#ifndef PL_CORE_KEPT_H
#define PL_CORE_KEPT_H

#include <stdint.h>

#include "core/sample.h"

/* More than this is refused: a machine with 8192 CPUs has a /proc/stat of under 1 MiB. */
#define KEPT_MAX ((size_t)32 << 20)

struct kept {
	char *path;
	int fd;     /* -1: not open */
	char *text; /* what was read last, with a NUL behind it; NULL before the first reading */
	size_t len, cap;
};

/* Names the file; it is opened by the first reading. */
void kept_init(struct kept *k, const char *fmt, ...) PL_PRINTF(2, 3);
void kept_release(struct kept *k);
/*
 * Reads the whole file; NUL bytes become question marks. 0, or a negative errno: the text is then
 * empty, and the next reading opens the file again, so that one which comes back is found. Never
 * waits: what is no regular file is refused.
 */
int kept_read(struct kept *k);

/* The same for a file that is read once; freed by the caller, NULL when it cannot be read. */
char *read_once(const char *fmt, ...) PL_PRINTF(1, 2);
/* Its first line without blanks around it, for facts; NULL when it is empty or cannot be read. */
char *read_fact(const char *fmt, ...) PL_PRINTF(1, 2);

/* ---- lines, words, numbers ----------------------------------------------------------------------
 */

/* A text that is walked through. */
struct words {
	const char *p, *end;
};

static inline struct words kept_words(const struct kept *k)
{
	return (struct words){k->text, k->text + k->len};
}

/* The next line, without its newline. A last line without one was cut off and is left out. */
bool line_next(struct words *text, struct words *line);
/* The next word of a line, ended by blanks or tabs. */
bool word_next(struct words *line, struct words *word);
bool word_is(const struct words *word, const char *s);
bool word_begins(const struct words *word, const char *s);
/* Takes the next word: true when it is a decimal number that fits into 63 bits. */
bool number_next(struct words *line, uint64_t *ret);
/* The number that a text is, as far as the end of its first line. */
bool number_only(const struct words *text, uint64_t *ret);
/* A word such as "avg10=1.25" or "0.07" with two digits behind the point, in hundredths. */
bool hundredths(const struct words *word, uint64_t *ret);

/* What a key of a file is called among a source's metrics. */
struct key_metric {
	const char *key;
	unsigned metric;
};
/* Puts the numbers of lines "key 12" or "key: 12 kB" into the row begun last. */
void put_keys(struct sample_set *set, const struct kept *k, const struct key_metric *keys,
	      size_t count);
/* Says of every metric of these that the row begun last lacks: file has no such line. */
void absent_keys(struct sample_set *set, const char *file, const struct key_metric *keys,
		 size_t count);
/* Is this value of the row begun last there? */
static inline bool put_already(const struct sample_set *set, unsigned metric)
{
	return set->rows[set->row_count - 1].present >> metric & 1;
}

/* ---- counters that may start again --------------------------------------------------------------
 */

/*
 * A counter that has 64 bits on some kernels and 32 on others, and starts at 0 when what it counts
 * is made again. A fall from the upper half of 32 bits to the lower is a wrap; any other goes on
 * from where it was: never back, never up by what was not counted. again: it is known to have
 * started anew, or to be of another thing.
 */
uint64_t count_on(struct unwrap *u, uint64_t raw, bool again);
/* Does this value look like one behind a wrap at 32 bits? */
bool count_wrapped(const struct unwrap *u, uint64_t raw);

#endif
