/*
 * Answers as they are sent, and those that are kept: bounded in bytes, the least recently used one
 * goes first. An answer is kept for one version of the store. Thread safe.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "core/hash_map.h"
#include "web/web.h"

#define ETAG_SIZE 40

/* An answer that several requests may send at once. */
struct sent_answer {
	unsigned refs;
	unsigned status;
	const char *type;     /* a constant */
	const char *encoding; /* a constant: "gzip", "zstd"; NULL: none */
	char etag[ETAG_SIZE]; /* in quotes; "": none */
	char *file_name, *policy, *location, *link;
	unsigned retry_s;
	size_t size;
	char *data;
};

/* Takes what the answer has; the caller has one reference. */
struct sent_answer *sent_answer_new(struct web_answer *a);
struct sent_answer *sent_answer_ref(struct sent_answer *s);
void sent_answer_unref(struct sent_answer *s); /* accepts NULL */
/* Gives an answer 200 its ETag, and compresses a long one if the client accepts that. */
void sent_answer_finish(struct sent_answer *s, const char *accept_encoding);

/* The encoding that a client prefers: "zstd", "gzip" or NULL. */
const char *accepted_encoding(const char *accept_encoding);

struct kept_answer;
struct answer_cache {
	pthread_mutex_t lock;
	struct hash_map map;
	struct kept_answer *newest, *oldest;
	size_t bytes, limit;
	uint64_t hits, misses;
	size_t count;
};

void answer_cache_init(struct answer_cache *c, size_t limit);
void answer_cache_release(struct answer_cache *c);
/* A reference to the kept answer; NULL: none of this version. */
struct sent_answer *answer_cache_find(struct answer_cache *c, const struct strbuf *key,
				      uint64_t version);
void answer_cache_add(struct answer_cache *c, const struct strbuf *key, uint64_t version,
		      struct sent_answer *s);
