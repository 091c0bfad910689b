/*
 * Files of /proc and /sys that are read at every tick. The descriptor stays open and is read again
 * from the start, which is several times cheaper than opening the file again. Also lines, words and
 * numbers of such files.
 */
#pragma once

#include <stdarg.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/strbuf.h"

/* Limit of a file: /proc/stat of a machine with 8192 CPUs is below 1 MiB. */
#define CACHED_FILE_MAX ((size_t)32 << 20)

/*
 * A file with a cached descriptor. All of them use up to a quarter of the descriptors of this
 * process; further files are opened for each reading.
 */
struct sysfile {
	char *path;  /* NULL: none */
	int fd;      /* -1: not open */
	bool cached; /* fd stays open between readings */
};
#define SYSFILE_INIT     \
	{                \
		.fd = -1 \
	}

/* Sets the path; does not open the file. */
void sysfile_init(struct sysfile *f, const char *fmt, ...) PL_PRINTF(2, 3);
void sysfile_vinit(struct sysfile *f, const char *fmt, va_list ap);
void sysfile_close(struct sysfile *f);
/* Begins a reading. Never blocks. 0, -EINVAL (not a regular file) or the errno of open(), negative.
 */
int sysfile_begin(struct sysfile *f);
/* Reads from an offset to the end or until buf is full. The number of bytes, or a negative errno.
 */
ssize_t sysfile_get(const struct sysfile *f, char *buf, size_t size, size_t from);
/* Ends a reading; keep: the descriptor may stay open. */
void sysfile_end(struct sysfile *f, bool keep);

/* A file that is read as a whole. */
struct cached_file {
	struct sysfile file;
	char *text; /* the last content with a NUL; NULL before the first reading */
	size_t len, cap;
};

/* Sets the path; the first reading opens the file. */
void cached_file_init(struct cached_file *k, const char *fmt, ...) PL_PRINTF(2, 3);
void cached_file_release(struct cached_file *k);
/*
 * Reads the whole file; NUL bytes become question marks. Never blocks. 0, or a negative errno
 * (-EINVAL: not a regular file, -EFBIG: too large): then the text is empty, and the next reading
 * opens the file again.
 */
int cached_file_read(struct cached_file *k);

/* Reads a file once; freed by the caller. NULL: it cannot be read. */
char *read_once(const char *fmt, ...) PL_PRINTF(1, 2);
/* Reads the first line without surrounding blanks; NULL: it is empty or cannot be read. */
char *read_fact(const char *fmt, ...) PL_PRINTF(1, 2);

/* Names in a directory that begin with a prefix, in natural order (cpu2 before cpu10). */
struct name_list {
	char **names;
	size_t count;
};
/* At most this many names are taken; Linux has at most 8192 CPUs. */
#define NAME_LIST_MAX 16384
int name_list_read(struct name_list *l, const char *prefix, const char *fmt, ...) PL_PRINTF(3, 4);
void name_list_release(struct name_list *l);
#define _cleanup_name_list_ _cleanup_(name_list_release)

/* ---- lines, words, numbers ------------------------------------------------------------------- */

/* The rest of a text that is read word by word. */
struct words {
	const char *p, *end;
};

static inline struct words cached_file_words(const struct cached_file *k)
{
	return (struct words){k->text, k->text + k->len};
}

/* The next line, without its newline. Ignores a last line without a newline: it was cut off. */
bool line_next(struct words *text, struct words *line);
/* The next word of a line; words are separated by blanks or tabs. */
bool word_next(struct words *line, struct words *word);
bool word_is(const struct words *word, const char *s);
bool word_begins(const struct words *word, const char *s);
/* Takes the next word; true: it is a decimal number below 2^63. */
bool number_next(struct words *line, uint64_t *ret);
/* The number at the beginning of the first line of a text. */
bool number_only(const struct words *text, uint64_t *ret);
/* A word such as "avg10=1.25" or "0.07", in hundredths. */
bool hundredths(const struct words *word, uint64_t *ret);
