/* Disks that fail when a test says so; see faults.c. A unit test that links the library calls
 * these. */
#ifndef PL_TESTS_FAULTS_H
#define PL_TESTS_FAULTS_H

/* Calls of this name (open, read, write, sync, truncate) on paths that hold this text: the first
 * `after` work, the next `times` (-1: all) fail with this errno. */
void fault_add(const char *call, const char *path, unsigned after, int times, int error);
void fault_clear(void);
/* How many calls failed since the last clear. */
unsigned fault_hits(void);

/* From now on what is written to files below this directory, which is empty, is on the disk only
 * after a sync that worked; of what a sync that failed was for some pages get there, and no later
 * one brings the others. NULL: no more. */
void fault_disk(const char *root);
/* The power goes: files are what they are on the disk. Names are as they were. Nobody may have them
 * open. */
void fault_power_cut(void);

#endif
