/*
 * Files and directories in places where others may write too. Directories of ours are opened step
 * by step, never through a link; files are read up to a limit and replaced whole or not at all.
 * Functions return a descriptor or 0, or a negative errno with the sentence for a person in *why.
 */
#ifndef PL_CORE_FILES_FS_H
#define PL_CORE_FILES_FS_H

#include <stdint.h>
#include <sys/stat.h>

#include "core/strbuf.h"

/*
 * Opens <prefix>/<name>, which must be a directory of ours and no link; made with mode 0700 when
 * create is set. One that is there keeps its mode, and is refused when everybody may write to it
 * and it is not sticky. <prefix> itself may belong to anyone who cannot be tricked: to us, to root,
 * or to anybody when it is sticky. A missing prefix is made for us alone; below a directory that is
 * sticky and open, as /tmp is, it is made the same.
 */
int fs_open_private(const char *prefix, const char *name, bool create, struct strbuf *why);

/* Opens, and with create makes, one directory level of ours below dirfd, with mode 0700. */
int fs_open_subdir(int dirfd, const char *name, bool create, struct strbuf *why);

/* Opens or makes a directory that the user named; links in the path are the user's own doing. */
int fs_open_named(const char *path, bool create, struct strbuf *why);

/* The whole of a regular file of at most max bytes; -EFBIG beyond. Not through a final link. */
int fs_read(int dirfd, const char *name, size_t max, struct strbuf *out);

/* Copies from one descriptor to another, from where they stand to the end of the first. */
int fs_copy(int from, int to);

/* Replaces a file in one step: the old content or the new, never half of it. */
int fs_replace(int dirfd, const char *name, const void *data, size_t n, mode_t mode);
/* The same, on the disk when it returns. */
int fs_replace_durable(int dirfd, const char *name, const void *data, size_t n, mode_t mode);
/* For a file that takes another's place: gives it the mode and, as far as we may, the owner and the
 * group of the old one. Where the group cannot be kept, a group gets no more than all others. */
void fs_keep_rights(int fd, const struct stat *old);
/* The same as fs_replace() for a path that the user named: links are followed, what is no file, a
 * pipe or a terminal, is written to, and a file that is there keeps its rights. */
int fs_put_file(const char *path, const void *data, size_t n);
/*
 * Output under a path that the user named, where others may make names in its directory: links and
 * files of theirs, and second names of ours, are refused (-EPERM with the sentence in *why). The
 * kernel's fs.protected_* are not relied on. *ret_link, where given: it is a link, which may be
 * followed.
 */
int fs_check_output(const char *path, bool *ret_link, struct strbuf *why);
/* The same, opened, and made where it is not there; flags as of open(). */
int fs_open_output(const char *path, int flags, mode_t mode, struct strbuf *why);
/* A directory for results, made where it is not there; -EPERM for a link of somebody else. */
int fs_open_result_dir(int dirfd, const char *name);
/* What was written is on the disk. After a failure nobody knows what of it is, and a second call
 * says nothing about it: the kernel has forgotten. A pipe, a socket or a device that cannot be
 * synced is none the worse for it; a file that cannot be is an error whatever the reason. */
int fs_sync(int fd);
/* Names that were made or removed in a directory are on the disk. */
int fs_sync_dir(int dirfd);
/* The same for the directory that a path is in. */
int fs_sync_parent(const char *path);

/* One write, at an offset or (-1) at the end; all of it or -ENOSPC and the like. A limit on the
 * size of files would end us with SIGXFSZ: here it is an error like another, -EFBIG. */
int fs_write_once(int fd, const void *data, size_t n, off_t at);

/* Removes a directory with all it holds, never following a link. */
int fs_remove_tree(int dirfd, const char *name);

/* All of it; 0 or negative errno. */
int fs_write_all(int fd, const char *p, size_t n);
/* A file that nobody else can see, in the temporary directory; a descriptor, or negative errno. */
int fs_scratch_file(void);

/*
 * Never over something that is there: -EEXIST. Numbered: where there is one, "x.1.tgz" comes after
 * "x.tgz", so that the ending still says what it is; *ret, where it is given, is the name that was
 * free, and the caller's.
 */
int fs_move_once(int from, const char *name, int to, const char *as);
int fs_move_numbered(int from, const char *name, int to, const char *like, char **ret);
/* The same for a file that has no name yet (O_TMPFILE). */
int fs_link_numbered(int fd, int to, const char *like, char **ret);
/* The i-th of those names, from 0. */
char *fs_numbered_name(const char *name, int i);
/* "x.tgz", "x.tar.gz" and the like: the length of that ending, 0 for other names. */
size_t fs_archive_suffix(const char *name);

/* May the part of a path be one name: not empty, no slash, not "." or ".."? */
bool fs_is_name(const char *name);

/* Is this on a filesystem that several hosts may write to? */
bool fs_is_network(int fd);

/* The path of an open directory, for messages and the environment; freed by the caller. */
char *fs_path_of(int fd);

#endif
