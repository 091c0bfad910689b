/*
 * Texts and numbers of small files of /proc and /sys that are read again and again. A value that
 * the kernel does not have ("N/A", an empty file, EIO) is an error here, never a number.
 */
#pragma once

#include "core/files/cached_file.h"
#include "core/strbuf.h"
#include "samples/sample.h"

/* A text of one such file is shorter than this. */
#define SYSFILE_TEXT 4096

/* The text without surrounding white space, with a NUL: its length, or a negative errno. */
ssize_t sysfile_text(struct sysfile *f, char *buf, size_t size);
/* The whole text appended to out, -EFBIG when it is longer than max. */
int sysfile_whole(struct sysfile *f, size_t max, struct strbuf *out);
/* The text as a number: -ENODATA when it is not one, -ERANGE when it is too large. */
int sysfile_u64(struct sysfile *f, uint64_t *ret);
int sysfile_i64(struct sysfile *f, int64_t *ret);

/* The same for a file that is read once. */
ssize_t sys_text(char *buf, size_t size, const char *fmt, ...) PL_PRINTF(3, 4);
int sys_i64(int64_t *ret, const char *fmt, ...) PL_PRINTF(2, 3);
/* Does the file exist, and may it be read? 0 or a negative errno. */
int sys_readable(const char *fmt, ...) PL_PRINTF(1, 2);

/* Makes a text from a device usable as a name: one line, printable, without surrounding blanks. */
void sys_clean(char *text);
/* Sets metadata from a file that is read once; not when it cannot be read or is empty. */
void sys_fact(struct sample_set *set, uint32_t entity, const char *key, const char *fmt, ...)
	PL_PRINTF(4, 5);

/* The next line of a text at *p, which moves behind it; the last line may lack its newline. */
bool sys_line(const char **p, const char *end, struct words *line);

/* Is it time to look for new devices? Not at the first call, then every SYS_LOOK_NS. */
#define SYS_LOOK_NS 30000000000ull
static inline bool sys_look_again(uint64_t *looked_ns, uint64_t now_ns)
{
	bool again = *looked_ns && now_ns - *looked_ns >= SYS_LOOK_NS;

	if (again || !*looked_ns)
		*looked_ns = now_ns;
	return again;
}

/* Puts a value, unless it is too large to be true. */
static inline void sys_put(struct sample_set *set, unsigned metric, uint64_t value)
{
	if (value <= INT64_MAX)
		sample_put(set, metric, (int64_t)value);
}

/* A counter that does not wrap but may be reset to 0 (by an administrator, by a new mount): it
 * continues from where it was. */
static inline uint64_t sys_grown(struct unwrap *u, uint64_t raw)
{
	return unwrap(u, raw, UNWRAP_SET_BACK);
}
