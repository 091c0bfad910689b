/*
 * What the parts of libplimsoll.so and libpapiex.so share. We are a guest in somebody's program: no
 * libc calls on recorded paths, no allocation, no signal handler, no descriptor kept, errno never
 * touched, and every signal held back while we work, so that a handler cannot jump out of us and
 * leave a descriptor behind.
 *
 * A forked or vforked child copies or borrows this state and is told apart by its process id alone.
 * A vfork child runs on its parent's memory, so what it can reach here (exec*, _exit) never writes
 * to struct guest.
 */
#ifndef PL_PRELOAD_GUEST_H
#define PL_PRELOAD_GUEST_H

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

/* I/O of our own in the program's accounts, to be taken off them. */
struct own_io {
	uint64_t rchar, wchar, syscr, syscw;
};

struct guest {
	bool active;    /* this process records */
	bool create;    /* the record file is ours to create: no command prepared it */
	bool silent;    /* a seccomp filter was installed: not a system call more */
	int silent_pid; /* by this copy, which may run on its parent's memory; 0: by the image */
	int ending;     /* threads whose end is being recorded, or is to be */
	int staying;    /* those of them that wait until their process has looked at them */
	enum thread_detail threads;
	int pid;              /* of the image; any other process running this is a copy */
	int image_pid;        /* the same, and stays so in a copy */
	uint64_t first_pidns; /* pid namespace, if this is the first process in it */
	uint64_t procdev;     /* device of /proc; 0 without it */
	uint64_t home_procdev, home_pidns; /* of the command that made the file; 0 unknown */
	uint64_t pidns; /* pid namespace of the image; 0: the command's, or unknown */
	int copy_pid;   /* the copy whose pid namespace is kept in copy_pidns */
	uint64_t copy_pidns;
	uint64_t home_clock_ns; /* wall clock less boot time, for the command; 0 unknown */
	int64_t ahead_ns;       /* boot time as the image sees it, of the machine's */
	uint64_t starttime_us;  /* of the process, since boot; 0 when unknown */
	uint64_t others_ns;     /* CPU time at START of threads of the images before */
	bool had_threads;       /* there were such threads */
	uint64_t maxrss_kib;    /* ru_maxrss at START: inherited across exec, not our image's */
	unsigned long long
		cycles; /* time stamp counter at START, or at fork when events are counted */
	bool tracer;    /* it traces others: not all that it waits for are its children */
	unsigned reaps; /* children taken by wait*, to notice when two threads do */
	int forking;    /* this process, when it makes a copy */
	int forked;     /* the copy that came of it, and who made it */
	int forker;
	int own_pid; /* whose accounts own holds */
	struct own_io own;
	char hostname[65];
	char path[1024]; /* the record file; a longer name cannot be recorded to */
};

extern struct guest guest;

/* Is this the image itself, a copy of it, or must we keep out? */
enum who { NOBODY, IMAGE, COPY };
enum who guest_who(int *ret_pid);

/* The variables that speak to us; NULL where unset. */
struct environment {
	const char *output, *tags, *events, *threads, *seccomp, *context, *pidns;
	const char *papiex_output, *papiex_options, *papiex_tags;
	char **all;
};

/* Whether this process records, and where to: guest.path, and what else of env counts here. */
bool sink_choose(struct environment *env);
/* Are we in another batch job than the one that PLIMSOLL_CONTEXT names? */
bool context_is_other(const char *context, char **envp);
/* The name of this host as it stands in names of files, into guest.hostname. */
bool read_hostname(void);

/*
 * A copy with a filter is about to leave the memory that it may share with its parent: the parent
 * is not silent. True when it has to be silent again, should it stay.
 */
bool silence_lift(void);
void silence_back(bool lifted);

/* ---- building a record: fields in a bounded buffer ------------------------------------------ */

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

/* Key and length of a bytes field; the bytes follow, in the buffer or in the next iovec. */
static inline void put_bytes_key(struct fields *f, enum metric_id id, size_t size)
{
	if (f->end - f->p < 2 + PL_VARINT_MAX)
		return;
	f->p = pl_put_varint(f->p, (uint64_t)id << 1 | 1);
	f->p = pl_put_varint(f->p, size);
}

/* A short text, copied into the buffer; left out when it does not fit. */
void put_text(struct fields *f, enum metric_id id, const char *s, size_t n);

/* ---- holding signals back, appending -------------------------------------------------------- */

struct held {
	uint64_t mask; /* what the program had blocked */
};
void hold_signals(struct held *h);
void release_signals(const struct held *h);

/*
 * Appends one frame while signals are held. iov[0] is for the header, iov[1..count-1] hold the
 * payload. Returns the bytes written, 0 on any failure: failures are silent, what is missing is
 * found by whoever reads the file.
 */
size_t emit(const struct held *h, enum pl_record_type type, unsigned flags, struct iovec *iov,
	    int count);
/* The same for fields that sit in one buffer. */
size_t emit_fields(const struct held *h, enum pl_record_type type, unsigned flags,
		   unsigned char *buf, const struct fields *f);

/* Fills in the header for iov[1..count-1]; false when the payload is longer than a reader takes. */
bool frame(unsigned char *header, enum pl_record_type type, unsigned flags, const struct iovec *iov,
	   int count);
/* writev without SIGXFSZ. */
long write_held(const struct held *h, long fd, const struct iovec *iov, int count);

/* One frame made in memory, at to, and any number of them appended with one write. */
void make_frame(unsigned char *to, enum pl_record_type type, unsigned flags, const void *payload,
		size_t n);
size_t emit_raw(const struct held *h, const void *frames, size_t n);

/* ---- I/O of our own (own.c) ----------------------------------------------------------------- */

/* Books what the calling thread of process pid did for us. Not for vfork children at their end: it
 * writes, beside what is their parent's. */
void own_add(int pid, const struct own_io *io);
/* Process pid has this memory to itself: its accounts begin, if they have not. */
void own_begin(int pid);
/* What is booked for process pid. */
struct own_io own_of_process(int pid);
/* The copy is gone: its number may be another's soon. */
void own_forget_copy(int pid);
/* What is booked for one thread of process pid. */
struct own_io own_of_thread(int pid, int tid);
/* The thread ends: its number may be another's soon. */
void own_forget(int tid);

/* ---- pid namespaces -------------------------------------------------------------------------- */

/* That of the calling process; 0 unknown. */
uint64_t space_of_caller(void);
/* What the command said of its own: "<device of /proc>:<number of the namespace>:<wall clock less
 * boot time>". */
void space_configure(const char *home);
/* That of the image, whose /proc says that its pid is seen; puts guest.pidns. Is it the command's?
 */
bool space_of_image(uint64_t seen);
/* Puts where the pids of a record are from, unless the reader knows that. A child of fork() keeps
 * what it found. */
void put_space(struct fields *f, int pid);
/* The number that /proc has for this process, which may be of another namespace; pid where it shows
 * none. */
int space_shown_pid(int pid);
/* The id of a thread of this process, by the one that /proc shows; 0: it is gone, or cannot be told
 */
int space_own_tid(int shown, struct own_io *own);
/* The same for the last word of a copy, with what others may call it by; it keeps nothing. seen is
 * its pid in /proc, 0 unknown. */
void put_last_space(struct fields *f, int pid, uint64_t seen);

/* ---- clocks (clock.c) ----------------------------------------------------------------------- */

uint64_t clock_ns(int clock);
/* How far boot time as the caller sees it is ahead of the machine's, at these readings of both. */
int64_t ahead_at(uint64_t boot_ns, uint64_t real_ns, struct own_io *own);
/* The same for process pid, which is the caller's. */
int64_t ahead_of(int pid, struct own_io *own);
/* Boot time of the machine. */
uint64_t now_boottime_ns(int pid, struct own_io *own);
/* This process may have come into another time namespace. */
void note_setns(void);

/* ---- what the kernel says ------------------------------------------------------------------- */

/* Reads the beginning of a small file, counting it in *own; bytes read or a negative errno. */
long read_file(const char *path, char *buf, size_t size, struct own_io *own);
/* A number in /proc/self/status, which is long for those in many groups; false without it. */
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

/* usertime .. invol_ctxsw; rssmax is left to the caller. */
void put_rusage(struct fields *f, const struct rusage *ru);
/* The same of the children that were waited for. */
void put_children(struct fields *f, const struct rusage *ru);

/* What the kernel keeps for each thread alone: a process's total is the sum over its threads. */
struct thread_sums {
	uint64_t waiting_ns, timeslices, blkio_ticks;
	uint64_t io[7];
};

/* What is known of the threads of a process: sums over all but the first one. */
struct threads {
	struct thread_sums sums;
	uint64_t cpu_ns;      /* of the first one, too, where it was recorded */
	uint64_t faults;      /* minor page faults, the same */
	unsigned full, basic; /* how many were recorded with and without details */
	unsigned count;       /* all of them, but for the first one */
	unsigned numtids;     /* that the process had in this image; 0: unknown */
	bool lost;            /* one went while it was looked at, and said nothing */
};

/* stat, schedstat and io of a process or thread directory such as "/proc/self/". */
struct task {
	struct proc_stat stat; /* .last is 0 without it */
	struct proc_schedstat sched;
	struct proc_io io;
	bool have_sched;
};
/* io_dir: where io is read, since a process's includes that of children it waited for while a
 * thread's does not. What is booked for us there is taken off the I/O, and own, which is not yet
 * booked, unless io is that of another thread than ours. These reads are added to own. */
void read_task(const char *dir, const char *io_dir, struct task *t, const struct own_io *booked,
	       struct own_io *own, bool other);
/* What stdio writes when we have spoken. */
struct pending {
	uint64_t bytes, calls;
	bool unknown; /* more than that */
};
/* Puts all of it. others: sums to add for the threads that t does not cover; NULL when they are not
 * all known, which leaves those values out. pending may be NULL. */
void put_task(struct fields *f, const struct task *t, const struct thread_sums *others,
	      const struct pending *pending);
/* Puts what the calling thread alone has, which is about to execute a program. */
void put_executing(struct fields *f, const struct own_io *booked, struct own_io *own);

/* ---- records (records.c, threads.c) --------------------------------------------------------- */

/* How an image or a copy comes to its end. */
enum ending {
	BY_EXIT_HANDLER, /* exit() or return from main: stdio flushes after us */
	BY_EXIT,         /* _exit and friends, and daemon()'s parent */
	BY_EXEC,         /* the image is about to be replaced */
	BY_SILENCE,      /* a seccomp filter is about to be installed */
	BY_ROOT,         /* the process is about to enter another root */
};

/* False when this program is our own command, which is never recorded. */
bool record_start(int argc, char **argv, char **envp, const char *tags);
/* What an image is about to execute, as it says; either may be NULL. */
struct intent {
	const char *file;
	char *const *argv;
	/* as read: the path, then the arguments */
	char *pages;
	size_t path_size, argv_size;
};
/* Reads memory that a program named, which may not be there; the kernel's result. */
long read_memory(int pid, const void *from, void *to, size_t n);
/* Copies a string with its NUL; its size, or 0 when it cannot be read or is too long. */
size_t read_string(int pid, const char *s, char *to, size_t room);
void intent_read(struct intent *in, int pid);
void intent_release(struct intent *in);
/* Has this process anything to say when it executes a program? */
bool record_execs(void);
/* The image, or a copy that has written something, is about to be replaced; false: it is neither,
 * and nothing was written. */
bool record_exec(const char *file, char *const argv[]);
/* What was announced failed: the image goes on. */
void record_resume(void);
/* status as exit() takes it; ignored where it has no meaning. */
void record_end(enum ending how, int status);
/* status as wait4() gives it. pid 0: unknown, it is the child that began after begin_ns. usage
 * NULL: unknown. */
void record_reap(int pid, uint64_t begin_ns, int status, const struct rusage *usage);
/* Threads that process pid created. */
unsigned threads_created(int pid);
/* No thread records its end from here on, or leaves: those that are about to are let out first.
 * False when they did not come to it. */
bool threads_close(int pid);
void threads_reopen(int pid);
/* No thread is about to record its end; stayed: nor waits for that. False when time was up. */
bool await_endings(bool stayed);
/* This is no longer the process that created any. */
void threads_forget(void);
/* Records the threads that are alive, the caller among them, which is to write what is pending.
 * Puts what they and those that ended used; false when some of that is not known. */
bool threads_now(const struct held *h, int pid, const struct pending *pending, struct threads *ret);

/* ---- children that are waited for (wait.c) --------------------------------------------------- */

/* Before and after a wait that does not say what the child used. */
struct growth {
	struct rusage before;
	uint64_t begin_ns; /* 0, or of the call, where the child's pid is not known */
	unsigned reaps;
	bool known;
};
void growth_begin(struct growth *g);
/* Was a child taken since then, by whomever? */
bool growth_any(const struct growth *g);
/* A child was taken; its usage is unknown if another thread took one meanwhile. */
void growth_end(const struct growth *g, pid_t pid, int status);
/* This process is about to call ptrace. */
void note_trace(int request);

static inline bool watching(void)
{
	return guest.active && !guest.silent;
}

/* ---- copies (fork.c) ------------------------------------------------------------------------- */

void fork_begin(void);
/* Has what clone() makes with these flags memory and descriptors of its own? */
bool makes_copy(unsigned long flags);
/* Before one is made, and after: in the process that made it, and in the copy. */
void before_copy(void);
void after_copy(void);
void begin_copy(void);

/* ---- event counters (events.c) -------------------------------------------------------------- */

/* Reads the list of events (NULL: none); without any, everything below does nothing. */
void events_configure(const char *spec);
/* The configured names, comma separated, as START records them; length 0 without any. */
const char *events_names(size_t *ret_n);
bool events_wanted(void);
/* Opens the counters of the image's first thread. */
void events_begin(void);
/* The same of a copy, which has memory and descriptors of its own. */
void events_begin_child(int pid);
/* No thread opens or closes counters from the one to the other. */
void events_hold(void);
void events_release(void);
/* Opens the counters of the calling thread, where its process has any. */
void events_open(int pid, int tid);
/* Puts the counters of thread tid; last: it ends, add them to the process's sum and close. */
void events_put_thread(struct fields *f, int pid, int tid, bool last, unsigned *flags);
/* Puts the sum over all threads of process pid, ended ones included; for a copy that was not made
 * by fork() that it was not counted. */
void events_put_process(struct fields *f, int pid, unsigned *flags);

/* ---- programs that could not load the library (reach.c) ------------------------------------- */

void reach_begin(void);
/* What an environment without the library takes. */
struct reach {
	size_t at, count, text; /* LD_PRELOAD among the variables, and its size with the NUL */
	size_t size;            /* of all; 0: the environment stays */
	void *pages;            /* NULL: it goes on the stack */
};
void reach_ask(struct reach *r, char *const *envp);
/* The environment without the library, in room of r->size. */
char *const *reach_without(const struct reach *r, char *const *envp, void *room);
/* The exec failed. */
void reach_release(const struct reach *r);
/* Takes the library out of an environment that is executed where it cannot be loaded. */
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
	const ElfW(Half) * versions; /* NULL: it has none */
	const uint32_t *gnu_hash, *hash;
};
/* Searches in the same objects, one after the other: the tables of the first ones are read once. */
#define LOOKUP_OBJECTS 8
struct lookup {
	const struct link_map *self;
	unsigned read;
	struct symbols symbols[LOOKUP_OBJECTS];
};
/* Our own place among the loaded objects; NULL: the loader does not show it. */
const struct link_map *lookup_self(void);
/* The first function of that name after l->self, and the object that has it; *ret_in: NULL, or
 * where to look alone. */
void *lookup_after(struct lookup *l, const char *name, const struct link_map **ret_in);

/* ---- the real functions (next.c) ------------------------------------------------------------ */

/*
 * What a program would call if we were not there: libc's functions, or those of another library
 * that stands in for them. All are looked up when the program starts: later may be in a vfork child
 * or a signal handler. Before glibc 2.34 the functions of threads come with libpthread, which a
 * program may load later: those are looked up again as long as they are missing. What is missing
 * for good is done by the kernel's call.
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
/* For syscall(), which is assembly. */
extern void *next_syscall;

/* Is the next one libc's own? Then it may be done by another function of libc's. */
struct next_is_libc {
	bool execl, execle, execlp, wait, waitpid, wait3;
};
extern struct next_is_libc next_is_libc;
/* libc's own, whoever stands in for them. */
struct libcs {
	int (*execvp)(const char *, char *const[]);
	pid_t (*wait4)(pid_t, int *, int, struct rusage *);
};
extern struct libcs libcs;

void resolve_next(void);
/* Those of threads again. */
void resolve_threads(void);
/* The function, which another library's constructor may need before ours has run. */
#define NEXT(name) (next.resolved ? next.name : (resolve_next(), next.name))

/* The x of glibc 2.x; 0: not glibc, or not 2. */
unsigned libc_minor(void);

void set_errno(int value);
/* The kernel's result as libc gives it: -1 and errno on failure. */
long libc_result(long ret);

/* Fresh zeroed memory; NULL when there is none. */
void *map_pages(size_t size);

size_t str_len(const char *s);
bool starts_with(const char *s, const char *prefix);

#endif
