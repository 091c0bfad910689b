/*
 * The process tree of a job. All nodes are in memory in depth-first order, 64 bytes each; for jobs
 * of usual size names and arguments are, too. Walks use no recursion: a chain of processes may be
 * as long as the job.
 */
#pragma once

#include "views/output.h"
#include "store/query.h"

struct tree_node {
	int64_t start, duration; /* us; UNKNOWN where not known */
	int64_t cpu, inclusive;
	int64_t rssmax; /* KiB */
	uint32_t last;  /* index of its last descendant; its own without any */
	uint32_t pid;
	uint32_t exename, args; /* numbers of strings, 0: none */
	int32_t exitcode;
	bool has_pid : 1, has_exitcode : 1, has_signal : 1;
	bool replaced : 1; /* it executed another program */
	/* by proctree_join_images(): the next image of the same process is behind it, and it is the
	 * next one of the process before it */
	bool followed : 1, follows : 1;
};

struct proctree {
	struct tree_node *nodes;
	size_t count;
	struct store *store;
	int64_t job;
	/* where each string begins in texts, and one more; NULL: too many bytes, they are read one
	 * by one */
	size_t *begin;
	size_t string_count;
	struct strbuf texts;
	struct stmt *one;
};
void proctree_release(struct proctree *t);
int proctree_load(struct proctree *t, struct store *s, int64_t job);
/* The text of a string number; lives until the next call. */
const char *proctree_text(struct proctree *t, uint32_t number, size_t *ret_n);

/* Moves the images of each process together. Otherwise siblings are in the order of their start. */
void proctree_join_images(struct proctree *t);

/* What is shown. */
struct tree_view {
	uint64_t depth;  /* deepest level that is shown; 0: only roots */
	int64_t min_cpu; /* us that a process and all below it must have used */
	bool all;        /* do not merge similar processes into one line */
	bool wide;       /* do not cut lines */
};
#define TREE_DEPTH_ALL UINT64_MAX

int proctree_print(struct proctree *t, const struct tree_view *v, FILE *f);
int proctree_print_json(struct proctree *t, const struct tree_view *v, FILE *f);
int proctree_print_csv(struct proctree *t, const struct tree_view *v, FILE *f);
