/* Shared by the stream*.c files: known jobs, and values that wait for a commit. */
#pragma once

#include <sys/types.h>

#include "core/clock.h"
#include "core/hash_map.h"
#include "core/quota.h"
#include "store/identity.h"
#include "store/ingest/merge_streamed.h"
#include "store/ingest/sample_rows.h"
#include "store/stream/stream.h"

#define STREAM_METRICS_MAX 4096        /* of a job, beside our own */
#define STREAM_ENTITIES_MAX (1u << 20) /* of a job */
#define STREAM_ID_MAX 200              /* bytes of a job id or host name */
#define STREAM_IDLE_US 600000000       /* jobs without data for so long are dropped from memory */
#define STREAM_SUMS_US 60000000        /* age of the sums of a running job, at most */
#define STREAM_QUIET_US 2000000        /* of a new job, or one that has ended */
#define STREAM_REPAIR_US 600000000     /* how far back to look for jobs without sums */
#define STREAM_FORMAT STORE_FED        /* job.format of jobs from a stream */
#define STREAM_ADOPT_US 60000000       /* interval between merging streamed and submitted jobs */
#define STREAM_SUMMING_NS 2000000000   /* time for sums in a commit; the rest waits */

struct stream_metric {
	struct sample_metric m; /* name is the full one; texts owned */
	bool written;
};

struct stream_entity {
	uint64_t high;   /* of its hash */
	uint32_t number; /* from 1 */
	enum entity_kind kind;
	char *host, *name, *metadata; /* host and name until they are written */
	bool written, new_metadata;
};

struct stream_job {
	char *id;
	int64_t no;                /* 0: not yet in the store */
	int64_t nth;               /* distinguishes jobs with the same id */
	int64_t from_us, until_us; /* its time, including uncommitted values; 0: none yet */
	char *user;                /* NULL: unknown */
	char *node;                /* this "job" is a day of that node; NULL: a real job */
	struct stream_metric *metrics;
	size_t metric_count, metric_cap;
	struct quota names, rooms;       /* for metrics that are not ours, and for entities */
	struct stream_entity **entities; /* by number - 1 */
	size_t entity_count, entity_cap;
	struct hash_map index; /* into entities, by the low half of their hash */
	uint32_t tick_count;
	char **hosts;
	size_t host_count, host_cap, host_known; /* the first host_known are in the store */
	/* of uncommitted values */
	bool touched;
	int64_t first_us, last_us;
	uint64_t bytes;
	/* by stream_now_us() */
	int64_t met_us, seen_us, sums_us; /* first and last touched, last summed up */
	bool sums_due;
};

/* A row of uncommitted values; the values are at the same index of the track's array. */
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

/* Where rows of an entity of a source go, in the file that is being read. */
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
	struct stream_job **jobs;
	size_t job_count, job_cap;
	struct hash_map job_index;    /* pointers, by id */
	struct hash_map track_index;  /* pointers, by job, host and source */
	struct stream_track **tracks; /* in order of creation */
	size_t track_count, track_cap;
	size_t held;
	uint64_t serial;              /* of readings */
	struct stream_places *places; /* by source */
	size_t place_sources;
	int64_t day; /* that the places were found for */
	struct sample_rows rows;
	struct bulk *stage; /* NULL: writers are not open */
	unsigned rounds;    /* of uncommitted tracks */
	int64_t adopted_us;
	size_t sums_at; /* index of the job where summing continues */
};

/* For ages: the wall clock may be set. */
static inline int64_t stream_now_us(void)
{
	return (int64_t)(clock_boottime_ns() / 1000);
}

/* ---- jobs: stream_jobs.c ------------------------------------------------------------------- */

/* The job of this id and user (NULL: unknown) that ran at this time, from the store or new. node:
 * it is a day of that node. */
int stream_job(struct stream *s, const char *id, const char *node, const char *user,
	       int64_t time_us, struct stream_job **ret);
/* Is this time near enough to the job's? Ids are reused. */
bool stream_job_is_near(const struct stream_job *j, int64_t time_us);
/* Looks it up in the store; its number stays 0 if there is no job of that time. */
int stream_job_find(struct stream *s, struct stream_job *j, const char *user, int64_t time_us);
/* 0: too many metrics. */
uint32_t stream_job_metric(struct stream_job *j, const char *host, const char *source,
			   const struct sample_metric *m);
/* NULL: too many entities. */
struct stream_entity *stream_job_entity(struct stream_job *j, const char *host,
					const struct entity *e);
void stream_job_host(struct stream_job *j, const char *host);
/* Reserves numbers for new jobs, before the transaction. */
int stream_jobs_number(struct stream *s);
/* Writes the rows of jobs, first in the transaction: they are locked from then on. -ESTALE: a job
 * was removed meanwhile. */
int stream_jobs_write(struct stream *s);
/* Updates the sums of touched jobs if they are due (all: always), as many as time allows. */
int stream_jobs_sums(struct stream *s, bool all, uint64_t limit_ns);
/* Updates sums that the last writer did not get to. */
int stream_jobs_repair(struct stream *s, int64_t since_us);
/* After a commit. */
void stream_jobs_settle(struct stream *s);
void stream_jobs_forget(struct stream *s);

/* ---- rows: stream_write.c ------------------------------------------------------------------ */

int stream_write(struct stream *s, uint64_t position);
void stream_close_writers(struct stream *s);
