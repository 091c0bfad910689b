/*
 * The collector: takes batches from nodes and messages of other protocols, keeps them in a log, and
 * plays it to its sinks. `plimsoll collect` and the names of older programs fill its options;
 * collector.c runs it.
 */
#ifndef PL_COLLECTOR_COLLECTOR_H
#define PL_COLLECTOR_COLLECTOR_H

#include "collector/collector_protocol.h"
#include "context/context.h"
#include "sinks/sink.h"

#define COLLECT_SINKS_MAX 32
#define COLLECT_PEERS_MAX 1024

struct collect_options {
	const char *bind;                           /* native peers; NULL: none */
	const char *binds[COLLECTOR_PROTOCOLS_MAX]; /* of collector_protocols; NULL: none */
	const char *sinks[COLLECT_SINKS_MAX];       /* "KIND:TARGET" */
	size_t sink_count;
	const char *forward;    /* another collector; NULL: none */
	const char *server_key; /* its key */
	const char *log;        /* directory; NULL: the default */
	uint64_t log_limit;     /* bytes; 0: none */
	const char *keys, *allow;
	bool insecure;
	size_t connections; /* at once, at each address; 0: what open files allow */
	const char *peers[COLLECT_PEERS_MAX];
	size_t peer_count;
	struct sink_options feed; /* what all sinks are told; the target is each one's own */
	uint64_t commit_ns;       /* how long a sink may hold data back; 0: each one's own */
	int high_water;           /* messages of other protocols that may wait; 0: 1000 */
	bool status, json, resend;
};

/* Where the protocol listens that has this setting; NULL: there is none. */
const char **collect_bind_of(struct collect_options *o, enum setting_id address);
bool collect_binds_others(const struct collect_options *o);
/* Runs it, or shows what the running one does. The exit status. */
int do_collect(struct context *ctx, const struct collect_options *o);
/* Sends what sinks refused to them again, while no collector runs; the exit status. */
int collect_resend(const struct collect_options *o, const char *dir);
/* Where its log is: what was said, the setting, or the default. Freed by the caller; NULL without a
 * home. */
char *collect_directory(const struct context *ctx, const char *said);

/* ---- what the running one says: collector_status.c
 * ------------------------------------------------
 */

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

/* ---- ports of other protocols: collector_ports.c
 * ------------------------------------------------
 */

struct pollfd;
void collect_warn_open_ports(const struct collect_options *o);
int collect_open_ports(struct collect_view *v, struct strbuf *why);
void collect_close_ports(struct collect_view *v);
/* Takes what is there; true: there may be more. *ret_held: the log cannot be written. */
bool collect_work_ports(struct collect_view *v, bool *ret_held);
/* Descriptors to wait for, at most COLLECTOR_PROTOCOLS_MAX; their number. */
size_t collect_poll_ports(const struct collect_view *v, struct pollfd *fds);

/* Who needs the oldest entries of the log, so that it cannot shrink, and how full it is. */
struct collect_hold {
	char *by;       /* as it was named; NULL: nobody holds it */
	double seconds; /* since it last took something */
	double share;   /* of --log-limit; without one, of what the disk has and could have */
};
void collect_hold(const struct collect_view *v, int dirfd, struct collect_hold *ret);
/* Replaces the status file of the log's directory. */
void collect_write_status(const struct collect_view *v, int dirfd);
/* The same of the list of nodes beside it. */
void collect_write_nodes(const struct collect_view *v, int dirfd);
/* Makes the metrics of the collector itself anew. */
void collect_tell_metrics(const struct collect_view *v);
/* A line for the service manager. */
void collect_status_line(const struct collect_view *v, struct strbuf *out);
/* Shows the status file of a collector that runs; the exit status. */
int collect_show_status(const char *dir, bool json);
/* Makes the directory ours as long as the descriptor is open; -EBUSY. look: only to see whether it
 * is somebody's. */
int collect_lock(int dirfd, bool look);

#endif
