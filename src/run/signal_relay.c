/*
 * Passing signals on; see signal_relay.h. All signals are blocked and taken one by one: none has
 * its default effect on us, and none is lost between two looks. libc hides two signals of its own
 * from its functions for masks, so the masks here are the kernel's.
 */
#include "run/signal_relay.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/system/procparse.h"

/* How long the command has to take up a SIGCONT that went to its whole group. */
#define CONTINUE_TRIES 20
#define CONTINUE_STEP_NS 500000
#define WAKER_FIRST_NS 10000000
#define WAKER_LONGEST_NS 500000000
#define ANCESTORS_MAX 256

#define BIT(sig) (1ull << ((sig)-1))

static void set_mask(uint64_t mask, uint64_t *ret_old)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, ret_old, sizeof(mask));
}

/* One of these that is pending; -1 without. */
static int take(uint64_t set, siginfo_t *info)
{
	const struct timespec zero = {0, 0};

	return (int)syscall(SYS_rt_sigtimedwait, &set, info, &zero, sizeof(set));
}

static void sleep_ns(long ns)
{
	struct timespec ts = {0, ns};

	nanosleep(&ts, NULL);
}

/* ---- taking signals over and giving them back ----------------------------------------------- */

void relay_open(struct relay *r)
{
	const struct sigaction plain = {.sa_handler = SIG_DFL};
	uint64_t all = ~0ull;

	*r = (struct relay){.fd = -1};
	set_mask(all, &r->mask);
	/* whoever ignores SIGCHLD has no children to wait for */
	sigaction(SIGCHLD, &plain, &r->child);
	r->fd = (int)syscall(SYS_signalfd4, -1, &all, sizeof(all), SFD_CLOEXEC | SFD_NONBLOCK);
}

void relay_restore(const struct relay *r)
{
	sigaction(SIGCHLD, &r->child, NULL);
	set_mask(r->mask, NULL);
}

void relay_close(struct relay *r)
{
	close_fd(&r->fd);
	r->fd = -1;
	relay_restore(r);
}

/* ---- passing on ------------------------------------------------------------------------------ */

static bool read_stat(pid_t pid, struct strbuf *text, struct proc_stat *st)
{
	char path[64];

	strbuf_reset(text);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	return fs_read(AT_FDCWD, path, 4096, text) == 0 &&
	       proc_parse_stat(text->buf, text->len, st) && st->last >= STAT_PPID;
}

/* Is it one of the command's own processes? Orphans of theirs are our children. */
static bool is_ours(pid_t pid)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct proc_stat st;
	pid_t self = getpid();

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		if (!read_stat(pid, &text, &st))
			return false;
		pid = (pid_t)st.f[STAT_PPID];
		if (pid == self)
			return true;
	}
	return false;
}

/*
 * Signals that did not come to us alone are not passed on, the command has them already. The
 * terminal sends its own to the whole foreground group; what a process of the command sends us, it
 * sends to its group or to everybody. A hangup comes to the leader of the session, which the
 * command would be in our place. Timers run on over exec: they were meant for the command.
 */
static bool goes_on(const struct relay *r, const siginfo_t *si)
{
	int sig = si->si_signo;

	if (si->si_code == SI_KERNEL)
		return sig == SIGALRM || sig == SIGPROF || sig == SIGVTALRM ||
		       ((sig == SIGHUP || sig == SIGCONT) && getsid(0) == getpid());
	if (si->si_code > 0)
		return false; /* of a descriptor or a child of our own */
	/* our own writing to a pipe that nobody reads, or over the limit of a file's size */
	if (si->si_pid == getpid() || (si->si_pid && si->si_pid == r->waker))
		return false;
	return !si->si_pid || !is_ours(si->si_pid);
}

/* A value that was queued with the signal goes with it, and the sender's name. */
static void pass(const struct relay *r, const siginfo_t *si)
{
	if (si->si_code != SI_QUEUE ||
	    syscall(SYS_rt_sigqueueinfo, r->command, si->si_signo, si) < 0)
		(void)kill(r->command, si->si_signo);
}

/* ---- the end ----------------------------------------------------------------------------------
 */

void end_by_signal(int sig)
{
	const struct sigaction plain = {.sa_handler = SIG_DFL};

	prctl(PR_SET_DUMPABLE, 0);
	sigaction(sig, &plain, NULL);
	set_mask(~BIT(sig), NULL);
	(void)kill(getpid(), sig);
	set_mask(0, NULL);
}

static volatile sig_atomic_t held;

static void on_signal(int sig)
{
	static const char text[] = "plimsoll: the job is being stored; once more leaves it in its "
				   "directory\n";

	if (held)
		end_by_signal(sig);
	held = sig;
	if (sig == SIGINT || sig == SIGQUIT)
		(void)!write(STDERR_FILENO, text, sizeof(text) - 1);
}

void hold_ending_signals(void)
{
	static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < ARRAY_SIZE(signals); i++) {
		struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;

		if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
			sigaction(signals[i], &sa, NULL);
	}
}

int held_signal(void)
{
	return held;
}

/* The command has ended, and this came before the handlers have their turn: as if they had it. */
static void hold(int sig)
{
	struct sigaction now;

	if (sigaction(sig, NULL, &now) == 0 && now.sa_handler == on_signal)
		on_signal(sig);
}

/* ---- taking what has come -------------------------------------------------------------------- */

static bool asks_to_end(int sig)
{
	return sig == SIGTERM || sig == SIGINT || sig == SIGQUIT || sig == SIGHUP || sig == SIGXCPU;
}

bool relay_take(struct relay *r, bool ended)
{
	bool child = false;
	siginfo_t si;

	while (take(~0ull, &si) > 0) {
		child |= si.si_signo == SIGCHLD;
		if (asks_to_end(si.si_signo) && si.si_pid != getpid()) {
			r->told = si.si_signo;
			if (ended)
				hold(si.si_signo);
		}
		if (!ended && goes_on(r, &si))
			pass(r, &si);
	}
	return child;
}

/* ---- stopping with the command --------------------------------------------------------------- */

static bool is_stopped(pid_t pid)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct proc_stat st;

	return read_stat(pid, &text, &st) && st.f[STAT_STATE] == 'T';
}

/* Somebody may continue the command alone, and we would sleep for ever: this child of ours looks.
 * It is in a session of its own, out of reach of what is sent to our group. */
static void wake_when_continued(pid_t run, pid_t command)
{
	long pause_ns = WAKER_FIRST_NS;

	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	set_mask(0, NULL);
	while (getppid() == run && is_stopped(command)) {
		sleep_ns(pause_ns);
		if (pause_ns < WAKER_LONGEST_NS)
			pause_ns *= 2;
	}
	if (getppid() == run)
		(void)kill(run, SIGCONT);
	_exit(0);
}

/* Its last report, as the parent of a command that was stopped or continued has it. */
static int stop_signal(pid_t command)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)command, &info, WSTOPPED | WCONTINUED | WNOHANG) < 0 ||
	    info.si_pid != command || info.si_code != CLD_STOPPED)
		return 0;
	return info.si_status;
}

/* Has it been continued since, or even stopped again, or has it ended? */
static bool has_news(pid_t command)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)command, &info,
		      WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) < 0 ||
	       info.si_pid == command;
}

/* Stops us by this signal. False when that had no effect, as in a group that no shell looks after.
 */
static bool stop_by(int sig)
{
	const struct sigaction plain = {.sa_handler = SIG_DFL};
	uint64_t mask;
	struct sigaction before = {0};

	if (sig != SIGSTOP)
		sigaction(sig, &plain, &before);
	set_mask(~BIT(sig), &mask);
	raise(sig);
	set_mask(mask, NULL);
	if (sig != SIGSTOP)
		sigaction(sig, &before, NULL);
	/* what continued us is blocked, and so it waits here */
	return take(BIT(SIGCONT), NULL) == SIGCONT;
}

static void end_waker(struct relay *r, pid_t waker)
{
	struct rusage ru;

	(void)kill(waker, SIGKILL);
	if (wait4(waker, NULL, 0, &ru) == waker)
		r->waker_cpu_us += (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000u +
				   (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec);
}

bool relay_follow_stop(struct relay *r)
{
	int sig = r->command ? stop_signal(r->command) : 0;
	pid_t run = getpid();

	if (!sig)
		return false;
	pid_t waker = fork();
	if (waker == 0)
		wake_when_continued(run, r->command);
	bool stopped = stop_by(sig);
	if (waker > 0)
		end_waker(r, waker);
	r->waker = waker > 0 ? waker : 0;
	for (int i = 0; stopped && !has_news(r->command); i++) {
		if (i == CONTINUE_TRIES) {
			(void)kill(r->command, SIGCONT);
			break;
		}
		sleep_ns(CONTINUE_STEP_NS);
	}
	return true;
}

/* A handler, unlike SIG_IGN, is not handed on to what is executed. */
static void nothing(int sig)
{
	(void)sig;
}

static void outlive(int sig)
{
	struct sigaction sa = {.sa_handler = nothing, .sa_flags = SA_RESTART}, old;

	if (sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
		sigaction(sig, &sa, NULL);
}

void outlive_readers(void)
{
	outlive(SIGPIPE);
}

void outlive_file_limits(void)
{
	outlive(SIGXFSZ);
}
