/*
 * Another library that is preloaded and stands in for some of the same functions. It writes a line
 * for each call and passes it on to the next who offers the function.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static void say(const char *what)
{
	char line[64];

	write(2, line, (size_t)snprintf(line, sizeof(line), "beside: %s\n", what));
}

#define NEXT(type, name, ...) \
	type (*next)(__VA_ARGS__) = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

int execve(const char *path, char *const argv[], char *const envp[])
{
	NEXT(int, "execve", const char *, char *const[], char *const[]);
	say("execve");
	return next(path, argv, envp);
}

int execv(const char *path, char *const argv[])
{
	NEXT(int, "execv", const char *, char *const[]);
	say("execv");
	return next(path, argv);
}

int execvp(const char *path, char *const argv[])
{
	NEXT(int, "execvp", const char *, char *const[]);
	say("execvp");
	return next(path, argv);
}

void _exit(int status)
{
	NEXT(void, "_exit", int);
	say("_exit");
	next(status);
	__builtin_unreachable();
}

void _Exit(int status)
{
	NEXT(void, "_Exit", int);
	say("_Exit");
	next(status);
	__builtin_unreachable();
}

pid_t wait(int *status)
{
	NEXT(pid_t, "wait", int *);
	say("wait");
	return next(status);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
	NEXT(pid_t, "waitpid", pid_t, int *, int);
	say("waitpid");
	return next(pid, status, options);
}

int pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*routine)(void *), void *arg)
{
	NEXT(int, "pthread_create", pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	say("pthread_create");
	return next(t, attr, routine, arg);
}

int prctl(int option, ...)
{
	NEXT(int, "prctl", int, ...);
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	say("prctl");
	return next(option, a[0], a[1], a[2], a[3]);
}

long syscall(long number, ...)
{
	NEXT(long, "syscall", long, ...);
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	say("syscall");
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
