/*
 * The collector: takes batches from nodes and messages of colmet's, keeps them in a log, and plays
 * it to its sinks. `plimsoll collect` and the name colmet-collector fill its options;
 * collector.c runs it.
 */
#ifndef PL_COLLECTOR_COLLECTOR_H
#define PL_COLLECTOR_COLLECTOR_H

#include "context/context.h"
#include "sinks/sink.h"

#define COLLECT_SINKS_MAX 32
#define COLLECT_PEERS_MAX 1024

struct collect_options {
	const char *bind;                     /* native peers; NULL: none */
	const char *bind_colmet;              /* colmet's; NULL: none */
	const char *sinks[COLLECT_SINKS_MAX]; /* "KIND:TARGET" */
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
	int colmet_high_water;    /* 0: 1000 */
	bool status, json, resend;
};

/* Runs it, or shows what the running one does. The exit status. */
int do_collect(struct context *ctx, const struct collect_options *o);
/* Sends what sinks refused to them again, while no collector runs; the exit status. */
int collect_resend(const struct collect_options *o, const char *dir);
/* Where its log is: what was said, the setting, or the default. Freed by the caller; NULL without a
 * home. */
char *collect_directory(const struct context *ctx, const char *said);

/* ---- colmet's messages: colmet_receiver.c
 * --------------------------------------------------------
 */

struct commit_log;
struct colmet_door;

struct colmet_door_counts {
	uint64_t messages, bytes, records, batches;
	uint64_t bad;             /* messages that are none; each peer is logged once */
	uint64_t refused, closed; /* connections, as of struct receiver_counts */
};

int colmet_door_open(struct colmet_door **ret, const struct collect_options *o,
		     struct commit_log *log, struct strbuf *why);
void colmet_door_close(struct colmet_door *d); /* accepts NULL */
int colmet_door_descriptor(struct colmet_door *d);
/* Takes what is there; true: there may be more. What cannot be written now is kept, and nothing
 * more is taken meanwhile, so that those who send wait. */
bool colmet_door_work(struct colmet_door *d);
bool colmet_door_is_held_up(const struct colmet_door *d);
void colmet_door_counts(const struct colmet_door *d, struct colmet_door_counts *ret);
/* Where it listens. */
void colmet_door_endpoint(struct colmet_door *d, struct strbuf *out);

/* ---- what the running one says: collector_status.c
 * ------------------------------------------------
 */

struct sink_workers;
struct receive;
struct own_metrics;
struct sender;

struct collect_view {
	struct commit_log *log;
	struct sink_workers *replay;
	struct receive *receive;  /* NULL: none */
	struct colmet_door *door; /* NULL: none */
	struct sender *deliver;   /* NULL: none */
	struct own_metrics *own;
	const struct collect_options *o;
	const char *dir;
	int64_t started_us;
};

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
