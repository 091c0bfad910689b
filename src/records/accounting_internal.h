/* The inside of the books: how one record after the other becomes processes and images. */
#ifndef PL_RECORDS_ACCOUNTING_INTERNAL_H
#define PL_RECORDS_ACCOUNTING_INTERNAL_H

#include "records/accounting.h"

/* Number of a host, which is made when it is new. */
uint32_t accounting_host(struct accounting *b, const char *name, size_t n, const char *boot);
/* What a HOST says of a file and its host, and what HOST, START and CLOCK say of the clocks. */
void accounting_take_host(struct accounting *b, struct accounting_file *file,
			  const struct record *r);
void accounting_take_clock(struct accounting *b, struct accounting_file *file,
			   const struct record *r);
/* Number of a pid namespace, by the kernel's number or the device of its /proc. */
uint64_t accounting_space(struct accounting *b, uint32_t host, uint64_t number);
/* That of the command that made a file. */
uint64_t accounting_home(struct accounting *b, const struct accounting_file *f);
struct process *accounting_add_process(struct accounting *b, uint64_t key, uint32_t host);
/* An image that is nothing but the process's. */
struct image accounting_no_image(uint32_t process);
/* One more image of a process. Pointers to images move. */
struct image *accounting_add_image(struct accounting *b, struct process *p);
/* The same in front of another one of the process; NO_INDEX: as its last. */
struct image *accounting_insert_image(struct accounting *b, struct process *p, uint32_t before);
/* Number of a program, by its path or name. */
uint32_t accounting_exe(struct accounting *b, const char *s, size_t n);
/* The program's file; NO_INDEX where the record does not say. */
uint32_t accounting_path(struct accounting *b, const struct record *rec);
/* The last part of argv[0], as the store names programs; NO_NAME where the record has none. */
uint32_t accounting_name(struct accounting *b, const struct record *rec);
/* The newest process of a pid in a namespace; NO_INDEX when there is none. */
uint32_t accounting_newest(const struct accounting *b, uint64_t key);
/* The pid of the process that started another, as that one knows it. */
uint32_t accounting_parent(const struct accounting *b, const struct process *p);
/* The first process of a namespace may be a copy of the first one of another: the newest process
 * that has its number elsewhere; NO_INDEX when there is none. */
uint32_t accounting_namesake(const struct accounting *b, uint32_t host, uint32_t copy,
			     uint64_t pid);
/* A copy goes on after this record. */
void accounting_note_copy(struct accounting *b, struct process *p, frame_ref ref);
void accounting_sort_copies(struct accounting *b);
/* The last such record of a process; NO_OFFSET when there is none. */
frame_ref accounting_copy_record(const struct accounting *b, const struct process *p);
/* The child that system() waited for, whose pid the library does not learn: one that fits is taken
 * for it, until it speaks again or somebody waits for it by its pid. */
void accounting_reap_unnamed(struct accounting *b, const struct unnamed *u);
/* Another child was meant than this process. */
void accounting_not_meant(struct accounting *b, struct process *p);
/* The kernel says how and when the process ended. */
void accounting_check_unnamed(struct accounting *b, struct process *p, int32_t status,
			      uint64_t end_ns);
/* When all is read: those that nobody was found for, or another one. */
void accounting_resolve_unnamed(struct accounting *b);
/* How a process ended, as wait() has it; -1 where the record does not say. */
int32_t accounting_status(const struct record *rec);
/* The record at a place. Not while a file is read from its beginning. */
int accounting_fetch(struct accounting *b, frame_ref ref, struct record *rec);
/* The last image that spoke of its own end, NULL when none did. */
const struct image *accounting_last_spoken(const struct accounting *b, const struct process *p);
/* Divides CPU time as the kernel does: user and system are what ticks of its clock say. */
void split_cpu(uint64_t total, uint64_t *user, uint64_t *sys);
/* When the programs of a process were executed, by the kernel, in order; freed by the caller. */
uint64_t *accounting_exec_times(const struct record *rec, size_t *ret_count);
/* A program that started was executed a little earlier, and the kernel says when. */
void accounting_place_execs(struct accounting *b, const struct record *kernel,
			    const struct process *p);
/* What a record says, in the order of time. */
void accounting_take(struct accounting *b, size_t file, const struct record *r);
/* Processes in pid namespaces of their own, known under two pids, become one. */
void accounting_merge_namespaces(struct accounting *b);
/* Those that are known from their waiting only are supervisors, and no processes of the job. */
void accounting_drop_unheard(struct accounting *b);
/* Programs that left no START get an image. */
void accounting_add_dark_images(struct accounting *b);
/* When all is read: children that were waited for unseen, and when images began and ended. */
void accounting_resolve_children(struct accounting *b);
void accounting_resolve_times(struct accounting *b);

/* The kernel counts the life of a process from a tick of this length. */
#define TICK_NS 10000000ull

#endif
