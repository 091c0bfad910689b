/*
 * The records of a process: START when an image arrives, EXEC before it is replaced, END when it or
 * a forked copy of it leaves, REAP for every child that it waits for.
 *
 * Stack use matters: a program may call _exit on a signal stack of a few kilobytes. Only START,
 * which runs on the initial stack, has large buffers.
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

/* The loader reads this much of every library to look at its ELF header (glibc, 64 bit). */
#define LOADER_READ 832

/* glibc's mark of a stream whose last call failed, and the number of /dev/full */
#ifndef _IO_ERR_SEEN
#define _IO_ERR_SEEN 0x20
#endif
#define FULL_DEVICE 0x107

/* ---- START ---------------------------------------------------------------------------------- */

/* Numbers that MPI launchers leave in the environment, in the order of trust: with mpirun inside a
 * Slurm job SLURM_PROCID is the launcher's. */
static const char *const rank_names[] = {
	"OMPI_COMM_WORLD_RANK=", "PMIX_RANK=", "PMI_RANK=", "SLURM_PROCID="};
static const char *const size_names[] = {
	"OMPI_COMM_WORLD_SIZE=", "PMIX_SIZE=", "PMI_SIZE=", "SLURM_NTASKS="};
#define LAUNCHERS 4

static bool env_number(const char *s, uint64_t *ret)
{
	const char *end = s + str_len(s);
	const char *p = s;

	return *s >= '0' && *s <= '9' && end - s < 10 && proc_number(&p, end, ret) && p == end;
}

/* Both numbers come from the best launcher that gives a rank; PMIx names no size, so the next
 * launcher that has one supplies it. */
static void put_rank(struct fields *f, char **envp)
{
	const char *rank[LAUNCHERS] = {0}, *size[LAUNCHERS] = {0};
	uint64_t v;

	for (; *envp; envp++) {
		char c = (*envp)[0];

		if (c != 'O' && c != 'P' && c != 'S')
			continue;
		for (int i = 0; i < LAUNCHERS; i++) {
			if (starts_with(*envp, rank_names[i]))
				rank[i] = *envp + str_len(rank_names[i]);
			else if (starts_with(*envp, size_names[i]))
				size[i] = *envp + str_len(size_names[i]);
		}
	}
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

/* Who we are: from /proc, else from the system calls that need no file. */
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

/* argv as one piece of memory, which is how the kernel lays it out; NULL when somebody moved it. */
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

/* The same, gathered into pages of our own; NULL with size 0 when there is nothing. */
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

/* Fields in a buffer, with long texts left where they are: the pieces of one writev. */
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

/* Threads of images before this one are gone, and so is what they used. Our own clock is read last:
 * what lies between the two calls, which is much where we are traced, is nobody else's. */
static void note_threads(void)
{
	uint64_t all = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	guest.others_ns = less(all, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	guest.had_threads = guest.others_ns > 5000;
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
	/* what exec and the loader used by now tells when the image began, at the latest */
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
 * ru_maxrss is carried over exec, and with vfork it begins at the parent's: it is this image's own
 * only if it grew since START. Else the kernel's mark for this address space is the truth.
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

/* own is not yet booked; event counters, which are read last, are. */
static void put_own(struct fields *f, int pid, const struct own_io *booked,
		    const struct own_io *own)
{
	const struct own_io now = own_of_process(pid);

	put_u64(f, METRIC_OWN_RCHAR, now.rchar + own->rchar);
	put_u64(f, METRIC_OWN_WCHAR, booked->wchar);
	put_u64(f, METRIC_OWN_SYSCR, now.syscr + own->syscr);
	put_u64(f, METRIC_OWN_SYSCW, booked->syscw);
}

/* Does a write fail here for certain: /dev/full, and a pipe or a socket that nobody reads any more?
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
 * What libc writes right after us, a call for each stream that holds something. Wide characters
 * become bytes only then. While other threads live the list of streams is theirs: then it is not
 * looked at but for the standard ones, which are at its end and stay there. Nothing of ours runs
 * after those writes: one that cannot but fail is a call without bytes, one that may fail since one
 * before did is not known. A disk that is full is not seen.
 */
static void add_pending(struct pending *p, const FILE *f, size_t n)
{
	/* before the write is counted: no descriptor, or not one for writing */
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

/* Of a copy. One whose number means nothing in its pid namespace is 0. */
static void put_parent(struct fields *f, int pid)
{
	int ppid = (int)sys0(__NR_getppid);

	put_u64(f, METRIC_PPID, (uint64_t)ppid);
	if (ppid && guest.forked == pid && guest.forker != ppid)
		put_u64(f, METRIC_FORKER, (uint64_t)guest.forker);
}

/*
 * What /proc says of the whole process. Its own io file includes the children that it waited for:
 * then the threads' files are added up instead, and left out where one of them is not known.
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
		__builtin_memset(others->io, 0, sizeof(others->io));
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

/* An EXEC, with what is executed. The path goes without its NUL, arguments with theirs. */
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

/* Did it wait for children? */
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
	return tv_us(&ru.ru_utime) || tv_us(&ru.ru_stime); /* nobody lives without */
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
	/* An image may go on all the same: exec can fail. A copy may have its parent's memory. */
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

/* The cost of a copy that executes a program belongs to that program, but for what we did in it: it
 * writes nothing unless it has written before. */
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
