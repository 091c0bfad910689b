/*
 * A library that is preloaded and stands in for one function of a family alone: ONLY_name. It says
 * so at each call and passes it on. Whoever calls another function of the family does not come by.
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define SAY(name) write(2, "only: " name "\n", strlen("only: " name "\n"))
#define NEXT(type, name, ...) \
	type (*next)(__VA_ARGS__) = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

/* The list up to its NULL, and what comes behind it. */
#define GATHER(arg)                                          \
	char *argv[256] = {(char *)(arg)}, **envp = environ; \
	va_list ap;                                          \
	int n = 1;                                           \
	va_start(ap, arg);                                   \
	while (n < 255 && (argv[n] = va_arg(ap, char *)))    \
	n++

#if defined(ONLY_execl)
int execl(const char *path, const char *arg, ...)
{
	NEXT(int, "execve", const char *, char *const[], char *const[]);
	GATHER(arg);
	va_end(ap);
	SAY("execl");
	return next(path, argv, envp);
}
#elif defined(ONLY_execle)
int execle(const char *path, const char *arg, ...)
{
	NEXT(int, "execve", const char *, char *const[], char *const[]);
	GATHER(arg);
	envp = va_arg(ap, char **);
	va_end(ap);
	SAY("execle");
	return next(path, argv, envp);
}
#elif defined(ONLY_execlp)
int execlp(const char *file, const char *arg, ...)
{
	NEXT(int, "execvp", const char *, char *const[]);
	GATHER(arg);
	va_end(ap);
	SAY("execlp");
	return next(file, argv);
}
#elif defined(ONLY_execv)
int execv(const char *path, char *const argv[])
{
	NEXT(int, "execv", const char *, char *const[]);
	SAY("execv");
	return next(path, argv);
}
#elif defined(ONLY_execve)
int execve(const char *path, char *const argv[], char *const envp[])
{
	NEXT(int, "execve", const char *, char *const[], char *const[]);
	SAY("execve");
	return next(path, argv, envp);
}
#elif defined(ONLY_execvp)
int execvp(const char *file, char *const argv[])
{
	NEXT(int, "execvp", const char *, char *const[]);
	SAY("execvp");
	return next(file, argv);
}
#elif defined(ONLY_execvpe)
int execvpe(const char *file, char *const argv[], char *const envp[])
{
	NEXT(int, "execvpe", const char *, char *const[], char *const[]);
	SAY("execvpe");
	return next(file, argv, envp);
}
#elif defined(ONLY_wait)
pid_t wait(int *status)
{
	NEXT(pid_t, "wait", int *);
	SAY("wait");
	return next(status);
}
#elif defined(ONLY_wait3)
pid_t wait3(int *status, int options, struct rusage *usage)
{
	NEXT(pid_t, "wait3", int *, int, struct rusage *);
	SAY("wait3");
	return next(status, options, usage);
}
#elif defined(ONLY_wait4)
pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	NEXT(pid_t, "wait4", pid_t, int *, int, struct rusage *);
	SAY("wait4");
	return next(pid, status, options, usage);
}
#elif defined(ONLY_waitid)
int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	NEXT(int, "waitid", idtype_t, id_t, siginfo_t *, int);
	SAY("waitid");
	return next(type, id, info, options);
}
#elif defined(ONLY_waitpid)
pid_t waitpid(pid_t pid, int *status, int options)
{
	NEXT(pid_t, "waitpid", pid_t, int *, int);
	SAY("waitpid");
	return next(pid, status, options);
}
#endif
