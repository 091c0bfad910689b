/* Lines of text for people: a label in front, dim on a terminal, and what it says, wrapped. */
#pragma once

#include "core/strbuf.h"

struct sheet {
	struct strbuf *out;
	bool color;
	size_t label; /* columns of the label, with two blanks before it */
	size_t width; /* of a line */
};

/* code: of a terminal, such as "1;31". */
void sheet_paint(const struct sheet *s, const char *code, const char *text);
void sheet_label(const struct sheet *s, const char *name);
/* Text of anybody, made printable; none: no line. */
void sheet_line(const struct sheet *s, const char *name, const char *text);
