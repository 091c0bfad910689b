/*
 * What a table of our own says about its columns, so that a file which is read back has the
 * sources, units and kinds that were written: a line "source<TAB>name", then for each metric
 * "column<TAB>name<TAB>unit<TAB>kind<TAB>how it adds up<TAB>scale".
 */
#ifndef PL_TABLES_HDF5_COLUMN_NOTES_H
#define PL_TABLES_HDF5_COLUMN_NOTES_H

#include "core/strbuf.h"
#include "samples/sample.h"

#define COLUMN_NOTE_NAME 64 /* bytes of a column's name, with the NUL */

void column_note_write(const char *source, const struct sample_metric *list, size_t count,
		       char (*columns)[COLUMN_NOTE_NAME], struct strbuf *out);

/* The name of the source; false when the note is none. */
bool column_note_source(const char *note, char *ret, size_t room);
/* What it says of a column. The name goes to name and is what ret->name points to. */
bool column_note_metric(const char *note, const char *column, struct sample_metric *ret, char *name,
			size_t room);

#endif
