/* The inside of the books: how one record after the other becomes processes and images. */
#ifndef PL_RECORDS_ACCOUNTING_INTERNAL_H
#define PL_RECORDS_ACCOUNTING_INTERNAL_H

#include "records/accounting.h"

/* Number of a host, which is made when it is new. */
uint32_t books_host(struct books *b, const char *name, size_t n, const char *boot);
/* What a HOST says of a file and its host, and what HOST, START and CLOCK say of the clocks. */
void books_take_host(struct books *b, struct books_file *file, const struct record *r);
void books_take_clock(struct books *b, struct books_file *file, const struct record *r);
/* Number of a pid namespace, by the kernel's number or the device of its /proc. */
uint64_t books_space(struct books *b, uint32_t host, uint64_t number);
/* That of the command that made a file. */
uint64_t books_home(struct books *b, const struct books_file *f);
struct process *books_add_process(struct books *b, uint64_t key, uint32_t host);
/* An image that is nothing but the process's. */
struct image books_no_image(uint32_t process);
/* One more image of a process. Pointers to images move. */
struct image *books_add_image(struct books *b, struct process *p);
/* The same in front of another one of the process; NO_INDEX: as its last. */
struct image *books_insert_image(struct books *b, struct process *p, uint32_t before);
/* Number of a program, by its path or name. */
uint32_t books_exe(struct books *b, const char *s, size_t n);
/* The program's file; NO_INDEX where the record does not say. */
uint32_t books_path(struct books *b, const struct record *rec);
/* The last part of argv[0], as the store names programs; NO_NAME where the record has none. */
uint32_t books_name(struct books *b, const struct record *rec);
/* The newest process of a pid in a namespace; NO_INDEX when there is none. */
uint32_t books_newest(const struct books *b, uint64_t key);
/* The pid of the process that started another, as that one knows it. */
uint32_t books_parent(const struct books *b, const struct process *p);
/* The first process of a namespace may be a copy of the first one of another: the newest process
 * that has its number elsewhere; NO_INDEX when there is none. */
uint32_t books_namesake(const struct books *b, uint32_t host, uint32_t copy, uint64_t pid);
/* A copy goes on after this record. */
void books_note_copy(struct books *b, struct process *p, frame_ref ref);
void books_sort_copies(struct books *b);
/* The last such record of a process; NO_OFFSET when there is none. */
frame_ref books_copy_record(const struct books *b, const struct process *p);
/* The child that system() waited for, whose pid the library does not learn: one that fits is taken
 * for it, until it speaks again or somebody waits for it by its pid. */
void books_reap_unnamed(struct books *b, const struct unnamed *u);
/* Another child was meant than this process. */
void books_not_meant(struct books *b, struct process *p);
/* The kernel says how and when the process ended. */
void books_check_unnamed(struct books *b, struct process *p, int32_t status, uint64_t end_ns);
/* When all is read: those that nobody was found for, or another one. */
void books_resolve_unnamed(struct books *b);
/* How a process ended, as wait() has it; -1 where the record does not say. */
int32_t books_status(const struct record *rec);
/* The record at a place. Not while a file is read from its beginning. */
int books_fetch(struct books *b, frame_ref ref, struct record *rec);
/* The last image that spoke of its own end, NULL when none did. */
const struct image *books_last_spoken(const struct books *b, const struct process *p);
/* Divides CPU time as the kernel does: user and system are what ticks of its clock say. */
void split_cpu(uint64_t total, uint64_t *user, uint64_t *sys);
/* When the programs of a process were executed, by the kernel, in order; freed by the caller. */
uint64_t *books_exec_times(const struct record *rec, size_t *ret_count);
/* A program that started was executed a little earlier, and the kernel says when. */
void books_place_execs(struct books *b, const struct record *kernel, const struct process *p);
/* What a record says, in the order of time. */
void books_take(struct books *b, size_t file, const struct record *r);
/* Processes in pid namespaces of their own, known under two pids, become one. */
void books_merge_namespaces(struct books *b);
/* Those that are known from their waiting only are supervisors, and no processes of the job. */
void books_drop_unheard(struct books *b);
/* Programs that left no START get an image. */
void books_add_dark_images(struct books *b);
/* When all is read: children that were waited for unseen, and when images began and ended. */
void books_resolve_children(struct books *b);
void books_resolve_times(struct books *b);

/* The kernel counts the life of a process from a tick of this length. */
#define TICK_NS 10000000ull

#endif
