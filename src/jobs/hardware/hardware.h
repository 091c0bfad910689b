/*
 * The hardware and system of a host: processor, caches, memory, NUMA nodes, network and InfiniBand
 * adapters, disks, GPUs, kernel and distribution. Read from /proc, /sys and os-release below a
 * root, without libraries or commands, so that a recorded tree can be described too.
 */
#pragma once

#include "core/value.h"

/*
 * A dict for the metadata of a job; what is unknown is absent:
 *   architecture, kernel, os, memory_bytes, virtual;
 *   machine {vendor, product};
 *   cpu {name, vendor, family, model, stepping, microarchitecture, level, sockets, cores, threads};
 *   caches [{level, type, size_bytes, shared_by, count}]; numa [{node, cpus, memory_bytes,
 * distance}]; network [{name, type, driver, speed_mbit, pci}]; infiniband [{name, type, firmware,
 * ports [...]}]; disks [{name, model, size_bytes, rotational}]; gpus [{pci, vendor, vendor_id,
 * device_id, ...}]. root: prefix of /proc, /sys and /etc; "" on a live machine. Freed by the
 * caller.
 */
struct value *hardware_metadata(const char *root);

/* ---- parts, for hardware.c ---- */

/* Adds network, infiniband, disks and gpus. */
void hardware_add_devices(struct value *metadata, const char *root);

/* The first bytes of a file; "" where it cannot be read. Freed by the caller. */
char *hardware_file_start(const char *root, const char *path, size_t max);
/* The text after "name : " at the start of a line; NULL: none. Freed by the caller. */
char *hardware_line(const char *text, const char *name);

/* A property of a device, read from a file in its directory; left out if there is none. */
struct hardware_property {
	const char *key, *file;
	enum {
		AS_TEXT,   /* the first line */
		AS_NUMBER, /* the same as a number, times a factor */
		AS_LINK,   /* the last part of the target of a link */
	} kind;
	int64_t times;
};
/* The rows end with one without a key. */
void hardware_put(struct value *dict, const char *dir, const struct hardware_property *rows);
#define HARDWARE_PUT(dict, dir, ...) \
	hardware_put(dict, dir,      \
		     (const struct hardware_property[]){__VA_ARGS__, {NULL, NULL, AS_TEXT, 0}})
