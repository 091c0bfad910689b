/*
 * Flatbuffers, as far as Arrow's messages need them: written from front to back, each object after
 * the reference to it, which is filled in then.
 */
#pragma once

#include "core/strbuf.h"

/* A field of a table: its number, size (1, 2, 4, 8) and value; a reference has size 4 and ref. */
struct flatbuffer_field {
	unsigned number, size;
	uint64_t value;
	size_t *ref; /* not NULL: gets the place of the reference, for flatbuffer_here() */
};

/* Adds the reference to the root to an empty buffer. */
size_t flatbuffer_root(struct strbuf *out);
/* The reference refers to what comes next. */
void flatbuffer_here(struct strbuf *out, size_t ref);
/* A table, for this reference. */
void flatbuffer_table(struct strbuf *out, size_t ref, const struct flatbuffer_field *fields,
		      size_t count);
/* A text, for this reference. */
void flatbuffer_text(struct strbuf *out, size_t ref, const char *s);
/* Starts a vector with this alignment; the caller adds its elements. */
void flatbuffer_vector(struct strbuf *out, size_t ref, size_t count, size_t alignment);
/* A vector of references; returns the place of the first. */
size_t flatbuffer_references(struct strbuf *out, size_t ref, size_t count);
/* Adds zeros up to a multiple of alignment. */
void flatbuffer_align(struct strbuf *out, size_t alignment);
