/*
 * Destination of `stage`: a directory, created if needed, or the unused name of an archive.
 * Existing files are never overwritten.
 */
#pragma once

#include "core/strbuf.h"

struct stage_place {
	int dir;     /* the directory */
	char *path;  /* its path, as given */
	char *name;  /* of the file to put there */
	bool exact;  /* the user gave the name: do not add a number */
	int fd;      /* the file being written, or -1 */
	char *aside; /* its temporary name; NULL: it has none */
};
#define STAGE_PLACE_INIT            \
	{                           \
		.dir = -1, .fd = -1 \
	}
void stage_place_release(struct stage_place *p);
#define _cleanup_place_ _cleanup_(stage_place_release)

/* Opens the destination for a file of this name. job is the directory to be removed later, which
 * must not contain the destination. */
int stage_place_open(struct stage_place *p, const char *dest, const char *name, const char *job,
		     struct strbuf *why);
/* Creates an invisible file there, with descriptor p->fd. */
int stage_place_create(struct stage_place *p, struct strbuf *why);
/* Syncs the complete file and gives it an unused name. The caller frees *ret_path. */
int stage_place_publish(struct stage_place *p, char **ret_path, struct strbuf *why);
/* Removes an incomplete file. */
void stage_place_abandon(struct stage_place *p);
/* Moves a directory there instead. -EXDEV: on another filesystem. */
int stage_place_move(struct stage_place *p, const char *from, char **ret_path, struct strbuf *why);
/* A currently unused path, for a command that writes there itself. The caller frees it. */
char *stage_place_free_name(const struct stage_place *p);
