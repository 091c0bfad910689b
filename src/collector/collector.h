/*
 * The collector: receives batches from nodes and messages of other protocols, stores them in a
 * commit log and delivers them to its sinks. `plimsoll collect` and the personalities of other
 * tools fill its options; collector.c runs it.
 */
#pragma once

#include "collector/collector_protocol.h"
#include "context/context.h"
#include "sinks/own_metrics.h"
#include "sinks/sink.h"

#define COLLECT_SINKS_MAX 32
#define COLLECT_PEERS_MAX 1024

struct collect_options {
	const char *bind;                           /* address for nodes; NULL: none */
	const char *binds[COLLECTOR_PROTOCOLS_MAX]; /* of collector_protocols; NULL: none */
	const char *sinks[COLLECT_SINKS_MAX];       /* "KIND:TARGET" */
	size_t sink_count;
	const char *forward;    /* another collector; NULL: none */
	const char *server_key; /* its key */
	const char *log;        /* directory; NULL: the default */
	uint64_t log_limit;     /* bytes; 0: none */
	const char *keys, *allow;
	bool insecure;
	size_t connections; /* limit per address; 0: as many as open files allow */
	const char *peers[COLLECT_PEERS_MAX];
	size_t peer_count;
	struct sink_options feed; /* for all sinks; the target is set for each */
	uint64_t commit_ns;       /* how long a sink may buffer data; 0: its default */
	int high_water;           /* messages of other protocols that may wait; 0: 1000 */
	bool status, json, resend;
};

/* The address of the protocol with this setting; NULL: no such protocol. */
const char **collect_bind_of(struct collect_options *o, enum setting_id address);
bool collect_binds_others(const struct collect_options *o);
/* Runs a collector, or shows the status of the running one. The exit status. */
int do_collect(struct context *ctx, const struct collect_options *o);
/* Sends entries that sinks refused to them again, while no collector runs; the exit status. */
int collect_resend(const struct collect_options *o, const char *dir);
/* The directory of the log: the option, the setting, or the default. Freed by the caller; NULL
 * without a home directory. */
char *collect_directory(const struct context *ctx, const char *option);

/* ---- the running collector ---- */

struct commit_log;
struct sink_workers;
struct receive;
struct own_metrics;
struct sender;

struct collect_view {
	struct commit_log *log;
	struct sink_workers *replay;
	struct receive *receive;                               /* NULL: none */
	struct collector_port *ports[COLLECTOR_PROTOCOLS_MAX]; /* NULL: none */
	struct sender *deliver;                                /* NULL: none */
	struct own_metrics *own;
	const struct collect_options *o;
	const char *dir;
	int64_t started_us;
};

/* ---- ports of other protocols: collector_ports.c ---- */

struct pollfd;
void collect_warn_open_ports(const struct collect_options *o);
int collect_open_ports(struct collect_view *v, struct strbuf *why);
void collect_close_ports(struct collect_view *v);
/* Takes waiting messages; true: there may be more. *ret_held: the log cannot be written. */
bool collect_work_ports(struct collect_view *v, bool *ret_held);
/* Descriptors to wait for, at most COLLECTOR_PROTOCOLS_MAX; their number. */
size_t collect_poll_ports(const struct collect_view *v, struct pollfd *fds);

/* Who needs the oldest entries, so that the log cannot shrink, and how full the log is. */
struct collect_hold {
	char *by;       /* the sink as it was named; NULL: nobody */
	double seconds; /* since it last took something */
	double share;   /* of --log-limit; without one, of the space used and free */
};
void collect_hold(const struct collect_view *v, int dirfd, struct collect_hold *ret);

/* A count of a receiver or a sink: its key in the status, where it is in struct receiver_counts or
 * struct sink_workers_state, and its metric; no name: none. Tables end with a key of NULL. */
struct collect_count {
	const char *key;
	size_t at;
	struct own_family family;
};
extern const struct collect_count collect_received[], collect_of_sink[];
static inline uint64_t collect_count_of(const struct collect_count *c, const void *counts)
{
	return *(const uint64_t *)(const void *)((const char *)counts + c->at);
}
struct sink_workers_state;
/* How long a sink has been behind; 0: it has everything. */
double collect_seconds_behind(const struct sink_workers_state *s);

/* Replaces the status file in the directory of the log. */
void collect_write_status(const struct collect_view *v, int dirfd);
/* Replaces the list of nodes beside it. */
void collect_write_nodes(const struct collect_view *v, int dirfd);
/* Updates the metrics of the collector itself. */
void collect_update_metrics(const struct collect_view *v);
/* Adds the status line for the service manager. */
void collect_status_line(const struct collect_view *v, struct strbuf *out);
/* Prints the status of a running collector; the exit status. */
int collect_show_status(const char *dir, bool json);
/* Locks the directory as long as the descriptor is open; -EBUSY. look: only to see whether it is
 * locked. */
int collect_lock(int dirfd, bool look);
