/* See top_command.h. */
#include "monitor/top_command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/run_internal.h"

/* Runs in the child. */
static _Noreturn void become(char **argv, int output)
{
	int nothing = output >= 0 ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;

	if (nothing >= 0)
		(void)dup2(nothing, STDIN_FILENO);
	(void)dup2(output >= 0 ? output : STDERR_FILENO, STDOUT_FILENO);
	if (output >= 0)
		(void)dup2(output, STDERR_FILENO);
	execvp(argv[0], argv);
	_exit(say_spawn_error(argv, errno));
}

int top_command_start(struct top_command *c, char **argv, bool draws)
{
	int error = command_error(argv[0]);

	*c = (struct top_command){.pidfd = -1};
	if (error)
		return say_spawn_error(argv, error);
	c->output = draws ? tmpfile() : NULL;
	if (draws && !c->output) {
		log_error("cannot buffer the output of the command: %s", strerror(errno));
		return EXIT_FAILED;
	}
	fflush(NULL);
	c->pid = fork();
	if (c->pid == 0)
		become(argv, c->output ? fileno(c->output) : -1);
	if (c->pid < 0) {
		error = errno;
		c->pid = 0;
		if (c->output)
			fclose(c->output);
		return say_spawn_error(argv, error);
	}
	c->pidfd = pidfd_open(c->pid, 0);
	return 0;
}

static bool reap(struct top_command *c, int flags)
{
	pid_t r = 0;

	while (c->pid && !c->ended) {
		r = waitpid(c->pid, &c->status, flags);
		if (r < 0 && errno == EINTR)
			continue;
		c->ended = r != 0;
		break;
	}
	return c->ended;
}

bool top_command_over(struct top_command *c)
{
	return reap(c, WNOHANG);
}

void top_command_nap(const struct top_command *c, uint64_t ns)
{
	struct pollfd end = {.fd = c->pid && !c->ended ? c->pidfd : -1, .events = POLLIN};
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000),
			      .tv_nsec = (long)(ns % 1000000000)};

	(void)ppoll(&end, 1, &ts, NULL);
}

static void print_output(FILE *from)
{
	char buffer[8192];
	size_t n;

	/* the command shares our file offset and has moved it */
	rewind(from);
	while ((n = fread(buffer, 1, sizeof(buffer), from)) > 0)
		fwrite(buffer, 1, n, stdout);
	fflush(stdout);
	fclose(from);
}

int top_command_finish(struct top_command *c, struct context *ctx)
{
	(void)reap(c, 0);
	if (c->output)
		print_output(c->output);
	close_fd(&c->pidfd);
	if (!WIFSIGNALED(c->status))
		return WEXITSTATUS(c->status);
	ctx->end_by = WTERMSIG(c->status);
	return 128 + WTERMSIG(c->status);
}
