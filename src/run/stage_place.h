/*
 * Where `stage` puts a job: a directory, made when it is missing, or the name of an archive that is
 * free. What is there is never written over.
 */
#ifndef PL_CMD_RECORD_STAGE_PLACE_H
#define PL_CMD_RECORD_STAGE_PLACE_H

#include "core/strbuf.h"

struct stage_place {
	int dir;     /* the directory */
	char *path;  /* its path, as it was given */
	char *name;  /* what is to be put there */
	bool exact;  /* under this name only: it was given */
	int fd;      /* the file that is being written, or -1 */
	char *aside; /* its name until it is whole; NULL: it has none */
};
#define STAGE_PLACE_INIT            \
	{                           \
		.dir = -1, .fd = -1 \
	}
void stage_place_release(struct stage_place *p);
#define _cleanup_place_ _cleanup_(stage_place_release)

/* Opens the destination for something of this name. job: the directory that will be removed, which
 * must not hold the destination. */
int stage_place_open(struct stage_place *p, const char *dest, const char *name, const char *job,
		     struct strbuf *why);
/* A new file there that nobody sees yet; its descriptor is p->fd. */
int stage_place_create(struct stage_place *p, struct strbuf *why);
/* The file is whole: it is on the disk under a name that was free when this returns 0. *ret_path is
 * the caller's. */
int stage_place_publish(struct stage_place *p, char **ret_path, struct strbuf *why);
/* Forgets a file that is not whole. */
void stage_place_abandon(struct stage_place *p);
/* Moves a directory there instead. -EXDEV: it is on another filesystem. */
int stage_place_move(struct stage_place *p, const char *from, char **ret_path, struct strbuf *why);
/* A name that is free now, for a command that writes there itself; the caller's. */
char *stage_place_free_name(const struct stage_place *p);

#endif
