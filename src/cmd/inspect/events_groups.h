/* Event groups for `plimsoll events`. */
#pragma once

#include <stdbool.h>

/* Lists the groups of a microarchitecture (NULL: this machine's) with formulas and, for this
 * machine, whether each event can be counted. dir holds the group files; NULL: the installed ones.
 */
int events_list_groups(const char *dir, const char *arch, bool json);
/* Reads all files and encodes every event for each PMU of its file; one line per group. */
int events_check_groups(const char *dir, bool json);
