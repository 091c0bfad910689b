/*
 * Bytes from outside on their way to people, JSON and shells. Strings are bytes everywhere inside;
 * only here do they become UTF-8, quoted, escaped or printable.
 */
#ifndef PL_CORE_TEXT_TEXT_H
#define PL_CORE_TEXT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "core/strbuf.h"

/* Does the user's terminal speak UTF-8? By the locale, which is set up when this is first asked: it
 * takes memory that what runs beside a job does not need. */
bool text_is_utf8(void);

/* Length of the valid UTF-8 sequence at s, 0 when there is none (overlong, surrogate, cut off). */
size_t utf8_sequence(const char *s, size_t n);
bool utf8_valid(const char *s, size_t n);

/* One character as UTF-8; surrogates too, which Python's escapes for odd bytes are. */
void text_add_utf8(struct strbuf *out, unsigned character);

/* Columns that the first n bytes take on a terminal, as far as a table needs to know. */
size_t text_width(const char *s, size_t n);

/* For terminals: control characters and invalid bytes become \xNN, the rest stays. */
void text_add_printable(struct strbuf *out, const char *s, size_t n);

/* Words filled into lines up to a width; lines after the first begin with the indent. Newlines in
 * the text count as blanks. */
void text_add_wrapped(struct strbuf *out, const char *text, size_t indent, size_t width);

/* For JSON, without the quotes: invalid bytes become U+FFFD. */
void text_add_json(struct strbuf *out, const char *s, size_t n);

void text_add_base64(struct strbuf *out, const void *data, size_t n);

/* For sh: unchanged when harmless, else in single quotes. */
void text_add_shell(struct strbuf *out, const char *s);
/* For csh and tcsh: single quotes, with ! and newlines escaped the way they need. */
void text_add_csh(struct strbuf *out, const char *s);
/* For fish. */
void text_add_fish(struct strbuf *out, const char *s);

/* For CSV (RFC 4180): in quotes where needed. */
void text_add_csv(struct strbuf *out, const char *s, size_t n);
/* Would a spreadsheet compute it? It begins with = + - @, a tab or a carriage return, and is no
 * number. */
bool text_is_formula(const char *s, size_t n);
/* For CSV that people open: a formula has ' in front. On a terminal control characters are shown,
 * not sent. */
void text_add_csv_safe(struct strbuf *out, const char *s, size_t n, bool terminal);

/* "2026-11-15T04:05:06.123456+01:00" in local time, or with Z in UTC. */
void text_add_time(struct strbuf *out, int64_t epoch_us, bool utc);
/* "1.23 s", "45.6 ms", "2 h 3 min": three digits that a person can use. */
void text_add_duration(struct strbuf *out, double seconds);
/* "12.3 MiB" from bytes. */
void text_add_bytes(struct strbuf *out, double bytes);

/* The shortest form that reads back as the same number, never like an integer. */
void text_add_real(struct strbuf *out, double v);

#endif
