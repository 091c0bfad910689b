/*
 * Routes of `plimsoll serve`: what a handler gets and what it gives. routes.def has one row per
 * route; a handler of a row is a function web_<name>(). Handlers run in a few worker threads, each
 * with its own store that is opened for reading, so they may take as long as a query takes, but
 * keep no state. Parameters are decoded, of the type of their row, and without control characters.
 */
#pragma once

#include <stdint.h>
#include <string.h>

#include "core/config.h"
#include "core/strbuf.h"
#include "core/text/json_writer.h"
#include "store/store.h"
#include "store/viewer.h"
#include "web/http/accept.h"

#define WEB_PARAMS_MAX 32
#define WEB_PAGE_MAX 1000
#define WEB_PAGE_USUAL 50

enum web_method { WEB_GET, WEB_POST, WEB_PUT, WEB_DELETE, WEB_METHODS };

/* What a parameter may be. Anything else is an error 400, which names the parameter. */
enum web_param_type {
	PARAM_TEXT,  /* any text */
	PARAM_NAME,  /* a text that is not empty, without slash and without "-" in front */
	PARAM_COUNT, /* a non-negative integer */
	PARAM_PAGE,  /* the rows of a page: 1 to WEB_PAGE_MAX */
	PARAM_FLAG,  /* 1 or 0; also yes and no, true and false; without a value: 1 */
	PARAM_LIST,  /* can be repeated; each as PARAM_NAME */
};

struct web_param_row {
	const char *name; /* in the pattern of the route as {name}, or else in the query string */
	enum web_param_type type;
	/* For routes that a command answers: the option that takes the value, "--where"; NULL: it
	 * is an operand. */
	const char *option;
	const char *help; /* one phrase */
};

struct web_param {
	const struct web_param_row *row;
	char *value;
};

/* Who asks. With --auth token there is one user, the one who started the server. */
struct web_viewer {
	const char *user;
	bool may_write;
	struct viewer who;
	const char *text; /* of who, for stores and commands; "": they see everything */
};

/* What all requests share. */
struct web_server;
const char *web_store_url(const struct web_server *w);
const struct config *web_config(const struct web_server *w);

struct web_request {
	struct web_server *server;
	const struct web_route *route;
	const struct web_viewer *viewer;
	struct web_param params[WEB_PARAMS_MAX];
	size_t param_count;
	const char *accept;          /* header, or "" */
	const struct web_type *type; /* what it asks for; JSON for routes with WEB_TYPED */
	const char *body;            /* of POST and PUT; ends with NUL */
	size_t body_size;
	const char *cookies; /* header, or "" */
	const char *site;    /* header Sec-Fetch-Site, or "" */
	const char *address; /* of the client, for the log and limits */
	const char *csrf;    /* the value that changes need in the header X-Plimsoll-CSRF */
};

/* The value of a parameter; NULL: absent. Of a repeated one the first. */
const char *web_param(const struct web_request *q, const char *name);
/* The i-th value of a parameter that can be repeated; NULL after the last. */
const char *web_param_at(const struct web_request *q, const char *name, size_t i);
/* The number, flag or fallback. */
uint64_t web_param_count(const struct web_request *q, const char *name, uint64_t fallback);
bool web_param_flag(const struct web_request *q, const char *name);

struct web_answer {
	unsigned status;  /* 200 at first */
	const char *type; /* content type, a constant; JSON at first */
	struct strbuf body;
	char *file_name;            /* for downloads; freed with the answer */
	char *policy;               /* content security policy instead of the usual one */
	char *location;             /* of a redirect */
	char *cookie;               /* to be set */
	char *link;                 /* header Link: the next page */
	struct live_stream *stream; /* instead of a body; taken by the reply */
	bool not_kept;              /* must not be kept in the cache of answers */
	unsigned retry_s;           /* Retry-After; 0: none */
};
#define WEB_JSON "application/json; charset=utf-8"
#define WEB_ANSWER_INIT                                              \
	{                                                            \
		.status = 200, .type = WEB_JSON, .body = STRBUF_INIT \
	}
void web_answer_release(struct web_answer *a);
#define _cleanup_web_answer_ _cleanup_(web_answer_release)

/* Makes the answer an error: {"error": text}, or with a remedy {"error": text, "remedy": text}. */
void web_fail(struct web_answer *a, unsigned status, const char *remedy, const char *fmt, ...)
	PL_PRINTF(4, 5);
/* The same for a negative errno of a store, with its message: 404, 400, 503, 504 or 500. */
void web_fail_store(struct web_answer *a, struct store *s, int error);
/* Names the next page: the address of the request with another value of a parameter. */
void web_set_next(struct web_answer *a, const struct web_request *q, const char *param,
		  const char *value);
/* Takes the document, which is empty afterwards. */
void web_take_json(struct web_answer *a, struct json_writer *j);

/* Fills *a, also for errors. s is NULL for routes without a store. */
typedef void web_handler(const struct web_request *q, struct store *s, struct web_answer *a);

/* ---- the table of routes ----------------------------------------------------------------------
 */

enum web_flags {
	WEB_OPEN = 1,  /* needs no session */
	WEB_WRITE = 2, /* changes something: needs --write and X-Plimsoll-CSRF */
	WEB_STORE = 4, /* the handler needs the store */
	WEB_QUICK = 8, /* needs neither store nor command: answered at once by the thread of HTTP */
	WEB_KEEP = 16, /* the answer depends on parameters and store only: kept until it changes */
	WEB_BODY = 32, /* takes a body, a JSON object */
	WEB_HTML = 64, /* a page: a file of src/web/ui, whose scripts read the query string */
	/* Who may use it, see access/admit.c. OWNER: what it changes or shows without the store is
	 * of the viewer. SUPPORT: not for those who see some jobs only. */
	WEB_OWNER = 128,
	WEB_SUPPORT = 256,
	/* The answer is rows, also as CSV and with types (http/accept.h), for which the command of
	 * the route has --csv beside --json. TYPED: the answer has a type of its own. */
	WEB_TABLE = 512,
	WEB_TYPED = 1024,
};

struct web_route {
	enum web_method method;
	const char *pattern; /* "/api/v1/jobs/{job}/tree" */
	unsigned flags;
	web_handler *handler; /* NULL: of a page */
	/* "tree --json -- {job}": the command that web_run_command() runs; of a page the name of
	 * its file; NULL: none */
	const char *command;
	const struct web_param_row *params; /* ends with a NULL name; NULL: none */
	const char *help;                   /* one phrase */
};
extern const struct web_route web_routes[]; /* ends with a NULL pattern */

/* ---- files of the pages -----------------------------------------------------------------------
 */

/* A file of src/web/ui, or one that the report shares with the pages. */
struct web_asset {
	const char *path; /* "/ui/jobs.js" */
	const char *type;
	const char *etag; /* in quotes */
	const void *data, *gzip;
	size_t size, gzip_size; /* gzip_size 0: not smaller */
};
