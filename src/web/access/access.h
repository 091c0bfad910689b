/*
 * Who may come in. A link with a one-time token opens a session, whose cookie is good for a week;
 * scripts of the same user read another token from a file; over a Unix socket the kernel says who
 * asks. All of it is kept in memory and ends with the server. Thread safe.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "core/strbuf.h"
#include "store/viewer.h"

#define ACCESS_TOKEN_BYTES 16
#define ACCESS_TOKEN_SIZE (2 * ACCESS_TOKEN_BYTES + 1) /* as text */
#define ACCESS_SESSIONS_MAX 512
#define ACCESS_SESSIONS_EACH 16 /* of a user; a new one ends the oldest */
#define ACCESS_LINKS_MAX 16
#define ACCESS_SESSION_S ((uint64_t)7 * 86400)
#define ACCESS_LOGIN_S ((uint64_t)12 * 3600) /* of a session that a password opened */

struct access_session {
	char token[ACCESS_TOKEN_SIZE]; /* "": free */
	char csrf[ACCESS_TOKEN_SIZE];
	char user[VIEWER_NAME_MAX + 1]; /* "": who started the server */
	uint64_t until_ns;              /* boot time */
	bool proxied;                   /* nobody has its token */
};

struct access {
	pthread_mutex_t lock;
	char script[ACCESS_TOKEN_SIZE]; /* Authorization: Bearer */
	char links[ACCESS_LINKS_MAX][ACCESS_TOKEN_SIZE];
	size_t next_link; /* the place of the next one, the oldest */
	struct access_session sessions[ACCESS_SESSIONS_MAX];
	char *file;    /* with the token for scripts; NULL: none */
	int file_lock; /* of it, while the server runs */
	bool second;   /* it is not serve.token, which is another server's */
};

/* 0, or a negative errno where the kernel gives no random bytes. */
int access_init(struct access *a);
/* Removes the token file if it is still ours. */
void access_release(struct access *a);

/* Writes the token for scripts and the address of the server to a file of ours in
 * $XDG_RUNTIME_DIR/plimsoll, or else ~/.local/state/plimsoll: serve.token, or a name with the
 * address while another server of this user runs. */
int access_write_file(struct access *a, const char *address, struct strbuf *why);
/* Reads serve.token: the running server of this user, the first one. */
int access_read_file(char token[ACCESS_TOKEN_SIZE], struct strbuf *ret_address, struct strbuf *why);

/* A new one-time token; the oldest is forgotten when there are too many. */
int access_new_link(struct access *a, char ret[ACCESS_TOKEN_SIZE]);
/* Uses up a one-time token and opens a session, whose token is *ret. */
bool access_redeem(struct access *a, const char *token, char ret[ACCESS_TOKEN_SIZE]);
/* The session of a cookie header (NULL: none) and its value against forged requests. */
bool access_session(struct access *a, const char *cookies, const char *name,
		    char ret_csrf[ACCESS_TOKEN_SIZE], char ret_user[VIEWER_NAME_MAX + 1]);
/* Opens a session of a user, whose token is *ret; -EIO. */
int access_open(struct access *a, const char *user, char ret[ACCESS_TOKEN_SIZE]);
/* The value against forged requests of a user whom a proxy names. False: no random bytes. */
bool access_proxied(struct access *a, const char *user, char ret_csrf[ACCESS_TOKEN_SIZE]);
/* Ends the session of a cookie header. */
void access_close(struct access *a, const char *cookies, const char *name);
/* Random text; a negative errno where the kernel gives none. */
int access_make_token(char ret[ACCESS_TOKEN_SIZE]);
/* The value of a cookie of this length; false: there is none. */
bool access_cookie(const char *cookies, const char *name, char ret[ACCESS_TOKEN_SIZE]);
/* Is it the header "Bearer TOKEN" of a script? */
bool access_is_script(const struct access *a, const char *authorization);
/* Compares in a time that tells nothing about where they differ. */
bool access_same(const char *a, const char *b);
