/*
 * Phases of a script. The marks are those of the process that calls us: they go to its mark file,
 * which outlives us. A script that is not recorded runs as it does without us.
 */
#include "run/mark.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context/current_job.h"
#include "core/files/fs.h"
#include "plimsoll/mark.h"
#include "run/run_internal.h"
#include "run/signal_relay.h"

struct marking {
	struct plimsoll_log_ log;
	char *dir; /* NULL: nothing is recorded */
	char host[65];
	struct strbuf why;
};

/* The directory of the host in the current job, between `start` and `stop`; NULL: no job, or the
 * reason in m->why. */
static char *directory_of_job(struct context *ctx, struct marking *m)
{
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	_cleanup_free_ char *id = job_identify(ctx, NULL);
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	const char *inherited = job_inherited_dir(ctx);
	char host[65], boot[9];

	if (!id && !inherited)
		return NULL;
	int r = inherited
			? job_directory_open_path(&j, &ctx->config, inherited, id, false, &ignored)
			: job_directory_open(&j, &ctx->config, job_layout(ctx), id, false,
					     &ignored);
	if (r < 0)
		return NULL;
	this_host(host, sizeof(host), boot);
	_cleanup_free_ char *name = xasprintf("%s.%s", host, boot);
	_cleanup_close_ int dir = fs_open_subdir(j.records, name, true, &m->why);
	return dir < 0 ? NULL : fs_path_of(dir);
}

static char *find_directory(struct context *ctx, struct marking *m)
{
	const char *output = getenv("PLIMSOLL_OUTPUT");

	if (gethostname(m->host, sizeof(m->host) - 1) < 0 || strchr(m->host, '/'))
		return NULL;
	if (output && *output && !plimsoll_is_other_job_(getenv("PLIMSOLL_CONTEXT")))
		return xstrndup(output, plimsoll_directory_(output, m->host));
	return directory_of_job(ctx, m);
}

/* Opens the file of our parent. False: the reason is in m->why, or nothing is recorded. */
static bool open_log(struct context *ctx, struct marking *m)
{
	struct plimsoll_owner_ owner = {.pid = (uint32_t)getppid(),
					.pidns = plimsoll_pid_namespace_()};
	char stat_file[32];

	m->dir = find_directory(ctx, m);
	if (!m->dir)
		return false;
	if (!owner.pid) {
		strbuf_addstr(&m->why, "the calling process is in another pid namespace");
		return false;
	}
	snprintf(stat_file, sizeof(stat_file), "/proc/%u/stat", owner.pid);
	owner.start_ticks = plimsoll_start_ticks_(stat_file);
	errno = 0;
	if (plimsoll_path_(&m->log, m->dir, strlen(m->dir), m->host, &owner) &&
	    plimsoll_open_(&m->log, m->host, &owner)) {
		m->log.with_cpu = 0; /* it would be ours */
		return true;
	}
	strbuf_addf(&m->why, "cannot write to '%s': %s", m->log.path[0] ? m->log.path : m->dir,
		    errno ? strerror(errno) : "invalid file");
	return false;
}

static bool store(struct marking *m, uint32_t tid, int kind, unsigned flags, const char *name)
{
	const struct plimsoll_mark_header *h = plimsoll_header_(&m->log);
	uint64_t dropped = __atomic_load_n(&h->dropped, __ATOMIC_RELAXED);

	plimsoll_store_(&m->log, plimsoll_clock_(CLOCK_BOOTTIME), tid, kind, flags, name,
			strnlen(name, PLIMSOLL_MARK_NAME_MAX));
	if (__atomic_load_n(&h->dropped, __ATOMIC_RELAXED) == dropped)
		return true;
	strbuf_addf(&m->why, "'%s' has no room for more marks", m->log.path);
	return false;
}

/* ---- a command ------------------------------------------------------------------------------ */

static int wait_for(struct relay *relay, pid_t pid)
{
	int status = 0;

	for (;;) {
		struct pollfd poll_fd = {.fd = relay->fd, .events = POLLIN};

		pid_t got = waitpid(pid, &status, WNOHANG | WUNTRACED);
		if (got < 0 || (got == pid && !WIFSTOPPED(status)))
			return got < 0 ? -1 : status;
		if (got == pid)
			(void)relay_follow_stop(relay);
		(void)poll(&poll_fd, 1, relay->fd < 0 ? 10 : 1000);
		(void)relay_take(relay, false);
	}
}

/* Runs the command and waits; our signals are its signals. */
static int run_command(struct context *ctx, char **command)
{
	struct relay relay;
	int error = command_error(command[0]);

	if (error)
		return say_spawn_error(command, error);
	relay_open(&relay);
	pid_t pid = fork();
	if (pid == 0) {
		relay_restore(&relay);
		execvp(command[0], command);
		_exit(say_spawn_error(command, errno));
	}
	error = pid < 0 ? errno : 0;
	relay.command = pid > 0 ? pid : 0;
	int status = pid > 0 ? wait_for(&relay, pid) : -1;
	relay_close(&relay);
	if (error)
		return say_spawn_error(command, error);
	if (status >= 0 && WIFSIGNALED(status))
		ctx->end_by = WTERMSIG(status);
	return status < 0 ? EXIT_FAILED : shell_status(status);
}

static int mark_command(struct context *ctx, struct marking *m, const char *name, char **command)
{
	unsigned flags = PLIMSOLL_OF_SCRIPT | PLIMSOLL_OF_COMMAND;
	uint32_t tid = (uint32_t)getpid();
	bool marked = open_log(ctx, m) && store(m, tid, PLIMSOLL_BEGIN, flags, name);
	int status = run_command(ctx, command);

	if (marked)
		(void)store(m, tid, PLIMSOLL_END, flags, "");
	return status;
}

/* ---- a phase -------------------------------------------------------------------------------- */

int do_mark(struct context *ctx, const struct mark_options *o, const char *name, char **command)
{
	_cleanup_free_ struct marking *m = xcalloc(1, sizeof(*m));
	int status = EXIT_OK;

	m->why = (struct strbuf)STRBUF_INIT;
	if (command)
		status = mark_command(ctx, m, name, command);
	else if (open_log(ctx, m))
		(void)store(m, m->log.pid,
			    o->end     ? PLIMSOLL_END
			    : o->point ? PLIMSOLL_POINT
				       : PLIMSOLL_NEXT,
			    PLIMSOLL_OF_SCRIPT, name ? name : "");
	if (m->why.len) {
		log_error("the mark is lost: %s", m->why.buf);
		status = command ? status : EXIT_FAILED;
	} else if (!m->dir) {
		log_info(
			"nothing is marked, because this process belongs to no job; `plimsoll run` "
			"or `plimsoll start` begins one");
	}
	free(m->dir);
	strbuf_release(&m->why);
	return status;
}
