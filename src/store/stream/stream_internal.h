/* What stream.c, stream_jobs.c and stream_write.c share: jobs that are known, values that wait. */
#ifndef PL_STORE_STREAM_STREAM_INTERNAL_H
#define PL_STORE_STREAM_STREAM_INTERNAL_H

#include <sys/types.h>

#include "core/clock.h"
#include "core/quota.h"
#include "store/delta_coding.h"
#include "store/identity.h"
#include "store/ingest/merge_streamed.h"
#include "store/stream/stream.h"

#define STREAM_METRICS_MAX 4096        /* of a job, beside our own */
#define STREAM_ENTITIES_MAX (1u << 20) /* of a job */
#define STREAM_ID_MAX 200              /* bytes of a job's id or a host's name */
#define STREAM_IDLE_US 600000000       /* jobs without data for so long leave the memory */
#define STREAM_SUMS_US 60000000        /* how old the sums of a running job become */
#define STREAM_QUIET_US 2000000        /* of a new one, or one that has ended */
#define STREAM_REPAIR_US 600000000     /* how much older they may be when nobody came to it */
#define STREAM_FORMAT STORE_FED        /* of jobs that came this way, in job.format */
#define STREAM_ADOPT_US 60000000       /* how often it is seen to jobs that were set aside */
#define STREAM_SUMMING_NS 2000000000   /* of a commit, and at the end, for sums; the rest waits */

struct stream_metric {
	struct sample_metric m; /* name is the full one; texts owned */
	bool written;
};

/* An entity of a job; known by a hash of host, kind and name. */
struct stream_entity {
	uint64_t low, high;
	uint32_t number; /* from 1 */
	enum entity_kind kind;
	char *host, *name, *facts; /* host and name until they are written */
	bool written, new_facts;
};

struct stream_job {
	struct stream_job *next; /* of the same hash */
	char *id;
	int64_t no;                /* 0: not yet in the store */
	int64_t nth;               /* which of the jobs of its id it is */
	int64_t from_us, until_us; /* its time, with what waits; 0: none yet */
	char *user;                /* where it is known */
	char *node;                /* it is the day of this one; NULL: a job */
	struct stream_metric *metrics;
	size_t metric_count, metric_cap;
	struct quota names, rooms;       /* of metrics that are not ours, and of entities */
	struct stream_entity **entities; /* by number - 1 */
	size_t entity_count, entity_cap;
	uint32_t *table; /* numbers by hash; a power of two of them */
	size_t table_size;
	uint32_t tick_count;
	char **hosts;
	size_t host_count, host_cap, host_known; /* the first ones are in the store */
	/* of what waits */
	bool touched;
	int64_t first_us, last_us, bytes;
	/* by stream_now_us() */
	int64_t met_us, seen_us, sums_us; /* first and last touched, last summed up */
	bool sums_due;
};

/* A row of values that waits; the values are at the same place of the track's array. */
struct stream_row {
	uint64_t present;
	uint32_t next; /* of the same lane, plus one */
	uint16_t tick;
};

/* The rows of one entity in a track. */
struct stream_lane {
	struct stream_entity *entity;
	uint32_t first, last; /* rows, plus one */
};

/* Values of one source of a host, of one job: a block of ticks. */
struct stream_track {
	struct stream_track *older; /* of the same hash */
	struct stream_job *job;
	char *host, *source;
	unsigned metric_count;
	uint32_t metrics[SAMPLE_METRICS_MAX]; /* numbers in the job; 0: left out */
	uint64_t counters;                    /* which of them are */
	unsigned round;  /* tracks of the same job, host and source before it */
	uint64_t serial; /* of the last reading in it */
	struct delta_coding ticks;
	struct stream_row *rows;
	size_t row_count, row_cap;
	int64_t *values;
	struct stream_lane *lanes;
	size_t lane_count, lane_cap, lane_hint;
};

#define STREAM_TABLE 8192

/* Where rows of a place of a source go, in the file that is being read. */
struct stream_place {
	struct stream_track *track; /* NULL: not yet known */
	uint32_t lane;
};

struct stream_places {
	struct stream_place *list;
	size_t count;
};

struct stream {
	struct store *store;
	int file; /* the one that was opened, by O_PATH; negative: it has none */
	char *key;
	struct stream_job *jobs[STREAM_TABLE];
	struct stream_track *table[STREAM_TABLE];
	struct stream_track **tracks; /* in the order that they were made */
	size_t track_count, track_cap;
	size_t held;
	uint64_t serial;              /* of readings */
	struct stream_places *places; /* by source */
	size_t place_sources;
	int64_t day; /* that the places were found for */
	struct strbuf scratch;
	struct bulk *metrics, *entities, *ticks, *chunks, *stage;
	unsigned rounds; /* of what waits */
	int64_t adopted_us;
	size_t sums_at; /* where summing up goes on, in jobs */
};

/* For how old something is; the wall clock may be set. */
static inline int64_t stream_now_us(void)
{
	return (int64_t)(clock_boottime_ns() / 1000);
}

/* ---- jobs: stream_jobs.c ----------------------------------------------------------------------
 */

/* The job of this id and user (NULL: not known) that ran at this time, as the store has it or new.
 * node: it is the day of this one. */
int stream_job(struct stream *s, const char *id, const char *node, const char *user,
	       int64_t time_us, struct stream_job **ret);
/* May this be of its time? Ids are used again. */
bool stream_job_is_near(const struct stream_job *j, int64_t time_us);
/* Looks for it in the store; its number stays 0 when there is none of that time. */
int stream_job_find(struct stream *s, struct stream_job *j, const char *user, int64_t time_us);
/* 0 when there are too many. */
uint32_t stream_job_metric(struct stream_job *j, const char *host, const char *source,
			   const struct sample_metric *m);
/* NULL when there are too many. */
struct stream_entity *stream_job_entity(struct stream_job *j, const char *host,
					const struct entity *e);
void stream_job_host(struct stream_job *j, const char *host);
/* Numbers for jobs that have none, before the transaction. */
int stream_jobs_number(struct stream *s);
/* First in it: rows of jobs, which are locked from then on. -ESTALE: one went away meanwhile. */
int stream_jobs_write(struct stream *s);
/* Sums of jobs that were touched, where it is time for it, or of all that wait for it; so many as
 * there is time for. */
int stream_jobs_sums(struct stream *s, bool all, uint64_t limit_ns);
/* Sums of jobs that whoever wrote last did not come to. */
int stream_jobs_repair(struct stream *s, int64_t since_us);
/* After a commit. */
void stream_jobs_settle(struct stream *s);
void stream_jobs_forget(struct stream *s);

/* ---- rows: stream_write.c ---------------------------------------------------------------------
 */

int stream_write(struct stream *s, uint64_t position);
void stream_close_writers(struct stream *s);

#endif
