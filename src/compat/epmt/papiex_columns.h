/*
 * The columns of papiex's files, in papiex's order. Header only: the program and libpapiex.so write
 * the same ones.
 */
#pragma once

#include "core/metrics/metric_lists.h"

/* The metric columns of both formats. */
static const unsigned char papiex_numbers[] = {METRICS_RUSAGE, METRICS_CHILDREN, METRIC_STARTTIME,
					       METRICS_PROC};

/* What CSV has in front of them; the first 14 are empty in the rows of further threads. */
static const unsigned char papiex_csv_front[] = {
	METRIC_TAGS,     METRIC_HOSTNAME,   METRIC_EXENAME, METRIC_PATH,       METRIC_ARGS,
	METRIC_EXITCODE, METRIC_EXITSIGNAL, METRIC_PID,     METRIC_GENERATION, METRIC_PPID,
	METRIC_PGID,     METRIC_SID,        METRIC_NUMTIDS, METRIC_NUMRANKS,   METRIC_TID,
	METRIC_MPIRANK,  METRIC_START,      METRIC_END,
};
#define PAPIEX_CSV_PROCESS_COLUMNS 14

/* What a control character, in the order of the first, becomes behind a backslash. */
#define PAPIEX_CONTROLS "\a\b\f\n\r\t\v"
#define PAPIEX_LETTERS "abfnrtv"
