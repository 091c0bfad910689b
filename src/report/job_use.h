/*
 * What a job used of what it asked for: the figures of `efficiency` and `advise`, taken from a
 * loaded report.
 */
#pragma once

#include "analysis/request_advice.h"
#include "report/report.h"

struct job_use {
	struct run_use use;
	double asked[ADVICE_ITEMS]; /* NAN: not known */
	double tasks;               /* at least 1 */
	bool ranks;                 /* of which no request tells */
	double hosts;
	double cores;          /* granted; NAN */
	double cpu, seconds;   /* s; NAN. seconds: that were recorded */
	bool open_end;         /* what the batch script did afterwards is not known */
	double memory_least;   /* of the host that used most; use.item has the upper bound */
	double files;          /* bytes in use.item[ADVICE_MEMORY] of files in memory, at most */
	double gpu_busy;       /* 0..1; NAN */
	const char *state;     /* "completed", "failed", "cut off", "running" */
	const char *scheduler; /* "slurm"; NULL: none. Of the report */
};
void job_use_take(const struct report *r, struct job_use *ret);

/* CPU time by the core time that was granted, 0..1; NAN. */
double job_use_cpu_share(const struct job_use *u);
/* The directive of a batch script that asks for this, such as "#SBATCH --mem=2G". */
void job_use_directive(const struct job_use *u, enum advice_item item, double amount,
		       struct strbuf *out);
/* An amount for people: "4", "2 GiB", "1 h 5 min". */
void advice_add_amount(struct strbuf *out, enum advice_item item, double amount);
