/*
 * Passes signals on; see signal_relay.h. All signals are blocked and handled one by one, so that
 * none has its default effect and none is lost. The masks are the kernel's, since libc's functions
 * hide two signals.
 */
#include "run/signal_relay.h"

#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/system/process_stat.h"

/* How long the command has to react to a SIGCONT to its group. */
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

/* Takes a pending signal of the set; -1: none. */
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
	/* with SIGCHLD ignored, children cannot be waited for */
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

/* Is it a process of the command? Orphans are our children. */
static bool is_ours(pid_t pid)
{
	struct process_stat stat;
	pid_t self = getpid();

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		if (!process_stat_read("", pid, &stat))
			return false;
		pid = (pid_t)stat.st.f[STAT_PPID];
		if (pid == self)
			return true;
	}
	return false;
}

/*
 * Is a signal passed on? Not if the command got it, too: the terminal signals the whole foreground
 * group, and a process of the command signals its group or everybody. A hangup goes to the session
 * leader, which the command would be without us. Timers survive exec: they are the command's.
 */
static bool goes_on(const struct relay *r, const siginfo_t *si)
{
	int sig = si->si_signo;

	if (si->si_code == SI_KERNEL)
		return sig == SIGALRM || sig == SIGPROF || sig == SIGVTALRM ||
		       ((sig == SIGHUP || sig == SIGCONT) && getsid(0) == getpid());
	if (si->si_code > 0)
		return false; /* from one of our descriptors or children */
	/* caused by our own write to a closed pipe or beyond the file size limit */
	if (si->si_pid == getpid() || (si->si_pid && si->si_pid == r->waker))
		return false;
	return !si->si_pid || !is_ours(si->si_pid);
}

/* Passes on a queued value and the sender, too. */
static void pass(const struct relay *r, const siginfo_t *si)
{
	if (si->si_code != SI_QUEUE ||
	    syscall(SYS_rt_sigqueueinfo, r->command, si->si_signo, si) < 0)
		(void)kill(r->command, si->si_signo);
}

/* ---- the end --------------------------------------------------------------------------------- */

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
	static const char text[] = "plimsoll: storing the job; press again to leave it in its "
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

/* Calls the handler for a signal that came before the handlers were active. */
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
			r->end_signal = si.si_signo;
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
	struct process_stat stat;

	return process_stat_read("", pid, &stat) && stat.st.f[STAT_STATE] == 'T';
}

/* If only the command is continued, we would sleep forever: this child watches it. It has its own
 * session, so that signals to our group do not reach it. */
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

/* The signal that stopped the command; 0: it is not stopped. */
static int stop_signal(pid_t command)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)command, &info, WSTOPPED | WCONTINUED | WNOHANG) < 0 ||
	    info.si_pid != command || info.si_code != CLD_STOPPED)
		return 0;
	return info.si_status;
}

/* Has it been continued, stopped again, or ended? */
static bool has_news(pid_t command)
{
	siginfo_t info = {0};

	return waitid(P_PID, (id_t)command, &info,
		      WEXITED | WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) < 0 ||
	       info.si_pid == command;
}

/* Stops us by this signal. False: no effect, as in an orphaned process group.
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
	/* the SIGCONT is blocked and pending */
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

/* Unlike SIG_IGN, a handler is not inherited over exec. */
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
