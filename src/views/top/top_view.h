/*
 * The live view of a job as lines of text. It takes the samples of sources, finds metrics by name
 * and shows a dash for those that are absent. The caller samples and draws.
 */
#pragma once

#include "core/text/json_writer.h"
#include "jobs/discovery/job_processes.h"
#include "samples/sample.h"

enum top_sort { TOP_BY_CPU, TOP_BY_MEMORY, TOP_BY_IO };

struct topview;
struct topview *topview_new(void);
void topview_free(struct topview *v);

/* Is this source shown at all? */
bool topview_wants(const char *source);

/* A round of samples: begin, the living processes, the sets of the sources, end. */
void topview_begin(struct topview *v, uint64_t time_ns);
void topview_watch(struct topview *v, const struct job_processes *w);
void topview_take(struct topview *v, const char *source, const struct sample_set *set);
void topview_end(struct topview *v);
/* The state of a process: 'R', 'S', 'D' ... */
void topview_state(struct topview *v, int pid, char state);

/* What the user has chosen to see. */
struct top_look {
	size_t width, height; /* height 0: as long as it takes */
	bool utf8, paused, help, keys;
	enum top_sort sort;
	size_t scroll;     /* rows of the table that are above the first */
	const char *title; /* which job */
	const char *host;
	const char *note; /* shown once instead of the keys; NULL: none */
};

enum top_style { TOP_PLAIN, TOP_TITLE, TOP_HEAD, TOP_CURVE, TOP_NOTE };

struct top_line {
	enum top_style style;
	char *text; /* at most width columns */
};

struct top_frame {
	struct top_line *lines;
	size_t count, cap;
	size_t page; /* rows of the table that fit */
};
void top_frame_release(struct top_frame *f);

/* The number of processes; and the ids of those that are shown, in order. */
size_t topview_count(const struct topview *v);
size_t topview_shown(struct topview *v, const struct top_look *look, int *pids, size_t max);
void topview_render(struct topview *v, const struct top_look *look, struct top_frame *ret);
/* The same as a JSON object; absent values are null. */
void topview_json(struct topview *v, const struct top_look *look, struct json_writer *j);
