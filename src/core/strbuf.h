/*
 * A growing byte string. buf is never NULL and always ends with a NUL, which len does not count; it
 * may contain NUL bytes. Growing beyond STRBUF_MAX ends the program, so that no input can use up
 * the memory of the machine.
 */
#pragma once

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
/* Empties it; keeps the memory. */
void strbuf_reset(struct strbuf *sb);
/* Sets the length, up to what strbuf_grow() made room for. */
void strbuf_cut(struct strbuf *sb, size_t len);
void strbuf_grow(struct strbuf *sb, size_t extra);
void strbuf_add(struct strbuf *sb, const void *data, size_t n);
void strbuf_addstr(struct strbuf *sb, const char *s);
void strbuf_addch(struct strbuf *sb, char c);
void strbuf_addf(struct strbuf *sb, const char *fmt, ...) PL_PRINTF(2, 3);
void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap) PL_PRINTF(2, 0);
/* Adds the reason for an error and returns the error, which is negative. */
int strbuf_fail(struct strbuf *why, int error, const char *fmt, ...) PL_PRINTF(3, 4);
/* Returns the string, which the caller frees; sb is empty afterwards. */
char *strbuf_take(struct strbuf *sb);

#define _cleanup_strbuf_ _cleanup_(strbuf_release)
