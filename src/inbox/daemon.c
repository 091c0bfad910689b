/*
 * Watches a directory, stores the jobs that arrive there, and keeps the store within its limits.
 * One thread waits for events, signals and the clock and handles one job at a time, so that it can
 * end or be killed between any two steps. With a hook, a second one calls it (hook.h).
 */
#include "inbox/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context/stored_job.h"
#include "core/clock.h"
#include "inbox/hook.h"
#include "inbox/inbox.h"

#define LOCK_TRIES 100

struct daemon {
	struct context *ctx;
	const struct daemon_options *o;
	struct pidfile pid;
	struct inbox inbox;
	struct hook *hook;
	int signals;
	char *log_path; /* NULL in the foreground */
	bool stop;
	uint64_t retire_ns, next_retire_ns;
	uint64_t watchdog_ns, next_watchdog_ns;
	struct daemon_counts reported;
};

/* ---- the running daemon --------------------------------------------------------------------- */

static bool find_running(struct context *ctx, const struct daemon_options *o, struct pidfile *p,
			 pid_t *ret_pid, struct daemon_counts *n)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	return pidfile_open(p, ctx, o->pidfile, false, &why) == 0 && pidfile_running(p, ret_pid, n);
}

static char *counts_text(const struct daemon_counts *n)
{
	_cleanup_free_ char *skipped =
		n->skipped ? xasprintf(", already stored %llu", (unsigned long long)n->skipped)
			   : xstrdup("");

	return xasprintf("ingested %llu, failed %llu, waiting %llu%s",
			 (unsigned long long)n->ingested, (unsigned long long)n->failed,
			 (unsigned long long)n->waiting, skipped);
}

static int show_status(struct context *ctx, const struct daemon_options *o)
{
	_cleanup_(pidfile_release) struct pidfile p = PIDFILE_INIT;
	struct daemon_counts n;
	pid_t pid;

	if (!find_running(ctx, o, &p, &pid, &n)) {
		puts("not running");
		return EXIT_NOT_RUNNING;
	}
	_cleanup_free_ char *text = counts_text(&n);
	printf("running, pid %d, %s\n", (int)pid, text);
	return EXIT_OK;
}

static int stop_running(struct context *ctx, const struct daemon_options *o)
{
	_cleanup_(pidfile_release) struct pidfile p = PIDFILE_INIT;
	struct daemon_counts n;
	pid_t pid;

	if (!find_running(ctx, o, &p, &pid, &n)) {
		log_warn("the daemon is not running");
		return EXIT_OK;
	}
	_cleanup_close_ int fd = pidfd_open(pid, 0);
	/* the file is still locked, so the pid cannot belong to another process */
	if (fd < 0 || !pidfile_running(&p, &pid, &n))
		return EXIT_OK;
	if (pidfd_send_signal(fd, SIGTERM, NULL, 0) < 0 && errno != ESRCH) {
		log_error("cannot stop the daemon, pid %d: %s", (int)pid, strerror(errno));
		return EXIT_FAILED;
	}
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	while (poll(&wait, 1, -1) < 0 && errno == EINTR)
		;
	return EXIT_OK;
}

/* ---- reporting ------------------------------------------------------------------------------ */

static void report_state(struct daemon *d)
{
	const struct daemon_counts n = {d->inbox.ingested, d->inbox.failed,
					inbox_waiting(&d->inbox), d->inbox.skipped};

	if (!memcmp(&n, &d->reported, sizeof(n)))
		return;
	d->reported = n;
	pidfile_write(&d->pid, &n);
	_cleanup_free_ char *counts = counts_text(&n), *text = xasprintf("STATUS=%s", counts);
	notify_service_manager(text);
}

static void pat_watchdog(struct daemon *d)
{
	if (!d->watchdog_ns || clock_boottime_ns() < d->next_watchdog_ns)
		return;
	notify_service_manager("WATCHDOG=1");
	d->next_watchdog_ns = clock_boottime_ns() + d->watchdog_ns / 3;
}

/* Reopens the log file, which may have been rotated. */
static void open_log(const struct daemon *d)
{
	if (!d->log_path)
		return;
	_cleanup_close_ int fd =
		open(d->log_path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	(void)dup2(fd, STDOUT_FILENO);
	(void)dup2(fd, STDERR_FILENO);
}

/* ---- work ----------------------------------------------------------------------------------- */

static void take_signals(struct daemon *d)
{
	struct signalfd_siginfo s;

	while (read(d->signals, &s, sizeof(s)) == (ssize_t)sizeof(s)) {
		if (s.ssi_signo == SIGHUP) {
			open_log(d);
			d->inbox.next_look_ns = 0;
		} else {
			d->stop = true;
		}
	}
}

static void retire(struct daemon *d)
{
	if (!d->retire_ns || clock_boottime_ns() < d->next_retire_ns)
		return;
	struct store *s = inbox_store(&d->inbox);
	if (!s) {
		d->next_retire_ns = inbox_due_ns(&d->inbox);
		return;
	}
	d->next_retire_ns = clock_boottime_ns() + d->retire_ns;
	int64_t n = retire_configured(d->ctx, s, false);
	fflush(stdout);
	if (n > 0)
		log_info("retired %lld %s", (long long)n, plural(n, "job", "jobs"));
	if (n < 0)
		inbox_store_failed(&d->inbox, "cannot remove old jobs");
}

/* Waits until something happens or is due. */
static void wait_for_work(struct daemon *d)
{
	struct pollfd fds[] = {{.fd = d->signals, .events = POLLIN},
			       {.fd = inbox_fd(&d->inbox), .events = POLLIN}};
	uint64_t due = inbox_due_ns(&d->inbox), now = clock_boottime_ns();

	if (d->retire_ns && d->next_retire_ns < due)
		due = d->next_retire_ns;
	if (d->watchdog_ns && d->next_watchdog_ns < due)
		due = d->next_watchdog_ns;
	uint64_t left = due > now ? due - now : 0;
	struct timespec timeout = {(time_t)(left / NS_PER_S), (long)(left % NS_PER_S)};
	(void)ppoll(fds, ARRAY_SIZE(fds), &timeout, NULL);
}

/* --once: a second look takes what was still being written at the first. */
static bool once_is_over(const struct daemon *d, unsigned looks)
{
	return d->inbox.trouble || !d->inbox.unsettled || looks > 1;
}

static void work(struct daemon *d)
{
	unsigned looks = 0;

	while (!d->stop) {
		pat_watchdog(d);
		take_signals(d);
		inbox_events(&d->inbox);
		if (clock_boottime_ns() >= d->inbox.next_look_ns) {
			inbox_look(&d->inbox);
			d->inbox.look_for_jobs = true;
			looks++;
		}
		retire(d);
		report_state(d);
		if (d->stop || inbox_step(&d->inbox))
			continue;
		/* input first */
		if (inbox_analyse(&d->inbox))
			continue;
		report_state(d);
		if (d->o->once && once_is_over(d, looks))
			return;
		wait_for_work(d);
	}
}

/* ---- start and end -------------------------------------------------------------------------- */

static int take_pidfile(struct daemon *d)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct daemon_counts n;
	pid_t pid = 0;
	int r = 0;

	for (int i = 0; i < LOCK_TRIES; i++) {
		r = pidfile_open(&d->pid, d->ctx, d->o->pidfile, true, &why);
		if (r < 0) {
			log_error("%s", why.buf);
			return r;
		}
		r = pidfile_lock(&d->pid);
		if (r != -ESTALE)
			break;
		pidfile_release(&d->pid);
	}
	if (r == -EBUSY && pidfile_running(&d->pid, &pid, &n))
		log_error(
			"a daemon is already running, pid %d, pid file '%s'; daemons that share a "
			"directory need different --pidfile",
			(int)pid, d->pid.path);
	else if (r < 0)
		log_error("cannot lock '%s': %s", d->pid.path, strerror(-r));
	return r;
}

static bool has_limit(const struct context *ctx)
{
	return *config_get(&ctx->config, SETTING_RETIRE_AGE) ||
	       *config_get(&ctx->config, SETTING_RETIRE_KEEP) ||
	       *config_get(&ctx->config, SETTING_RETIRE_SIZE);
}

/* Its events are kept next to the pid file, under its name. */
static int open_hook(struct daemon *d, struct strbuf *why)
{
	_cleanup_free_ char *name = xasprintf(
		"%.*s.hook", (int)(strlen(d->pid.name) - (str_suffix(d->pid.name, ".pid") ? 4 : 0)),
		d->pid.name);

	return hook_open(&d->hook, &d->ctx->config, d->pid.dir, name, why);
}

static void end_hook(struct daemon *d)
{
	bool had = d->hook;
	struct hook_counts n;

	hook_close(d->hook, d->o->once, &n);
	if (had)
		log_info("hook: delivered %llu, pending %llu, dead letters %llu",
			 (unsigned long long)n.delivered, (unsigned long long)n.pending,
			 (unsigned long long)n.dead);
	d->hook = NULL;
}

static int read_analysis(const struct daemon *d, bool *ret, struct strbuf *why)
{
	const char *setting = config_get(&d->ctx->config, SETTING_ANALYSIS);

	*ret = !d->o->no_analysis && !strcmp(setting, "yes");
	if (strcmp(setting, "yes") != 0 && strcmp(setting, "no") != 0)
		return config_bad_value(&d->ctx->config, SETTING_ANALYSIS, "yes or no", why);
	return 0;
}

static int begin(struct daemon *d)
{
	struct inbox_options how = {.dir = d->o->dir,
				    .keep = d->o->keep,
				    .recursive = d->o->recursive,
				    .strict = d->ctx->personality->strict_import,
				    .interval_ns = d->o->interval_ns};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	d->signals = hold_signals();
	(void)signal(SIGIO, SIG_IGN); /* somebody opens a file that we hold a lease on */
	int r = d->signals < 0 ? d->signals : read_analysis(d, &how.analyse, &why);
	if (r == 0)
		r = open_hook(d, &why);
	how.hook = d->hook;
	if (r == 0)
		r = inbox_init(&d->inbox, &d->ctx->config, &how, &why);
	if (r < 0) {
		log_error("%s", why.len ? why.buf : strerror(-r));
		return r;
	}
	d->retire_ns = d->o->retire_ns != DAEMON_RETIRE_AUTO ? d->o->retire_ns
		       : has_limit(d->ctx)                   ? DAEMON_RETIRE_NS
							     : 0;
	d->watchdog_ns = watchdog_ns();
	pidfile_write(&d->pid, &d->reported);
	notify_service_manager("READY=1");
	return 0;
}

/* Returns the exit status; writes to ready once the daemon works. */
static int serve(struct daemon *d, int ready)
{
	int r = begin(d);

	if (r == 0 && ready >= 0)
		(void)!write(ready, "", 1);
	close_fd(&ready);
	if (r == 0) {
		open_log(d);
		work(d);
		notify_service_manager("STOPPING=1");
		log_info("ended: ingested %llu, failed %llu, already stored %llu",
			 (unsigned long long)d->inbox.ingested, (unsigned long long)d->inbox.failed,
			 (unsigned long long)d->inbox.skipped);
	}
	end_hook(d);
	bool bad = r < 0 || (d->o->once && (d->inbox.failed || d->inbox.trouble));
	pidfile_remove(&d->pid);
	inbox_release(&d->inbox);
	close_fd(&d->signals);
	return bad ? EXIT_FAILED : EXIT_OK;
}

/* The parent returns once the child works, or when it has failed. */
static int serve_in_background(struct daemon *d)
{
	int ready[2], status = 0;
	char byte;

	if (pipe2(ready, O_CLOEXEC) < 0) {
		log_error("cannot create a pipe: %s", strerror(errno));
		return EXIT_FAILED;
	}
	size_t stem = strlen(d->pid.path) - (str_suffix(d->pid.path, ".pid") ? 4 : 0);
	d->log_path = xasprintf("%.*s.log", (int)stem, d->pid.path);
	pid_t pid = fork();
	if (pid == 0) {
		_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		close(ready[0]);
		(void)setsid();
		(void)dup2(null, STDIN_FILENO);
		_exit(serve(d, ready[1]));
	}
	close(ready[1]);
	bool up = pid > 0 && read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	if (up && d->ctx->verbosity >= 0)
		printf("running in the background, pid %d; log in %s\n", (int)pid, d->log_path);
	else if (pid < 0)
		log_error("cannot fork: %s", strerror(errno));
	else if (!up)
		(void)waitpid(pid, &status, 0);
	return up ? EXIT_OK : EXIT_FAILED;
}

int do_daemon(struct context *ctx, const struct daemon_options *o)
{
	struct daemon d = {.ctx = ctx, .o = o, .pid = PIDFILE_INIT, .signals = -1};

	d.inbox.notify = -1;
	if (o->status)
		return show_status(ctx, o);
	if (o->stop)
		return stop_running(ctx, o);
	if (ctx->verbosity == 0)
		log_init(ctx->program, LOG_INFO); /* one line per job */
	int status = EXIT_FAILED;
	if (take_pidfile(&d) == 0)
		status = o->background ? serve_in_background(&d) : serve(&d, -1);
	pidfile_release(&d.pid);
	free(d.log_path);
	return status;
}
