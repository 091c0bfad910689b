/*
 * The accounting of a job: the records of all its files joined into processes and images, and the
 * sums that show how much of the CPU time is accounted for and what is missing. See
 * docs/collection.md.
 *
 * A process takes about 200 bytes here: strings and counters stay in the record files, and
 * image_row() reads them again for one image.
 */
#pragma once

#include <stdint.h>

#include "core/hash_map.h"
#include "records/metric_row.h"
#include "records/record_digest.h"

#define NO_INDEX UINT32_MAX
#define NO_OFFSET UINT64_MAX

/* The place of a frame: file number and offset; up to 16 TiB per file and a million files. */
typedef uint64_t frame_ref;
#define FILE_SHIFT 44

/* The source that reported a process or image, best first. */
enum accounting_source { BY_PRELOAD, BY_REAPER, BY_TASKSTATS, BY_CNPROC };

enum accounting_ended { ENDED_EXIT, ENDED_SIGNAL, ENDED_EXEC, ENDED_RUNNING, ENDED_UNKNOWN };

#define NO_NAME 0x7ffffffu

/* An executed program, or a forked copy that never executed one. */
struct image {
	uint32_t process;
	uint32_t next;   /* image of the same process, NO_INDEX for the last */
	uint32_t exe;    /* index into exes; NO_INDEX: unknown */
	uint32_t origin; /* image that a copy runs; NO_INDEX: not a copy, or unknown */
	uint32_t numtids;
	uint32_t early_us;         /* CPU time used before its START */
	frame_ref start, end;      /* START, and EXEC or END; NO_OFFSET: none */
	frame_ref peek;            /* PEEK record of it; NO_OFFSET: none */
	uint64_t begin_ns, end_ns; /* boot time; 0 when unknown */
	uint64_t cpu_us;     /* user and system time of the process up to here, by its own record */
	uint32_t rssmax_kib; /* by its own record; 0 unknown */
	uint32_t name : 27;  /* base name of argv[0], index into exes; NO_NAME: as its file */
	bool copy : 1;       /* never executed a program */
	bool silent : 1;     /* installed a seccomp filter: counters up to then only */
	bool other_root : 1; /* silent because it entered another root */
	bool ended_by_exec : 1; /* the end record is an EXEC */
	bool uncounted : 1;     /* numtids is unknown, and probably 1 */
};

struct process {
	uint64_t key;         /* pid and index of its pid namespace */
	uint32_t previous;    /* an earlier process with the same key */
	uint32_t ppid;        /* its parent, or the process that adopted it */
	uint32_t first, last; /* images */
	uint32_t host;
	uint32_t unnamed;  /* index of the unnamed child of system() that it is taken for; NO_INDEX:
			      none */
	uint32_t link;     /* its pid in the namespace of the run, by its own record; 0: unknown */
	uint32_t peek_exe; /* program that was seen in /proc, index into exes */
	uint32_t comm_exe; /* kernel's short name of its last program, index into exes */
	uint32_t outside;  /* the entry that was merged into this one, or that this one was merged
			      into */
	uint32_t rssmax_kib; /* by the kernel, else by its reaper, which may see its parent's */
	uint32_t own_wchar, own_syscw; /* bytes and calls that collection wrote in its last image */
	uint32_t threads_kernel;       /* threads that the kernel saw end; 0: unknown */
	uint64_t starttime_us;
	uint64_t begin_ns, end_ns;
	frame_ref reap, kernel, peek; /* peek: the last PEEK that belongs to no image yet */
	uint64_t peek_begin_ns;       /* exec time of the program in that PEEK; 0: unknown */
	uint64_t reap_cpu_us;         /* CPU time by its reaper, with the children of the process */
	uint64_t children_user_us,
		children_sys_us; /* CPU time of its children, by its own last record */
	/* the same for later children: by its REAP records, or by their own records */
	uint64_t reaped_user_us, reaped_sys_us;
	uint64_t kernel_cpu_ns; /* by taskstats */
	int32_t status;         /* as wait() returns it; -1: unknown */
	uint32_t started_by;    /* its parent at its start; 0: unknown */
	uint16_t images;        /* programs executed, saturating */
	uint16_t execs;         /* programs executed, by the kernel */
	uint16_t threads_seen;  /* THREAD records, saturating */
	bool reaped : 1, has_usage : 1, has_kernel : 1, has_kernel_cpu : 1, running : 1;
	bool merged : 1; /* the same process as another entry, seen from inside its pid namespace */
	bool unseen_waits : 1; /* it waited for children without REAP records */
	bool copy_of : 1;      /* it runs the image of another */
	bool was_copy : 1;     /* it has an entry in copies */
	bool executes : 1;     /* a copy that announced an exec */
};

/* A child that system() waited for. */
struct unnamed {
	frame_ref ref;         /* the REAP */
	uint64_t parent;       /* key of the process that waited */
	uint64_t since, until; /* when the call began and ended */
	uint64_t cpu_us;
	uint64_t prior_end_ns; /* state of the process before */
	int32_t status, prior_status;
	uint32_t process;       /* the process taken for it; NO_INDEX: none */
	uint32_t process_count; /* it is one of the first process_count processes */
	bool has_usage;
};

/* The last record of a copy that went on: it holds the I/O of collection until then. */
struct accounting_copy {
	uint32_t process;
	frame_ref ref;
};

struct accounting_host {
	char *name, *boot;          /* boot: first 8 characters of its id */
	int64_t real_minus_boot_us; /* wall clock minus boot clock when the first file began */
	bool has_clock;
	int delayacct;         /* 1 accounted, 0 not, -1 unknown */
	int64_t clock_step_us; /* how far the wall clock was set during the run */
};

struct accounting_file {
	struct record_file rec;
	char *name;
	struct record_digest digest; /* of what was loaded */
	uint32_t host;
	uint64_t procdev, pidns; /* of the command that made it; 0 unknown */
	uint64_t begin_ns;       /* when that was */
	bool lossy;              /* the kernel dropped events while this was written */
	bool ended;              /* the run that wrote it has ended */
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
	struct accounting_copy *copies; /* sorted by process after loading */
	size_t copy_count, copy_cap;
	struct image *images;
	size_t image_count, image_cap;
	char **exes; /* distinct programs, by their path or name */
	size_t exe_count, exe_cap;
	uint64_t *spaces; /* distinct pid namespaces: host and number, or device of /proc */
	size_t space_count, space_cap;
	uint32_t *table;         /* newest process of a key */
	size_t table_size;       /* a power of two */
	struct hash_map exe_map; /* from names to exes */
	uint64_t unwaited_us;    /* CPU time of processes that nobody waited for */
	/* CPU time of children without records, which their parents waited for unseen */
	uint64_t unclaimed_us;
	bool keep_threads; /* set before accounting_load() to have threads[] */
	struct accounting_thread *threads;
	size_t thread_count, thread_cap;
};

void accounting_init(struct accounting *b);
void accounting_release(struct accounting *b);

/* Adds a record file. Takes fd, also on failure. host_dir, "<host>.<boot>", names the host until a
 * HOST record does. 0, or the errno of fstat(), negative. */
int accounting_add(struct accounting *b, int fd, const char *name, const char *host_dir);
/* Removes a file that was added. */
void accounting_drop_file(struct accounting *b, size_t file);
/* Reads and joins all files. 0, or a negative errno with the reason in *why. Of two copies of a
 * file, whatever their names, the longer one counts. */
int accounting_load(struct accounting *b, struct strbuf *why);
/* Takes the joined records of another one where it has the same files as *b, to which files were
 * only added; *joined is empty then. False: they differ, and *b must be loaded. */
bool accounting_reuse(struct accounting *b, struct accounting *joined);
/* Marks the processes that are still alive on this host. */
void accounting_find_running(struct accounting *b);

struct accounting_sums {
	uint64_t processes, images, threads;
	uint64_t programs, copies; /* images that were executed, and forked without exec */
	uint64_t by_preload, by_reaper, by_taskstats, by_cnproc;
	uint64_t exited, failed, signalled, running;
	uint64_t missing; /* not running, and how they ended is unknown */
	uint64_t no_end;  /* images whose own END is missing */
	uint64_t silent, other_root;
	uint64_t itemised_us, tail_us;
	/* exit time of children whose parent was not recorded: in no figure */
	uint64_t unseen_tail_us;
	uint64_t wall_begin_ns, wall_end_ns;
	uint64_t damaged_bytes, damaged_places;
	bool lossy;
};
void accounting_sum(const struct accounting *b, struct accounting_sums *sums);

/* CPU time of a process without its children, from the best source; false: unknown. */
bool process_cpu_us(const struct accounting *b, const struct process *p, uint64_t *ret_us);
enum accounting_source image_source(const struct accounting *b, const struct image *img);
enum accounting_ended image_ended(const struct accounting *b, const struct image *img);
int32_t process_pid(const struct process *p);

/* The indices of all images in the order of their start; freed by the caller. */
uint32_t *accounting_order(const struct accounting *b);
/* Sorts threads by their image and removes duplicates: threads that were seen alive and also
 * recorded their end, or were seen twice. */
void accounting_sort_threads(struct accounting *b);
size_t accounting_first_thread(const struct accounting *b, uint32_t image);

/* ---- one image in full ---------------------------------------------------------------------- */

/* Reads everything known about an image. 0 or a negative errno. */
int image_row(struct accounting *b, const struct image *img, struct row *row);
/* The same for one thread. */
int thread_row(struct accounting *b, const struct accounting_thread *t, struct row *row);
