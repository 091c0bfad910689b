/* What import.c and import_samples.c share: a job that is being read. */
#ifndef PL_STORE_IMPORT_IMPORT_INTERNAL_H
#define PL_STORE_IMPORT_IMPORT_INTERNAL_H

#include "codecs/archive.h"
#include "jobs/job_directory.h"
#include "store/identity.h"
#include "store/import/import.h"
#include "store/ingest/job_parts.h"

/* Two parts of one job that come at the same time: whoever is later joins the other. */
#define IMPORT_TRIES_MAX 64

/* A sample file whose job is not known yet. */
struct waiting {
	char *name;
	int fd;
};

/* Where the bytes of a file come from: a member of an archive, or a descriptor. */
struct bytes {
	const struct archive_member *member;
	int fd;
};

struct import;

/*
 * Reads the files of another tool, which a job has instead of records. One importer reads all such
 * files of a job; what it keeps between them is in p->state. importers.def lists them.
 */
struct importer {
	const char *name;
	bool (*is_name)(const char *base);
	bool (*goes_first)(const char *base); /* of the files in a directory; NULL: in any order */
	int (*take)(struct import *p, const struct bytes *from, const char *name);
	/* All of an archive was read, and the metadata may come; NULL: nothing is to be done. */
	int (*end_archive)(struct import *p, const char *path);
	/* All was read, what the input is and whose is known. */
	int (*finish)(struct import *p);
	void (*release)(struct import *p);
};

struct import {
	const struct import_options *o;
	struct store *store;
	struct ingest *in;
	struct sample_ingest *curves; /* NULL: no samples yet */
	struct accounting books;
	struct jobmeta meta;
	struct value *facts;     /* of runs, for the metadata; NULL: none yet */
	struct value *own;       /* the metadata as they were read */
	struct value *pending;   /* the same while the rest of an archive is read; NULL: none */
	struct value *run_facts; /* what runs wrote down, a list; NULL: none yet */
	struct value *dropped;  /* names of runs whose records the store has, as keys; NULL: none */
	struct inventory files; /* of the input, where the store has something of the job */
	struct identity_times seen; /* when samples without metadata are from; 0: not known */
	struct part_join *join;     /* to parts of the job that are in the store; NULL: none */
	struct waiting *samples;    /* sample files that came before the metadata */
	size_t sample_count, sample_cap;
	int64_t oom_kills; /* of the job as a whole, as `stop` saw it; -1: not known */
	bool has_meta;
	size_t negative; /* CPU times below 0, left out */
	bool named;      /* what is wrong says in which file */
	char *job_dir;   /* in the archive, "" or "dir/"; NULL: no metadata yet */
	const char *format;
	const struct importer *importer; /* of files that are not ours; NULL: there are none yet */
	void *state;                     /* its own */
	size_t foreign_files, record_files;
	size_t runs; /* whose books were read */
	struct import_result *result;
	struct strbuf *why;
};

/* Begins with one job, or with the next; o, store, result and why are the caller's. */
void import_begin(struct import *p);
void import_end(struct import *p);
/* Lines about what was read, for -v. */
void import_describe(struct import *p);
/* Puts the name of a file before what is wrong with it; text NULL: what p->why has. Returns error.
 */
int import_fail(struct import *p, int error, const char *name, const char *text);
/* The same where the store may have something to say about it. */
int import_reading_failed(struct import *p, int error, const char *name);
/* Metadata: make the job known. Where only they tell whether it is there already, it is refused or
 * replaced at once; what we recorded is compared file by file, by import_meet(). */
int import_take_meta(struct import *p, const struct value *meta, const char *name);
/* What a run or monitor wrote down of itself, which is taken; and of all of them, once each, but
 * of those that the store has. */
void import_add_run(struct import *p, struct value *facts);
void import_take_runs(struct import *p);
/* One of them; and all of it into the metadata. */
void import_take_facts(struct import *p, const struct value *facts);
/* Of a run that was killed: its command's end, where the command's own record has it. */
void import_find_exit(struct import *p);
/* Before that of other parts is added to it. */
void import_compare_books(struct import *p);
void import_add_facts(struct import *p);
/* ---- a job that is there already; import_existing.c ---- */

/* A sample file of the input, to be compared; the descriptor is taken. */
int import_scan_samples(void *p, int fd, const char *name);
/* The files of a job of ours are known: what is there already is refused, replaced or joined. */
int import_meet(struct import *p);
/* For the metadata: which files it consists of. */
struct value *import_files(const struct import *p);
/* What people changed in the store stays changed. */
void import_keep_notes(struct import *p, const struct part_join *j);

/* All was read: into the store, together with the parts of the job that are there. -ESTALE: another
 * one came meanwhile. */
int import_finish(struct import *p, const char *source);
/* What `start` and `stop` wrote down of limits. */
void import_take_limits(struct import *p, const struct value *meta);
/* A run that was told to end by a signal, or that has no end. */
void import_take_cut_off(struct import *p, const struct value *facts);
/* A job that nobody stopped: did all its runs end all the same? Then meta gets the time of the last
 * record as its end. */
bool import_was_cut_off(const struct jobdir *j, struct value *meta, const struct value *runs);

/* Up to n bytes; 0 at the end, negative on error. */
ssize_t import_read_piece(const struct bytes *b, void *buf, size_t n);
/* All of it into a file that nobody else can see; its descriptor, or negative. */
int import_copy_to_scratch(struct import *p, const struct bytes *from, const char *name);

/* ---- samples; descriptors are taken ---- */

int import_take_samples(void *p, int fd, const char *name);
/* A sample file by itself. */
int import_take_sample_file(struct import *p, const char *path);
/* All sample files of a directory without metadata; 1 when there are none. */
int import_take_bare_samples(struct import *p, const struct jobdir *j, const char *path);
/* What another tool sampled; 1 when there is nothing of any. */
int import_take_sampled(struct import *p, const char *path);
/* Samples without metadata: all that is known of the job is its name, and when they are from. fd:
 * of their file, is not taken; -1: none. */
int import_take_bare_meta(struct import *p, const char *id, const char *path, int fd);
int import_finish_samples(struct import *p);
/* All jobs of an HDF5 file, each wholly or not at all. */
int import_submit_hdf5(struct import *p, const char *path);

#endif
