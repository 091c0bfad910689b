/* The parts of `plimsoll events` that are about groups. */
#ifndef PL_CMD_INSPECT_EVENTS_GROUPS_H
#define PL_CMD_INSPECT_EVENTS_GROUPS_H

#include <stdbool.h>

/* Lists the groups of a microarchitecture (NULL: of this machine's) with formulas and, on this
 * machine, what each event does. dir: of the files; NULL: where they are installed. */
int events_list_groups(const char *dir, const char *arch, bool json);
/* Reads every file and encodes every event on each PMU that the file names: a line a group. */
int events_check_groups(const char *dir, bool json);

#endif
