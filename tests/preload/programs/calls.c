/*
 * Calls what libbeside.so stands in for, so that every call leaves a line. `calls FUNCTION`.
 */
#include <sys/prctl.h>

#include "host.h"

extern char **environ;

static char *args[] = {"sh", "-c", "exit 3", NULL};

static void *nothing(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int status = 0;
	pthread_t t;

	if (!strcmp(what, "execve"))
		execve("/bin/sh", args, environ);
	if (!strcmp(what, "execv"))
		execv("/bin/sh", args);
	if (!strcmp(what, "execvp"))
		execvp("sh", args);
	if (!strcmp(what, "_exit"))
		_exit(4);
	if (!strcmp(what, "_Exit"))
		_Exit(5);
	if (!strcmp(what, "wait") || !strcmp(what, "waitpid")) {
		pid_t pid = fork();
		if (!pid)
			kill(getpid(), SIGKILL); /* without a call that leaves a line */
		pid_t got = !strcmp(what, "wait") ? wait(&status) : waitpid(pid, &status, 0);
		printf("%s %x\n", got == pid ? "taken" : "not taken", status);
		return 7;
	}
	if (!strcmp(what, "pthread_create")) {
		printf("%d", pthread_create(&t, NULL, nothing, NULL));
		printf(" %d\n", pthread_join(t, NULL));
		return 8;
	}
	if (!strcmp(what, "prctl"))
		printf("%d\n", prctl(PR_SET_NAME, "calls", 0, 0, 0));
	if (!strcmp(what, "syscall"))
		printf("%d\n", syscall(SYS_getpid) == getpid());
	return 9;
}
