/*
 * Runs `scontrol listpids` without a shell, with a limit on its output and a time limit of five
 * seconds. It asks the daemon of this node, which answers the owner of the job and root.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>

#include "core/clock.h"
#include "core/system/procparse.h"
#include "jobs/discovery/job_processes_internal.h"

#define TIMEOUT_NS 5000000000ull
#define PERIOD_NS 5000000000ull        /* while nothing was found */
#define PERIOD_FOUND_NS 30000000000ull /* new processes are found by their environment */
#define OUTPUT_MAX (4u << 20)
#define LISTED_MAX 262144

extern char **environ;

/* "PID JOBID STEPID LOCALID GLOBALID", one line per process; -1: none. */
void scontrol_parse(struct job_processes_finder *f, const char *text)
{
	f->listed_count = 0;
	while (*text && f->listed_count < LISTED_MAX) {
		const char *end = text + strcspn(text, "\n"), *p = text + strspn(text, " ");
		uint64_t pid;

		text = end + (*end == '\n');
		if (*p == '-' || !proc_number(&p, end, &pid) || !pid || pid > INT32_MAX)
			continue;
		p += strspn(p, " ");
		p += strcspn(p, " \n");
		p += strspn(p, " ");
		size_t n = strcspn(p, " \n");
		if (p >= end)
			continue;
		GROW(f->listed, f->listed_count, f->listed_cap);
		f->listed[f->listed_count].pid = (int)pid;
		f->listed[f->listed_count++].step = batch_step(f, p, n);
	}
}

static void start(struct job_processes_finder *f)
{
	struct job_processes_command *c = &f->scontrol;
	char name[] = "scontrol", verb[] = "listpids";
	char *argv[] = {name, verb, f->job, f->node, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2];

	f->scontrol_ns = f->now_ns;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	int r = posix_spawnp(&c->pid, name, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	if (r != 0) {
		c->pid = 0;
		close(ends[0]);
		f->scontrol_missing = r == ENOENT || r == EACCES;
		return;
	}
	c->fd = ends[0];
	c->deadline_ns = f->now_ns + TIMEOUT_NS;
	strbuf_reset(&c->out);
}

static void finish(struct job_processes_command *c)
{
	int status;

	close(c->fd);
	kill(c->pid, SIGKILL); /* it has closed its output, or its time is over */
	while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR)
		;
	c->pid = 0;
}

/* Reads what is available. True at the end of the output, or if there is too much. */
static bool drain(struct job_processes_finder *f)
{
	struct job_processes_command *c = &f->scontrol;

	for (;;) {
		strbuf_grow(&c->out, 4096);
		ssize_t n = read(c->fd, c->out.buf + c->out.len, 4096);

		if (n < 0)
			return errno != EAGAIN && errno != EINTR;
		if (!n)
			return true;
		c->out.len += (size_t)n;
		c->out.buf[c->out.len] = 0;
		if (c->out.len > OUTPUT_MAX)
			return true;
	}
}

void scontrol_update(struct job_processes_finder *f, bool wait)
{
	struct job_processes_command *c = &f->scontrol;

	if (!c->pid && !f->scontrol_missing &&
	    (!f->scontrol_ns ||
	     f->now_ns - f->scontrol_ns > (f->mode == MODE_LIST ? PERIOD_FOUND_NS : PERIOD_NS)))
		start(f);
	if (!c->pid)
		return;
	bool done = drain(f);
	while (!done && wait && clock_boottime_ns() < c->deadline_ns) {
		struct pollfd p = {.fd = c->fd, .events = POLLIN};

		poll(&p, 1, 100);
		done = drain(f);
	}
	if (!done && clock_boottime_ns() < c->deadline_ns)
		return;
	finish(c);
	if (!done)
		return;
	scontrol_parse(f, c->out.buf);
	f->reread = true; /* it may list processes that we took for strangers */
}

void scontrol_close(struct job_processes_finder *f)
{
	if (f->scontrol.pid)
		finish(&f->scontrol);
	strbuf_release(&f->scontrol.out);
	free(f->listed);
}
