/*
 * Sample files (.smp): the curves of one host, appended as they are taken, so that whatever ends
 * the writer loses at most the reading it was writing. A file is a sequence of frames with a check
 * sum each; files of several hosts put one behind the other are a file again. docs/samples.md has
 * the layout.
 */
#ifndef PL_SAMPLES_SAMPLE_FILE_H
#define PL_SAMPLES_SAMPLE_FILE_H

#include <stdint.h>

#include "core/strbuf.h"
#include "samples/sample.h"

/* What a file says about itself, at its start. */
struct sample_file_head {
	char *host, *boot, *job, *run; /* boot id whole; texts owned */
	uint64_t period_ns;            /* of the sampler's ticks */
	uint64_t boottime_ns;          /* the two clocks when it began */
	int64_t realtime_ns;
};
void sample_file_head_release(struct sample_file_head *h);

/* ---- writing ----------------------------------------------------------------------------------
 */

struct sample_writer;

/* Begins a file: the head is the first frame. fd is O_APPEND and stays the caller's. */
struct sample_writer *sample_writer_open(int fd, const struct sample_file_head *head);
/* Ends it with a frame that says why; what could not be written is lost. */
int sample_writer_close(struct sample_writer *w, const char *reason);
/* Makes a source known; its number in this file. */
unsigned sample_writer_source(struct sample_writer *w, const char *name, unsigned every,
			      const struct sample_set *set);
/* Adds a reading: new entities and facts, new absences, and the rows as differences to the reading
 * before. Clears the fresh marks. */
void sample_writer_add(struct sample_writer *w, unsigned source, struct sample_set *set);
/* Adds a pair of clock readings. */
void sample_writer_clock(struct sample_writer *w, uint64_t boottime_ns, int64_t realtime_ns);
/* Appends what was added with one write; sync: to the disk. 0 or a negative errno: what was added
 * is then not in the file, the next flush begins with whole values, and the number of lost readings
 * is written with it. */
int sample_writer_flush(struct sample_writer *w, bool sync);

/*
 * With fd -1 a file is made in memory: taken instead of flushed, whole in itself each time. Sources
 * are told when they first have a reading, and only once. Beyond 48 MiB what was gathered is lost,
 * as by a flush that failed.
 */
size_t sample_writer_size(const struct sample_writer *w);
/* The file behind *out; the next one begins. */
void sample_writer_take(struct sample_writer *w, struct strbuf *out);

/* ---- reading ----------------------------------------------------------------------------------
 */

/* A source as a file knows it. */
struct sample_file_source {
	char *name;
	unsigned every;
	struct sample_metric *metrics; /* names and helps owned */
	size_t metric_count;
	struct entity *entities; /* by their place in the writer's set; kind 0: none */
	size_t entity_count;
	/* private: the values of the reading before */
	int64_t *last;
	uint64_t *last_present;
	size_t last_cap;
	bool whole;          /* differences can be applied */
	uint32_t chain;      /* number that the next frame of this source must have */
	uint64_t last_time;  /* of the reading before */
	unsigned char *told; /* places whose entity was told since the source was */
};

enum sample_event {
	SAMPLE_HEAD = 1, /* head: another host, or another file of one */
	SAMPLE_SOURCE,   /* sources[source] */
	SAMPLE_ENTITY,   /* sources[source].entities[entity] is new or has new facts */
	SAMPLE_READING,  /* reading of sources[source] */
	SAMPLE_ABSENT,   /* metric of sources[source] is absent for this reason */
	SAMPLE_CLOCK,    /* boottime_ns and realtime_ns */
	SAMPLE_LOST,     /* the writer lost this many readings (count) */
	SAMPLE_END,      /* reason */
};

struct sample_file {
	int fd;      /* -1: in memory */
	uint64_t at; /* offset of the next frame */
	struct sample_file_head head;
	struct sample_file_source *sources;
	size_t source_count;
	/* what the last event is about */
	unsigned source, metric;
	uint32_t entity;
	uint64_t count;
	char *reason;
	uint64_t boottime_ns; /* the last pair of clock readings */
	int64_t realtime_ns;
	struct sample_set
		reading; /* rows of SAMPLE_READING; metrics and entities are the source's */
	int64_t time_us; /* of the reading, since 1970, by the last pair of clocks */
	/* damage that was skipped */
	uint64_t damaged_bytes, damaged_places, skipped_readings;
	struct sample_file_buffer *buffer; /* private */
};

/* fd is taken. -EBADMSG when it is no sample file. What is there now is read: it may be growing. */
int sample_file_open(struct sample_file *f, int fd, struct strbuf *why);
/* The same from memory, which is taken (free()) and must begin with a head. All of it is of one
 * host: a head of another is damage. Sources may have at most state_max bytes of state. */
int sample_file_open_memory(struct sample_file *f, void *data, size_t n, uint64_t state_max,
			    struct strbuf *why);
void sample_file_close(struct sample_file *f);
/* The next event, 0 at the end, a negative errno when the file cannot be read. Damage is skipped
 * and booked. */
int sample_file_next(struct sample_file *f);

#endif
