/*
 * What a host is made of: processor, caches, memory, NUMA nodes, network and InfiniBand adapters,
 * disks, GPUs, kernel and system. Read from /proc, /sys and os-release below a root, with no
 * library and nothing started, so that a recorded tree can be described too.
 */
#ifndef PL_JOBS_HARDWARE_H
#define PL_JOBS_HARDWARE_H

#include "core/value.h"

/*
 * A dict for the metadata of a job; what a host does not tell is not in it:
 *   architecture, kernel, os, memory_bytes, virtual;
 *   machine {vendor, product};
 *   cpu {name, vendor, family, model, stepping, microarchitecture, level, sockets, cores, threads};
 *   caches [{level, type, size_bytes, shared_by, count}]; numa [{node, cpus, memory_bytes,
 * distance}]; network [{name, type, driver, speed_mbit, pci}]; infiniband [{name, type, firmware,
 * ports [...]}]; disks [{name, model, size_bytes, rotational}]; gpus [{pci, vendor, vendor_id,
 * device_id, ...}]. root: in front of /proc, /sys and /etc; "" on a live machine. Freed by the
 * caller.
 */
struct value *hardware_facts(const char *root);

/* ---- parts, for hardware.c ---- */

/* Adds network, infiniband, disks and gpus. */
void hardware_add_devices(struct value *facts, const char *root);

/* Names in a directory that begin with a prefix, in the order of their numbers; ends with NULL.
 * Freed by the caller with hardware_free_names(). Never NULL, at most max names. */
char **hardware_names(const char *dir, const char *prefix, size_t max);
void hardware_free_names(char ***names);
#define _cleanup_names_ _cleanup_(hardware_free_names)

/* Puts the first line of a file, as text or as a number; nothing when there is none. */
void hardware_put_file(struct value *dict, const char *key, const char *dir, const char *file);
void hardware_put_number(struct value *dict, const char *key, const char *dir, const char *file,
			 int64_t times);

#endif
