/*
 * The books of a job: all records of all its files joined into processes and images, and the sums
 * that tell how much is itemised and what is missing. See design notes in docs/collection.md.
 *
 * One process costs about 200 bytes here whatever its arguments are: texts and counters stay in the
 * record files and are read again, image by image, when somebody wants to see them (image_row()).
 */
#ifndef PL_RECORDS_ACCOUNTING_H
#define PL_RECORDS_ACCOUNTING_H

#include <stdint.h>

#include "records/metric_row.h"
#include "records/record_digest.h"

#define NO_INDEX UINT32_MAX
#define NO_OFFSET UINT64_MAX

/* Where a frame is: file number and offset in one; 16 TiB in a file, a million files. */
typedef uint64_t frame_ref;
#define FILE_SHIFT 44

/* Who told us that a process or image exists, best first. */
enum accounting_source { BY_PRELOAD, BY_REAPER, BY_TASKSTATS, BY_CNPROC };

enum accounting_ended { ENDED_EXIT, ENDED_SIGNAL, ENDED_EXEC, ENDED_RUNNING, ENDED_UNKNOWN };

#define NO_NAME 0x7ffffffu

/* A program that was executed, or a forked copy that never executed one. */
struct image {
	uint32_t process;
	uint32_t next;   /* image of the same process, NO_INDEX for the last */
	uint32_t exe;    /* into books.exes; NO_INDEX when unknown */
	uint32_t origin; /* image that a copy runs; NO_INDEX when not a copy or unknown */
	uint32_t numtids;
	uint32_t early_us;         /* CPU that it had used when it started */
	frame_ref start, end;      /* START, and EXEC or END; NO_OFFSET when there is none */
	frame_ref peek;            /* what /proc said of it; NO_OFFSET when nobody looked */
	uint64_t begin_ns, end_ns; /* boot time; 0 when unknown */
	uint64_t cpu_us;        /* user and system of the process up to here, by its own record */
	uint32_t rssmax_kib;    /* by its own record; 0 unknown */
	uint32_t name : 27;     /* it was called by, into books.exes; NO_NAME: as its file */
	bool copy : 1;          /* never executed a program */
	bool silent : 1;        /* closed the door on us: counters up to then only */
	bool other_root : 1;    /* by entering another root */
	bool ended_by_exec : 1; /* the end record is an EXEC */
	bool uncounted : 1;     /* numtids is not known, and nothing speaks for more than one */
};

struct process {
	uint64_t key;      /* pid and the number of its namespace */
	uint32_t previous; /* an earlier process with the same key */
	uint32_t ppid;     /* who is to wait for it: who adopted it, where its parent went first */
	uint32_t first, last; /* images */
	uint32_t host;
	uint32_t unnamed;    /* the child of system() that it is taken for; NO_INDEX: none */
	uint32_t link;       /* its pid in the namespace of the run, by its own word; 0 unknown */
	uint32_t peek_exe;   /* program that was seen in /proc, into books.exes */
	uint32_t comm_exe;   /* short name of its last program by the kernel, likewise */
	uint32_t outside;    /* the entry that was merged into this one; of a merged one, this */
	uint32_t rssmax_kib; /* by the kernel, else by its reaper, who may see its parent's */
	uint32_t own_wchar, own_syscw; /* what collection wrote in its last image */
	uint32_t threads_kernel;       /* threads that the kernel saw end; 0 unknown */
	uint64_t starttime_us;
	uint64_t begin_ns, end_ns;
	frame_ref reap, kernel, peek; /* peek: the last look, while it belongs to no image */
	uint64_t peek_begin_ns;       /* when the program that it saw was executed; 0 unknown */
	uint64_t reap_cpu_us; /* usage that the reaper saw, children of the process included */
	uint64_t children_user_us, children_sys_us; /* of its children, by its own last record */
	/* the same of those since then: by the reaps that it wrote, or as they say themselves */
	uint64_t reaped_user_us, reaped_sys_us;
	uint64_t kernel_cpu_ns; /* by taskstats */
	int32_t status;         /* as wait() has it; -1 unknown */
	uint32_t started_by;    /* its parent when it began; 0 unknown */
	uint16_t images;        /* programs executed, saturating */
	uint16_t execs;         /* the same by the kernel's count */
	uint16_t threads_seen;  /* THREAD records, saturating */
	bool reaped : 1, has_usage : 1, has_kernel : 1, has_kernel_cpu : 1, running : 1;
	bool merged : 1; /* another entry is this process, seen from inside its pid namespace */
	bool unseen_waits : 1; /* it waited for children without our seeing it */
	bool copy_of : 1;      /* it runs the image of another */
	bool was_copy : 1;     /* it has an entry in books.copies */
	bool executes : 1;     /* a copy that said that it is about to execute a program */
};

/* A child that system() waited for. */
struct unnamed {
	frame_ref ref;         /* the REAP */
	uint64_t parent;       /* key of who waited */
	uint64_t since, until; /* when the call began and ended */
	uint64_t cpu_us;
	uint64_t prior_end_ns; /* what was known of the process before */
	int32_t status, prior_status;
	uint32_t process;       /* who is taken for it; NO_INDEX: nobody */
	uint32_t process_count; /* it is one of these */
	bool has_usage;
};

/* The last record of a copy that went on: it says what collection did until then. */
struct accounting_copy {
	uint32_t process;
	frame_ref ref;
};

struct accounting_host {
	char *name, *boot;          /* boot: first 8 characters of its id */
	int64_t real_minus_boot_us; /* wall clock minus boot clock when the first file began */
	bool has_clock;
	int delayacct;         /* 1 accounted, 0 not, -1 unknown */
	int64_t clock_step_us; /* how far the wall clock was moved during the run */
};

struct accounting_file {
	struct record_file rec;
	char *name;
	struct record_digest digest; /* of what was loaded */
	uint32_t host;
	uint64_t procdev, pidns; /* of the command that made it; 0 unknown */
	uint64_t begin_ns;       /* when that was */
	bool lossy;              /* the kernel dropped events while this was written */
	bool ended;              /* the run that made it came to its end */
};

struct accounting_thread {
	uint32_t image, tid;
	frame_ref ref;
	uint64_t time_ns,
		start_ns; /* boot time of the record, and of the thread; start 0 unknown */
	bool alive;       /* it was still running */
};

struct accounting {
	struct accounting_file *files;
	size_t file_count, file_cap;
	struct accounting_host *hosts;
	size_t host_count, host_cap;
	struct process *processes;
	size_t process_count, process_cap;
	struct unnamed *unnamed;
	size_t unnamed_count, unnamed_cap;
	struct accounting_copy *copies; /* by their process, when all is read */
	size_t copy_count, copy_cap;
	struct image *images;
	size_t image_count, image_cap;
	char **exes; /* distinct programs, by their path or name */
	size_t exe_count, exe_cap;
	uint64_t *spaces; /* distinct pid namespaces: host and number, or device of /proc */
	size_t space_count, space_cap;
	uint32_t *table;   /* newest process of a key */
	size_t table_size; /* a power of two */
	uint32_t *exe_table;
	size_t exe_table_size;
	uint64_t unwaited_us; /* CPU of processes that ended and whose parents took no notice */
	/* CPU that parents waited for past the library, of children who did not tell theirs */
	uint64_t unclaimed_us;
	bool keep_threads; /* set before accounting_load() to have threads[] */
	struct accounting_thread *threads;
	size_t thread_count, thread_cap;
};

void accounting_init(struct accounting *b);
void accounting_release(struct accounting *b);

/* Takes fd. The directory of a file names its host until a HOST record does. */
int accounting_add(struct accounting *b, int fd, const char *name, const char *host_dir);
/* Does without a file that was added. */
void accounting_drop_file(struct accounting *b, size_t file);
/* Reads everything that was added; 0 or a negative errno with the sentence in *why. A file that is
 * there twice, under whatever names, counts once: the longer one does. */
int accounting_load(struct accounting *b, struct strbuf *why);
/* Marks what is still alive on this host. */
void accounting_find_running(struct accounting *b);

struct accounting_sums {
	uint64_t processes, images, threads;
	uint64_t programs, copies; /* of the images: executed, and forked without exec */
	uint64_t by_preload, by_reaper, by_taskstats, by_cnproc;
	uint64_t exited, failed, signalled, running;
	uint64_t missing; /* known to have lived, end unknown, not running */
	uint64_t no_end;  /* images whose own END is missing */
	uint64_t silent, other_root;
	uint64_t itemised_us, tail_us;
	/* the way out of children whose parent could not be entered: in nobody's figure */
	uint64_t unseen_tail_us;
	uint64_t wall_begin_ns, wall_end_ns;
	uint64_t damaged_bytes, damaged_places;
	bool lossy;
};
void accounting_sum(const struct accounting *b, struct accounting_sums *sums);

/* CPU of a process without its children: the best figure there is; false when there is none. */
bool process_cpu_us(const struct accounting *b, const struct process *p, uint64_t *ret_us);
enum accounting_source image_source(const struct accounting *b, const struct image *img);
enum accounting_ended image_ended(const struct accounting *b, const struct image *img);
int32_t process_pid(const struct process *p);

/* The order in which images began: their indices, freed by the caller. */
uint32_t *accounting_order(const struct accounting *b);
/* Sorts threads by their image; then those of one image begin at a place and follow each other. A
 * thread that was seen alive and recorded its end too, or was seen twice, is there once. */
void accounting_sort_threads(struct accounting *b);
size_t accounting_first_thread(const struct accounting *b, uint32_t image);

/* ---- one image in full ---------------------------------------------------------------------- */

/* Fills in everything known of an image; 0 or a negative errno. */
int image_row(struct accounting *b, const struct image *img, struct row *row);
/* The same for one thread of an image. */
int thread_row(struct accounting *b, const struct accounting_thread *t, struct row *row);

#endif
