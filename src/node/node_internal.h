/* What the files of the node daemon share. */
#ifndef PL_NODE_NODE_INTERNAL_H
#define PL_NODE_NODE_INTERNAL_H

#include "jobs/discovery/cgroup_jobs.h"
#include "node/node.h"
#include "node/node_batches.h"
#include "node/node_processes.h"
#include "node/node_protocol.h"
#include "sampler/active_sources.h"
#include "sources/exits/exits.h"
#include "transport/keyring.h"
#include "transport/sender.h"

/* So many directories of each option are looked after. */
#define NODE_ROOTS_SAID 32

/* An output by one of node_protocols. */
struct node_protocol_output {
	struct sample_output output;
	bool open;
	struct node_protocol_counts counts;
};

struct node {
	struct context *ctx;
	const struct node_options *o;
	struct node_settings settings;
	struct sampler_options sampler;
	struct sample_file_head head;
	const struct active_sources *slots;
	int64_t since_us; /* when the daemon began */

	struct cgroup_jobs *jobs;
	struct exits *exits;
	struct exits_bpf *bpf;        /* until the exits have it */
	uint64_t *adopted, *adopting; /* numbers of jobs whose exits are booked */
	size_t adopted_count, adopted_cap, adopting_cap;
	struct node_processes processes;
	struct job_processes named; /* the job of named processes */
	bool named_open, lists_processes, said_jobs;
	uint64_t jobs_ended;
	uint64_t roots_wrong; /* a bit for each of the first directories to look in */
	uint64_t emptied;     /* told by the numbers of those that have nobody left */

	/* where readings go; node_outputs.c */
	struct sample_output outlet;
	struct node_protocol_output protocols[NODE_PROTOCOLS_MAX];
	int output;
	struct sender *deliver;
	struct node_batches_counts batches;

	struct node_control *control;
	int lock; /* one daemon of a name */
	struct keyring keys, control_keys;
	const char **allowed; /* who may configure */

	uint64_t next_look_ns, ending_ns, last_reading_ns, readings, trim_at;
	uint64_t watchdog_ns, next_watchdog_ns, next_tell_ns;
	bool over;
};

/* Is a source among those that are named; or sampled by default? */
bool node_names_source(const struct node_settings *s, const char *name);
bool node_samples(const struct node_settings *s, const char *name);
/* Keeps the capabilities that the sources need, and says which. */
/* May these sources be asked for while it runs? -EPERM where one would run a program or load a
 * library that is not in force already: whoever may configure must not become who the daemon is. */
int node_check_sources(const struct node_settings *s, const char *words, struct strbuf *why);
int node_drop_rights(struct node *n);
/* Is what was asked for of any use, and safe? Says what is wrong. */
int node_check(const struct node *n);
int node_check_keys(const struct node_settings *s);
/* Opens what needs the rights that are given up afterwards. */
int node_open_output(struct node *n);
int node_open_outputs(struct node *n);
/* Tells other protocols what the settings select. */
void node_select_for_protocols(const struct node *n);
/* Batches, where a collector or Prometheus get any: one more of the list. */
int node_open_batches(struct node *n, struct sample_output *list, size_t *count);
int node_open_prometheus(const struct node *n, struct sample_output *ret, struct strbuf *why);
/* Ends delivery: waits so long for what was not acknowledged, and says what is left. */
int node_close_outputs(struct node *n, uint64_t wait_ns);
/* Goes on without it where nobody asked for it and it cannot be had. */
int node_open_control(struct node *n,
		      int (*change)(void *user, const struct node_change *c, struct strbuf *why),
		      struct value *(*show)(void *user));
/* How delivery is; false without one. */
bool node_delivery(const struct node *n, struct sampler_delivery *ret);
/* What was sent and lost so far, and what stands in the way. */
void node_counts(const struct node *n, struct value *v);
/* Says which of the directories to look in are not there or are no control groups, and, later,
 * which of them came. */
void node_look_at_roots(struct node *n);
void node_look_at_wrong_roots(struct node *n);
void node_add_root_problems(const struct node *n, struct value *list);
/* For the service manager, now and then. */
void node_tell(struct node *n);

#endif
