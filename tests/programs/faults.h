/* Disks that fail when a test says so; see faults.c. A unit test that links the library calls
 * these. */
#pragma once

/* What a call can do beside failing with an errno. */
enum {
	FAULT_SHORT = -1,       /* a write does half of what it was asked for */
	FAULT_KILL = -2,        /* the process is killed there; a write has done half of it */
	FAULT_KILL_BEHIND = -3, /* the same, and the call is done */
};

/* Calls of this name (open, read, write, sync, truncate, rename, unlink) on paths that hold this
 * text, or, where a * is in it, are matched by this pattern: the first `after` work, the next
 * `times`
 * (-1: all) fail with this errno, or do one of the above. Errors of writing are not for what is
 * opened to be read. */
void fault_add(const char *call, const char *path, unsigned after, int times, int error);
void fault_clear(void);
/* How many calls failed since the last clear. */
unsigned fault_hits(void);

/* From now on what is written to files below this directory, which is empty, is on the disk only
 * after a sync that worked; of what a sync that failed was for some pages get there, and no later
 * one brings the others. Processes that are forked from here on share the disk and the faults.
 * NULL: no more. */
void fault_disk(const char *root);
/* The power goes: files, or those below this directory, are what they are on the disk. Names are as
 * they were. Nobody may have them open. */
void fault_power_cut(void);
void fault_power_cut_below(const char *dir);
