/* Shared by the files of the accounting: how records become processes and images. */
#pragma once

#include "records/accounting.h"

/* Index of a host, which is added if it is new. */
uint32_t accounting_host(struct accounting *b, const char *name, size_t n, const char *boot);
/* Reads HOST records, and the clocks in HOST, START and CLOCK records. */
void accounting_take_host(struct accounting *b, struct accounting_file *file,
			  const struct record *r);
void accounting_take_clock(struct accounting *b, struct accounting_file *file,
			   const struct record *r);
/* Index of a pid namespace, by its inode number or the device of its /proc. */
uint64_t accounting_space(struct accounting *b, uint32_t host, uint64_t number);
/* The namespace of the command that wrote a file. */
uint64_t accounting_home(struct accounting *b, const struct accounting_file *f);
struct process *accounting_add_process(struct accounting *b, uint64_t key, uint32_t host);
/* An empty image of a process. */
struct image accounting_no_image(uint32_t process);
/* Appends an image to a process. Invalidates pointers to images. */
struct image *accounting_add_image(struct accounting *b, struct process *p);
/* Inserts an image in front of another one; NO_INDEX: at the end. */
struct image *accounting_insert_image(struct accounting *b, struct process *p, uint32_t before);
/* Index of a program, by its path or name. */
uint32_t accounting_exe(struct accounting *b, const char *s, size_t n);
/* Index of the program in METRIC_PATH; NO_INDEX: none. */
uint32_t accounting_path(struct accounting *b, const struct record *rec);
/* Index of the base name of argv[0]; NO_NAME: none. */
uint32_t accounting_name(struct accounting *b, const struct record *rec);
/* The newest process with this key; NO_INDEX: none. */
uint32_t accounting_newest(const struct accounting *b, uint64_t key);
/* The pid of the process that started p, in the pid namespace of p. */
uint32_t accounting_parent(const struct accounting *b, const struct process *p);
/* The first process of a pid namespace may be a copy of the first one of another: finds the newest
 * process with the same pid in another namespace; NO_INDEX: none. */
uint32_t accounting_namesake(const struct accounting *b, uint32_t host, uint32_t copy,
			     uint64_t pid);
/* Notes that a copy goes on after this record. */
void accounting_note_copy(struct accounting *b, struct process *p, frame_ref ref);
void accounting_sort_copies(struct accounting *b);
/* The last such record of a process; NO_OFFSET: none. */
frame_ref accounting_copy_record(const struct accounting *b, const struct process *p);
/* A child of system(), whose pid is unknown: takes a process that fits, until that one writes
 * another record or is waited for by its pid. */
void accounting_reap_unnamed(struct accounting *b, const struct unnamed *u);
/* Undoes that: the process is not the child of system(). */
void accounting_not_meant(struct accounting *b, struct process *p);
/* Checks it against the kernel's exit status and time of the process. */
void accounting_check_unnamed(struct accounting *b, struct process *p, int32_t status,
			      uint64_t end_ns);
/* After loading: searches again for those without a process. */
void accounting_resolve_unnamed(struct accounting *b);
/* The status of a process, as wait() returns it; -1: not in the record. */
int32_t accounting_status(const struct record *rec);
/* Reads one record. Not while a file is being loaded. */
int accounting_fetch(struct accounting *b, frame_ref ref, struct record *rec);
/* The last image with an EXEC or END record; NULL: none. */
const struct image *accounting_last_spoken(const struct accounting *b, const struct process *p);
/* Splits CPU time in the ratio of the given user and system ticks, as the kernel does. */
void split_cpu(uint64_t total, uint64_t *user, uint64_t *sys);
/* The exec times of a process by the kernel, in order; freed by the caller. */
uint64_t *accounting_exec_times(const struct record *rec, size_t *ret_count);
/* Sets the begin of images to the kernel's exec times. */
void accounting_place_execs(struct accounting *b, const struct record *kernel,
			    const struct process *p);
/* Takes one record; records must come in the order of time. */
void accounting_take(struct accounting *b, size_t file, const struct record *r);
/* Merges the two entries of processes that are known under two pids. */
void accounting_merge_namespaces(struct accounting *b);
/* Drops processes that are known only because they waited: supervisors, not part of the job. */
void accounting_drop_unheard(struct accounting *b);
/* Adds images for programs without a START record. */
void accounting_add_unrecorded(struct accounting *b);
/* After loading: children that were waited for unseen, and begin and end of images. */
void accounting_resolve_children(struct accounting *b);
void accounting_resolve_times(struct accounting *b);

/* All processes with a key, the newest first. */
#define FOR_KEY(b, p, key)                            \
	for (uint32_t i_ = accounting_newest(b, key); \
	     i_ != NO_INDEX && ((p) = &(b)->processes[i_], true); i_ = (p)->previous)

/* The kernel counts the life of a process from a tick of this length. */
#define TICK_NS 10000000ull
