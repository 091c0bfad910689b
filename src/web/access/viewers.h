/*
 * The users of the store as the server knows them: read again every two seconds, so that threads of
 * HTTP need not ask the store. Thread safe.
 */
#pragma once

#include <pthread.h>

#include "store/access_users.h"

struct web_server;

struct web_users {
	struct web_server *server;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool started, stopping;
	struct access_users list;
};

/* Reads them, and notes in the log that the server started: the store must be writable. */
int web_users_start(struct web_users *u, struct web_server *w, struct strbuf *why);
void web_users_stop(struct web_users *u);

/* 1: the user, 0: there is none of this name, -EACCES: locked out. hash: of the password, may be
 * NULL; empty without one. */
int web_users_find(struct web_users *u, const char *name, struct viewer *ret, struct strbuf *hash);

/* Writes a line of the log; a failure is said in the server's messages. */
void web_note(struct web_server *w, const char *user, const char *address, const char *what,
	      const char *detail);
