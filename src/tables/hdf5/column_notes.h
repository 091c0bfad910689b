/*
 * A note about the columns of a table, so that a file that we wrote can be read back with its
 * sources, units and kinds: a line "source<TAB>name", then one line per metric:
 * "column<TAB>name<TAB>unit<TAB>kind<TAB>aggregation<TAB>scale".
 */
#pragma once

#include "core/strbuf.h"
#include "samples/sample.h"

#define COLUMN_NOTE_NAME 64 /* bytes of a column name, with the NUL */

void column_note_write(const char *source, const struct sample_metric *list, size_t count,
		       char (*columns)[COLUMN_NOTE_NAME], struct strbuf *out);

/* The name of the source; false: not a note. */
bool column_note_source(const char *note, char *ret, size_t room);
/* The metric of a column; its name is copied to name, to which ret->name points. */
bool column_note_metric(const char *note, const char *column, struct sample_metric *ret, char *name,
			size_t room);
