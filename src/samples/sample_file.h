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
struct samplefile_head {
	char *host, *boot, *job, *run; /* boot id whole; texts owned */
	uint64_t period_ns;            /* of the sampler's ticks */
	uint64_t boottime_ns;          /* the two clocks when it began */
	int64_t realtime_ns;
};
void samplefile_head_release(struct samplefile_head *h);

/* ---- writing ----------------------------------------------------------------------------------
 */

struct samplewriter;

/* Begins a file: the head is the first frame. fd is O_APPEND and stays the caller's. */
struct samplewriter *samplewriter_open(int fd, const struct samplefile_head *head);
/* Ends it with a frame that says why; what could not be written is lost. */
int samplewriter_close(struct samplewriter *w, const char *reason);
/* Makes a source known; its number in this file. */
unsigned samplewriter_source(struct samplewriter *w, const char *name, unsigned every,
			     const struct sample_set *set);
/* Adds a reading: new entities and facts, new absences, and the rows as differences to the reading
 * before. Clears the fresh marks. */
void samplewriter_add(struct samplewriter *w, unsigned source, struct sample_set *set);
/* Adds a pair of clock readings. */
void samplewriter_clock(struct samplewriter *w, uint64_t boottime_ns, int64_t realtime_ns);
/* Appends what was added with one write; sync: to the disk. 0 or a negative errno: what was added
 * is then not in the file, the next flush begins with whole values, and the number of lost readings
 * is written with it. */
int samplewriter_flush(struct samplewriter *w, bool sync);

/*
 * With fd -1 a file is made in memory: taken instead of flushed, whole in itself each time. Sources
 * are told when they first have a reading, and only once. Beyond 48 MiB what was gathered is lost,
 * as by a flush that failed.
 */
size_t samplewriter_size(const struct samplewriter *w);
/* The file behind *out; the next one begins. */
void samplewriter_take(struct samplewriter *w, struct strbuf *out);

/* ---- reading ----------------------------------------------------------------------------------
 */

/* A source as a file knows it. */
struct samplefile_source {
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

struct samplefile {
	int fd;      /* -1: in memory */
	uint64_t at; /* offset of the next frame */
	struct samplefile_head head;
	struct samplefile_source *sources;
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
	struct samplefile_buffer *buffer; /* private */
};

/* fd is taken. -EBADMSG when it is no sample file. What is there now is read: it may be growing. */
int samplefile_open(struct samplefile *f, int fd, struct strbuf *why);
/* The same from memory, which is taken (free()) and must begin with a head. All of it is of one
 * host: a head of another is damage. Sources may have at most state_max bytes of state. */
int samplefile_open_memory(struct samplefile *f, void *data, size_t n, uint64_t state_max,
			   struct strbuf *why);
void samplefile_close(struct samplefile *f);
/* The next event, 0 at the end, a negative errno when the file cannot be read. Damage is skipped
 * and booked. */
int samplefile_next(struct samplefile *f);

#endif
