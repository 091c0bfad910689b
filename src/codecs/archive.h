/*
 * tar archives, told by content: plain or compressed with gzip, bzip2, xz or zstd. The work is done
 * by libarchive in the module "archive".
 *
 * What comes from an archive is hostile: members that are links, devices, absolute or lead out of
 * the archive are refused, and so is one that grows beyond all measure.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "core/strbuf.h"

/* Called for every file, with the "./" in front of its name taken off. read() gives its content in
 * pieces: bytes, 0 at the end, or a negative errno. A negative result ends the reading. */
struct archive_member {
	const char *name;
	uint64_t size;
	mode_t mode;
	ssize_t (*read)(const struct archive_member *m, void *buf, size_t n);
	void *state;
};
typedef int (*archive_visitor)(void *user, const struct archive_member *m);

struct archive_writer;

/* More than this in all, or more than a thousand times what the file has, is a bomb. */
#define ARCHIVE_BYTES_MAX ((uint64_t)64 << 30)
#define ARCHIVE_RATIO_MAX 1000
#define ARCHIVE_MEMBERS_MAX 1000000

struct archive_functions {
	/* 0 or a negative errno with the reason in *why. fd is left open. */
	int (*read)(int fd, archive_visitor visit, void *user, struct strbuf *why);
	/* A gzip-compressed tar into fd. */
	struct archive_writer *(*create)(int fd, struct strbuf *why);
	/* The content is read from a descriptor, or given. NULL data: from fd. */
	int (*add)(struct archive_writer *w, const char *name, mode_t mode, const void *data,
		   uint64_t size, int fd, struct strbuf *why);
	int (*finish)(struct archive_writer *w, struct strbuf *why);
	void (*abandon)(struct archive_writer *w);
	void (*version)(struct strbuf *out);
};

/* Loads the module; NULL with the reason in *why. */
const struct archive_functions *archive_module(struct strbuf *why);
