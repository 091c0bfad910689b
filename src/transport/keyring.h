/*
 * Keys in files, for links: our own key file (lines `public = "..."` and `secret = "..."`, readable
 * by its owner only) and an allow file (lines of a public key and the name, or a shell pattern of
 * names, of the nodes it may send for; '#' starts a comment, and a revoked line becomes
 * "# revoked TIME KEY NAME"). `plimsoll keys` writes both.
 */
#pragma once

#include "transport/link.h"

struct keyring {
	char public[41], secret[41]; /* empty: none */
	char server[41];             /* public key of the peer we connect to; empty: none */
	char **allowed;              /* public keys, */
	char **names;                /* and the names of each; NULL: it was revoked */
	size_t count, cap;
	/* Keys that were allowed once, their names, and when they were revoked ("": unknown). They
	 * are refused like any other key; the log names them. */
	struct revoked_key *revoked;
	size_t revoked_count, revoked_cap;
	bool apart; /* keep each line of the allow file separate, for listings */
};

void keyring_release(struct keyring *k);
/* The revoked key with its last name; NULL: not revoked. */
const struct revoked_key *keyring_revoked(const struct keyring *k, const char *key);
/* Reads our own keys. -EPERM: others may read the file. */
int keyring_own(struct keyring *k, const char *path, struct strbuf *why);
/* Adds the allowed keys of a file. */
int keyring_allow(struct keyring *k, const char *path, struct strbuf *why);
/*
 * Reads the allow file again. Known keys keep their index, new ones are added at the end, and keys
 * that are gone keep their index and lose their name (NULL). Negative: the file is invalid, and the
 * keyring is unchanged. *before is the old keyring, to be released when nobody uses it any more.
 */
int keyring_renew(struct keyring *k, const char *path, struct keyring *before, struct strbuf *why);
/* Sets the peer's key: 40 characters, or a file with a line `public = "..."`. */
int keyring_server(struct keyring *k, const char *key_or_path, struct strbuf *why);
/* For link_open(); points into the keyring. */
void keyring_use(const struct keyring *k, struct link_keys *ret);
/* Does one of these names or patterns, separated by blanks, match the node? */
bool keyring_names_match(const char *names, const char *node);
/* Is it 40 characters of Z85? */
bool key_is_good(const char *key);
