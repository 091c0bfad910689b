/*
 * Files and directories in places where others may write, too. Private directories are opened level
 * by level and never through a link; files are read up to a limit and replaced atomically.
 * Functions return a descriptor or 0, or a negative errno with the reason in *why where there is
 * one.
 */
#pragma once

#include <dirent.h>
#include <stdint.h>
#include <sys/stat.h>

#include "core/strbuf.h"

/*
 * Opens <prefix>/<name>, which must be a directory of ours and not a link; create: creates it with
 * mode 0700. An existing directory keeps its mode, and is refused if everybody may write to it and
 * it is not sticky. <prefix> must belong to us or root, or be sticky. A missing prefix is created
 * for us alone, or sticky and open below a directory that is so, such as /tmp.
 */
int fs_open_private(const char *prefix, const char *name, bool create, struct strbuf *why);

/* Opens or creates one directory of ours below dirfd, with mode 0700. */
int fs_open_subdir(int dirfd, const char *name, bool create, struct strbuf *why);

/* Opens or creates a directory that the user named; its path may contain links. */
int fs_open_named(const char *path, bool create, struct strbuf *why);

/* Appends a regular file of up to max bytes to *out. -EFBIG (larger), -EINVAL (not a regular file),
 * -ELOOP (a link) or another negative errno. */
int fs_read(int dirfd, const char *name, size_t max, struct strbuf *out);

/* Copies from the current offset to the end of the first descriptor. */
int fs_copy(int from, int to);

/* Replaces a file atomically. */
int fs_replace(int dirfd, const char *name, const void *data, size_t n, mode_t mode);
/* The same, and syncs it to disk. */
int fs_replace_durable(int dirfd, const char *name, const void *data, size_t n, mode_t mode);
/* Gives a new file the mode and, if permitted, owner and group of the file that it replaces. If the
 * group cannot be set, it gets no more permissions than others. */
void fs_keep_rights(int fd, const struct stat *old);
/* Like fs_replace() for a path that the user named: follows links, writes to a pipe or terminal,
 * and keeps the permissions of an existing file. */
int fs_put_file(const char *path, const void *data, size_t n);
/*
 * Checks an output path that the user named in a directory where others may create files: refuses
 * their links and files, and hard links to ours (-EPERM with the reason in *why), whatever
 * fs.protected_* says. *ret_link, if not NULL: it is a link that may be followed.
 */
int fs_check_output(const char *path, bool *ret_link, struct strbuf *why);
/* The same, and opens or creates it; flags as in open(). */
int fs_open_output(const char *path, int flags, mode_t mode, struct strbuf *why);
/* Opens or creates a directory for results; -EPERM: a link of another user. */
int fs_open_result_dir(int dirfd, const char *name);
/* Syncs data to disk. After a failure the state of the data is unknown, and a second call does not
 * report it again. Succeeds for a pipe, socket or device that cannot be synced. */
int fs_sync(int fd);
/* Makes the missing directories of a path, without its last part. */
int fs_make_parents(const char *path, mode_t mode, struct strbuf *why);
/* Syncs a directory: names that were created or removed. */
int fs_sync_dir(int dirfd);
/* The same for the directory of a path. */
int fs_sync_parent(const char *path);

/* Writes with one call, at an offset or (-1) the current one. -ENOSPC: not all was written; -EFBIG:
 * beyond the file size limit, without SIGXFSZ. */
int fs_write_once(int fd, const void *data, size_t n, off_t at);

/* Opens a directory that is not a link to list its entries; NULL with errno. */
DIR *fs_open_list(int dirfd, const char *name);
void fs_close_list(DIR **d);
#define _cleanup_list_ _cleanup_(fs_close_list)

/* Removes a directory tree; never follows a link. */
int fs_remove_tree(int dirfd, const char *name);

/* Writes everything; 0 or a negative errno. */
int fs_write_all(int fd, const char *p, size_t n);
/* Opens a temporary file without a name; a descriptor or a negative errno. */
int fs_scratch_file(void);

/*
 * Moves without replacing: -EEXIST. Numbered: if "x.tgz" exists, uses "x.1.tgz" and so on; *ret, if
 * not NULL, is the name used, freed by the caller.
 */
int fs_move_once(int from, const char *name, int to, const char *as);
int fs_move_numbered(int from, const char *name, int to, const char *like, char **ret);
/* The same for a file without a name (O_TMPFILE). */
int fs_link_numbered(int fd, int to, const char *like, char **ret);
/* The i-th of those names, from 0. */
char *fs_numbered_name(const char *name, int i);
/* The length of an archive suffix such as ".tgz" or ".tar.gz"; 0: none. */
size_t fs_archive_suffix(const char *name);

/* Is it a valid file name: not empty, no slash, not "." or ".."? */
bool fs_is_name(const char *name);

/* Is it on a network filesystem? */
bool fs_is_network(int fd);

/* The path of an open directory; freed by the caller. NULL: unknown. */
char *fs_path_of(int fd);
