/*
 * What a job should ask for the next time, from what it used and what earlier runs of the same
 * command used. Pure functions. Unknown figures are NAN and lead to no suggestion: a request that
 * is too small ends a job, so there is none without evidence, and none from a run that did not
 * complete.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum advice_item { ADVICE_CORES, ADVICE_MEMORY, ADVICE_TIME, ADVICE_GPUS, ADVICE_ITEMS };
extern const char *const advice_names[ADVICE_ITEMS]; /* "cores", "memory", "time", "gpus" */

/* Cores at one time, bytes on a host, seconds, GPUs; NAN: not known. */
struct run_use {
	double item[ADVICE_ITEMS];
	bool complete; /* it ended by itself, with exit status 0 */
	bool partly;   /* nothing was recorded on some of its hosts */
	bool late;     /* most of its time had passed before it was recorded */
	bool files;    /* nobody looked at its files in memory (/dev/shm), and it may have some */
};

struct request_advice {
	double asked, used; /* NAN: not known */
	double suggested;   /* NAN: none; without a known request, what to ask for */
	double saving;      /* core seconds, byte seconds, seconds, GPU seconds; NAN: none */
	size_t past, fit;   /* earlier complete runs that are known, and that would have fitted */
	bool raised;        /* earlier runs needed more than this one */
	const char *reason; /* why there is no suggestion; NULL: there is one */
};

/* asked: by item, NAN where not known; tasks: that share the cores, at least 1. */
void request_advise(const struct run_use *now, const struct run_use *past, size_t past_count,
		    const double *asked, double tasks, struct request_advice ret[ADVICE_ITEMS]);

/* The fewest cores with which at most 5 % of the demand would have had to wait: demand[i] cores
 * were in use or wanted for seconds[i]. NAN: nothing is known. */
double cores_needed(const double *demand, const double *seconds, size_t count);
