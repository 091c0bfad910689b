/*
 * The records of a process: START at the start of an image, EXEC before an exec, END at the end of
 * an image or forked copy, REAP for every child that it waits for.
 *
 * Uses little stack, since a program may call _exit on a signal stack of a few kilobytes. Only
 * START, on the initial stack, has large buffers.
 */
#include "preload/guest.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

extern size_t __fpending(FILE *stream) __attribute__((weak));
extern FILE *_IO_list_all __attribute__((weak));
extern char _IO_2_1_stdout_[] __attribute__((weak));

/* The loader reads this much of every library (glibc, 64 bit). */
#define LOADER_READ 832

/* glibc's error flag of a stream, and the device number of /dev/full */
#ifndef _IO_ERR_SEEN
#define _IO_ERR_SEEN 0x20
#endif
#define FULL_DEVICE 0x107

/* ---- START ---------------------------------------------------------------------------------- */

/* Variables of MPI launchers, best first: with mpirun in a Slurm job SLURM_PROCID is that of the
 * launcher. */
static const char *const rank_names[] = {
	"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK=", "SLURM_PROCID="};
static const char *const size_names[] = {
	"OMPI_COMM_WORLD_SIZE=", "PMIX_SIZE=", "PMI_SIZE=", "SLURM_NTASKS="};
#define LAUNCHERS 4
#define STEP_NAME "SLURM_STEP_ID="

static bool env_number(const char *s, uint64_t *ret)
{
	const char *end = s + str_len(s);
	const char *p = s;

	return *s >= '0' && *s <= '9' && end - s < 10 && proc_number(&p, end, ret) && p == end;
}

/* The step, rank and size. The latter are of the best launcher with a rank; PMIx has no size, so it
 * comes from the next launcher. */
static void put_rank(struct fields *f, char **envp)
{
	const char *rank[LAUNCHERS] = {0}, *size[LAUNCHERS] = {0}, *step = NULL;
	uint64_t v;

	for (; *envp; envp++) {
		char c = (*envp)[0];

		if (c != 'O' && c != 'P' && c != 'S')
			continue;
		if (starts_with(*envp, STEP_NAME))
			step = *envp + sizeof(STEP_NAME) - 1;
		for (int i = 0; i < LAUNCHERS; i++) {
			if (starts_with(*envp, rank_names[i]))
				rank[i] = *envp + str_len(rank_names[i]);
			else if (starts_with(*envp, size_names[i]))
				size[i] = *envp + str_len(size_names[i]);
		}
	}
	/* those of the batch script and the like have longer numbers */
	if (step && env_number(step, &v))
		put_u64(f, METRIC_STEP, v);
	for (int i = 0; i < LAUNCHERS; i++) {
		if (!rank[i] || !env_number(rank[i], &v))
			continue;
		put_u64(f, METRIC_MPIRANK, v);
		for (int k = i; k < LAUNCHERS; k++)
			if (size[k] && env_number(size[k], &v)) {
				put_u64(f, METRIC_NUMRANKS, v);
				break;
			}
		break;
	}
}

/* The identity of the process, from /proc or system calls. */
static NOINLINE void put_identity(struct fields *f, struct own_io *own)
{
	char buf[512];
	struct proc_stat st = {0};
	struct stat proc;
	long n = -1;

	long fd = sys4(__NR_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		n = sys3(__NR_read, fd, buf, sizeof(buf));
		if (sys2(__NR_fstat, fd, &proc) == 0)
			guest.procdev = proc.st_dev;
		sys1(__NR_close, fd);
		own->syscr++;
	}
	put_u64(f, METRIC_PID, (uint64_t)guest.pid);
	bool parsed = n > 0 && proc_parse_stat(buf, (size_t)n, &st) && st.last >= STAT_STARTTIME;
	bool home = space_of_image(parsed ? st.f[STAT_PID] : 0);
	put_space(f, guest.pid);
	if (parsed) {
		own->rchar += (uint64_t)n;
		guest.starttime_us = proc_start_us(&st, guest.ahead_ns);
		put_u64(f, METRIC_STARTTIME, guest.starttime_us);
		if (st.f[STAT_PID] != (uint64_t)guest.pid && !home)
			put_u64(f, METRIC_NSPID, st.f[STAT_PID]);
	}
	put_u64(f, METRIC_PPID, (uint64_t)sys0(__NR_getppid));
	put_u64(f, METRIC_PGID, (uint64_t)sys1(__NR_getpgid, 0));
	put_u64(f, METRIC_SID, (uint64_t)sys1(__NR_getsid, 0));
}

/* argv as one piece of memory, as the kernel lays it out; NULL: it was changed. */
static const char *argv_block(int argc, char **argv, size_t *ret_size)
{
	const char *at = argv[0];

	for (int i = 0; i < argc; i++) {
		if (argv[i] != at)
			return NULL;
		at += str_len(at) + 1;
	}
	*ret_size = (size_t)(at - argv[0]);
	return argv[0];
}

/* A copy of argv in one piece; NULL: empty or no memory. */
static NOINLINE char *argv_copy(int argc, char **argv, size_t *ret_size)
{
	size_t size = 0, used = 0;

	for (int i = 0; i < argc; i++)
		size += str_len(argv[i]) + 1;
	char *p = size ? map_pages(size) : NULL;
	if (!p)
		return NULL;
	for (int i = 0; i < argc; i++) {
		size_t n = str_len(argv[i]) + 1;

		__builtin_memcpy(p + used, argv[i], n);
		used += n;
	}
	*ret_size = size;
	return p;
}

static bool is_own_command(const char *exe, long n)
{
	return n > 9 && !__builtin_memcmp(exe + n - 9, "/plimsoll", 9);
}

/* The pieces of one writev(): fields in a buffer, and long strings in place. */
struct pieces {
	struct fields f;
	unsigned char *begin; /* of the piece being filled */
	struct iovec iov[10]; /* 0 is the header's */
	int count;
};

static void add_long_text(struct pieces *p, enum metric_id id, const char *s, size_t n)
{
	if (!n)
		return;
	put_bytes_key(&p->f, id, n);
	p->iov[p->count++] = (struct iovec){p->begin, (size_t)(p->f.p - p->begin)};
	p->iov[p->count++] = (struct iovec){(void *)s, n};
	p->begin = p->f.p;
}

static size_t emit_pieces(const struct held *h, enum pl_record_type type, unsigned flags,
			  struct pieces *p)
{
	if (p->f.p > p->begin)
		p->iov[p->count++] = (struct iovec){p->begin, (size_t)(p->f.p - p->begin)};
	return emit(h, type, flags, p->iov, p->count);
}

static void emit_start(const struct held *h, struct pieces *p, struct own_io *own)
{
	size_t written = emit_pieces(h, PL_START, 0, p);

	own->wchar += written;
	own->syscw += written > 0;
	own_add(guest.pid, own);
}

/*
 * CPU time of threads of earlier images. We use CPU time between reading the two clocks, and much
 * of it if we are interrupted or traced there. others_ns must not be too small, or threads_now()
 * finds threads that never were: our own clock is read first. Whether there were threads at all
 * must not be wrong for that either: in doubt our clock is read again, afterwards.
 */
static void note_threads(void)
{
	uint64_t own = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t all = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	guest.others_ns = less(all, own);
	guest.had_threads =
		guest.others_ns > 5000 && less(all, clock_ns(CLOCK_THREAD_CPUTIME_ID)) > 5000;
}

bool record_start(int argc, char **argv, char **envp, const char *tags)
{
	unsigned char buf[384];
	char exe[4096];
	struct pieces p = {{buf, buf + sizeof(buf)}, buf, {{0}}, 1};
	struct own_io own = {.rchar = LOADER_READ, .syscr = 1};
	struct rusage ru;
	struct held h;
	size_t argv_size = 0, events_size;

	long n = sys4(__NR_readlinkat, AT_FDCWD, "/proc/self/exe", exe, sizeof(exe));
	if (is_own_command(exe, n))
		return false;
	hold_signals(&h);
	guest.cycles = cycle_count();
	uint64_t boot = clock_ns(CLOCK_BOOTTIME), real = clock_ns(CLOCK_REALTIME);
	guest.ahead_ns = ahead_at(boot, real, &own);
	put_u64(&p.f, METRIC_BOOTTIME, boot - (uint64_t)guest.ahead_ns);
	put_u64(&p.f, METRIC_REALTIME, real / 1000);
	put_identity(&p.f, &own);
	put_u64(&p.f, METRIC_OWN_RCHAR, own.rchar);
	put_u64(&p.f, METRIC_OWN_SYSCR, own.syscr);
	put_text(&p.f, METRIC_HOSTNAME, guest.hostname, str_len(guest.hostname));
	put_rank(&p.f, envp);
	note_threads();
	/* the CPU time of exec and loader bounds the begin of the image */
	if (sys2(__NR_getrusage, RUSAGE_SELF, &ru) == 0) {
		guest.maxrss_kib = (uint64_t)ru.ru_maxrss;
		put_u64(&p.f, METRIC_USERTIME, tv_us(&ru.ru_utime));
		put_u64(&p.f, METRIC_SYSTEMTIME, tv_us(&ru.ru_stime));
	}

	const char *events = events_names(&events_size);
	const char *args = argv_block(argc, argv, &argv_size);
	char *copy = args ? NULL : argv_copy(argc, argv, &argv_size);
	add_long_text(&p, METRIC_PATH, exe, n > 0 ? (size_t)n : 0);
	add_long_text(&p, METRIC_EVENTS, events, events_size);
	add_long_text(&p, METRIC_TAGS, tags, tags ? str_len(tags) : 0);
	add_long_text(&p, METRIC_ARGV, args ? args : copy, argv_size);
	emit_start(&h, &p, &own);
	if (copy)
		sys2(__NR_munmap, copy, argv_size);
	release_signals(&h);
	return true;
}

/* ---- END and EXEC --------------------------------------------------------------------------- */

/*
 * ru_maxrss survives exec, and after vfork it begins with the parent's: it is of this image only if
 * it grew since START. Otherwise VmHWM is right.
 */
static NOINLINE void put_rssmax(struct fields *f, enum who who, const struct rusage *ru,
				struct own_io *own)
{
	uint64_t kib;

	if (who == IMAGE && (uint64_t)ru->ru_maxrss > guest.maxrss_kib) {
		put_u64(f, METRIC_RSSMAX, (uint64_t)ru->ru_maxrss);
		return;
	}
	if (read_status("VmHWM", &kib, own))
		put_u64(f, METRIC_RSSMAX, kib);
}

/* own is not yet added; the reads of event counters are. */
static void put_own(struct fields *f, int pid, const struct own_io *booked,
		    const struct own_io *own)
{
	const struct own_io now = own_of_process(pid);

	put_u64(f, METRIC_OWN_RCHAR, now.rchar + own->rchar);
	put_u64(f, METRIC_OWN_WCHAR, booked->wchar);
	put_u64(f, METRIC_OWN_SYSCR, now.syscr + own->syscr);
	put_u64(f, METRIC_OWN_SYSCW, booked->syscw);
}

/* Will a write certainly fail: /dev/full, or a pipe or socket without reader?
 */
static NOINLINE bool goes_nowhere(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	struct timespec now = {0, 0};
	struct stat st;

	if (sys2(__NR_fstat, fd, &st) < 0)
		return false;
	if (S_ISCHR(st.st_mode))
		return st.st_rdev == FULL_DEVICE;
	return (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) &&
	       sys5(__NR_ppoll, &p, 1, &now, NULL, 0) > 0 && p.revents & POLLERR;
}

/*
 * What libc writes after us: one call for each stream with data. The size of wide characters is
 * unknown. With other threads only the standard streams, at the end of the list, are read safely. A
 * write that will certainly fail is a call without bytes; after an earlier error the result is
 * unknown. A full disk is not noticed.
 */
static void add_pending(struct pending *p, const FILE *f, size_t n)
{
	/* not counted by the kernel: no descriptor, or not writable */
	long mode = sys3(__NR_fcntl, f->_fileno, F_GETFL, 0);

	if (mode < 0 || (mode & O_ACCMODE) == O_RDONLY)
		return;
	p->calls++;
	if (goes_nowhere(f->_fileno))
		return;
	if (f->_mode > 0 || f->_flags & _IO_ERR_SEEN)
		p->unknown = true;
	else
		p->bytes += n;
}

static struct pending stdio_pending(enum ending how, int pid)
{
	struct pending p = {0};

	if (how != BY_EXIT_HANDLER || !__fpending || !&_IO_list_all || !_IO_2_1_stdout_)
		return p;
	FILE *f = threads_created(pid) ? (FILE *)_IO_2_1_stdout_ : _IO_list_all;
	for (; f; f = f->_chain) {
		size_t n = f->_fileno < 0 ? 0 : __fpending(f);

		if (n)
			add_pending(&p, f, n);
	}
	return p;
}

/* The parent of a copy; 0: outside its pid namespace. */
static void put_parent(struct fields *f, int pid)
{
	int ppid = (int)sys0(__NR_getppid);

	put_u64(f, METRIC_PPID, (uint64_t)ppid);
	if (ppid && guest.forked == pid && guest.forker != ppid)
		put_u64(f, METRIC_FORKER, (uint64_t)guest.forker);
}

/*
 * The values of the whole process in /proc. Its io file includes children that it waited for: then
 * the sum over the threads is used, or nothing if a thread is unknown.
 */
static NOINLINE void put_process(struct fields *f, int pid, bool waited, struct thread_sums *others,
				 bool known, const struct pending *pending,
				 const struct own_io *booked, struct own_io *own)
{
	char dir[48];
	struct task t;
	const struct own_io first = waited ? own_of_thread(pid, pid) : *booked;

	format_path(dir, sizeof(dir), "/proc/self/task/",
		    (unsigned long)(waited ? space_shown_pid(pid) : pid), "/");
	read_task("/proc/self/", waited ? dir : "/proc/self/", &t, &first, own,
		  waited && sys0(__NR_gettid) != pid);
	if (waited && !known)
		t.io.present = 0;
	if (!waited)
		__builtin_memset(&others->v[SUM_IO], 0, 7 * sizeof(*others->v));
	put_task(f, &t, known ? others : NULL, pending);
	if (t.stat.last >= STAT_NUM_THREADS)
		put_u64(f, METRIC_NUM_THREADS, t.stat.f[STAT_NUM_THREADS]);
	if (pid == guest.pid)
		return;
	put_last_space(f, pid, t.stat.last >= STAT_STARTTIME ? t.stat.f[STAT_PID] : 0);
	put_u64(f, METRIC_IMAGE_PID, (uint64_t)guest.image_pid);
	put_parent(f, pid);
	put_u64(f, METRIC_PGID, (uint64_t)sys1(__NR_getpgid, 0));
	put_u64(f, METRIC_SID, (uint64_t)sys1(__NR_getsid, 0));
	uint64_t start = proc_start_us(&t.stat, ahead_of(pid, own));
	if (start)
		put_u64(f, METRIC_STARTTIME, start);
}

/* An EXEC with path (without NUL) and arguments (with NULs). */
static NOINLINE size_t emit_exec(const struct held *h, unsigned flags, unsigned char *buf,
				 const struct fields *f, struct intent *in, int pid)
{
	struct pieces p = {*f, buf, {{0}}, 1};

	intent_read(in, pid);
	if (in->path_size)
		add_long_text(&p, METRIC_PATH, in->pages, in->path_size - 1);
	if (in->argv_size)
		add_long_text(&p, METRIC_ARGV, in->pages + in->path_size, in->argv_size);
	size_t written = emit_pieces(h, PL_EXEC, flags, &p);
	intent_release(in);
	return written;
}

/* Adds usage; true: it waited for children. */
static NOINLINE bool put_usage(struct fields *f, enum who who, struct own_io *own)
{
	struct rusage ru;

	if (sys2(__NR_getrusage, RUSAGE_SELF, &ru) == 0) {
		put_rusage(f, &ru);
		put_rssmax(f, who, &ru, own);
	}
	if (sys2(__NR_getrusage, RUSAGE_CHILDREN, &ru) != 0)
		return false;
	put_children(f, &ru);
	return tv_us(&ru.ru_utime) || tv_us(&ru.ru_stime); /* every process uses some */
}

static NOINLINE void write_end(enum ending how, int status, enum who who, int pid,
			       struct intent *in)
{
	bool goes_on = how == BY_SILENCE || how == BY_ROOT;
	size_t room = events_wanted() ? 768 : how == BY_EXEC || goes_on ? 576 : 448;
	unsigned char *buf = __builtin_alloca(room);
	struct fields f = {buf, buf + room};
	struct own_io own = {0};
	struct held h;
	unsigned flags = who == COPY ? PL_F_FORK : 0;
	struct pending pending = stdio_pending(how, pid);
	struct threads threads;
	size_t written;

	hold_signals(&h);
	bool closed = threads_close(pid),
	     known = threads_now(&h, pid, &pending, &threads) && closed;
	const struct own_io booked = own_of_process(pid);
	put_u64(&f, METRIC_PID, (uint64_t)pid);
	if (who == IMAGE)
		put_space(&f, pid);
	put_u64(&f, METRIC_BOOTTIME, now_boottime_ns(pid, &own));
	if (who == IMAGE && guest.starttime_us)
		put_u64(&f, METRIC_STARTTIME, guest.starttime_us);
	if (how == BY_EXIT_HANDLER || how == BY_EXIT)
		put_u64(&f, METRIC_EXITCODE, (uint64_t)(status & 0xff));
	bool waited = put_usage(&f, who, &own);
	put_u64(&f, METRIC_TIME_ONCPU, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	put_process(&f, pid, waited, &threads.sums, known, &pending, &booked, &own);
	put_u64(&f, METRIC_NUMTIDS, threads.numtids);
	if (threads.basic)
		put_u64(&f, METRIC_THREADS_BASIC, threads.basic);
	if (how == BY_EXEC && (threads.numtids != 1 || guest.had_threads))
		put_executing(&f, &booked, &own);
	if (goes_on)
		flags |= PL_F_LAST;
	if (how == BY_ROOT)
		flags |= PL_F_ROOT;
	if (waited)
		flags |= PL_F_THREAD_IO;
	if (pending.bytes)
		flags |= PL_F_PENDING;
	events_put_process(&f, pid, &flags);
	if (how == BY_EXEC || (who == COPY && goes_on))
		put_own(&f, pid, &booked, &own);
	if (how == BY_EXEC) {
		written = emit_exec(&h, flags, buf, &f, in, pid);
	} else {
		written = emit_fields(&h, PL_END, flags, buf, &f);
	}
	/* an image may go on, since exec can fail; a copy may share its parent's memory */
	if (who == IMAGE || goes_on)
		own_add(pid, &(struct own_io){own.rchar, written, own.syscr, written > 0});
	if (goes_on)
		threads_reopen(pid);
	release_signals(&h);
}

void record_end(enum ending how, int status)
{
	int pid;
	enum who who = guest_who(&pid);

	if (who != NOBODY)
		write_end(how, status, who, pid, NULL);
}

/* ---- RESUME --------------------------------------------------------------------------------- */

static NOINLINE void write_resume(enum who who, int pid, unsigned flags)
{
	const struct own_io booked = own_of_process(pid);
	unsigned char buf[160];
	struct fields f = {buf, buf + sizeof(buf)};
	struct own_io own = {0};
	struct held h;

	hold_signals(&h);
	put_u64(&f, METRIC_PID, (uint64_t)pid);
	put_u64(&f, METRIC_BOOTTIME, now_boottime_ns(pid, &own));
	if (who == IMAGE) {
		put_space(&f, pid);
		put_u64(&f, METRIC_STARTTIME, guest.starttime_us);
	} else {
		put_last_space(&f, pid, 0);
		put_u64(&f, METRIC_IMAGE_PID, (uint64_t)guest.image_pid);
		put_own(&f, pid, &booked, &own);
	}
	size_t written = emit_fields(&h, PL_RESUME, flags | (who == COPY ? PL_F_FORK : 0), buf, &f);
	own_add(pid, &(struct own_io){own.rchar, written, own.syscr, written > 0});
	release_signals(&h);
}

void record_resume(void)
{
	int pid;
	enum who who = guest_who(&pid);

	if (who != NOBODY) {
		threads_reopen(pid);
		write_resume(who, pid, 0);
	}
}

bool record_execs(void)
{
	int pid;
	enum who who = guest_who(&pid);

	if (who != COPY)
		return who == IMAGE;
	const struct own_io own = own_of_process(pid);
	return own.syscr || own.syscw;
}

/* What a copy used before an exec belongs to the executed program, except our own I/O: it writes a
 * record only if it has written before. */
bool record_exec(const char *file, char *const argv[])
{
	struct intent in = {.file = file, .argv = argv};
	int pid;
	enum who who = guest_who(&pid);

	if (who == IMAGE)
		write_end(BY_EXEC, 0, IMAGE, pid, &in);
	else if (record_execs())
		write_resume(COPY, pid, PL_F_EXECUTES);
	else
		return false;
	return true;
}

/* ---- REAP ----------------------------------------------------------------------------------- */

static NOINLINE void write_reap(int reaper, int pid, uint64_t begin_ns, int status,
				const struct rusage *usage)
{
	unsigned char buf[192];
	struct fields f = {buf, buf + sizeof(buf)};
	struct own_io own = {0};
	struct held h;

	hold_signals(&h);
	if (pid)
		put_u64(&f, METRIC_PID, (uint64_t)pid);
	else
		put_u64(&f, METRIC_BEGIN, begin_ns);
	put_u64(&f, METRIC_PPID, (uint64_t)reaper);
	put_space(&f, reaper);
	put_u64(&f, METRIC_BOOTTIME, now_boottime_ns(reaper, &own));
	if (WIFSIGNALED(status)) {
		put_u64(&f, METRIC_EXITSIGNAL, (uint64_t)WTERMSIG(status));
		put_u64(&f, METRIC_COREDUMP, WCOREDUMP(status) ? 1 : 0);
	} else {
		put_u64(&f, METRIC_EXITCODE, (uint64_t)WEXITSTATUS(status));
	}
	if (usage) {
		put_rusage(&f, usage);
		if (usage->ru_maxrss)
			put_u64(&f, METRIC_RSSMAX, (uint64_t)usage->ru_maxrss);
	}
	size_t written = emit_fields(&h, PL_REAP, usage ? PL_F_RUSAGE : 0, buf, &f);
	own_add(reaper, &(struct own_io){own.rchar, written, own.syscr, written > 0});
	own_forget_copy(pid);
	release_signals(&h);
}

void record_reap(int pid, uint64_t begin_ns, int status, const struct rusage *usage)
{
	int reaper;

	if (pid < 0 || (!WIFEXITED(status) && !WIFSIGNALED(status)))
		return;
	if (guest_who(&reaper) != NOBODY)
		write_reap(reaper, pid, begin_ns, status, usage);
}
