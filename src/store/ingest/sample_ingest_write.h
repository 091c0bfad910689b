/* What sample_ingest.c and sample_ingest_write.c share: series in the making. */
#ifndef PL_STORE_INGEST_SAMPLE_INGEST_WRITE_H
#define PL_STORE_INGEST_SAMPLE_INGEST_WRITE_H

#include "samples/sample.h"
#include "samples/time_mean.h"
#include "store/delta_coding.h"
#include "store/ingest/ingest_write.h"
#include "store/ingest/sample_ingest.h"

/* What a file may claim; more is left out, with a warning. */
#define CURVE_METRICS_MAX 4096
#define CURVE_ENTITIES_MAX (1u << 22) /* of a job, all hosts */
#define CURVE_SERIES_MAX (1u << 22)   /* alive at once */
#define CURVE_BUFFER_MAX (128u << 20) /* values that wait; then chunks are cut short */
#define CURVE_RUNS_MAX 4096           /* written down for parts that come later */
#define CURVE_GAP_MAX 16              /* ticks without a value before another chunk is begun */

/* One series of an entity that is alive. */
struct curve {
	unsigned char *buf; /* each value but the first as a varint: 0 for none, else the zigzag
			       difference plus one */
	uint16_t size, cap;
	uint16_t skip, n; /* of the chunk: ticks before it, ticks in it */
	int64_t base, last;
	int64_t counted;  /* the last value that is in increase; another run may have had it */
	bool goes_on;     /* the store has its values up to that one */
	uint64_t count;   /* of the series */
	int64_t begin_us; /* of the time that the first value is over, or when a counter was 0;
			     first_us: not known */
	int64_t first_us, last_us, minimum, maximum;
	double increase;
	struct time_mean mean;
};

/* An entity that is alive, in one source. */
struct live {
	struct known *known;   /* NULL: nothing is there, or it is left out */
	bool again;            /* may have rows already: they are added to */
	int64_t began_us;      /* when the process began; INT64_MIN: not known */
	struct curve **curves; /* by metric; NULL: no value yet */
};

struct ingest_metric {
	uint32_t number;
	struct sample_metric m; /* name is the full one; texts owned */
};

/* An entity of the job, known for good by a 128-bit hash of host, kind and name. */
struct ingest_entity {
	uint64_t low, high;
	uint32_t number;     /* 0: the place is free */
	bool written;        /* has series rows */
	bool stored;         /* has a row itself */
	uint32_t by;         /* the run that had it first, from 1; 0: another part of the job did */
	struct known *known; /* while it is alive */
};

struct known {
	uint32_t number, by; /* as the entity's */
	char *name, *facts;
	enum entity_kind kind;
	unsigned refs;       /* sources that it is alive in */
	uint64_t sources[4]; /* which */
	bool in_store;       /* it was alive before, and has a row */
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

/* From when to when a host was sampled; number: which of those at the same time. */
struct ingest_run {
	char *host;
	uint32_t number;
	int64_t from_us, until_us;
	uint64_t processes; /* in one reading at most */
	bool left_out;      /* another run saw what it saw: its job counts in no sum */
	bool shared;        /* the run that is being read has processes of it */
	uint64_t session;   /* whose readings they are; 0: not known */
};

struct ingest_session {
	uint64_t id, readings;
	bool skipped;   /* the store has it */
	uint64_t there; /* so many of its readings, where that is not all; 0: all */
};

struct sample_ingest {
	struct ingest *in;
	struct bulk *metrics, *entities, *series, *ticks, *chunks;
	struct stmt *add_series, *add_facts, *absence;
	struct ingest_metric *known_metrics;
	size_t metric_count, metric_cap;
	struct ingest_entity *table; /* open addressing; a power of two */
	size_t table_size, entity_count;
	struct ingest_source *sources; /* of the file that is being read */
	size_t source_count;
	char *host;
	int64_t boot_us;                 /* when it booted, by the wall clock */
	struct ingest_session *sessions; /* that were read: each counts once */
	size_t session_count, session_cap;
	size_t session;   /* that is being read */
	uint64_t passing; /* readings of it that come and are in the store */
	bool seen;        /* this one was read before */
	struct ingest_run *runs;
	size_t run_count, run_cap;
	size_t run_own;       /* those before it came with other parts of the job */
	int64_t part_end_us;  /* when this part ended */
	uint32_t run;         /* of the file that is being read; 0: no other at its time */
	int64_t run_first_us; /* its first and last reading */
	int64_t run_last_us;
	int64_t covered_at_us; /* whether others have the host at this time */
	bool covered;
	uint64_t run_processes; /* of it in one reading at most */
	bool shared;            /* it has processes that another part of the job has */
	uint32_t tick_count;
	size_t buffered, alive;
	bool full;           /* something was left out */
	struct strbuf array; /* scratch */
	struct sample_ingest_result result;
	int error;
};

/* A large reading comes in several pieces of one time. */
static inline void sample_ingest_take_time(struct ingest_source *s, int64_t time_us)
{
	if (time_us != s->time_us)
		s->before_us = time_us > s->time_us ? s->time_us : INT64_MIN;
	s->time_us = time_us;
}
/* Of an entity that is alive; NULL: there are too many. */
struct curve *sample_ingest_of(struct sample_ingest *c, const struct ingest_source *s,
			       struct live *live, size_t m);
/* The store has it: what comes goes on from its values. */
void sample_ingest_pass_reading(struct sample_ingest *c, struct ingest_source *s,
				const struct sample_file *f);

/* ---- runs at the same time; sample_ingest_runs.c ---- */

/* A file may be there twice, by itself and put together with others. */
bool sample_ingest_seen(struct sample_ingest *c, const struct sample_file_head *h);
void sample_ingest_begin_run(struct sample_ingest *c, int64_t start_us);
/* A reading of so many processes. */
void sample_ingest_note_reading(struct sample_ingest *c, int64_t time_us, uint64_t processes);
/* Is a row of this one taken, or does another run have it? */
bool sample_ingest_wants(struct sample_ingest *c, const struct live *live, int64_t time_us);
/* Before what is alive is ended. */
int sample_ingest_end_run(struct sample_ingest *c);
/* CPU time and processes as far as samples saw them, for a job without records: into the ingest. */
int sample_ingest_sum_sampled(struct sample_ingest *c);
void sample_ingest_forget_runs(struct sample_ingest *c);
void sample_ingest_add_run(struct sample_ingest *c, const char *host, const struct ingest_run *run);

/* ---- entities; sample_ingest_entities.c ---- */

/* The place of an entity of the host and run that c is at; NULL: there are too many. */
struct ingest_entity *sample_ingest_entity(struct sample_ingest *c, const struct entity *e);
/* The row of an entity that was written says that it counts in no sum. */
int sample_ingest_leave_out(struct sample_ingest *c, uint32_t number);
/* The number of the job's entity in another run of the host; 0: it has none. */
uint32_t sample_ingest_job_in_run(struct sample_ingest *c, const struct known *k, uint32_t run);
/* When a process began, by its facts; INT64_MIN: not known, or no process. */
int64_t sample_ingest_process_begin(const struct sample_ingest *c, const struct known *k);
/* An entity that is in the store has this number; of the host and run that c is at. */
void sample_ingest_know_entity(struct sample_ingest *c, const struct entity *e, uint32_t number);

/* ---- rows; negative errno when the store fails ---- */

int sample_ingest_open_writers(struct sample_ingest *c);
int sample_ingest_flush_writers(struct sample_ingest *c);
void sample_ingest_close_writers(struct sample_ingest *c);
int sample_ingest_write_metric(struct sample_ingest *c, const struct ingest_metric *m);
int sample_ingest_write_entity(struct sample_ingest *c, const struct known *k);
/* A block is full or over: its times, and the chunks of all series that are in it. */
int sample_ingest_end_block(struct sample_ingest *c, struct ingest_source *s);
int sample_ingest_write_chunk(struct sample_ingest *c, const struct ingest_source *s,
			      uint32_t metric, uint32_t entity, struct curve *curve);
int sample_ingest_write_series(struct sample_ingest *c, uint32_t metric, uint32_t entity,
			       bool again, bool counter, const struct curve *curve);
int sample_ingest_write_absence(struct sample_ingest *c, const char *metric, const char *reason);

/* A column of text, made printable; NULL is null. */
void sample_ingest_put_text(const struct store_engine *e, struct bulk *b, const char *s);
/* Two columns, scale and divisor: 0.001 as 1 and 1000. */
void sample_ingest_put_scale(const struct store_engine *e, struct bulk *b, double scale);
/* A row of sample_metric. */
int sample_ingest_put_metric(const struct store_engine *e, struct bulk *b, int64_t job,
			     int64_t number, const struct sample_metric *m);
/* Lines "key=value" as a JSON object. */
void sample_ingest_facts_json(const char *facts, struct jsonw *j);

#endif
