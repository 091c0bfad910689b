/*
 * Keys in files, for links: a key file of our own (lines `public = "..."` and `secret = "..."`,
 * read by nobody else) and an allow file (lines of a public key and the name, or a shell pattern of
 * names, of the nodes it may send for; '#' begins a comment, and "# revoked TIME KEY NAME" is what
 * is left of a line that was revoked). `plimsoll keys` makes both.
 */
#ifndef PL_TRANSPORT_KEYRING_H
#define PL_TRANSPORT_KEYRING_H

#include "transport/link.h"

struct keyring {
	char public[41], secret[41]; /* empty: none */
	char server[41];             /* public key of who is called; empty: none */
	char **allowed;              /* public keys, and the name of each; */
	char **names;                /* NULL: it was withdrawn */
	size_t count, cap;
	/* Keys that were allowed once, what each was for, and when that ended ("": not known). They
	 * are refused like any other: this is to say whose they were. */
	struct revoked_key *revoked;
	size_t revoked_count, revoked_cap;
	bool apart; /* every line of the allow file by itself, to be shown */
};

void keyring_release(struct keyring *k);
/* The revoked key, as it was last named; NULL: it is none. */
const struct revoked_key *keyring_revoked(const struct keyring *k, const char *key);
/* Our own keys. -EPERM when others may read the file. */
int keyring_own(struct keyring *k, const char *path, struct strbuf *why);
/* Those who may call; adds to what is there. */
int keyring_allow(struct keyring *k, const char *path, struct strbuf *why);
/*
 * The allow file anew. Keys that are in it as before keep their places, new ones come behind, and
 * those that are not in it any more have no name from now on (NULL), and their places. Negative:
 * the file is no good, and the keyring is what it was. *before has what must stay until nobody uses
 * it.
 */
int keyring_renew(struct keyring *k, const char *path, struct keyring *before, struct strbuf *why);
/* Who is called: 40 characters, or a file with a line `public = "..."`. */
int keyring_server(struct keyring *k, const char *key_or_path, struct strbuf *why);
/* For link_open(); points into the keyring. */
void keyring_use(const struct keyring *k, struct link_keys *ret);
/* A key may be allowed for several names, blanks between: may it send for this node? */
bool keyring_names_match(const char *names, const char *node);
/* Is it a key: 40 characters of Z85? */
bool key_is_good(const char *key);

#endif
