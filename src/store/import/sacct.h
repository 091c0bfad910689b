/*
 * Output of `sacct --parsable2` (or --parsable): a header that names the columns, in any order, and
 * one line per job and step. Steps follow their job and are added to it. Known columns become
 * values of a dict with SI base units; others are skipped. Pure: reads lines, calls back per job.
 */
#pragma once

#include "core/value.h"

#define SACCT_LINE_MAX ((size_t)1 << 20)
#define SACCT_COLUMNS_MAX 256
#define SACCT_STEPS_MAX 100 /* steps of a job that are kept; all are counted */

struct sacct_record {
	char *id;             /* JobIDRaw, else JobID, without the step */
	char *task;           /* JobID of an array task, "123_4"; NULL: it is not one */
	char *user, *cluster; /* NULL: unknown */
	int64_t start_us, end_us;
	bool has_start, has_end;
	bool whole;          /* there was a line of the job itself, not only of steps */
	struct value *facts; /* the values, by the keys of docs/scheduler_accounting.md */
	struct value *steps; /* list of dicts */
	uint64_t step_count;
};

struct sacct {
	/* Called for each complete job; an error ends the reading. */
	int (*job)(void *user, const struct sacct_record *r, struct strbuf *why);
	void *user;
	uint64_t line; /* number of the current one, from 1 */
	uint64_t jobs, steps;
	int columns[SACCT_COLUMNS_MAX]; /* index of the column in the table; -1: skipped */
	size_t column_count;            /* 0: no header yet */
	ssize_t wide; /* the column that may contain "|" because it is the only free text; -1: none
		       */
	bool open;    /* the record is not complete */
	struct sacct_record record;
};

void sacct_init(struct sacct *s,
		int (*job)(void *user, const struct sacct_record *r, struct strbuf *why),
		void *user);
/* Takes the next line, without its newline. 0, -EINVAL with the reason (without file and line
 * number), or the error of the callback. */
int sacct_line(struct sacct *s, const char *line, size_t n, struct strbuf *why);
/* Completes the last job. -ENODATA: there was no header. */
int sacct_end(struct sacct *s, struct strbuf *why);
void sacct_release(struct sacct *s);
#define _cleanup_sacct_ _cleanup_(sacct_release)

/* ---- values (sacct_values.c) ---------------------------------------------------------------- */

/* How the text of a column becomes a value. */
enum sacct_type {
	SACCT_TEXT,
	SACCT_COMMAND,  /* a command line, whose secrets are masked */
	SACCT_STATE,    /* "CANCELLED by 1000": state and cancelled_by */
	SACCT_EXIT,     /* "1:9": X_code and X_signal; the key ends in "code" */
	SACCT_TIME,     /* ISO 8601, local without a zone */
	SACCT_DURATION, /* "1-02:03:04", "03:04.567": seconds; "UNLIMITED" stays a word */
	SACCT_MINUTES,  /* TimelimitRaw */
	SACCT_SECONDS,
	SACCT_SIZE,   /* "4Gn", "2000Mc", "1180K": bytes, and KEY_per: node or cpu */
	SACCT_COUNT,  /* "12", "1.5K" */
	SACCT_ENERGY, /* "1.23M": joules */
	SACCT_TRES,   /* "cpu=2,mem=4G,gres/gpu=1": the text, and gpus */
};

/* Sets the value of a key; nothing for an empty text or one that means unknown. -EINVAL with the
 * reason. */
int sacct_take_value(struct value *to, const char *key, enum sacct_type type, const char *text,
		     struct strbuf *why);
