/*
 * Converts strings, which are plain bytes inside the program, for terminals, JSON, CSV and shells:
 * valid UTF-8, escaped or quoted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/strbuf.h"
#include "core/text/times.h"
#include "core/text/units.h"

/* Does the user's locale use UTF-8? The first call loads the locale, whose memory programs beside a
 * job do not need. */
bool text_is_utf8(void);

/* Length of the UTF-8 sequence at s; 0: invalid (overlong, surrogate, cut off). */
size_t utf8_sequence(const char *s, size_t n);
bool utf8_valid(const char *s, size_t n);

/* Adds a character as UTF-8; also surrogates, which Python uses for invalid bytes. */
void text_add_utf8(struct strbuf *out, unsigned character);

/* Columns of n bytes on a terminal: the number of characters. */
size_t text_width(const char *s, size_t n);

/* For terminals: control characters and invalid bytes become \xNN, the rest stays. */
void text_add_printable(struct strbuf *out, const char *s, size_t n);

/* Wraps words at a width; lines after the first are indented. Newlines count as blanks. */
void text_add_wrapped(struct strbuf *out, const char *text, size_t indent, size_t width);

/* For JSON, without the quotes: invalid bytes become U+FFFD. */
void text_add_json(struct strbuf *out, const char *s, size_t n);

void text_add_base64(struct strbuf *out, const void *data, size_t n);

/* For sh: in single quotes where needed. */
void text_add_shell(struct strbuf *out, const char *s);
/* For csh and tcsh: single quotes, with ! and newlines escaped the way they need. */
void text_add_csh(struct strbuf *out, const char *s);
/* For fish. */
void text_add_fish(struct strbuf *out, const char *s);

/* For CSV (RFC 4180): in quotes where needed. */
void text_add_csv(struct strbuf *out, const char *s, size_t n);
/* Would a spreadsheet take it as a formula? It begins with = + - @, a tab or a carriage return, and
 * is not a number. */
bool text_is_formula(const char *s, size_t n);
/* For CSV in spreadsheets: puts ' before a formula. terminal: makes control characters visible. */
void text_add_csv_safe(struct strbuf *out, const char *s, size_t n, bool terminal);

/* "1.23 s", "45.6 ms", "2 h 3 min": with three digits. */
void text_add_duration(struct strbuf *out, double seconds);
/* "12.3 MiB" from bytes. */
void text_add_bytes(struct strbuf *out, double bytes);

/* Whole numbers, without printf(). */
void text_add_u64(struct strbuf *out, uint64_t v);
void text_add_i64(struct strbuf *out, int64_t v);
/* The shortest form that reads back as the same number, never like an integer. */
void text_add_real(struct strbuf *out, double v);
