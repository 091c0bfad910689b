/*
 * What a node daemon is to do, checked: read from the settings, of which flags are the topmost. The
 * same reading serves the start, HUP and those who ask for a change, so that nothing half wrong
 * ever comes into force.
 */
#ifndef PL_NODE_NODE_SETTINGS_H
#define PL_NODE_NODE_SETTINGS_H

#include "core/config.h"
#include "sampler/sampler.h"

#define NODE_SOURCES_MAX 64
#define NODE_LIST_MAX 256 /* roots, patterns, jobs */
#define NODE_PROTOCOLS_MAX 4
#define NODE_PERIOD_MIN_NS 10000000ull
#define NODE_PERIOD_MAX_NS (86400ull * 1000000000ull)

/* Words; each owned. */
struct node_list {
	char **words;
	size_t count;
};

/* What settings say of one of node_protocols; NULL: nothing. */
struct node_wire {
	char *address; /* of its collector */
	char *control; /* where its configuration messages are taken */
	char *names;   /* metrics that are sent under its names */
};

struct node_settings {
	char *name; /* of the host */
	uint64_t period_ns, batch_ns, spool_limit;
	char *connect, *output; /* NULL: none */
	char *control;          /* "": the usual place; NULL: none */
	struct node_wire wires[NODE_PROTOCOLS_MAX];
	char *prometheus, *spool, *keys, *server_key;
	struct node_list roots, groups, patterns, jobs, allow;
	bool containers, per_process, insecure, bpf;
	double budget;
	struct sampler_source sources[NODE_SOURCES_MAX]; /* names owned */
	size_t source_count;
	struct metric_filter metrics;
	char *metrics_text; /* as it was said */
};

/* -EINVAL with what is wrong, setting and remedy in *why; *ret is then empty. */
int node_settings_read(struct node_settings *ret, const struct config *c, struct strbuf *why);
void node_settings_release(struct node_settings *s);
/* One source, NAME[=OPTION][@PERIOD], as it is said on the command line; the name is made. */
int node_source_parse(struct sampler_source *ret, const char *text, struct strbuf *why);
/* The sources as a list of such words. */
void node_sources_text(const struct node_settings *s, struct strbuf *out);

/* Adds a word to a text that is a list, and to a setting that is one. */
void node_list_append(struct strbuf *out, const char *word);
void node_list_add(struct config *c, enum setting_id id, const char *word, const char *origin);
/* The words of such a setting; -E2BIG. */
int node_list_parse(struct node_list *ret, const char *text);
void node_list_release(struct node_list *l);

/* A selection of metrics that sources have: -EINVAL and the sentence, with near ones, where one is
 * of none of them. */
int sampled_metrics_parse(struct metric_filter *ret, const char *text, struct strbuf *why);

#endif
