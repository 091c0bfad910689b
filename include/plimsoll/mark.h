/*
 * Marks: named regions of a program on the time line of its job.
 *
 *     #include <plimsoll/mark.h>
 *
 *     plimsoll_begin("assemble");
 *     ...
 *     plimsoll_end();
 *
 * Regions nest, per thread. plimsoll_mark("checkpoint") marks a point in time. In C++ the object
 * plimsoll::region r("assemble") is a region until its scope ends. `plimsoll phases` shows them.
 *
 * The header is all there is: nothing to link, nothing to initialise. In a program that is not
 * recorded (PLIMSOLL_OUTPUT is not set), a call is one load and one branch. With
 * -DPLIMSOLL_NO_MARKS it is nothing.
 *
 * In a recorded one the first mark of a process creates a file beside the records of its job and
 * maps it; each mark stores one slot in the mapping, without a lock and without a system call, so
 * that SIGKILL loses nothing. Names are copied, at most PLIMSOLL_MARK_NAME_MAX bytes of them. A
 * forked child gets a file of its own; a vfork child must not mark anything before it executes a
 * program. A program that was executed continues the file of its process. All calls may be made by
 * any thread and in signal handlers, keep errno, and leave no descriptor open. What cannot be
 * stored is counted: at most PLIMSOLL_MARK_MAX slots (environment, default 65536) per process, and
 * nothing when the disk is full or the directory cannot be written.
 *
 * The file, which plimsoll-mark(5) explains, is struct plimsoll_mark_header and then slots. Numbers
 * are in the byte order of the machine, which is little endian.
 */
#ifndef PLIMSOLL_MARK_H
#define PLIMSOLL_MARK_H

#if defined(__STRICT_ANSI__) && !defined(__cplusplus) && !defined(_GNU_SOURCE) && \
	!defined(_DEFAULT_SOURCE)
#ifdef _FEATURES_H
#error "include plimsoll/mark.h before other headers, or compile with -D_DEFAULT_SOURCE or -std=gnu11"
#endif
#define _DEFAULT_SOURCE 1
#endif

#include <stdint.h>

#define PLIMSOLL_MARK_MAGIC 0x314b4d50u /* "PMK1" */
#define PLIMSOLL_MARK_VERSION 1
#define PLIMSOLL_MARK_HEADER 4096   /* bytes before the first slot */
#define PLIMSOLL_MARK_SLOT 64       /* bytes of a slot: a cache line of its own */
#define PLIMSOLL_MARK_INLINE 40     /* bytes of a name in the first slot of a mark */
#define PLIMSOLL_MARK_NAME_MAX 232  /* with the three slots that may follow */
#define PLIMSOLL_MARK_FIRST 960     /* slots with which a file begins: 64 KiB with the header */
#define PLIMSOLL_MARK_MORE 4096     /* slots by which it grows: 256 KiB */
#define PLIMSOLL_MARK_SLOTS 65536   /* default limit */
#define PLIMSOLL_MARK_LIMIT 1048576 /* largest limit: 64 MiB */

enum plimsoll_mark_kind {
	PLIMSOLL_BEGIN = 1, /* a region begins */
	PLIMSOLL_END = 2,   /* the innermost region of the thread ends */
	PLIMSOLL_POINT = 3, /* a point in time */
	PLIMSOLL_NEXT = 4   /* of a script: ends its phase, if one is open, and begins the next */
};
/* Flags of a slot. */
#define PLIMSOLL_OF_SCRIPT 1u  /* by `plimsoll mark`, for the process that called it */
#define PLIMSOLL_OF_COMMAND 2u /* by `plimsoll mark NAME -- COMMAND`; tid is its own pid */
/* Flags of a file. */
#define PLIMSOLL_WITH_CPU 1u /* slots have CPU times */

struct plimsoll_mark_header {
	uint32_t magic; /* written last: 0 until the rest is there */
	uint16_t version;
	uint16_t slot_size;
	uint32_t pid;         /* in its pid namespace */
	uint32_t max;         /* slots at most */
	uint64_t start_ticks; /* of the process, field 22 of /proc/PID/stat; 0: unknown */
	uint64_t pidns;       /* inode number of the pid namespace; 0: unknown */
	uint64_t boot_ns;     /* CLOCK_BOOTTIME and CLOCK_REALTIME when the file was created */
	uint64_t real_ns;
	int32_t rank;   /* of MPI, by the launcher's variables; -1: none */
	uint32_t ranks; /* 0: unknown */
	uint32_t flags;
	uint32_t reserved;
	uint64_t next; /* the first slot that is free; more than max: they are all used */
	char pad_next[56];
	uint64_t dropped; /* marks for which there was no slot */
	char pad_dropped[56];
	char host[72]; /* ends with 0 */
};

struct plimsoll_mark_slot {
	uint64_t time_ns; /* CLOCK_BOOTTIME */
	uint64_t cpu_ns;  /* of the process, if the file has CPU times */
	uint32_t tid;
	uint8_t kind;
	uint8_t flags;
	uint8_t length; /* of the name */
	uint8_t slots;  /* of this mark, 1 to 4; written last: 0 until the rest is there */
	char name[PLIMSOLL_MARK_INLINE]; /* the rest of a long name fills the next slots */
};

#ifdef PLIMSOLL_NO_MARKS

static inline void plimsoll_begin(const char *name)
{
	(void)name;
}
static inline void plimsoll_end(void)
{
}
static inline void plimsoll_mark(const char *name)
{
	(void)name;
}

#else

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PLIMSOLL_PRIVATE_ static __attribute__((unused))
#define PLIMSOLL_SLOW_ static __attribute__((unused, noinline))
#define PLIMSOLL_SEGMENTS_ (2 + PLIMSOLL_MARK_LIMIT / PLIMSOLL_MARK_MORE)

/* ---- an open file --------------------------------------------------------------------------- */

enum plimsoll_state_ { PLIMSOLL_UNKNOWN_, PLIMSOLL_OPENING_, PLIMSOLL_ON_, PLIMSOLL_OFF_ };

struct plimsoll_log_ {
	int state;      /* enum plimsoll_state_ */
	int checks_pid; /* this kernel cannot clear the log in a forked child */
	uint32_t pid, max;
	int with_cpu;
	char *segments[PLIMSOLL_SEGMENTS_]; /* the first one begins with the header */
	char path[1024];
};

/* Whose file it is. */
struct plimsoll_owner_ {
	uint32_t pid;
	uint64_t start_ticks, pidns;
};

PLIMSOLL_PRIVATE_ uint64_t plimsoll_clock_(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t) != 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

PLIMSOLL_PRIVATE_ int plimsoll_add_(char *to, size_t size, size_t *used, const char *s, size_t n)
{
	if (*used + n >= size)
		return 0;
	memcpy(to + *used, s, n);
	*used += n;
	to[*used] = 0;
	return 1;
}

PLIMSOLL_PRIVATE_ int plimsoll_add_number_(char *to, size_t size, size_t *used, uint64_t v)
{
	char digits[24], *p = digits + sizeof(digits);

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	return plimsoll_add_(to, size, used, "-", 1) &&
	       plimsoll_add_(to, size, used, p, (size_t)(digits + sizeof(digits) - p));
}

/* Field 22 behind the name in parentheses, which may itself contain some; 0: unknown. */
PLIMSOLL_PRIVATE_ uint64_t plimsoll_start_ticks_(const char *stat_file)
{
	char text[1024];
	uint64_t v = 0;
	int fd = open(stat_file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	const char *p;

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	for (p = p ? p + 1 : ""; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	return v;
}

PLIMSOLL_PRIVATE_ uint64_t plimsoll_pid_namespace_(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? (uint64_t)st.st_ino : 0;
}

/* A number of at most nine digits; -1: none. */
PLIMSOLL_PRIVATE_ int32_t plimsoll_env_number_(const char *name)
{
	const char *s = getenv(name);
	int32_t v = 0;

	if (!s || !*s || strlen(s) > 9)
		return -1;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return -1;
		v = v * 10 + (*s - '0');
	}
	return v;
}

/* The same launchers as for processes, best first. */
PLIMSOLL_PRIVATE_ void plimsoll_rank_(int32_t *rank, uint32_t *ranks)
{
	static const char *const names[4][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
						{"PMIX_RANK", "PMIX_SIZE"},
						{"PMI_RANK", "PMI_SIZE"},
						{"SLURM_PROCID", "SLURM_NTASKS"}};
	int i;

	*rank = -1;
	*ranks = 0;
	for (i = 0; i < 4 && *rank < 0; i++)
		*rank = plimsoll_env_number_(names[i][0]);
	for (i--; *rank >= 0 && i < 4 && !*ranks; i++) {
		int32_t n = plimsoll_env_number_(names[i][1]);

		*ranks = n > 0 ? (uint32_t)n : 0;
	}
}

/* Is `part` one of the jobs that make up the heterogeneous job of Slurm with the id s[0..n)? */
PLIMSOLL_PRIVATE_ int plimsoll_is_part_(const char *s, size_t n, const char *part)
{
	static const char group[] = "SLURM_JOB_ID_HET_GROUP_";
	const char *leader = getenv("SLURM_HET_JOB_ID");
	char name[32];

	if (!leader || strlen(leader) != n || memcmp(leader, s, n) != 0)
		return 0;
	for (uint64_t i = 0; i < 1000; i++) {
		size_t used = 0;
		const char *id;

		(void)plimsoll_add_(name, sizeof(name), &used, group, sizeof(group) - 2);
		(void)plimsoll_add_number_(name, sizeof(name), &used, i);
		name[sizeof(group) - 2] = '_';
		id = getenv(name);
		if (!id)
			return 0;
		if (!strcmp(id, part))
			return 1;
	}
	return 0;
}

/*
 * Batch systems pass the environment on, and a job that was submitted from a recorded one has its
 * variables. Is this one of another job than PLIMSOLL_CONTEXT, "ID slurm:100@cluster" or "ID -"?
 */
PLIMSOLL_PRIVATE_ int plimsoll_is_other_job_(const char *context)
{
	static const char *const names[5][3] = {{"slurm:", "SLURM_JOB_ID", "SLURM_JOBID"},
						{"pbs:", "PBS_JOBID", "PBS_JOB_ID"},
						{"oar:", "OAR_JOB_ID", "OAR_JOBID"},
						{"lsf:", "LSB_JOBID", NULL},
						{"sge:", "JOB_ID", NULL}};
	const char *batch = context ? strchr(context, ' ') : NULL, *here = NULL, *id, *cluster;
	size_t n, m;

	if (!batch)
		return 0;
	batch++;
	if (*batch == '-') {
		const char *slurm = getenv("ENVIRONMENT"), *pbs = getenv("PBS_ENVIRONMENT");

		if (slurm && !strncmp(slurm, "BATCH", 5))
			return getenv("SLURM_JOB_ID") || getenv("JOB_ID");
		if (pbs && !strncmp(pbs, "PBS_BATCH", 9))
			return getenv("PBS_JOBID") != NULL;
		return getenv("LSB_JOBID") && !getenv("LSB_INTERACTIVE");
	}
	for (int i = 0; i < 5; i++)
		for (int k = 1; k < 3 && !here; k++)
			if (names[i][k] && !strncmp(batch, names[i][0], strlen(names[i][0])))
				here = getenv(names[i][k]);
	id = strchr(batch, ':');
	if (!here || !*here || !id)
		return 0;
	id++;
	n = strcspn(id, "@");
	m = strlen(here);
	cluster = getenv("SLURM_CLUSTER_NAME");
	if (id[n] && cluster && *cluster && strcmp(id + n + 1, cluster) != 0)
		return 1;
	/* elements of an array may share the variable; their ids are "20[3]" and "18.4" */
	if (m < n && (id[m] == '[' || id[m] == '.'))
		n = m;
	return (m != n || memcmp(id, here, n) != 0) && !plimsoll_is_part_(id, n, here);
}

/*
 * The directory of PLIMSOLL_OUTPUT: it names a directory, or a record file
 * "<job>/<host>.<boot>/<run>.rec". A launcher may have passed it to another host, which writes to
 * "<job>" then.
 */
PLIMSOLL_PRIVATE_ size_t plimsoll_directory_(const char *output, const char *host)
{
	size_t n = strlen(output), end = n, begin;

	if (n < 5 || strcmp(output + n - 4, ".rec") != 0)
		return n;
	while (end && output[end] != '/')
		end--;
	for (begin = end; begin && output[begin - 1] != '/';)
		begin--;
	if (begin > 1 && end - begin > 9 && output[end - 9] == '.' &&
	    (end - begin - 9 != strlen(host) || memcmp(output + begin, host, strlen(host)) != 0))
		return begin - 1;
	return end;
}

/* "<directory>/<host>-<pid namespace>-<pid>-<start>.mark" */
PLIMSOLL_PRIVATE_ int plimsoll_path_(struct plimsoll_log_ *log, const char *output, size_t n,
				     const char *host, const struct plimsoll_owner_ *owner)
{
	size_t used = 0, size = sizeof(log->path);

	return n && plimsoll_add_(log->path, size, &used, output, n) &&
	       plimsoll_add_(log->path, size, &used, "/", 1) &&
	       plimsoll_add_(log->path, size, &used, host, strlen(host)) &&
	       plimsoll_add_number_(log->path, size, &used, owner->pidns) &&
	       plimsoll_add_number_(log->path, size, &used, owner->pid) &&
	       plimsoll_add_number_(log->path, size, &used, owner->start_ticks) &&
	       plimsoll_add_(log->path, size, &used, ".mark", 5);
}

/* Maps a part of the file, whose blocks are allocated first: a hole on a full disk would end the
 * program with SIGBUS. A limit on the size of files would end it with SIGXFSZ. */
PLIMSOLL_PRIVATE_ char *plimsoll_map_(int fd, uint64_t at, size_t size)
{
	struct rlimit limit;
	void *p;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || at + size > limit.rlim_cur ||
	    posix_fallocate(fd, (off_t)at, (off_t)size) != 0)
		return NULL;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)at);
	if (p == MAP_FAILED)
		return NULL;
	/* MADV_POPULATE_WRITE, from Linux 5.14: an error here instead of SIGBUS later */
	if (madvise(p, size, 23) != 0 && errno != EINVAL) {
		munmap(p, size);
		return NULL;
	}
	(void)madvise(p, size, MADV_DONTFORK);
	return (char *)p;
}

PLIMSOLL_PRIVATE_ struct plimsoll_mark_header *plimsoll_header_(const struct plimsoll_log_ *log)
{
	return (struct plimsoll_mark_header *)(void *)log->segments[0];
}

/* Several may create the file of a process at the same time; the lock is never waited for long. */
PLIMSOLL_PRIVATE_ int plimsoll_lock_(int fd)
{
	const struct timespec pause = {0, 1000000};
	int tries = 0;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno != EWOULDBLOCK || ++tries == 200)
			return 0;
		nanosleep(&pause, NULL);
	}
	return 1;
}

PLIMSOLL_PRIVATE_ void plimsoll_fill_header_(struct plimsoll_mark_header *h, const char *host,
					     const struct plimsoll_owner_ *owner)
{
	const char *cpu = getenv("PLIMSOLL_MARK_CPU");
	int32_t max = plimsoll_env_number_("PLIMSOLL_MARK_MAX");

	h->version = PLIMSOLL_MARK_VERSION;
	h->slot_size = PLIMSOLL_MARK_SLOT;
	h->pid = owner->pid;
	h->start_ticks = owner->start_ticks;
	h->pidns = owner->pidns;
	h->max = max < 0                     ? PLIMSOLL_MARK_SLOTS
		 : max > PLIMSOLL_MARK_LIMIT ? PLIMSOLL_MARK_LIMIT
					     : (uint32_t)max;
	h->flags = cpu && cpu[0] == '1' ? PLIMSOLL_WITH_CPU : 0;
	plimsoll_rank_(&h->rank, &h->ranks);
	memcpy(h->host, host, strlen(host) + 1);
	h->boot_ns = plimsoll_clock_(CLOCK_BOOTTIME);
	h->real_ns = plimsoll_clock_(CLOCK_REALTIME);
	__atomic_store_n(&h->magic, PLIMSOLL_MARK_MAGIC, __ATOMIC_RELEASE);
}

/* Opens the file log->path, creates it if it is missing. 1: it can be written to. */
PLIMSOLL_PRIVATE_ int plimsoll_open_(struct plimsoll_log_ *log, const char *host,
				     const struct plimsoll_owner_ *owner)
{
	const size_t size = PLIMSOLL_MARK_HEADER + PLIMSOLL_MARK_FIRST * PLIMSOLL_MARK_SLOT;
	int fd = open(log->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		      0600);
	struct plimsoll_mark_header *h = NULL;
	struct stat st;

	if (fd < 0)
		return 0;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    plimsoll_lock_(fd)) {
		log->segments[0] = plimsoll_map_(fd, 0, size);
		h = log->segments[0] ? plimsoll_header_(log) : NULL;
		if (h && !__atomic_load_n(&h->magic, __ATOMIC_ACQUIRE))
			plimsoll_fill_header_(h, host, owner);
		if (!h && st.st_size == 0)
			(void)unlink(log->path);
		/* the mapping would keep the lock */
		(void)flock(fd, LOCK_UN);
	}
	if (h && (h->magic != PLIMSOLL_MARK_MAGIC || h->version != PLIMSOLL_MARK_VERSION ||
		  h->slot_size != PLIMSOLL_MARK_SLOT || h->max > PLIMSOLL_MARK_LIMIT)) {
		munmap(log->segments[0], size);
		log->segments[0] = NULL;
		h = NULL;
	}
	close(fd);
	if (!h)
		return 0;
	log->pid = owner->pid;
	log->max = h->max;
	log->with_cpu = (h->flags & PLIMSOLL_WITH_CPU) != 0;
	return 1;
}

/* ---- writing -------------------------------------------------------------------------------- */

/* The segment with this number is mapped by the first thread that needs it. */
PLIMSOLL_SLOW_ char *plimsoll_grow_(struct plimsoll_log_ *log, uint64_t segment)
{
	const size_t size = (size_t)PLIMSOLL_MARK_MORE * PLIMSOLL_MARK_SLOT;
	uint64_t at = PLIMSOLL_MARK_HEADER + PLIMSOLL_MARK_FIRST * PLIMSOLL_MARK_SLOT +
		      (segment - 1) * size;
	char *p = NULL, *before = NULL;
	sigset_t all, mask;
	int fd;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	fd = open(log->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0) {
		p = plimsoll_map_(fd, at, size);
		close(fd);
	}
	if (p && !__atomic_compare_exchange_n(&log->segments[segment], &before, p, 0,
					      __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		munmap(p, size);
		p = before;
	}
	/* no room: what follows is counted only */
	if (!p)
		__atomic_store_n(
			&log->max,
			(uint32_t)(PLIMSOLL_MARK_FIRST + (segment - 1) * PLIMSOLL_MARK_MORE),
			__ATOMIC_RELAXED);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	return p;
}

PLIMSOLL_PRIVATE_ struct plimsoll_mark_slot *plimsoll_slot_(struct plimsoll_log_ *log, uint64_t n)
{
	uint64_t segment = 0;
	char *p = log->segments[0] + PLIMSOLL_MARK_HEADER;

	if (n >= PLIMSOLL_MARK_FIRST) {
		n -= PLIMSOLL_MARK_FIRST;
		segment = 1 + n / PLIMSOLL_MARK_MORE;
		n %= PLIMSOLL_MARK_MORE;
		p = __atomic_load_n(&log->segments[segment], __ATOMIC_ACQUIRE);
		if (!p)
			p = plimsoll_grow_(log, segment);
	}
	return p ? (struct plimsoll_mark_slot *)(void *)(p + n * PLIMSOLL_MARK_SLOT) : NULL;
}

/* Stores a mark. length: at most PLIMSOLL_MARK_NAME_MAX. */
PLIMSOLL_PRIVATE_ void plimsoll_store_(struct plimsoll_log_ *log, uint64_t time_ns, uint32_t tid,
				       int kind, unsigned flags, const char *name, size_t length)
{
	struct plimsoll_mark_header *h = plimsoll_header_(log);
	uint64_t max = __atomic_load_n(&log->max, __ATOMIC_RELAXED);
	size_t first = length < PLIMSOLL_MARK_INLINE ? length : PLIMSOLL_MARK_INLINE;
	uint64_t slots = 1 + (length - first + PLIMSOLL_MARK_SLOT - 1) / PLIMSOLL_MARK_SLOT, n;
	struct plimsoll_mark_slot *s, *more;

	/* once full it stays full: an end never gets a slot that its begin did not get */
	n = __atomic_load_n(&h->next, __ATOMIC_RELAXED);
	if (n < max)
		n = __atomic_fetch_add(&h->next, slots, __ATOMIC_RELAXED);
	s = n + slots <= max ? plimsoll_slot_(log, n) : NULL;
	for (uint64_t i = 1; s && i < slots; i++) {
		size_t from = first + (size_t)(i - 1) * PLIMSOLL_MARK_SLOT, left = length - from;

		more = plimsoll_slot_(log, n + i);
		if (!more)
			s = NULL;
		else
			memcpy(more, name + from,
			       left < PLIMSOLL_MARK_SLOT ? left : PLIMSOLL_MARK_SLOT);
	}
	if (!s) {
		(void)__atomic_fetch_add(&h->dropped, 1, __ATOMIC_RELAXED);
		return;
	}
	s->time_ns = time_ns;
	if (log->with_cpu)
		s->cpu_ns = plimsoll_clock_(CLOCK_PROCESS_CPUTIME_ID);
	s->tid = tid;
	s->kind = (uint8_t)kind;
	s->flags = (uint8_t)flags;
	s->length = (uint8_t)length;
	memcpy(s->name, name, first);
	__atomic_store_n(&s->slots, (uint8_t)slots, __ATOMIC_RELEASE);
}

/* ---- this process --------------------------------------------------------------------------- */

/* One for each program or library, by the linker; where a process has several, they share the file.
 */
struct plimsoll_process_ {
	int off; /* 1: not recorded */
	struct plimsoll_log_ *log;
};
extern struct plimsoll_process_ plimsoll_process_;
__attribute__((weak, visibility("hidden"))) struct plimsoll_process_ plimsoll_process_ = {0, NULL};

PLIMSOLL_PRIVATE_ int plimsoll_open_own_(struct plimsoll_log_ *log)
{
	const char *output = getenv("PLIMSOLL_OUTPUT");
	struct plimsoll_owner_ owner;
	char host[65] = "";

	if (gethostname(host, sizeof(host) - 1) != 0 || !*host || strchr(host, '/') ||
	    plimsoll_is_other_job_(getenv("PLIMSOLL_CONTEXT")))
		return 0;
	owner.pid = (uint32_t)getpid();
	owner.start_ticks = plimsoll_start_ticks_("/proc/self/stat");
	owner.pidns = plimsoll_pid_namespace_();
	return plimsoll_path_(log, output, plimsoll_directory_(output, host), host, &owner) &&
	       plimsoll_open_(log, host, &owner);
}

/* The log is in a page that the kernel clears in a forked child, which then opens its own. */
PLIMSOLL_PRIVATE_ struct plimsoll_log_ *plimsoll_page_(void)
{
	struct plimsoll_log_ *log = __atomic_load_n(&plimsoll_process_.log, __ATOMIC_ACQUIRE);
	struct plimsoll_log_ *before = NULL;
	void *p;

	if (log)
		return log;
	p = mmap(NULL, sizeof(*log), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	log = (struct plimsoll_log_ *)p;
	/* MADV_WIPEONFORK, from Linux 4.14 */
	log->checks_pid = madvise(p, sizeof(*log), 18) != 0;
	if (__atomic_compare_exchange_n(&plimsoll_process_.log, &before, log, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return log;
	munmap(p, sizeof(*log));
	return before;
}

/* Opens the log, once; other threads wait for it. NULL: this process is not recorded. */
PLIMSOLL_SLOW_ struct plimsoll_log_ *plimsoll_init_(void)
{
	const struct timespec pause = {0, 50000};
	const char *output = getenv("PLIMSOLL_OUTPUT");
	struct plimsoll_log_ *log = NULL;
	int state = PLIMSOLL_UNKNOWN_, error = errno;
	sigset_t all, mask;

	/* a program with more rights than its user creates no files where the user says */
	if (output && *output && !getauxval(AT_SECURE))
		log = plimsoll_page_();
	if (!log) {
		plimsoll_process_.off = 1;
		errno = error;
		return NULL;
	}
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	if (__atomic_compare_exchange_n(&log->state, &state, PLIMSOLL_OPENING_, 0, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE)) {
		state = plimsoll_open_own_(log) ? PLIMSOLL_ON_ : PLIMSOLL_OFF_;
		if (state == PLIMSOLL_OFF_)
			plimsoll_process_.off = 1;
		__atomic_store_n(&log->state, state, __ATOMIC_RELEASE);
	}
	sigprocmask(SIG_SETMASK, &mask, NULL);
	while ((state = __atomic_load_n(&log->state, __ATOMIC_ACQUIRE)) == PLIMSOLL_OPENING_)
		nanosleep(&pause, NULL);
	errno = error;
	return state == PLIMSOLL_ON_ ? log : NULL;
}

/* The log of this process, or NULL. */
PLIMSOLL_PRIVATE_ struct plimsoll_log_ *plimsoll_log_now_(void)
{
	struct plimsoll_log_ *log = __atomic_load_n(&plimsoll_process_.log, __ATOMIC_ACQUIRE);

	if (log && log->checks_pid && log->state && log->pid != (uint32_t)getpid()) {
		memset(log, 0, sizeof(*log));
		log->checks_pid = 1;
	}
	if (!log || __atomic_load_n(&log->state, __ATOMIC_ACQUIRE) != PLIMSOLL_ON_)
		log = plimsoll_init_();
	return log;
}

/* The number of this thread, which a forked child has not inherited. */
PLIMSOLL_PRIVATE_ uint32_t plimsoll_tid_(uint32_t pid)
{
	static __thread struct {
		uint32_t pid, tid;
	} own;

	if (own.pid != pid) {
		own.tid = (uint32_t)syscall(SYS_gettid);
		own.pid = pid;
	}
	return own.tid;
}

PLIMSOLL_SLOW_ void plimsoll_write_(int kind, const char *name)
{
	/* an end is as early, a begin as late as possible */
	uint64_t now = kind == PLIMSOLL_END ? plimsoll_clock_(CLOCK_BOOTTIME) : 0;
	struct plimsoll_log_ *log = plimsoll_log_now_();
	size_t length = 0;
	int error;

	if (!log)
		return;
	error = errno;
	if (name)
		length = strnlen(name, PLIMSOLL_MARK_NAME_MAX);
	uint32_t tid = plimsoll_tid_(log->pid);
	if (!now)
		now = plimsoll_clock_(CLOCK_BOOTTIME);
	plimsoll_store_(log, now, tid, kind, 0, name ? name : "", length);
	errno = error;
}

/* ---- the calls ------------------------------------------------------------------------------ */

/* A region begins. Ends with plimsoll_end() of the same thread. */
static inline void plimsoll_begin(const char *name)
{
	if (!plimsoll_process_.off)
		plimsoll_write_(PLIMSOLL_BEGIN, name);
}

/* The innermost region of this thread ends. */
static inline void plimsoll_end(void)
{
	if (!plimsoll_process_.off)
		plimsoll_write_(PLIMSOLL_END, NULL);
}

/* A point in time. */
static inline void plimsoll_mark(const char *name)
{
	if (!plimsoll_process_.off)
		plimsoll_write_(PLIMSOLL_POINT, name);
}

#ifdef __cplusplus
}
#endif

#endif /* PLIMSOLL_NO_MARKS */

#ifdef __cplusplus
namespace plimsoll
{
/* A region until the end of the scope, also if an exception leaves it. */
class region
{
      public:
	explicit region(const char *name)
	{
		plimsoll_begin(name);
	}
	~region()
	{
		plimsoll_end();
	}

      private:
	region(const region &);
	region &operator=(const region &);
};
} // namespace plimsoll
#endif

#endif
