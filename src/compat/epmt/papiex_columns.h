/*
 * The columns of papiex's files, in papiex's order. Header only: the program and libpapiex.so write
 * the same ones.
 */
#ifndef PL_COMPAT_EPMT_PAPIEX_COLUMNS_H
#define PL_COMPAT_EPMT_PAPIEX_COLUMNS_H

#include "core/metrics/metric.h"

/* The metric columns of both formats. */
static const unsigned char papiex_numbers[] = {
	METRIC_USERTIME,
	METRIC_SYSTEMTIME,
	METRIC_RSSMAX,
	METRIC_MINFLT,
	METRIC_MAJFLT,
	METRIC_INBLOCK,
	METRIC_OUTBLOCK,
	METRIC_VOL_CTXSW,
	METRIC_INVOL_CTXSW,
	METRIC_CMINFLT,
	METRIC_CMAJFLT,
	METRIC_CUTIME,
	METRIC_CSTIME,
	METRIC_NUM_THREADS,
	METRIC_STARTTIME,
	METRIC_PROCESSOR,
	METRIC_DELAYACCT_BLKIO_TIME,
	METRIC_GUEST_TIME,
	METRIC_RCHAR,
	METRIC_WCHAR,
	METRIC_SYSCR,
	METRIC_SYSCW,
	METRIC_READ_BYTES,
	METRIC_WRITE_BYTES,
	METRIC_CANCELLED_WRITE_BYTES,
	METRIC_TIME_ONCPU,
	METRIC_TIME_WAITING,
	METRIC_TIMESLICES,
};

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

#endif
