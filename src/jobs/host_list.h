/*
 * The hosts of a job as batch systems list them: Slurm's bracket lists and the node files of PBS
 * and OAR. Each name is stored once, in order of first appearance, because the first host of a job
 * has special duties. Invalid host names are refused, because names become file names and JSON
 * keys.
 */
#pragma once

#include "core/strbuf.h"

/* The limit of a list: a few characters of a bracket list can mean any number of names. */
#define HOST_LIST_MAX 65536
#define HOST_LIST_NAME_MAX 255
#define HOST_LIST_TEXT_MAX ((size_t)16 << 20)

struct host_list {
	char **names;
	size_t count, cap;
};

void host_list_release(struct host_list *l);
#define _cleanup_host_list_ _cleanup_(host_list_release)

/* Is it a valid host name: letters, digits, ".", "_", "-", not starting with the last three? */
bool host_list_name_valid(const char *name, size_t n);

/* Adds the names of a bracket list, "n[1-3,07],gpu[0-1]-ib". -EINVAL: it is invalid, -E2BIG: it has
 * too many names; the list is then unchanged. */
int host_list_parse(struct host_list *l, const char *text, struct strbuf *why);

/* Adds the first word of each line of a node file. The list is unchanged if this fails. */
int host_list_read(struct host_list *l, const char *path, struct strbuf *why);

/* The index of a host, ignoring case: the same name, or the same up to the first dot if one of the
 * two has no domain. -1: not found. */
ssize_t host_list_find(const struct host_list *l, const char *name);
