/*
 * The file that a format of tables writes: from its beginning to its end, never back. The first
 * error stays, what follows it is not written.
 */
#ifndef PL_TABLES_FILE_WRITER_H
#define PL_TABLES_FILE_WRITER_H

#include "core/strbuf.h"

struct file_writer {
	int fd, error; /* -1: not open; a negative errno */
	uint64_t at;   /* bytes that were written, with those that wait */
	char *path;
	struct strbuf waiting;
};

/* Makes the file anew, with the mode that the user's mask leaves. "-" is stdout. */
int file_writer_open(struct file_writer *o, const char *path, struct strbuf *why);
void file_writer_add(struct file_writer *o, const void *data, size_t n);
/* What was added up to here is with the kernel: 0, or the first error and its sentence. */
int file_writer_flush(struct file_writer *o, struct strbuf *why);
/* Flushes, syncs and closes it. */
int file_writer_close(struct file_writer *o, struct strbuf *why);
/* Closes it as it is; for one that is closed or was never open, too. */
void file_writer_abandon(struct file_writer *o);

#endif
