/*
 * The hosts of a job as batch systems name them: Slurm's bracket lists and the node files of PBS
 * and OAR. Each name is kept once, in the order of its first appearance, because the first host of
 * a job has duties of its own. Names that no host can have are refused: they become names of files
 * and keys of JSON.
 */
#ifndef PL_JOBS_HOST_LIST_H
#define PL_JOBS_HOST_LIST_H

#include "core/strbuf.h"

/* No list names more: a few characters of a bracket list can stand for any number of names. */
#define HOST_LIST_MAX 65536
#define HOST_LIST_NAME_MAX 255
#define HOST_LIST_TEXT_MAX ((size_t)16 << 20)

struct host_list {
	char **names;
	size_t count, cap;
};

void host_list_release(struct host_list *l);
#define _cleanup_host_list_ _cleanup_(host_list_release)

/* Can this be the name of a host: letters, digits, ".", "_", "-", and none of the last three first?
 */
bool host_list_name_valid(const char *name, size_t n);

/* Adds the names of a bracket list, "n[1-3,07],gpu[0-1]-ib": -EINVAL when it is none, -E2BIG when
 * it has too many names. The list is as it was when this fails. */
int host_list_parse(struct host_list *l, const char *text, struct strbuf *why);

/* Adds the first word of each line of a node file. The list is as it was when this fails. */
int host_list_read(struct host_list *l, const char *path, struct strbuf *why);

/* The place of a host: the same name, or the same up to the first dot where one of the two has no
 * domain, whatever the case. -1 when it is not there. */
ssize_t host_list_find(const struct host_list *l, const char *name);

#endif
