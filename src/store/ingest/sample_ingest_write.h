/* Shared by the sample_ingest*.c files: series that are being stored. */
#pragma once

#include "store/ingest/ingest_write.h"
#include "store/ingest/sample_ingest.h"
#include "store/ingest/sample_rows.h"

/* Limits of what a file may contain; the rest is left out, with a warning. */
#define INGEST_METRICS_MAX 4096
#define INGEST_ENTITIES_MAX (1u << 22) /* of a job, all hosts */
#define INGEST_SERIES_MAX (1u << 22)   /* alive at once */
#define INGEST_BUFFER_MAX (128u << 20) /* bytes of buffered values; then chunks are cut short */
#define INGEST_RUNS_MAX 4096           /* noted for parts that come later */

/* One series of an entity that is alive. */
struct live_series {
	unsigned char *buf; /* each value but the first as a varint: 0 for none, else the zigzag
			       difference plus one */
	uint16_t size, cap;
	uint16_t skip, n; /* of the chunk: ticks before it, ticks in it */
	int64_t base, last;
	struct series_sums sums; /* last: of any run, goes_on: the store has its values up to it */
};

/* An entity that is alive, in one source. */
struct live {
	struct known *known;         /* NULL: none, or it is left out */
	bool again;                  /* may have series rows already, which are added to */
	int64_t began_us;            /* when the process began; INT64_MIN: unknown */
	struct live_series **series; /* by metric; NULL: no value yet */
};

struct ingest_metric {
	uint32_t number;
	struct sample_metric m; /* name is the full one; texts owned */
};

/* An entity of the job. */
struct ingest_entity {
	uint64_t high; /* of its hash */
	uint32_t number;
	uint32_t by;         /* the run that had it first, from 1; 0: another part of the job */
	bool written;        /* has series rows */
	bool stored;         /* has a row itself */
	struct known *known; /* while it is alive */
};

struct known {
	uint32_t number, by; /* as in ingest_entity */
	char *name, *metadata;
	enum entity_kind kind;
	unsigned refs;       /* sources that have it */
	uint64_t sources[4]; /* which */
	bool in_store;       /* it was alive before and has a row */
};

struct ingest_source {
	char *name;
	size_t metric_count;                  /* 0: nothing of it is stored */
	uint32_t metrics[SAMPLE_METRICS_MAX]; /* their numbers */
	enum metric_kind kinds[SAMPLE_METRICS_MAX];
	struct live *lives; /* by place */
	size_t live_count;
	struct delta_coding ticks; /* times of the block */
	uint32_t tick;             /* its number */
	int64_t time_us;           /* of the last reading; INT64_MIN: there was none */
	int64_t before_us;         /* of the one before it */
};

/* When a host was sampled; number: of runs at the same time. */
struct ingest_run {
	char *host;
	uint32_t number;
	int64_t from_us, until_us;
	uint64_t processes; /* most in one reading */
	bool left_out;      /* another run includes it: left out of sums */
	bool shared;        /* the run that is being read has processes of it */
	uint64_t session;   /* its sampler; 0: unknown */
};

struct ingest_session {
	uint64_t id, readings;
	bool skipped;   /* the store has it */
	uint64_t there; /* number of its readings in the store; 0: all */
};

struct sample_ingest {
	struct ingest *in;
	struct sample_rows rows;
	struct bulk *series;
	struct stmt *add_series, *absence;
	struct ingest_metric *known_metrics;
	size_t metric_count, metric_cap;
	struct ingest_entity *entities;
	size_t entity_places, entity_cap;
	struct hash_map entity_index;  /* by the low half of their hash */
	size_t entity_count;           /* the last number: numbers have gaps */
	struct ingest_source *sources; /* of the file that is being read */
	size_t source_count;
	char *host;
	int64_t boot_us;                 /* when it booted, by the wall clock */
	struct ingest_session *sessions; /* each is read once */
	size_t session_count, session_cap;
	size_t session;   /* that is being read */
	uint64_t passing; /* remaining readings of it that the store has */
	bool seen;        /* the current file was read before */
	struct ingest_run *runs;
	size_t run_count, run_cap;
	size_t run_own;       /* earlier ones are of other parts of the job */
	int64_t part_end_us;  /* when this part ended */
	uint32_t run;         /* number of the current run; 0: no other at its time */
	int64_t run_first_us; /* its first and last reading */
	int64_t run_last_us;
	int64_t covered_at_us; /* time for which `covered` holds */
	bool covered;
	uint64_t run_processes; /* most in one reading */
	bool shared;            /* it has processes of another part of the job */
	uint32_t tick_count;
	size_t buffered, alive;
	bool full; /* something was left out, which was warned of */
	struct sample_ingest_result result;
	int error;
};

/* A large reading has several pieces with the same time. */
static inline void sample_ingest_take_time(struct ingest_source *s, int64_t time_us)
{
	if (time_us != s->time_us)
		s->before_us = time_us > s->time_us ? s->time_us : INT64_MIN;
	s->time_us = time_us;
}
/* The series of a live entity; NULL: too many. */
struct live_series *sample_ingest_series(struct sample_ingest *c, const struct ingest_source *s,
					 struct live *live, size_t m);
/* The store has this reading: later values continue from it. */
void sample_ingest_pass_reading(struct sample_ingest *c, struct ingest_source *s,
				const struct sample_file *f);

/* ---- runs at the same time; sample_ingest_runs.c -------------------------------------------- */

/* Was it read before? A file may exist twice, alone and joined with others. */
bool sample_ingest_seen(struct sample_ingest *c, const struct sample_file_head *h);
void sample_ingest_begin_run(struct sample_ingest *c, int64_t start_us);
/* Notes a reading with so many processes. */
void sample_ingest_note_reading(struct sample_ingest *c, int64_t time_us, uint64_t processes);
/* Is a row of this entity wanted, or does another run have it? */
bool sample_ingest_wants(struct sample_ingest *c, const struct live *live, int64_t time_us);
/* Called before live entities are ended. */
int sample_ingest_end_run(struct sample_ingest *c);
/* Sets CPU time and processes from samples, for a job without records. */
int sample_ingest_sum_sampled(struct sample_ingest *c);
void sample_ingest_forget_runs(struct sample_ingest *c);
void sample_ingest_add_run(struct sample_ingest *c, const char *host, const struct ingest_run *run);

/* ---- entities; sample_ingest_entities.c ----------------------------------------------------- */

/* The entry of an entity of the current host and run; NULL: too many. */
struct ingest_entity *sample_ingest_entity(struct sample_ingest *c, const struct entity *e);
/* Marks the row of an entity as left out of sums. */
int sample_ingest_leave_out(struct sample_ingest *c, uint32_t number);
/* The number of the job's entity in another run of the host; 0: none. */
uint32_t sample_ingest_job_in_run(struct sample_ingest *c, const struct known *k, uint32_t run);
/* Start of a process, by its metadata; INT64_MIN: unknown, or not a process. */
int64_t sample_ingest_process_begin(const struct sample_ingest *c, const struct known *k);
/* Notes the number of a stored entity of the current host and run. */
void sample_ingest_know_entity(struct sample_ingest *c, const struct entity *e, uint32_t number);

/* ---- rows; negative errno when the store fails ---------------------------------------------- */

int sample_ingest_open_writers(struct sample_ingest *c);
int sample_ingest_flush_writers(struct sample_ingest *c);
void sample_ingest_close_writers(struct sample_ingest *c);
int sample_ingest_write_entity(struct sample_ingest *c, const struct known *k);
/* Writes the times of a block, and the chunks of all its series. */
int sample_ingest_end_block(struct sample_ingest *c, struct ingest_source *s);
int sample_ingest_write_chunk(struct sample_ingest *c, const struct ingest_source *s,
			      uint32_t metric, uint32_t entity, struct live_series *curve);
int sample_ingest_write_series(struct sample_ingest *c, uint32_t metric, uint32_t entity,
			       bool again, bool counter, const struct live_series *curve);
int sample_ingest_write_absence(struct sample_ingest *c, const char *metric, const char *reason);
