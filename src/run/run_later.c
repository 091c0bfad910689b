/*
 * A run that leaves processes behind: its job goes into the store when the last of them has ended.
 * A process of ours waits for that, in a session of its own and without anybody's descriptors, so
 * that neither a terminal nor a pipe waits for it. When it is killed, the job stays in its
 * directory.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "context/stored_job.h"
#include "run/run_internal.h"
#include "store/import/import.h"

#define LOOK_FIRST_MS 100
#define LOOK_LAST_MS 5000

static void wait_for_last(const struct jobdir *job)
{
	long ms = LOOK_FIRST_MS;

	while (jobdir_running(job, true, NULL)) {
		struct timespec t = {ms / 1000, ms % 1000 * 1000000};

		nanosleep(&t, NULL);
		ms = ms * 3 / 2 < LOOK_LAST_MS ? ms * 3 / 2 : LOOK_LAST_MS;
	}
}

/* Signals that the run kept for its own end are not kept here. */
static void leave_everybody(void)
{
	static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)setsid();
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		signal(signals[i], SIG_DFL);
	for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
		(void)dup2(null, fd);
	(void)close_range(STDERR_FILENO + 1, ~0u, 0);
}

static void store_job(struct context *ctx, const struct jobdir *job)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;
	const struct import_options how = {.replace = true};
	struct import_result in;

	(void)jobdir_collect(job, &why);
	strbuf_reset(&why);
	if (open_store(ctx, STORE_WRITE, &s) < 0)
		return;
	(void)submit_input(ctx, &s, job->path, &how, &in, &why);
	import_result_release(&in);
}

bool store_when_ended(struct context *ctx, const struct jobdir *job)
{
	pid_t pid = fork();

	if (pid < 0)
		return false;
	if (pid > 0) { /* the one between, which leaves at once */
		(void)waitpid(pid, NULL, 0);
		return true;
	}
	leave_everybody();
	if (fork() != 0)
		_exit(0);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct jobdir own = JOBDIR_INIT; /* the run's descriptors are closed */
	if (jobdir_open_path(&own, &ctx->config, job->path, job->id, false, &why) == 0) {
		wait_for_last(&own);
		store_job(ctx, &own);
	}
	_exit(0);
}
