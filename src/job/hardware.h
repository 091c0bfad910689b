/* What a host is made of: processors, memory, caches, devices, from /proc and /sys. */
#ifndef PL_JOB_HARDWARE_H
#define PL_JOB_HARDWARE_H

#include "core/value.h"

/* As a dict. root: in front of /proc and /sys, "" on a live machine. */
struct value *hardware_facts(const char *root);

#endif
