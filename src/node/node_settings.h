/*
 * The checked settings of a node daemon; flags take precedence over files. The same function serves
 * the start, SIGHUP and requests for a change, so that invalid settings never come into force.
 */
#pragma once

#include "core/config.h"
#include "core/files/cached_file.h"
#include "sampler/sampler.h"

#define NODE_SOURCES_MAX 64
#define NODE_LIST_MAX 256 /* roots, patterns, jobs */
#define NODE_PROTOCOLS_MAX 4
#define NODE_PERIOD_MIN_NS 10000000ull
#define NODE_PERIOD_MAX_NS (86400ull * 1000000000ull)

/* The settings of one of node_protocols; NULL: none. */
struct node_wire {
	char *address; /* of its collector */
	char *control; /* address for its configuration messages */
	char *names;   /* metrics to send under its names */
};

struct node_settings {
	char *name; /* of the host */
	uint64_t period_ns, batch_ns, spool_limit;
	char *connect, *output; /* NULL: none */
	char *control;          /* "": the usual place; NULL: none */
	struct node_wire wires[NODE_PROTOCOLS_MAX];
	char *prometheus, *spool, *keys, *server_key;
	struct name_list roots, groups, patterns, jobs, allow;
	bool containers, per_process, insecure, bpf;
	double budget;
	struct sampler_source sources[NODE_SOURCES_MAX]; /* names owned */
	size_t source_count;
	struct metric_filter metrics;
	char *metrics_text; /* as given */
};

/* -EINVAL with the setting, what is wrong and what is valid in *why; *ret is then empty. */
int node_settings_read(struct node_settings *ret, const struct config *c, struct strbuf *why);
void node_settings_release(struct node_settings *s);
/* One source, NAME[=OPTION][@PERIOD], as on the command line; the name is allocated. */
int node_source_parse(struct sampler_source *ret, const char *text, struct strbuf *why);
/* The sources as a list of such words. */
void node_sources_text(const struct node_settings *s, struct strbuf *out);

/* Adds a word to a list in a text, and to a setting that is a list. */
void node_list_append(struct strbuf *out, const char *word);
void node_list_add(struct config *c, enum setting_id id, const char *word, const char *origin);
/* The words of such a setting; -E2BIG. */
int node_list_parse(struct name_list *ret, const char *text);

/* Parses a selection of metrics of sources. -EINVAL with a message that names similar ones when a
 * metric does not exist. */
int sampled_metrics_parse(struct metric_filter *ret, const char *text, struct strbuf *why);
