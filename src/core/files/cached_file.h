/*
 * Files of /proc and /sys that are read at every tick: the descriptor stays open and is read from
 * the start again, which is several times cheaper than opening it anew. With it what sources need
 * to take numbers from such a text: whole lines, words, numbers that fit.
 */
#ifndef PL_CORE_FILES_CACHED_FILE_H
#define PL_CORE_FILES_CACHED_FILE_H

#include <stdarg.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/strbuf.h"

/* More than this is refused: a machine with 8192 CPUs has a /proc/stat of under 1 MiB. */
#define KEPT_MAX ((size_t)32 << 20)

/*
 * A file by its name, with a descriptor that is kept up to a quarter of what this process may have
 * open; beyond that it is opened for each reading.
 */
struct sysfile {
	char *path; /* NULL: none */
	int fd;     /* -1: not open */
	bool kept;  /* fd stays from reading to reading */
};
#define SYSFILE_INIT     \
	{                \
		.fd = -1 \
	}

/* Names a file; opens nothing. */
void sysfile_init(struct sysfile *f, const char *fmt, ...) PL_PRINTF(2, 3);
void sysfile_vinit(struct sysfile *f, const char *fmt, va_list ap);
void sysfile_close(struct sysfile *f);
/* Begins a reading. Never waits: what is no regular file is -EINVAL. */
int sysfile_begin(struct sysfile *f);
/* From an offset to the end or until buf is full: the number of bytes or a negative errno. */
ssize_t sysfile_get(const struct sysfile *f, char *buf, size_t size, size_t from);
/* Ends it; keep: the descriptor may stay. */
void sysfile_end(struct sysfile *f, bool keep);

/* One whose text is taken whole. */
struct cached_file {
	struct sysfile file;
	char *text; /* what was read last, with a NUL behind it; NULL before the first reading */
	size_t len, cap;
};

/* Names the file; it is opened by the first reading. */
void cached_file_init(struct cached_file *k, const char *fmt, ...) PL_PRINTF(2, 3);
void cached_file_release(struct cached_file *k);
/*
 * Reads the whole file; NUL bytes become question marks. 0, or a negative errno: the text is then
 * empty, and the next reading opens the file again, so that one which comes back is found. Never
 * waits: what is no regular file is refused.
 */
int cached_file_read(struct cached_file *k);

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

static inline struct words cached_file_words(const struct cached_file *k)
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

#endif
