/*
 * The marks of one process, read from its mark files (plimsoll/mark.h), and the regions that they
 * delimit. Files are hostile: everything is bounded and checked, and what cannot be a mark is
 * counted and skipped. Names become printable and lose their secrets here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "core/hash_map.h"
#include "core/strbuf.h"
#include "plimsoll/mark.h"

/* Regions deeper than this are counted as damaged. */
#define MARK_DEPTH_MAX 1000

struct mark {
	int64_t time_ns; /* since 1970 */
	uint64_t cpu_ns;
	uint32_t tid, name, order;
	uint8_t kind, flags;
};

/* Whose marks they are. */
struct mark_process {
	char host[sizeof(((struct plimsoll_mark_header *)NULL)->host)];
	uint32_t pid;
	uint64_t start_ticks, pidns;
	int64_t rank; /* -1: none */
	uint64_t ranks;
	bool with_cpu;
};

struct mark_log {
	struct mark_process process;
	struct mark *marks;
	size_t count, cap;
	char **names;
	size_t name_count, name_cap;
	struct hash_map name_index; /* into names, by the bytes in the file */
	uint64_t damaged;           /* slots that are no mark, or missing at the end */
	uint64_t dropped;           /* marks for which there was no room */
	size_t files;
};

void mark_log_release(struct mark_log *l);
#define _cleanup_mark_log_ _cleanup_(mark_log_release)

/* What a mark file says of itself. */
struct mark_file {
	struct mark_process process;
	uint64_t process_id; /* the same for all files of a process, different for others */
	uint64_t file_id;    /* the same only for the same file */
	uint64_t slots;      /* used */
};
/* Reads the header in memory, of at least sizeof(struct plimsoll_mark_header) bytes. -EBADMSG: it
 * is none. */
int mark_file_parse(const void *header, struct mark_file *ret);
/* Adds the marks of a file of size bytes that begins at an offset of fd; all those of one log
 * belong to one process. -EBADMSG: it is no mark file. */
int mark_log_add(struct mark_log *l, int fd, uint64_t at, uint64_t size);

/* Can it be a mark? */
bool mark_slot_is_mark(const struct plimsoll_mark_slot *s, const struct plimsoll_mark_header *h);
/* Copies a mark file to another at its position, with secrets in names masked: a secret becomes
 * asterisks, and a name keeps its length. What is no mark becomes zeros, what is not used is left
 * out, a file that is none becomes empty. 0 or a negative errno. */
int mark_file_mask(int from, int to);

enum mark_state {
	MARK_ENDED,  /* began and ended */
	MARK_OPEN,   /* no end: the program left it open, or was ended in it */
	MARK_POINT,  /* a point in time */
	MARK_UNSEEN, /* the end may be among the marks that were dropped */
};

#define MARK_NONE UINT32_MAX

struct mark_region {
	int64_t begin_ns, end_ns; /* since 1970; the end of an open one: 0 */
	int64_t cpu_ns;           /* -1: unknown */
	uint32_t tid, name;
	uint32_t parent; /* place of the region around it, which comes before it; MARK_NONE */
	uint16_t depth;
	uint8_t state, flags;
};

struct mark_regions {
	struct mark_region *v;
	size_t count, cap;
	uint64_t unmatched; /* ends without a begin */
	uint64_t too_deep;
};
void mark_regions_release(struct mark_regions *r);
#define _cleanup_mark_regions_ _cleanup_(mark_regions_release)

/* Finds the regions of a log: thread by thread, in the order in which they begin. Sorts the marks.
 */
void mark_log_regions(struct mark_log *l, struct mark_regions *ret);
