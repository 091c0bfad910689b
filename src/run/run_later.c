/*
 * Stores the job of a run whose processes are still running when the last of them has ended. A
 * background process waits for that, in its own session and without inherited descriptors, so that
 * no terminal or pipe waits for it. If it is killed, the job stays in its directory.
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

static void wait_for_last(const struct job_directory *job)
{
	long ms = LOOK_FIRST_MS;

	while (job_directory_running(job, true, NULL)) {
		struct timespec t = {ms / 1000, ms % 1000 * 1000000};

		nanosleep(&t, NULL);
		ms = ms * 3 / 2 < LOOK_LAST_MS ? ms * 3 / 2 : LOOK_LAST_MS;
	}
}

/* Resets the signals that the run holds back at its end. */
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

static void store_job(struct context *ctx, const struct job_directory *job)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;
	const struct import_options how = {.replace = true};
	struct import_result in;

	(void)job_directory_collect(job, &why);
	strbuf_reset(&why);
	if (open_store(ctx, STORE_WRITE, &s) < 0)
		return;
	(void)submit_input(ctx, &s, job->path, &how, &in, &why);
	import_result_release(&in);
}

bool store_when_ended(struct context *ctx, const struct job_directory *job)
{
	pid_t pid = fork();

	if (pid < 0)
		return false;
	if (pid > 0) { /* the intermediate process, which exits at once */
		(void)waitpid(pid, NULL, 0);
		return true;
	}
	leave_everybody();
	if (fork() != 0)
		_exit(0);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct job_directory own = JOB_DIRECTORY_INIT; /* our descriptors are closed */
	if (job_directory_open_path(&own, &ctx->config, job->path, job->id, false, &why) == 0) {
		wait_for_last(&own);
		store_job(ctx, &own);
	}
	_exit(0);
}
