/* Shared by the import*.c files: a job that is being read. */
#pragma once

#include "codecs/archive.h"
#include "jobs/job_directory.h"
#include "records/mark_log.h"
#include "store/identity.h"
#include "store/import/import.h"
#include "store/ingest/job_parts.h"

/* Of two parts of a job that come at the same time, the later one tries again and joins. */
#define IMPORT_TRIES_MAX 64

/* A sample file whose job is still unknown. */
struct waiting {
	char *name;
	int fd;
};

/* Where the bytes of a file come from: a member of an archive, or a descriptor. */
struct bytes {
	const struct archive_member *member;
	int fd;
};

/* A mark file, whose used part is in the scratch file. */
struct import_mark {
	struct mark_file file;
	uint64_t at, size;
};

struct import;

/*
 * Reads the files of another tool, in place of records. One importer reads all such files of a job,
 * and keeps its own state in p->state. importers.def lists the importers.
 */
struct importer {
	const char *name;
	bool (*is_name)(const char *base);
	bool (*goes_first)(const char *base); /* among the files of a directory; NULL: any order */
	int (*take)(struct import *p, const struct bytes *from, const char *name);
	/* After an archive was read, before its metadata are; NULL: nothing to do. */
	int (*end_archive)(struct import *p, const char *path);
	/* After everything was read, and the job is known. */
	int (*finish)(struct import *p);
	void (*release)(struct import *p);
};

struct import {
	const struct import_options *o;
	struct store *store;
	struct ingest *in;
	struct sample_ingest *samples; /* NULL: no samples yet */
	struct accounting accounting;
	struct jobmeta meta;
	struct value *metadata;     /* collected from runs; NULL: none yet */
	struct value *own;          /* the metadata as read */
	struct value *pending;      /* the same, while the rest of an archive is read; NULL: none */
	struct value *runs;         /* the metadata of each run, a list; NULL: none yet */
	struct value *dropped;      /* runs whose records the store has, as keys; NULL: none */
	struct inventory files;     /* of the input, if the store has a part of the job */
	struct identity_times seen; /* times of samples without metadata; 0: unknown */
	struct part_join *join;     /* with the parts of the job in the store; NULL: none */
	struct waiting *waiting;    /* sample files that came before the metadata */
	size_t waiting_count, waiting_cap;
	struct import_mark *marks;
	size_t mark_count, mark_cap;
	size_t bad_marks; /* files that are none */
	int mark_scratch; /* -1: none yet */
	uint64_t mark_bytes;
	bool has_meta;
	size_t negative; /* negative CPU times, left out */
	bool named;      /* the message already names the file */
	char *job_dir;   /* in the archive, "" or "dir/"; NULL: no metadata yet */
	const char *format;
	const struct importer *importer; /* of files of another tool; NULL: none yet */
	void *state;                     /* of the importer */
	size_t foreign_files, record_files;
	size_t run_count; /* with accounting */
	struct import_result *result;
	struct strbuf *why;
};

/* Begins a job; the caller has set o, store, result and why. */
void import_begin(struct import *p);
void import_end(struct import *p);
/* Adds lines about what was read, for -v. */
void import_describe(struct import *p);
/* Puts the name of a file before the message; text NULL: the message in p->why. Returns error. */
int import_fail(struct import *p, int error, const char *name, const char *text);
/* The same, preferring the message of the store. */
int import_reading_failed(struct import *p, int error, const char *name);
/* Takes the metadata of the job. A job of another tool that is stored already is refused or
 * replaced here; our own are compared file by file, by import_meet(). */
int import_take_meta(struct import *p, const struct value *meta, const char *name);
/* Adds the metadata of a run or monitor, which is taken; and takes all of them, each once, except
 * those that the store has. */
void import_add_run(struct import *p, struct value *run);
void import_take_runs(struct import *p);
/* Takes one of them. */
void import_take_run(struct import *p, const struct value *run);
/* Finds the exit status of a killed run in the record of its command. */
void import_find_exit(struct import *p);
/* Drops totals that do not cover all records; before other parts are added. */
void import_compare_accounting(struct import *p);
void import_add_metadata(struct import *p);
/* ---- a job that is stored already; import_existing.c ----------------------------------------- */

/* Adds a sample file to p->files; takes the descriptor. */
int import_scan_samples(void *p, int fd, const char *name);
/* With the files of the job known: refuses, replaces or joins what is stored already. */
int import_meet(struct import *p);
/* The list of files of this part, for the metadata. */
struct value *import_files(const struct import *p);
/* Keeps tags and annotations that people changed in the store. */
void import_keep_notes(struct import *p, const struct part_join *j);

/* Stores the job, together with its parts in the store. -ESTALE: another part came meanwhile. */
int import_finish(struct import *p, const char *source);
/* Takes the limits that `start` and `stop` noted. */
void import_take_limits(struct import *p, const struct value *meta);
/* Notes the runs of this part as steps of the job, and those that another part noted. */
void import_note_steps(struct import *p);
void import_add_steps(struct import *p, const struct value *steps);
/* Notes that a run was ended by a signal, or has no end. */
void import_take_cut_off(struct import *p, const struct value *run);
/* Have all runs ended of a job that nobody stopped? Then meta gets the time of the last record as
 * its end. */
bool import_was_cut_off(const struct job_directory *j, struct value *meta,
			const struct value *runs);

/* Up to n bytes; 0 at the end, negative on error. */
ssize_t import_read_piece(const struct bytes *b, void *buf, size_t n);
/* Copies all bytes to an unnamed file; its descriptor, or negative. */
int import_copy_to_scratch(struct import *p, const struct bytes *from, const char *name);

/* ---- marks; import_marks.c --------------------------------------------------------------------
 */

/* Takes a mark file; and the same for job_directory_visit_marks(), which takes the descriptor. */
int import_take_marks(struct import *p, const struct bytes *from, const char *name);
int import_visit_marks(void *p, int fd, const char *name);
/* Adds the mark files to an inventory. */
void import_scan_marks(const struct import *p, struct inventory *inv);
/* Makes phases of all marks; after the images. */
int import_finish_marks(struct import *p);
void import_marks_release(struct import *p);

/* ---- samples; functions take the descriptor
 * --------------------------------------------------------- */

int import_take_samples(void *p, int fd, const char *name);
/* A sample file by itself. */
int import_take_sample_file(struct import *p, const char *path);
/* All sample files of a directory without metadata; 1: none. */
int import_take_bare_samples(struct import *p, const struct job_directory *j, const char *path);
/* Samples of another tool; 1: none. */
int import_take_sampled(struct import *p, const char *path);
/* Makes metadata for samples without them, from an id and their times. fd: of their file, not
 * taken; -1: none. */
int import_take_bare_meta(struct import *p, const char *id, const char *path, int fd);
int import_finish_samples(struct import *p);
/* All jobs of an HDF5 file, each completely or not at all. */
int import_submit_hdf5(struct import *p, const char *path);
