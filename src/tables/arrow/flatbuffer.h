/*
 * Flatbuffers, as far as Arrow's messages need them: written from front to back, a table after what
 * refers to it, and references filled in when what they refer to is there.
 */
#ifndef PL_TABLES_ARROW_FLATBUFFER_H
#define PL_TABLES_ARROW_FLATBUFFER_H

#include "core/strbuf.h"

/* A field of a table: its number, size (1, 2, 4, 8) and value; a reference has size 4 and ref. */
struct flatbuffer_field {
	unsigned number, size;
	uint64_t value;
	size_t *ref; /* not NULL: where the reference is, for flatbuffer_here() */
};

/* The reference to the root, at the beginning of an empty buffer. */
size_t flatbuffer_root(struct strbuf *out);
/* What comes next is what the reference refers to. */
void flatbuffer_here(struct strbuf *out, size_t ref);
/* A table, for this reference. */
void flatbuffer_table(struct strbuf *out, size_t ref, const struct flatbuffer_field *fields,
		      size_t count);
/* A text, for this reference. */
void flatbuffer_text(struct strbuf *out, size_t ref, const char *s);
/* The beginning of a vector whose elements, added by the caller, are aligned to so much. */
void flatbuffer_vector(struct strbuf *out, size_t ref, size_t count, size_t alignment);
/* A vector of references; where the first is. */
size_t flatbuffer_references(struct strbuf *out, size_t ref, size_t count);
/* Zeros up to a multiple. */
void flatbuffer_align(struct strbuf *out, size_t alignment);

#endif
