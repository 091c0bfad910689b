/* plimsoll daemon: its options; inbox/daemon.c does the work. */
#include "cmd/command.h"
#include "inbox/daemon.h"

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	const struct daemon_options *o = ctx->options;

	if (!o->dir && !o->status && !o->stop)
		return usage_error("daemon", "daemon: name the directory with --ingest DIR");
	return do_daemon(ctx, o);
}

static const struct daemon_options defaults = {.interval_ns = DAEMON_INTERVAL_NS,
					       .retire_ns = DAEMON_RETIRE_AUTO};

static const struct option_row rows[] = {
	{OPT_TEXT, 'i', "ingest", "DIR", "directory in which jobs arrive",
	 AT(struct daemon_options, dir)},
	{OPT_FLAG, 'k', "keep", NULL, "move stored jobs to done/ in DIR instead of removing them",
	 AT(struct daemon_options, keep)},
	{OPT_FLAG, 'r', "recursive", NULL, "also watch directories below DIR",
	 AT(struct daemon_options, recursive)},
	{OPT_DURATION, 0, "interval", "TIME",
	 "time between full scans, for filesystems without events; default 60s",
	 AT(struct daemon_options, interval_ns), RANGE(MS, INT64_MAX)},
	{OPT_DURATION, 0, "retire", "TIME",
	 "time between removals of jobs over the configured limits; default 1h",
	 AT(struct daemon_options, retire_ns), RANGE(MS, INT64_MAX)},
	{OPT_SETTING, 0, "hook", "COMMAND|URL",
	 "call this for each job that was stored, failed or is an outlier, with JSON",
	 .setting = SETTING_HOOK},
	{OPT_SETTING, 0, "hook-on", "EVENTS", "call the hook for these: submitted, failed, outlier",
	 .setting = SETTING_HOOK_ON},
	{OPT_FLAG, 0, "no-analysis", NULL, "do not compare new jobs with the models",
	 AT(struct daemon_options, no_analysis)},
	{OPT_FLAG, 0, "once", NULL, "end when all present jobs are stored",
	 AT(struct daemon_options, once)},
	{OPT_FIXED, 0, "foreground", NULL, "stay in the foreground (default)",
	 AT(struct daemon_options, background), .number = false},
	{OPT_FLAG, 0, "background", NULL,
	 "return once the daemon works; it logs to a file next to its pid file",
	 AT(struct daemon_options, background)},
	{OPT_TEXT, 0, "pidfile", "FILE", "pid file; default: daemon.pid in the prefix",
	 AT(struct daemon_options, pidfile)},
	{OPT_FLAG, 0, "status", NULL, "print whether the daemon is running",
	 AT(struct daemon_options, status)},
	{OPT_FLAG, 0, "stop", NULL, "stop the daemon after its current job, and wait for it",
	 AT(struct daemon_options, stop)},
	ROWS_STORE,
};

const struct command command_daemon = {
	.name = "daemon",
	.summary = "store jobs as they arrive in a directory",
	.operands = {.hint = "name the directory with --ingest"},
	.description =
		"Watches a directory and submits every archive and every directory of a stopped job in "
		"it. Stored jobs are removed, or with --keep moved to done/. Input that cannot be read "
		"is moved to the configured failed_dir, else to failed/, with the reason in "
		"NAME.reason. While the store is not available, jobs stay where they are and are tried "
		"again. Names that start with a dot and symbolic links are ignored.\n\n"
		"Any number of daemons on any number of hosts can share a directory, each with its own "
		"pid file: a daemon claims an input by moving it to .claimed/HOST-PID/. If a daemon is "
		"killed, the next one on the same host puts its claims back; nothing is lost and "
		"nothing is stored twice. Write archives under a name that starts with a dot and "
		"rename them, or write them in one go.\n\n"
		"A hook is told of each job. It is a URL that gets a JSON object by POST, or a command that "
		"gets it on standard input. It runs beside the ingest and never delays it; a call that "
		"fails or takes longer than hook_timeout is repeated with growing pauses, and after "
		"hook_tries the event is appended to dead_letters.jsonl. Undelivered events are kept "
		"next to the pid file and survive the daemon.\n\n"
		"New jobs are compared with the enabled models whose tags they have, while no input waits "
		"(--no-analysis or the setting analysis prevents it). The result is stored with the job; "
		"`plimsoll alerts` lists the outliers, and the hook is told of them.\n\n"
		"SIGTERM and SIGINT end the daemon after its current job; SIGHUP makes it scan the "
		"directory and reopen its log file. --status exits with 3 if the daemon is not "
		"running. If limits are configured (retire_age, retire_keep, retire_size), old jobs "
		"are removed every hour. share/plimsoll/systemd has a unit file.",
	.examples =
		"plimsoll daemon --ingest /archive/jobs --background\n"
		"  store everything that arrives from now on\n"
		"plimsoll daemon --ingest /archive/jobs --hook https://chat.site/hooks/jobs --hook-on "
		"failed\n  tell a chat of input that cannot be stored\n"
		"plimsoll daemon --status\n  is it running, and what has it done?\n"
		"plimsoll daemon --ingest /archive/jobs --once\n"
		"  store what is there now, for cron\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
