/* /proc/PID/stat of a process, read and parsed. */
#pragma once

#include "core/system/procparse.h"

struct process_stat {
	struct proc_stat st;
	char text[2048]; /* st.comm points into it */
};

/* root: in front of /proc, "" on a live machine. False where there is no such process, or its stat
 * file ends before the start time. */
bool process_stat_read(const char *root, int pid, struct process_stat *ret);
