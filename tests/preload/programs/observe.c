/*
 * Runs a host program and writes down what can be seen of it from outside:
 *
 *     observe [-p LD_PRELOAD] [-r RECORDS] [-u] DIRECTORY PROGRAM [ARGUMENT...]
 *
 * DIRECTORY gets stdout and stderr as the program wrote them into pipes, and state: how it ended
 * and, taken by ptrace in the moment of its end, its open descriptors, signal dispositions, mask
 * and pending signals. -p and -r set the environment of the program alone, so this observer is
 * never recorded. -u observes the status only: a traced program gets no privilege from its setuid
 * bit. A program that takes longer than a minute is killed, which state tells.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_S 60

static pid_t tracee;
static volatile sig_atomic_t timed_out;

static void die(const char *what)
{
	fprintf(stderr, "observe: %s: %s\n", what, strerror(errno));
	exit(125);
}

static void on_alarm(int sig)
{
	(void)sig;
	timed_out++;
	kill(-tracee, SIGKILL);
	alarm(1); /* those who left the group and hold a pipe are given up */
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return atoi((*a)->d_name) - atoi((*b)->d_name);
}

/* "pipe:[4711]" differs from run to run: numbers in brackets are left out. */
static void print_target(FILE *f, const char *target)
{
	const char *bracket = strchr(target, '[');

	if (target[0] == '/' || !bracket)
		fprintf(f, "%s", target);
	else
		fprintf(f, "%.*s", (int)(bracket - target), target);
}

static void report_descriptors(FILE *f)
{
	struct dirent **entries;
	char path[64], target[4096], line[256];
	unsigned flags;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)tracee);
	int n = scandir(path, &entries, NULL, by_number);
	if (n < 0)
		fprintf(f, "descriptors: %s\n", strerror(errno));
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/fd/%s", (int)tracee, entries[i]->d_name);
		ssize_t len = readlink(path, target, sizeof(target) - 1);
		target[len > 0 ? len : 0] = 0;
		fprintf(f, "descriptor %s -> ", entries[i]->d_name);
		print_target(f, target);
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", (int)tracee, entries[i]->d_name);
		FILE *info = fopen(path, "r");
		while (info && fgets(line, sizeof(line), info))
			if (sscanf(line, "flags: %o", &flags) == 1)
				fprintf(f, " flags %o", flags);
		if (info)
			fclose(info);
		fprintf(f, "\n");
	}
}

static void report_signals(FILE *f)
{
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tracee);
	FILE *status = fopen(path, "r");
	while (status && fgets(line, sizeof(line), status))
		if (!strncmp(line, "Sig", 3) || !strncmp(line, "ShdPnd", 6) ||
		    !strncmp(line, "Umask", 5))
			if (strncmp(line, "SigQ", 4) != 0)
				fputs(line, f);
	if (status)
		fclose(status);
}

/* Copies a pipe into a file until all who hold its other end are gone. */
static pid_t start_copier(const char *directory, const char *name, int *ret_write)
{
	char path[4096], buf[65536];
	int p[2];
	ssize_t n;

	if (pipe2(p, O_CLOEXEC) < 0)
		die("pipe");
	pid_t pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(p[1]);
		snprintf(path, sizeof(path), "%s/%s", directory, name);
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
		if (fd < 0)
			die(path);
		while ((n = read(p[0], buf, sizeof(buf))) > 0)
			if (write(fd, buf, (size_t)n) != n)
				die(path);
		exit(0);
	}
	close(p[0]);
	*ret_write = p[1];
	return pid;
}

static void become(char **argv, int go, int out, int err, const char *preload, const char *records)
{
	char c;

	setpgid(0, 0);
	while (read(go, &c, 1) < 0 && errno == EINTR)
		;
	dup2(out, 1);
	dup2(err, 2);
	syscall(436, 3, ~0u, 0); /* close_range(), which older headers do not know */
	if (preload && *preload)
		setenv("LD_PRELOAD", preload, 1);
	if (records)
		setenv("PLIMSOLL_OUTPUT", records, 1);
	execvp(argv[0], argv);
	die(argv[0]);
}

static int follow(FILE *f)
{
	int status;

	for (;;) {
		if (waitpid(tracee, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			die("waitpid");
		}
		if (!WIFSTOPPED(status))
			return status;
		int event = status >> 16, deliver = 0;
		if (event == PTRACE_EVENT_EXIT) {
			report_descriptors(f);
			report_signals(f);
		} else if (event == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP) {
			ptrace(PTRACE_LISTEN, tracee, 0, 0);
			continue;
		} else if (!event) {
			deliver = WSTOPSIG(status);
		}
		ptrace(PTRACE_CONT, tracee, 0, (void *)(long)deliver);
	}
}

int main(int argc, char **argv)
{
	const char *preload = NULL, *records = NULL;
	int traced = 1, option, out, err, go[2];
	char path[4096];

	while ((option = getopt(argc, argv, "+p:r:u")) != -1)
		switch (option) {
		case 'p':
			preload = optarg;
			break;
		case 'r':
			records = optarg;
			break;
		case 'u':
			traced = 0;
			break;
		default:
			return 125;
		}
	argv += optind;
	if (argc - optind < 2)
		return 125;

	snprintf(path, sizeof(path), "%s/state", argv[0]);
	FILE *f = fopen(path, "we");
	if (!f)
		die(path);
	pid_t copiers[2] = {start_copier(argv[0], "stdout", &out),
			    start_copier(argv[0], "stderr", &err)};
	if (pipe2(go, O_CLOEXEC) < 0)
		die("pipe");
	tracee = fork();
	if (tracee < 0)
		die("fork");
	if (tracee == 0) {
		close(go[1]);
		become(argv + 1, go[0], out, err, preload, records);
	}
	setpgid(tracee, tracee);
	close(out);
	close(err);
	if (traced && ptrace(PTRACE_SEIZE, tracee, 0, PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC) < 0)
		die("ptrace");
	struct sigaction sa = {.sa_handler = on_alarm};
	sigaction(SIGALRM, &sa, NULL);
	alarm(LIMIT_S);
	close(go[0]);
	close(go[1]);

	int status = follow(f);
	for (int i = 0; i < 2; i++)
		while (waitpid(copiers[i], NULL, 0) < 0 && errno == EINTR && timed_out < 3)
			;
	if (timed_out)
		fprintf(f, "killed after %d seconds\n", LIMIT_S);
	if (WIFSIGNALED(status))
		fprintf(f, "ended by signal %d\n", WTERMSIG(status));
	else
		fprintf(f, "ended with status %d\n", WEXITSTATUS(status));
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
