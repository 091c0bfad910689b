/* Shared by the files of the node daemon. */
#pragma once

#include "jobs/discovery/cgroup_jobs.h"
#include "node/node.h"
#include "node/node_batches.h"
#include "node/node_processes.h"
#include "node/node_protocol.h"
#include "sampler/active_sources.h"
#include "sources/exits/exits.h"
#include "transport/keyring.h"
#include "transport/sender.h"

/* As many directories of each option are checked. */
#define NODE_ROOTS_CHECKED 32

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
	const struct active_sources *active;
	int64_t since_us; /* when the daemon began */

	struct cgroup_jobs *jobs;
	struct exits *exits;
	struct exits_bpf *bpf;        /* until the exits have it */
	uint64_t *adopted, *adopting; /* numbers of jobs in the exit accounting */
	size_t adopted_count, adopted_cap, adopting_cap;
	struct node_processes processes;
	struct job_processes named; /* the job of named processes */
	bool named_open, lists_processes, warned_jobs;
	uint64_t jobs_ended;
	uint64_t roots_wrong; /* a bit for each of the first directories to look in */
	uint64_t emptied;     /* computed from the numbers of jobs without processes */

	/* where samples go; node_outputs.c */
	struct sample_output sink;
	struct node_protocol_output protocols[NODE_PROTOCOLS_MAX];
	int output;
	struct sender *deliver;
	struct node_batches_counts batches;

	struct node_control *control;
	int lock; /* one daemon of a name */
	struct keyring keys, control_keys;
	const char **allowed; /* who may configure */

	uint64_t next_look_ns, ending_ns, last_reading_ns, readings, trim_at;
	uint64_t watchdog_ns, next_watchdog_ns, next_notify_ns;
	bool over;
};

/* Is a source named; is it sampled, by name or by default? */
bool node_names_source(const struct node_settings *s, const char *name);
bool node_samples(const struct node_settings *s, const char *name);
/* May these sources be requested while the daemon runs? -EPERM when one would run another program
 * or load another library: a request must not gain the rights of the daemon. */
int node_check_sources(const struct node_settings *s, const char *words, struct strbuf *why);
/* Drops all capabilities that the sources do not need, and logs the rest. */
int node_drop_rights(struct node *n);
/* Are the settings useful and safe? Logs what is wrong. */
int node_check(const struct node *n);
int node_check_keys(const struct node_settings *s);
/* Opens what needs capabilities that are dropped afterwards. */
int node_open_output(struct node *n);
int node_open_outputs(struct node *n);
/* Passes the selection of metrics to other protocols. */
void node_select_for_protocols(const struct node *n);
/* Adds the output of batches to the list, if there is a collector. */
int node_open_batches(struct node *n, struct sample_output *list, size_t *count);
int node_open_prometheus(const struct node *n, struct sample_output *ret, struct strbuf *why);
/* Ends delivery: waits for acknowledgements, and logs what is left. */
int node_close_outputs(struct node *n, uint64_t wait_ns);
/* Opens the control address; a failure of the default address is only a warning. */
int node_open_control(struct node *n,
		      int (*change)(void *user, const struct node_change *c, struct strbuf *why),
		      struct value *(*show)(void *user));
/* The state of delivery; false without one. */
bool node_delivery(const struct node *n, struct sampler_delivery *ret);
/* Adds what was sent and lost so far, and current problems. */
void node_counts(const struct node *n, struct value *v);
/* Warns about directories of jobs that do not exist or are not cgroups, and logs those that
 * appeared. */
void node_look_at_roots(struct node *n);
void node_look_at_wrong_roots(struct node *n);
void node_add_root_problems(const struct node *n, struct value *list);
/* Reports the status to the service manager, now and then. */
void node_notify(struct node *n);
