/*
 * Who works on an input: whoever renamed it into DIR/.claimed/HOST-PID/. A rename happens once, so
 * any number of daemons on any number of hosts share a directory. The claim directory is locked
 * while its owner lives; what lies in one that nobody holds is put back. Where .claimed is another
 * user's or a link, a name that nobody can foresee is taken instead.
 */
#ifndef PL_INBOX_INBOX_CLAIM_H
#define PL_INBOX_INBOX_CLAIM_H

#include <sys/stat.h>

#include "core/strbuf.h"

#define CLAIMED_DIR ".claimed"

struct claim {
	char *dir, *name;      /* where the input was */
	char *path;            /* where it is now */
	char claimed_name[64]; /* of the directory of claims */
	int dirfd, claimed, fd;
	unsigned deaths; /* how many owners of this claim were killed over it */
};
#define CLAIM_INIT                                   \
	{                                            \
		.dirfd = -1, .claimed = -1, .fd = -1 \
	}

/* Takes dir/name. -ENOENT: somebody else has it, or it is gone; -ELOOP: a link or no file. */
int claim_take(struct claim *c, const char *dir, const char *name, struct strbuf *why);
/* Puts it back to where it was; under a name with a number when there is a new one. */
int claim_back(struct claim *c);
/* Removes the input for good. */
int claim_remove(struct claim *c);
/* As jobfiles_foreign(), of a directory; NULL of a file. */
char *claim_foreign(struct claim *c);
/* Moves it into a directory, which is made: a path, or a name of one beside it, which must be no
 * link and nobody else's; *ret_fd is that directory and *ret_name the name it got
 * there: with a number when there is one of its name. Both are the caller's. */
int claim_move(struct claim *c, const char *to, int *ret_fd, char **ret_name, struct strbuf *why);
/* Gives up the claim; an input that is still in it stays for claims_recover(). */
void claim_release(struct claim *c);
#define _cleanup_claim_ _cleanup_(claim_release)

/* Puts back what killed owners on this host left in dir, each told. */
int claims_recover(const char *dir, void (*tell)(void *user, const char *dir, const char *name),
		   void *user);

/* The time by the clock that stamps files in this directory: not ours on a network filesystem. */
int claims_clock_ns(const char *dir, int64_t *ret, struct strbuf *why);

#endif
