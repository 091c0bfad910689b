/* The web server: the action of `plimsoll serve`, and what its parts share. */
#pragma once

#include "context/stored_job.h"
#include "web/access/access.h"
#include "web/access/pam_helper.h"
#include "web/access/password.h"
#include "web/access/share.h"
#include "web/access/throttle.h"
#include "web/access/viewers.h"
#include "web/answers/answer_cache.h"
#include "web/http/http_module.h"
#include "web/handlers/live.h"
#include "web/web.h"
#include "web/http/workers.h"

enum serve_auth {
	AUTH_TOKEN, /* one user, by a link */
	AUTH_USERS, /* users of the store, by a password */
	AUTH_PROXY, /* a proxy tells who it is */
	AUTH_PEER,  /* the kernel, over a Unix socket */
	AUTH_PAM,   /* users of the host, by a password */
};

struct serve_options {
	const char *listen;                      /* "127.0.0.1:8420", "unix:PATH" */
	const char *base_path;                   /* "" or "/x" */
	const char *proxy_header, *proxy_groups; /* with AUTH_PROXY: names of headers */
	const char *proxy_secret;                /* and a file */
	const char *pam_service, *pam_directory; /* with AUTH_PAM */
	const char *tls_cert, *tls_key, *server_name;
	int auth;
	bool behind_proxy;
	bool open, write, link;
};
#define SERVE_LISTEN "127.0.0.1:8420"

/* Do users sign in at /login? */
static inline bool web_has_passwords(const struct serve_options *o)
{
	return o->auth == AUTH_USERS || o->auth == AUTH_PAM;
}

/* Serves until SIGINT or SIGTERM; reports errors; returns the exit status. */
int do_serve(struct context *ctx, const struct serve_options *o);

/* Counters, changed with atomic operations. */
struct web_counters {
	uint64_t answers[6]; /* by the first digit of the status */
	uint64_t requests_ns;
	uint64_t refused; /* without a session, or for another host */
};

struct web_server {
	const struct serve_options *options;
	const struct config *config;
	char *store_url;   /* as store_open() takes it; a relative path is made absolute */
	char *store_file;  /* of SQLite, whose change is a new version; NULL: PostgreSQL */
	char *store_shown; /* for people */
	char *address;     /* "http://127.0.0.1:8420/" */
	char *socket;      /* of a Unix socket; NULL: TCP */
	char *host;        /* in links: "127.0.0.1", "[::1]" or a name */
	unsigned port;
	char cookie[40]; /* name of the session's cookie: a host has one jar for all ports */
	const struct web_http_functions *functions;
	void *http;
	struct access access;
	struct answer_cache cache;
	struct workers workers;
	struct live live;
	struct web_counters counters;
	const char *user;
	struct web_users users;
	char *proxy_secret;
	bool encrypted; /* browsers speak TLS with us, or with the proxy */
	struct throttle throttle;
	struct shares shares;
	const struct password_functions *passwords; /* with AUTH_USERS */
	struct strbuf no_hash;                      /* that of no password */
	struct pam_helper pam;                      /* with AUTH_PAM */
	struct strbuf tls_cert, tls_key;
	uint64_t changes; /* that requests have made; atomic */
	bool stopping;    /* atomic */
};

/* Opens the socket. A descriptor, or a negative errno with the reason and remedy. */
int web_listen(struct web_server *w, struct strbuf *why);

/* What changes when the store changes. False: it may change again without another version. */
bool web_store_version(const struct web_server *w, uint64_t *ret);
/* May the answer change although the store does not? By the parameters, to be on the safe side. */
bool web_depends_on_time(const struct web_request *q);
/* Opens the store for a worker. 0 or a negative errno with the reason. */
int web_open_store(struct web_server *w, struct store **ret, struct strbuf *why);
/* The same, narrowed to what the viewer may see. */
int web_open_store_as(struct web_server *w, const struct web_viewer *v, struct store **ret,
		      struct strbuf *why);

/* ---- dispatch ---------------------------------------------------------------------------------
 */

/* Fills *ret with the events of the HTTP module. */
void web_events(struct web_server *w, struct http_events *ret);
/* Runs the handler of a queued call in a worker and wakes the call. */
struct web_call;
void web_call_run(struct web_call *c, struct store **s);
/* Answers a queued call 503. */
void web_call_refuse(struct web_call *c, const char *text);
