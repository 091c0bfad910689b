/*
 * The live view of a job as lines of text. It takes the readings of sources as they come, looks
 * metrics up by name and shows a dash for what is not there; who draws the lines, and where the
 * readings come from, is not its business.
 */
#ifndef PL_VIEWS_TOP_TOP_VIEW_H
#define PL_VIEWS_TOP_TOP_VIEW_H

#include "core/text/json_writer.h"
#include "jobs/discovery/job_processes.h"
#include "samples/sample.h"

enum top_sort { TOP_BY_CPU, TOP_BY_MEMORY, TOP_BY_IO };

struct topview;
struct topview *topview_new(void);
void topview_free(struct topview *v);

/* Is this source shown at all? */
bool topview_wants(const char *source);

/* A round of readings: begin, who is alive, the sets of the sources that were read, end. */
void topview_begin(struct topview *v, uint64_t time_ns);
void topview_watch(struct topview *v, const struct job_processes *w);
void topview_take(struct topview *v, const char *source, const struct sample_set *set);
void topview_end(struct topview *v);
/* What the kernel says a process does: 'R', 'S', 'D' ... */
void topview_state(struct topview *v, int pid, char state);

/* What the reader of the view has chosen, and what it is of. */
struct top_look {
	size_t width, height; /* height 0: as long as it takes */
	bool utf8, paused, help, keys;
	enum top_sort sort;
	size_t scroll;     /* rows of the table that are above the first */
	const char *title; /* which job */
	const char *host;
	const char *note; /* said once, instead of the keys; NULL: none */
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

/* Processes known; and those that are shown first, in their order: the number of ids in pids[]. */
size_t topview_count(const struct topview *v);
size_t topview_shown(struct topview *v, const struct top_look *look, int *pids, size_t max);
void topview_render(struct topview *v, const struct top_look *look, struct top_frame *ret);
/* The same as an object of JSON; what is not there is null. */
void topview_json(struct topview *v, const struct top_look *look, struct jsonw *j);

#endif
