/*
 * Shared by the parts of the preload libraries. We are a guest in a user's program: no
 * libc calls on recorded paths, no allocation, no signal handlers, no open descriptors, errno
 * untouched, and all signals blocked while we work, so that a handler cannot jump out and leave a
 * descriptor open.
 *
 * A forked or vforked child copies or shares this state; only its pid tells it apart. A vfork child
 * runs on its parent's memory, so code that it can reach (exec*, _exit) never writes to struct
 * guest.
 */
#pragma once

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <threads.h>

#include "core/metrics/metric.h"
#include "core/system/procparse.h"
#include "plimsoll/record.h"
#include "preload/sys.h"

#define EXPORT __attribute__((visibility("default")))
#define NOINLINE __attribute__((noinline))

/* How much is recorded of each thread. */
enum thread_detail { THREADS_LIMITED, THREADS_FULL, THREADS_BASIC, THREADS_OFF };

/* Our own I/O in the counters of the program, to be subtracted. */
struct own_io {
	uint64_t rchar, wchar, syscr, syscw;
};

struct guest {
	bool active;    /* this process records */
	bool create;    /* we create the record file: no command prepared it */
	bool silent;    /* a seccomp filter was installed: no more system calls */
	int silent_pid; /* installed by this copy, which may run on its parent's memory; 0: by the
			   image */
	int ending;     /* threads that are recording their end, or are about to */
	int staying;    /* of these, threads that wait until their process has read them */
	enum thread_detail threads;
	int pid;                           /* of the image; a process with another pid is a copy */
	int image_pid;                     /* the same, unchanged in a copy */
	uint64_t first_pidns;              /* pid namespace, if this is its first process */
	uint64_t procdev;                  /* device of /proc; 0: none */
	uint64_t home_procdev, home_pidns; /* of the command that made the file; 0: unknown */
	uint64_t pidns; /* pid namespace of the image; 0: that of the command, or unknown */
	int copy_pid;   /* the copy whose pid namespace is in copy_pidns */
	uint64_t copy_pidns;
	uint64_t home_clock_ns; /* wall clock less boot time of the command; 0: unknown */
	int64_t ahead_ns;       /* boot time of the image less that of the machine */
	uint64_t starttime_us;  /* of the process, since boot; 0: unknown */
	uint64_t others_ns;     /* CPU time at START of threads of earlier images, or more */
	bool had_threads;       /* there were such threads */
	uint64_t maxrss_kib;    /* ru_maxrss at START, inherited across exec */
	unsigned long long
		cycles; /* time stamp counter at START, or at fork if events are counted */
	bool tracer;    /* it uses ptrace: it may wait for processes that are not its children */
	unsigned reaps; /* children that were waited for, to notice when two threads do */
	int forking;    /* this process while it forks */
	int forked;     /* the copy, and the process that made it */
	int forker;
	int own_pid; /* process of the counters in own */
	struct own_io own;
	char hostname[65];
	char path[1024]; /* the record file; longer paths are not recorded to */
};

extern struct guest guest;

/* Is this the image, a copy of it, or not recorded? */
enum who { NOBODY, IMAGE, COPY };
enum who guest_who(int *ret_pid);

/* Our environment variables; NULL: unset. */
struct environment {
	const char *output, *tags, *events, *threads, *seccomp, *context, *pidns;
	const char *other_output, *other_options, *other_tags; /* under names of other tools */
	char **all;
};

/* Does this process record? Sets guest.path and completes env. */
bool output_choose(struct environment *env);
/* Are we in another batch job than PLIMSOLL_CONTEXT? */
bool context_is_other(const char *context, char **envp);
/* Sets guest.hostname, as used in file names. */
bool read_hostname(void);

/*
 * A silent copy is about to leave the memory that it may share with its parent, which is not
 * silent. True: it must be silent again if it stays.
 */
bool silence_lift(void);
void silence_back(bool lifted);

/* ---- fields of a record, in a bounded buffer ------------------------------------------ */

struct fields {
	unsigned char *p, *end;
};

static inline void put_u64(struct fields *f, enum metric_id id, uint64_t v)
{
	if (f->end - f->p < 2 + PL_VARINT_MAX)
		return;
	f->p = pl_put_varint(f->p, (uint64_t)id << 1);
	f->p = pl_put_varint(f->p, v);
}

/* Key and length of a string; its bytes follow in the buffer or in the next iovec. */
static inline void put_bytes_key(struct fields *f, enum metric_id id, size_t size)
{
	if (f->end - f->p < 2 + PL_VARINT_MAX)
		return;
	f->p = pl_put_varint(f->p, (uint64_t)id << 1 | 1);
	f->p = pl_put_varint(f->p, size);
}

/* Adds a short string; omitted if it does not fit. */
void put_text(struct fields *f, enum metric_id id, const char *s, size_t n);

/* ---- blocking signals, appending -------------------------------------------------------- */

struct held {
	uint64_t mask; /* the program's signal mask */
};
void hold_signals(struct held *h);
void release_signals(const struct held *h);

/*
 * Appends one frame while signals are blocked. iov[0] is for the header, iov[1..count-1] hold the
 * payload. Returns the bytes written, 0 on failure: readers of the file notice what is missing.
 */
size_t emit(const struct held *h, enum pl_record_type type, unsigned flags, struct iovec *iov,
	    int count);
/* The same for fields in one buffer. */
size_t emit_fields(const struct held *h, enum pl_record_type type, unsigned flags,
		   unsigned char *buf, const struct fields *f);

/* Fills in the header for iov[1..count-1]; false: the payload is longer than readers accept. */
bool frame(unsigned char *header, enum pl_record_type type, unsigned flags, const struct iovec *iov,
	   int count);
/* writev without SIGXFSZ. */
long write_held(const struct held *h, long fd, const struct iovec *iov, int count);

/* Makes a frame in memory, and appends several with one write. */
void make_frame(unsigned char *to, enum pl_record_type type, unsigned flags, const void *payload,
		size_t n);
size_t emit_raw(const struct held *h, const void *frames, size_t n);

/* ---- our own I/O (own.c) ----------------------------------------------------------------- */

/* Adds I/O of the calling thread of process pid. Not for vfork children at their end, since it
 * writes to memory. */
void own_add(int pid, const struct own_io *io);
/* Process pid has its own memory: begins its counters, if they have not begun. */
void own_begin(int pid);
/* Our I/O in process pid. */
struct own_io own_of_process(int pid);
/* The copy is gone: its pid may be reused. */
void own_forget_copy(int pid);
/* Our I/O in one thread of process pid. */
struct own_io own_of_thread(int pid, int tid);
/* The thread ends: its tid may be reused. */
void own_forget(int tid);

/* ---- pid namespaces -------------------------------------------------------------------------- */

/* The pid namespace of the calling process; 0: unknown. */
uint64_t space_of_caller(void);
/* Reads the command's value of PLIMSOLL_PIDNS: "<device of /proc>:<number of the namespace>:<wall
 * clock less boot time>". */
void space_configure(const char *home);
/* Sets guest.pidns; seen: the pid of the image in its /proc. True: it is that of the command.
 */
bool space_of_image(uint64_t seen);
/* Adds the pid namespace of a record, unless the reader knows it. A child of fork() remembers it.
 */
void put_space(struct fields *f, int pid);
/* The pid of this process in /proc, which may be of another namespace; pid: unknown. */
int space_shown_pid(int pid);
/* The tid of a thread of this process by the one in /proc; 0: it is gone, or unknown
 */
int space_own_tid(int shown, struct own_io *own);
/* The same for the last record of a copy, with its pid outside; remembers nothing. seen: its pid in
 * /proc; 0: unknown. */
void put_last_space(struct fields *f, int pid, uint64_t seen);

/* ---- clocks (clock.c) ----------------------------------------------------------------------- */

uint64_t clock_ns(int clock);
/* How far the caller's boot time is ahead of the machine's, by these clock values. */
int64_t ahead_at(uint64_t boot_ns, uint64_t real_ns, struct own_io *own);
/* The same for process pid, which is the caller. */
int64_t ahead_of(int pid, struct own_io *own);
/* Boot time of the machine. */
uint64_t now_boottime_ns(int pid, struct own_io *own);
/* After setns(): this process may be in another time namespace. */
void note_setns(void);

/* ---- reading /proc ------------------------------------------------------------------- */

/* Reads the beginning of a small file and adds the I/O to *own; bytes read or a negative errno. */
long read_file(const char *path, char *buf, size_t size, struct own_io *own);
/* A number in /proc/self/status; false: not found. */
bool read_status(const char *name, uint64_t *ret, struct own_io *own);
/* Writes "<before><number><after>"; returns the length. */
size_t format_path(char *buf, size_t size, const char *before, unsigned long number,
		   const char *after);

/* struct linux_dirent64 of the kernel. */
struct dir_entry {
	uint64_t ino;
	int64_t off;
	unsigned short size;
	unsigned char type;
	char name[];
};

static inline uint64_t tv_us(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000u + (uint64_t)tv->tv_usec;
}

static inline uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* usertime .. invol_ctxsw; without rssmax. */
void put_rusage(struct fields *f, const struct rusage *ru);
/* The same for children that were waited for. */
void put_children(struct fields *f, const struct rusage *ru);

/* Values that the kernel has per thread only: the total of a process is the sum. */
enum { SUM_WAITING_NS, SUM_TIMESLICES, SUM_BLKIO_TICKS, SUM_IO, SUMS = SUM_IO + 7 };
struct thread_sums {
	uint64_t v[SUMS];
};

/* The threads of a process: sums over all but the first one. */
struct threads {
	struct thread_sums sums;
	uint64_t cpu_ns;      /* with the first one, if it was recorded */
	uint64_t faults;      /* minor page faults, likewise */
	unsigned full, basic; /* threads that were recorded with and without details */
	unsigned count;       /* threads without the first one */
	unsigned numtids;     /* threads of the image; 0: unknown */
	bool lost;            /* a thread ended while it was read, without a record */
};

/* stat, schedstat and io of a process or thread directory such as "/proc/self/". */
struct task {
	struct proc_stat stat; /* .last is 0: not available */
	struct proc_schedstat sched;
	struct proc_io io;
	bool have_sched;
};
/* io_dir: where io is read, since that of a process includes children that it waited for, and that
 * of a thread does not. Subtracts our I/O there (booked), and own, unless it is of another thread.
 * Adds these reads to own. */
void read_task(const char *dir, const char *io_dir, struct task *t, const struct own_io *booked,
	       struct own_io *own, bool other);
/* What stdio will write after our record. */
struct pending {
	uint64_t bytes, calls;
	bool unknown; /* even more than that */
};
/* Adds everything. others: sums of the threads that t does not cover; NULL: unknown, so these
 * values are omitted. pending may be NULL. */
void put_task(struct fields *f, const struct task *t, const struct thread_sums *others,
	      const struct pending *pending);
/* Adds the values of the calling thread, which is about to execute a program. */
void put_executing(struct fields *f, const struct own_io *booked, struct own_io *own);

/* ---- records (records.c, threads.c) --------------------------------------------------------- */

/* How an image or copy ends. */
enum ending {
	BY_EXIT_HANDLER, /* exit() or return from main: stdio flushes later */
	BY_EXIT,         /* _exit and similar, and the parent of daemon() */
	BY_EXEC,         /* the image is about to be replaced */
	BY_SILENCE,      /* a seccomp filter is about to be installed */
	BY_ROOT,         /* the process is about to enter another root */
};

/* False: this is our own command, which is never recorded. */
bool record_start(int argc, char **argv, char **envp, const char *tags);
/* What an image is about to execute; both may be NULL. */
struct intent {
	const char *file;
	char *const *argv;
	/* as read: the path, then the arguments */
	char *pages;
	size_t path_size, argv_size;
};
/* Reads memory at a pointer from the program, which may be invalid; the kernel's result. */
long read_memory(int pid, const void *from, void *to, size_t n);
/* Copies a string with its NUL; its size, or 0: invalid or too long. */
size_t read_string(int pid, const char *s, char *to, size_t room);
void intent_read(struct intent *in, int pid);
void intent_release(struct intent *in);
/* Does this process write a record at exec? */
bool record_execs(void);
/* Before an exec of the image, or of a copy that has written records; false: neither, nothing was
 * written. */
bool record_exec(const char *file, char *const argv[]);
/* The announced exec or exit failed: the image goes on. */
void record_resume(void);
/* status as for exit(), if it has a meaning. */
void record_end(enum ending how, int status);
/* status as from wait4(). pid 0: unknown, the child began after begin_ns. usage NULL: unknown. */
void record_reap(int pid, uint64_t begin_ns, int status, const struct rusage *usage);
/* Threads that process pid created. */
unsigned threads_created(int pid);
/* From here on no thread records its end or exits; those that are about to finish first. False:
 * they did not in time. */
bool threads_close(int pid);
void threads_reopen(int pid);
/* Waits until no thread is recording its end; stayed: nor waiting to. False: timed out. */
bool await_endings(bool stayed);
/* This is not the process that created threads. */
void threads_forget(void);
/* Records the live threads, with the caller, which will write what is pending. Sums up these and
 * the ended ones; false: some values are unknown. */
bool threads_now(const struct held *h, int pid, const struct pending *pending, struct threads *ret);

/* ---- waiting for children (wait.c) --------------------------------------------------- */

/* Usage of children before and after a wait that does not return it. */
struct growth {
	struct rusage before;
	uint64_t begin_ns; /* time of the call, if the child's pid is unknown; else 0 */
	unsigned reaps;
	bool known;
};
void growth_begin(struct growth *g);
/* Has any thread waited for a child since then? */
bool growth_any(const struct growth *g);
/* Records a child; its usage is unknown if another thread waited for one meanwhile. */
void growth_end(const struct growth *g, pid_t pid, int status);
/* This process is about to call ptrace. */
void note_trace(int request);

static inline bool watching(void)
{
	return guest.active && !guest.silent;
}

/* ---- copies (fork.c) ------------------------------------------------------------------------- */

void fork_begin(void);
/* Does clone() with these flags make a process with its own memory and descriptors? */
bool makes_copy(unsigned long flags);
/* Before a copy is made; after it, in the parent; and in the copy. */
void before_copy(void);
void after_copy(void);
void begin_copy(void);

/* ---- event counters (events.c) -------------------------------------------------------------- */

/* Reads the list of events (NULL: none); without events all functions below do nothing. */
void events_configure(const char *spec);
/* The names, separated by commas, for START; length 0: none. */
const char *events_names(size_t *ret_n);
bool events_wanted(void);
/* Opens the counters of the image's first thread. */
void events_begin(void);
/* The same in a copy with its own memory and descriptors. */
void events_begin_child(int pid);
/* Between these two no thread opens or closes counters. */
void events_hold(void);
void events_release(void);
/* Opens the counters of the calling thread, if its process has any. */
void events_open(int pid, int tid);
/* Adds the counters of thread tid; last: it ends, so adds them to the process's sum and closes
 * them. */
void events_put_thread(struct fields *f, int pid, int tid, bool last, unsigned *flags);
/* Adds the sum over all threads of process pid, with ended ones; for a copy that was not made by
 * fork(): not counted. */
void events_put_process(struct fields *f, int pid, unsigned *flags);

/* ---- programs that cannot load the library (reach.c) ------------------------------------- */

void reach_begin(void);
/* The environment without the library. */
struct reach {
	size_t at, count,
		text; /* index of LD_PRELOAD, number of variables, and its size with the NUL */
	size_t size;  /* in bytes; 0: the environment is unchanged */
	void *pages;  /* NULL: on the stack */
};
void reach_ask(struct reach *r, char *const *envp);
/* The environment without the library, in room of r->size. */
char *const *reach_without(const struct reach *r, char *const *envp, void *room);
/* The exec failed. */
void reach_release(const struct reach *r);
/* Removes the library from an environment if it cannot be loaded by the new program. */
#define REACHABLE(r, envp)                                                                       \
	do {                                                                                     \
		reach_ask(r, envp);                                                              \
		if ((r)->size)                                                                   \
			(envp) = reach_without(                                                  \
				r, envp, (r)->pages ? (r)->pages : __builtin_alloca((r)->size)); \
	} while (0)

/* ---- finding functions (lookup.c) ----------------------------------------------------------- */

/* The tables of one object. */
struct symbols {
	const ElfW(Sym) * table;
	const char *names;
	const ElfW(Half) * versions; /* NULL: none */
	const uint32_t *gnu_hash, *hash;
};
/* Caches the tables of the first objects for several searches. */
#define LOOKUP_OBJECTS 8
struct lookup {
	const struct link_map *self;
	unsigned read;
	struct symbols symbols[LOOKUP_OBJECTS];
};
/* Our own entry in the list of loaded objects; NULL: unknown. */
const struct link_map *lookup_self(void);
/* The first function of that name after l->self, and its object; *ret_in: NULL, or the only object
 * to search. */
void *lookup_after(struct lookup *l, const char *name, const struct link_map **ret_in);

/* ---- the real functions (next.c) ------------------------------------------------------------ */

/*
 * The functions that a program would call without us: libc's, or those of another library that
 * interposes them. All are found at the start, since later may be in a vfork child or a signal
 * handler. Before glibc 2.34 thread functions are in libpthread, which may be loaded later: these
 * are searched again while they are missing. A missing function is replaced by the system call.
 */
#define NEXT_FUNCTIONS                                                           \
	F(void, _Exit, (int))                                                    \
	F(pid_t, _Fork, (void))                                                  \
	F(void, _exit, (int))                                                    \
	F(int, chroot, (const char *))                                           \
	F(int, clone, (int (*)(void *), void *, int, void *, ...))               \
	F(int, daemon, (int, int))                                               \
	F(int, execl, (const char *, const char *, ...))                         \
	F(int, execle, (const char *, const char *, ...))                        \
	F(int, execlp, (const char *, const char *, ...))                        \
	F(int, execv, (const char *, char *const[]))                             \
	F(int, execve, (const char *, char *const[], char *const[]))             \
	F(int, execveat, (int, const char *, char *const[], char *const[], int)) \
	F(int, execvp, (const char *, char *const[]))                            \
	F(int, execvpe, (const char *, char *const[], char *const[]))            \
	F(int, fclose, (FILE *))                                                 \
	F(int, fexecve, (int, char *const[], char *const[]))                     \
	F(int, pclose, (FILE *))                                                 \
	F(int, pivot_root, (const char *, const char *))                         \
	F(int, prctl, (int, ...))                                                \
	F(long, ptrace, (int, ...))                                              \
	F(void, quick_exit, (int))                                               \
	F(int, setns, (int, int))                                                \
	F(long, syscall, (long, ...))                                            \
	F(int, system, (const char *))                                           \
	F(pid_t, wait, (int *))                                                  \
	F(pid_t, wait3, (int *, int, struct rusage *))                           \
	F(pid_t, wait4, (pid_t, int *, int, struct rusage *))                    \
	F(int, waitid, (idtype_t, id_t, siginfo_t *, int))                       \
	F(pid_t, waitpid, (pid_t, int *, int))                                   \
	NEXT_THREAD_FUNCTIONS

#define NEXT_THREAD_FUNCTIONS                                                                    \
	F(int, pthread_create, (pthread_t *, const pthread_attr_t *, void *(*)(void *), void *)) \
	F(int, pthread_key_create, (pthread_key_t *, void (*)(void *)))                          \
	F(int, pthread_key_delete, (pthread_key_t))                                              \
	F(int, pthread_setspecific, (pthread_key_t, const void *))                               \
	F(int, thrd_create, (thrd_t *, thrd_start_t, void *))

struct next {
	bool resolved;
#define F(type, name, arguments) type(*name) arguments;
	NEXT_FUNCTIONS
#undef F
};
extern struct next next;
/* For syscall(), which is in assembly. */
extern void *next_syscall;

/* Is the next function libc's own? Then another function of libc may be called instead. */
struct next_is_libc {
	bool execl, execle, execlp, wait, waitpid, wait3;
};
extern struct next_is_libc next_is_libc;
/* libc's own functions, even if they are interposed. */
struct libcs {
	int (*execvp)(const char *, char *const[]);
	pid_t (*wait4)(pid_t, int *, int, struct rusage *);
};
extern struct libcs libcs;

void resolve_next(void);
/* Searches the thread functions again. */
void resolve_threads(void);
/* The function; another library's constructor may call it before ours has run. */
#define NEXT(name) (next.resolved ? next.name : (resolve_next(), next.name))

/* x of glibc 2.x; 0: another libc. */
unsigned libc_minor(void);

void set_errno(int value);
/* A system call's result in libc's form: -1 and errno on failure. */
long libc_result(long ret);

/* Zeroed memory; NULL: none. */
void *map_pages(size_t size);

size_t str_len(const char *s);
bool starts_with(const char *s, const char *prefix);
