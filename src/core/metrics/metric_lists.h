/*
 * Groups of metrics that several lists of columns have in common: the store, files of other tools
 * and the rows of images. Header only.
 */
#pragma once

#include "core/metrics/metric.h"

/* clang-format off */

/* getrusage() of a thread or a process */
#define METRICS_RUSAGE \
	METRIC_USERTIME, METRIC_SYSTEMTIME, METRIC_RSSMAX, METRIC_MINFLT, METRIC_MAJFLT, \
	METRIC_INBLOCK, METRIC_OUTBLOCK, METRIC_VOL_CTXSW, METRIC_INVOL_CTXSW

/* /proc/PID/stat of a process: its children that were waited for, and its threads */
#define METRICS_CHILDREN \
	METRIC_CMINFLT, METRIC_CMAJFLT, METRIC_CUTIME, METRIC_CSTIME, METRIC_NUM_THREADS

/* stat, io and schedstat of a thread or a process */
#define METRICS_PROC \
	METRIC_PROCESSOR, METRIC_DELAYACCT_BLKIO_TIME, METRIC_GUEST_TIME, METRIC_RCHAR, \
	METRIC_WCHAR, METRIC_SYSCR, METRIC_SYSCW, METRIC_READ_BYTES, METRIC_WRITE_BYTES, \
	METRIC_CANCELLED_WRITE_BYTES, METRIC_TIME_ONCPU, METRIC_TIME_WAITING, METRIC_TIMESLICES

/* clang-format on */
