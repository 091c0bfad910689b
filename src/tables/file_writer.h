/*
 * A file that a table format writes from its beginning to its end, without seeking. Nothing is
 * written after the first error.
 */
#pragma once

#include "core/strbuf.h"

struct file_writer {
	int fd, error; /* -1: not open; a negative errno */
	uint64_t at;   /* bytes added so far */
	char *path;
	struct strbuf waiting; /* not yet written */
};
#define FILE_WRITER_INIT                         \
	{                                        \
		.fd = -1, .waiting = STRBUF_INIT \
	}

/* Creates or truncates the file; a new one has the mode that the umask leaves. "-" is stdout. */
int file_writer_open(struct file_writer *o, const char *path, struct strbuf *why);
void file_writer_add(struct file_writer *o, const void *data, size_t n);
/* Hands everything to the kernel: 0, or the first error and its message. */
int file_writer_flush(struct file_writer *o, struct strbuf *why);
/* Flushes, syncs and closes it. */
int file_writer_close(struct file_writer *o, struct strbuf *why);
/* Closes it as it is; also one that is closed or was never open. */
void file_writer_abandon(struct file_writer *o);
