/*
 * Texts and numbers of small files of /proc and /sys that are read again and again. What the kernel
 * cannot tell ("N/A", an empty file, EIO) is an error here, never a number.
 */
#ifndef PL_SOURCES_SYSFILE_H
#define PL_SOURCES_SYSFILE_H

#include "core/files/cached_file.h"
#include "core/strbuf.h"
#include "samples/sample.h"

/* A text of one such file is shorter than this. */
#define SYSFILE_TEXT 4096

/* The text without the white space around it, with a NUL: its length, or a negative errno. */
ssize_t sysfile_text(struct sysfile *f, char *buf, size_t size);
/* The whole text appended to out, -EFBIG when it is longer than max. */
int sysfile_whole(struct sysfile *f, size_t max, struct strbuf *out);
/* The number that the text is: -ENODATA when it is none, -ERANGE when it is too large. */
int sysfile_u64(struct sysfile *f, uint64_t *ret);
int sysfile_i64(struct sysfile *f, int64_t *ret);

/* The same for a file that is read once. */
ssize_t sys_text(char *buf, size_t size, const char *fmt, ...) PL_PRINTF(3, 4);
int sys_i64(int64_t *ret, const char *fmt, ...) PL_PRINTF(2, 3);
/* Is there such a file, and may it be read? 0 or a negative errno. */
int sys_readable(const char *fmt, ...) PL_PRINTF(1, 2);

/* Names in a directory that begin with a prefix, sorted as people count (cpu2 before cpu10). */
struct syslist {
	char **names;
	size_t count;
};
/* At most this many names are taken. */
#define SYSLIST_MAX 8192
int syslist_read(struct syslist *l, const char *prefix, const char *fmt, ...) PL_PRINTF(3, 4);
void syslist_release(struct syslist *l);
#define _cleanup_syslist_ _cleanup_(syslist_release)

/* Makes a text from a device harmless as a name: one line, printable, no blanks around it. */
void sys_clean(char *text);
/* A fact from a file that is read once; none when it cannot be read or is empty. */
void sys_fact(struct sample_set *set, uint32_t entity, const char *key, const char *fmt, ...)
	PL_PRINTF(4, 5);

/* Puts a value, unless it is too large to be true. */
static inline void sys_put(struct sample_set *set, unsigned metric, uint64_t value)
{
	if (value <= INT64_MAX)
		sample_put(set, metric, (int64_t)value);
}

/* A counter that does not wrap but may be set back to 0 (by an administrator, by a new mount): it
 * goes on from where it was. */
static inline uint64_t sys_grown(struct unwrap *u, uint64_t raw)
{
	return unwrap(u, raw, UNWRAP_SET_BACK);
}

#endif
