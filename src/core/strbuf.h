/*
 * A growing byte string. buf is never NULL and always ends in a NUL that len does not count, so it
 * can be handed to anything that wants a C string; it may hold NUL bytes of its own. Growing beyond
 * STRBUF_MAX ends the program: no input may make a command eat the machine.
 */
#ifndef PL_CORE_STRBUF_H
#define PL_CORE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

#include "core/util.h"

#define STRBUF_MAX ((size_t)1 << 30)

struct strbuf {
	char *buf;
	size_t len, cap;
};

extern char strbuf_empty[];
#define STRBUF_INIT                 \
	{                           \
		.buf = strbuf_empty \
	}

void strbuf_release(struct strbuf *sb);
/* Empty again; keeps the memory. */
void strbuf_reset(struct strbuf *sb);
/* Shorter than it was. */
void strbuf_cut(struct strbuf *sb, size_t len);
void strbuf_grow(struct strbuf *sb, size_t extra);
void strbuf_add(struct strbuf *sb, const void *data, size_t n);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) PL_PRINTF(2, 3);
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap) PL_PRINTF(2, 0);
/* Gives the memory to the caller, who frees it; sb is empty afterwards. */
char *strbuf_take(struct strbuf *sb);

#define _cleanup_strbuf_ _cleanup_(strbuf_release)

#endif
