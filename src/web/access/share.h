/*
 * Links that show one job to whoever has them, for some hours. Kept in memory: they end with the
 * server. Thread safe.
 */
#pragma once

#include "web/access/access.h"

#define SHARES_MAX 512
#define SHARE_HOURS_MAX 720
#define SHARE_HOURS 24 /* unless somebody says it */

#define SHARE_COOKIE_SIZE 64

struct web_server;

struct share {
	char token[ACCESS_TOKEN_SIZE]; /* "": free */
	int64_t job;
	uint64_t until_ns; /* boot time */
};
struct shares {
	pthread_mutex_t lock;
	struct share list[SHARES_MAX];
};

/* Opens a link to a job; the one that ends first makes room. A negative errno without random bytes.
 */
int share_open(struct shares *s, int64_t job, unsigned hours, char ret[ACCESS_TOKEN_SIZE]);
/* The job of a link and the seconds that are left; false: it is not valid, or not any more. */
bool share_find(struct shares *s, const char *token, int64_t *ret_job, unsigned *ret_left_s);
/* The name of the cookie that keeps a link. */
void share_cookie_name(const struct web_server *w, char ret[SHARE_COOKIE_SIZE]);
