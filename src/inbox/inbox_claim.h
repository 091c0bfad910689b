/*
 * A daemon claims an input by renaming it into DIR/.claimed/HOST-PID/. A rename succeeds once, so
 * any number of daemons on any number of hosts can share a directory. The owner holds a lock on its
 * claim directory; inputs in an unlocked one are put back. If .claimed is a link or another user's,
 * an unpredictable name is used instead.
 */
#pragma once

#include <sys/stat.h>

#include "core/strbuf.h"

#define CLAIMED_DIR ".claimed"

struct claim {
	char *dir, *name;      /* where the input was */
	char *path;            /* where it is now */
	char claimed_name[64]; /* of the directory of claims */
	int dirfd, claimed, fd;
	unsigned deaths; /* how many daemons died while they had it */
};
#define CLAIM_INIT                                   \
	{                                            \
		.dirfd = -1, .claimed = -1, .fd = -1 \
	}

/* Claims dir/name. -ENOENT: another has it, or it is gone; -ELOOP: not a file or directory. */
int claim_take(struct claim *c, const char *dir, const char *name, struct strbuf *why);
/* Puts it back; with a number in its name if there is a new one. */
int claim_back(struct claim *c);
/* Removes the input for good. */
int claim_remove(struct claim *c);
/* As job_files_foreign(), of a directory; NULL of a file. */
char *claim_foreign(struct claim *c);
/* Moves it to a directory, created if missing: a path, or the name of one next to it, which must be
 * ours and no link. *ret_fd is that directory, *ret_name its name there, maybe with a number; the
 * caller releases both. */
int claim_move(struct claim *c, const char *to, int *ret_fd, char **ret_name, struct strbuf *why);
/* Releases the claim; an input in it stays for claims_recover(). */
void claim_release(struct claim *c);
#define _cleanup_claim_ _cleanup_(claim_release)

/* Puts back inputs of dead daemons of this host in dir, and calls tell() for each. */
int claims_recover(const char *dir, void (*tell)(void *user, const char *dir, const char *name),
		   void *user);

/* The time of the clock that stamps files in this directory, which may be a server's. */
int claims_clock_ns(const char *dir, int64_t *ret, struct strbuf *why);
