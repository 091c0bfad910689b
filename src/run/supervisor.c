/* The supervisor of `plimsoll run`; see supervisor.h. */
#include "run/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/procparse.h"
#include "run/process_tracker.h"
#include "run/signal_relay.h"

/*
 * Kernel events are read in batches, to take less CPU time from the job. While they are all of
 * other processes of the machine, batches become longer, as long as the kernel has plenty of room
 * for them; ours wake us.
 */
#define BATCH_NS 5000000ull
#define BUSY_BATCH_NS 500000ull
#define QUIET_BATCH_NS 1000000000ull
#define BUSY_EVENTS 64
#define ROOM_PART 8
/* How long to wait for exit events of processes that are gone. */
#define LAST_EVENTS_NS 50000000ull
/* Poll interval without a signalfd. */
#define LOOK_MS 20
/* When the first look at the command is, and the longest time between two. */
#define LOOK_FIRST_NS 30000000ull
#define LOOK_MOST_NS 60000000000ull

struct supervisor {
	const struct supervise_options *o;
	struct supervise_result *r;
	struct process_tracker tracker;
	struct record_writer writer;
	struct relay relay;
	pid_t command;
	bool ended, childless;                /* the command; all descendants */
	uint64_t next_drain_ns, next_peek_ns; /* 0: when there are events; never */
	uint64_t next_look_ns;                /* 0: never */
	uint64_t batch_ns;
	uint64_t before_us; /* CPU time of earlier children */
};

int supervise_status(const struct supervise_result *r)
{
	return r->error ? shell_error_status(r->error) : shell_status(r->status);
}

void supervise_result_release(struct supervise_result *r)
{
	free(r->cnproc_reason);
	free(r->taskstats_reason);
	r->cnproc_reason = r->taskstats_reason = NULL;
}

static void flush(struct supervisor *s)
{
	int r = s->o->records >= 0 ? record_writer_flush(&s->writer, s->o->records) : 0;

	if (r < 0 && !s->r->write_error)
		s->r->write_error = -r;
	strbuf_reset(&s->writer.out);
}

/* ---- reaping -------------------------------------------------------------------------------- */

static bool read_proc(pid_t pid, const char *name, char *buf, size_t size, size_t *ret_n)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, buf, size);
	close(fd);
	*ret_n = n > 0 ? (size_t)n : 0;
	return n > 0;
}

/*
 * CPU time of a zombie, and scheduler statistics of its first thread; those of other threads are
 * gone. True: there was only one thread. A process that is just ending may still count, so two
 * values that differ are read again.
 */
static bool read_times(pid_t pid, uint64_t *ret_cpu_ns, struct proc_schedstat *ret)
{
	struct timespec ts;
	clockid_t clock;
	char buf[256];
	size_t n;

	*ret_cpu_ns = 0;
	if (clock_getcpuclockid(pid, &clock) != 0)
		return false;
	for (uint64_t seen = UINT64_MAX;; seen = ret->oncpu_ns) {
		if (!read_proc(pid, "schedstat", buf, sizeof(buf), &n) ||
		    !proc_parse_schedstat(buf, n, ret) || clock_gettime(clock, &ts) < 0)
			return false;
		*ret_cpu_ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
		if (*ret_cpu_ns == ret->oncpu_ns || ret->oncpu_ns == seen)
			return *ret_cpu_ns == ret->oncpu_ns;
	}
}

/*
 * I/O of a process. Its io file includes children that it waited for, that of its first thread does
 * not; of a process with children and threads neither is right.
 */
static void put_io(struct record_writer *w, pid_t pid, bool parent, bool alone)
{
	static const enum metric_id ids[7] = {IO_METRICS};
	char name[64] = "io", buf[1024];
	struct proc_io io;
	size_t n;

	if (parent)
		snprintf(name, sizeof(name), "task/%d/io", (int)pid);
	if ((parent && !alone) || !read_proc(pid, name, buf, sizeof(buf), &n))
		return;
	proc_parse_io(buf, n, &io);
	for (unsigned i = 0; i < 7; i++)
		if (io.present & 1u << i)
			record_writer_u64(w, ids[i], io.v[i]);
}

/* The final counters of a zombie: the only source of I/O for programs without the library. */
static void put_zombie(struct supervisor *s, pid_t pid)
{
	struct record_writer *w = &s->writer;
	struct proc_schedstat sched;
	struct proc_stat st = {0};
	uint64_t cpu_ns;
	char buf[1024];
	size_t n;

	if (read_proc(pid, "stat", buf, sizeof(buf), &n) && clock_parse_stat(buf, n, &st)) {
		record_writer_text(w, METRIC_COMM, st.comm, st.comm_len);
		if (st.last >= STAT_STARTTIME)
			record_writer_u64(w, METRIC_STARTTIME, clock_start_us(&st));
		if (st.last >= STAT_CSTIME) { /* of its children, in ticks */
			record_writer_u64(w, METRIC_CUTIME, st.f[STAT_CUTIME] * PL_TICK_US);
			record_writer_u64(w, METRIC_CSTIME, st.f[STAT_CSTIME] * PL_TICK_US);
		}
		if (st.last >= STAT_PROCESSOR)
			record_writer_u64(w, METRIC_PROCESSOR, st.f[STAT_PROCESSOR]);
		if (st.last >= STAT_GUEST_TIME)
			record_writer_u64(w, METRIC_GUEST_TIME, st.f[STAT_GUEST_TIME] * PL_TICK_US);
	}
	bool alone = read_times(pid, &cpu_ns, &sched);
	bool parent = st.last >= STAT_CSTIME &&
		      (st.f[STAT_CMINFLT] || st.f[STAT_CUTIME] || st.f[STAT_CSTIME]);
	put_io(w, pid, parent, alone);
	if (cpu_ns)
		record_writer_u64(w, METRIC_TIME_ONCPU, cpu_ns);
	if (!alone)
		return;
	record_writer_u64(w, METRIC_TIME_WAITING, sched.waiting_ns);
	record_writer_u64(w, METRIC_TIMESLICES, sched.timeslices);
}

static uint64_t tv_us(const struct timeval *tv)
{
	return (uint64_t)tv->tv_sec * 1000000u + (uint64_t)tv->tv_usec;
}

static void put_usage(struct record_writer *w, int status, const struct rusage *ru)
{
	record_writer_status(w, status);
	record_writer_u64(w, METRIC_USERTIME, tv_us(&ru->ru_utime));
	record_writer_u64(w, METRIC_SYSTEMTIME, tv_us(&ru->ru_stime));
	record_writer_u64(w, METRIC_RSSMAX, (uint64_t)ru->ru_maxrss);
	record_writer_u64(w, METRIC_MINFLT, (uint64_t)ru->ru_minflt);
	record_writer_u64(w, METRIC_MAJFLT, (uint64_t)ru->ru_majflt);
	record_writer_u64(w, METRIC_INBLOCK, (uint64_t)ru->ru_inblock);
	record_writer_u64(w, METRIC_OUTBLOCK, (uint64_t)ru->ru_oublock);
	record_writer_u64(w, METRIC_VOL_CTXSW, (uint64_t)ru->ru_nvcsw);
	record_writer_u64(w, METRIC_INVOL_CTXSW, (uint64_t)ru->ru_nivcsw);
}

/* Waits for every child that has ended; notes when none is left. */
static void reap(struct supervisor *s)
{
	for (;;) {
		siginfo_t info = {0};
		struct rusage ru;
		int status;

		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
			s->childless = errno == ECHILD;
			return;
		}
		if (!info.si_pid)
			return;
		if (info.si_pid == s->command && s->o->ending)
			s->o->ending(s->o->user);
		record_writer_begin(&s->writer);
		record_writer_u64(&s->writer, METRIC_PID, (uint64_t)info.si_pid);
		record_writer_u64(&s->writer, METRIC_PPID, (uint64_t)getpid());
		record_writer_u64(&s->writer, METRIC_PROCDEV, s->tracker.procdev);
		record_writer_u64(&s->writer, METRIC_BOOTTIME, clock_boottime_ns());
		if (!s->tracker.blind)
			put_zombie(s, info.si_pid);
		if (wait4(info.si_pid, &status, 0, &ru) != info.si_pid)
			continue;
		put_usage(&s->writer, status, &ru);
		record_writer_add(&s->writer, PL_REAP, PL_F_RUSAGE);
		s->r->reaped++;
		s->r->over_ns = clock_boottime_ns();
		if (info.si_pid == s->command) {
			s->ended = true;
			s->r->status = status;
			s->r->end_ns = s->r->over_ns;
		}
	}
}

/* How long events may wait now; 0: there is none, the next one wakes us. */
static uint64_t next_batch(struct supervisor *s, size_t events)
{
	struct process_tracker *t = &s->tracker;

	if (!events)
		return 0;
	if (!t->own_events && process_tracker_arm(t, &s->writer)) {
		bool few = events < cnproc_room(&t->cnproc) / ROOM_PART;
		uint64_t batch = few ? s->batch_ns * 2 : s->batch_ns / 2;

		return batch < BATCH_NS         ? BATCH_NS
		       : batch > QUIET_BATCH_NS ? QUIET_BATCH_NS
						: batch;
	}
	return events > BUSY_EVENTS || t->lossy ? BUSY_BATCH_NS : BATCH_NS;
}

static void drain(struct supervisor *s)
{
	uint64_t now = clock_boottime_ns();
	size_t events = process_tracker_drain(&s->tracker, &s->writer);
	uint64_t batch = next_batch(s, events);

	s->next_drain_ns = batch ? now + batch : 0;
	if (batch)
		s->batch_ns = batch;
	if (!s->next_peek_ns || now >= s->next_peek_ns)
		s->next_peek_ns = process_tracker_peek(&s->tracker, &s->writer);
	flush(s);
}

/* ---- signals -------------------------------------------------------------------------------- */

/* The helper that waits while we are stopped is not part of the command. */
static void follow_stop(struct supervisor *s)
{
	if (!relay_follow_stop(&s->relay))
		return;
	s->tracker.apart = s->relay.waker;
	s->next_drain_ns = s->next_peek_ns = 0;
	if (process_tracker_has_events(&s->tracker))
		drain(s);
}

static void take_signals(struct supervisor *s)
{
	int before = s->relay.end_signal;

	if (relay_take(&s->relay, s->ended)) {
		reap(s);
		if (!s->ended)
			follow_stop(s);
	}
	if (s->relay.end_signal != before && !s->ended && s->o->asked_to_end)
		s->o->asked_to_end(s->o->user, s->relay.end_signal);
}

/* ---- the loop ------------------------------------------------------------------------------- */

static int until(uint64_t now, uint64_t then)
{
	return then <= now ? 0 : (int)((then - now + 999999) / 1000000);
}

/* The next look is three times as long after the start as this one, but a minute later at most. */
static void look(struct supervisor *s, uint64_t now)
{
	uint64_t after = 2 * (now - s->r->begin_ns);

	s->next_look_ns = s->ended ? 0 : now + (after < LOOK_MOST_NS ? after : LOOK_MOST_NS);
	if (!s->ended)
		s->o->look(s->o->user);
}

/* Sleeps until something happens, at most until the deadline (0: none). */
static void wait_for_events(struct supervisor *s, uint64_t deadline_ns)
{
	uint64_t now = clock_boottime_ns();
	struct pollfd fds[4] = {{s->relay.fd, POLLIN, 0},
				{-1, POLLIN, 0},
				{-1, POLLIN, 0},
				{s->tracker.armed ? s->tracker.waker.fd : -1, POLLIN, 0}};
	bool batching = process_tracker_has_events(&s->tracker) && now < s->next_drain_ns;
	int timeout = -1;

	/* kernel events do not wake us during a batch */
	if (process_tracker_has_events(&s->tracker) && !batching) {
		fds[1].fd = s->tracker.cnproc.fd;
		fds[2].fd = s->tracker.taskstats.fd;
	}
	uint64_t wake[4] = {deadline_ns, s->next_peek_ns, s->next_look_ns,
			    batching ? s->next_drain_ns : 0};
	for (size_t i = 0; i < ARRAY_SIZE(wake); i++)
		if (wake[i] && (timeout < 0 || until(now, wake[i]) < timeout))
			timeout = until(now, wake[i]);
	if (s->relay.fd < 0 && (timeout < 0 || timeout > LOOK_MS))
		timeout = LOOK_MS;
	poll(fds, ARRAY_SIZE(fds), timeout);
	if (fds[0].revents || s->relay.fd < 0)
		take_signals(s);
	now = clock_boottime_ns();
	if (s->next_look_ns && now >= s->next_look_ns)
		look(s, now);
	if (fds[3].revents)
		process_tracker_woken(&s->tracker);
	if (fds[1].revents || fds[2].revents || fds[3].revents ||
	    (batching && now >= s->next_drain_ns) || (s->next_peek_ns && now >= s->next_peek_ns))
		drain(s);
}

static void run_loop(struct supervisor *s)
{
	uint64_t deadline = 0;

	s->next_look_ns = s->o->look ? clock_boottime_ns() + LOOK_FIRST_NS : 0;
	while (!s->ended)
		wait_for_events(s, 0);
	s->next_look_ns = 0;
	reap(s);
	if (!s->o->wait || s->o->drain_ns)
		deadline = clock_boottime_ns() + s->o->drain_ns;
	s->r->end_signal = s->relay.end_signal;
	s->relay.end_signal = 0;
	while (!s->childless && (!deadline || clock_boottime_ns() < deadline)) {
		wait_for_events(s, deadline);
		reap(s);
		if (s->o->wait && s->relay.end_signal)
			break; /* the user does not want to wait any longer */
	}
	/* the kernel may report the last exits a little late */
	deadline = clock_boottime_ns() + LAST_EVENTS_NS;
	drain(s);
	while (process_tracker_has_events(&s->tracker) && s->childless &&
	       process_tracker_alive(&s->tracker) && clock_boottime_ns() < deadline) {
		struct pollfd p = {s->tracker.cnproc.fd, POLLIN, 0};

		poll(&p, 1, 5);
		drain(s);
	}
}

/* Descendants that are still running. */
static uint64_t count_running(struct supervisor *s)
{
	if (s->childless)
		return 0;
	process_tracker_peek_all(&s->tracker, &s->writer);
	flush(s);
	return process_tracker_alive(&s->tracker);
}

/* Not posix_spawn(), which ignores two more signals in the child. execvpe() runs a script without
 * "#!" by the shell. */
static int spawn(struct supervisor *s)
{
	volatile int error = 0;
	pid_t pid = vfork(); /* NOLINT(clang-analyzer-security.insecureAPI.vfork) */

	if (pid == 0) {
		relay_restore(&s->relay); /* NOLINT(clang-analyzer-unix.Vfork) */
		execvpe(s->o->argv[0], s->o->argv, s->o->envp);
		error = errno;
		_exit(127);
	}
	if (pid < 0)
		return errno;
	if (error) {
		waitpid(pid, NULL, 0);
		return error;
	}
	s->command = s->relay.command = pid;
	return 0;
}

static uint64_t cpu_us(int who)
{
	struct rusage ru;

	getrusage(who, &ru);
	return tv_us(&ru.ru_utime) + tv_us(&ru.ru_stime);
}

/* Did a process fail to write a record? */
static bool is_cut(int records)
{
	struct stat st;

	return records >= 0 && fstat(records, &st) == 0 && (st.st_mode & 0777) == PL_MODE_CUT;
}

static void finish(struct supervisor *s)
{
	struct supervise_result *r = s->r;

	r->running = count_running(s);
	r->cut = is_cut(s->o->records);
	r->cpu_total_us = cpu_us(RUSAGE_CHILDREN) - s->before_us - s->relay.waker_cpu_us;
	r->counted_by_kernel = process_tracker_has_events(&s->tracker);
	r->forks = s->tracker.forks;
	r->exits = s->tracker.exits;
	r->lossy = s->tracker.lossy;
	record_writer_begin(&s->writer);
	record_writer_u64(&s->writer, METRIC_BOOTTIME, clock_boottime_ns());
	record_writer_u64(&s->writer, METRIC_REALTIME, (uint64_t)clock_realtime_us());
	record_writer_add(&s->writer, PL_CLOCK, r->lossy ? PL_F_LOSSY : 0);
	flush(s);
	r->own_cpu_us = cpu_us(RUSAGE_SELF);
}

void supervise(const struct supervise_options *o, struct supervise_result *ret)
{
	/* the sampler's launcher, and what ran before a shell executed us, were our children */
	struct supervisor s = {.o = o,
			       .r = ret,
			       .writer = RECORD_WRITER_INIT,
			       .before_us = cpu_us(RUSAGE_CHILDREN)};

	*ret = (struct supervise_result){.status = -1};
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	relay_open(&s.relay);
	process_tracker_open(&s.tracker, o->kernel);
	ret->begin_ns = clock_boottime_ns();
	ret->error = spawn(&s);
	if (!ret->error) {
		process_tracker_begin(&s.tracker, s.command);
		if (o->begun)
			o->begun(o->user, s.command, ret->begin_ns);
		run_loop(&s);
		finish(&s);
	} else {
		ret->end_ns = ret->over_ns = clock_boottime_ns();
	}
	ret->cnproc_reason = s.tracker.cnproc_reason;
	ret->taskstats_reason = s.tracker.taskstats_reason;
	s.tracker.cnproc_reason = s.tracker.taskstats_reason = NULL;
	process_tracker_close(&s.tracker);
	record_writer_release(&s.writer);
	relay_close(&s.relay);
}
