/*
 * Sample files (.smp): the samples of one host, appended as they are taken, so that a crash of the
 * writer loses at most the last ones. A file is a sequence of frames with checksums; concatenated
 * files of several hosts are a valid file. docs/samples.md has the layout.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"
#include "samples/sample.h"

/* The head of a file. */
struct sample_file_head {
	char *host, *boot, *job, *run; /* owned; boot: the whole boot id */
	uint64_t period_ns;            /* of the sampler */
	uint64_t boottime_ns;          /* the two clocks at the start */
	int64_t realtime_ns;
};
void sample_file_head_release(struct sample_file_head *h);

/* ---- writing ---- */

struct sample_writer;

/* Starts a file with its head. fd is O_APPEND, and the caller closes it. */
struct sample_writer *sample_writer_open(int fd, const struct sample_file_head *head);
/* Ends it with a frame that has the reason; what could not be written is lost. */
int sample_writer_close(struct sample_writer *w, const char *reason);
/* Adds a source; its number in this file. */
unsigned sample_writer_source(struct sample_writer *w, const char *name, unsigned every,
			      const struct sample_set *set);
/* Adds a set of samples: new entities and absences, and the rows as differences to the set before.
 * Clears the fresh marks. */
void sample_writer_add(struct sample_writer *w, unsigned source, struct sample_set *set);
/* Adds a pair of clock values. */
void sample_writer_clock(struct sample_writer *w, uint64_t boottime_ns, int64_t realtime_ns);
/* Appends everything with one write; sync: to the disk. 0 or a negative errno: it is not in the
 * file then; the next flush starts with complete values and the number of lost sets. */
int sample_writer_flush(struct sample_writer *w, bool sync);

/*
 * With fd -1 a file is made in memory, and taken instead of flushed; each one is complete. It has
 * the sources with samples only. Above 48 MiB its content is lost, as after a failed flush.
 */
size_t sample_writer_size(const struct sample_writer *w);
/* Appends the file to *out and starts the next. */
void sample_writer_take(struct sample_writer *w, struct strbuf *out);

/* ---- reading ---- */

/* A source of a file. */
struct sample_file_source {
	char *name;
	unsigned every;
	struct sample_metric *metrics; /* owned */
	size_t metric_count;
	struct entity *entities; /* by their index in the writer's set; kind 0: none */
	size_t entity_count;
	/* private: the values of the set before */
	int64_t *last;
	uint64_t *last_present;
	size_t last_cap;
	bool whole;          /* differences can be applied */
	uint32_t chain;      /* expected number of its next frame */
	uint64_t last_time;  /* of the set before */
	unsigned char *told; /* indexes whose entity came after the source */
};

enum sample_event {
	SAMPLE_HEAD = 1, /* head: another host, or another file of one */
	SAMPLE_SOURCE,   /* sources[source] */
	SAMPLE_ENTITY,   /* sources[source].entities[entity] is new or has new metadata */
	SAMPLE_READING,  /* reading: samples of sources[source] */
	SAMPLE_ABSENT,   /* metric of sources[source] is absent for this reason */
	SAMPLE_CLOCK,    /* boottime_ns and realtime_ns */
	SAMPLE_LOST,     /* the writer lost this many sets (count) */
	SAMPLE_END,      /* reason */
};

struct sample_file {
	int fd;      /* -1: in memory */
	uint64_t at; /* offset of the next frame */
	struct sample_file_head head;
	struct sample_file_source *sources;
	size_t source_count;
	/* of the last event */
	unsigned source, metric;
	uint32_t entity;
	uint64_t count;
	char *reason;
	uint64_t boottime_ns; /* the last pair of clock values */
	int64_t realtime_ns;
	struct sample_set reading; /* rows of SAMPLE_READING, metrics and entities of the source */
	int64_t time_us;           /* of reading, since 1970, by the last pair of clocks */
	/* skipped damage */
	uint64_t damaged_bytes, damaged_places, skipped_readings;
	struct sample_file_buffer *buffer; /* private */
};

/* Takes fd. -EBADMSG: not a sample file. It may be growing: reads what is there. */
int sample_file_open(struct sample_file *f, int fd, struct strbuf *why);
/* The same from memory, which is freed at the end and must begin with a head. It is of one host: a
 * head of another is damage. state_max: most bytes of state for all sources. */
int sample_file_open_memory(struct sample_file *f, void *data, size_t n, uint64_t state_max,
			    struct strbuf *why);
void sample_file_close(struct sample_file *f);
/* The next event, 0: the end, or a negative errno: it cannot be read. Skips and counts damage. */
int sample_file_next(struct sample_file *f);
