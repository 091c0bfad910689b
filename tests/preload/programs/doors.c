/* Copies that try to enter another root or to install a filter, or wait for a child, and then
 * execute a program: doors HOW WAY PROGRAM [ARGUMENT...], WAY is fork or vfork. With image for it
 * the program does so itself, and reads something in between. */
#include "host.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/prctl.h>

static int by_prctl(unsigned short code)
{
	struct sock_filter filter[] = {{code, 0, 0, SECCOMP_RET_ALLOW}};
	struct sock_fprog program = {1, filter};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int by_syscall(unsigned short code)
{
	struct sock_filter filter[] = {{code, 0, 0, SECCOMP_RET_ALLOW}};
	struct sock_fprog program = {1, filter};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int wait_first(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(4);
	return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static int try(const char *how)
{
	if (!strcmp(how, "chroot"))
		return chroot("/");
	if (!strcmp(how, "missing"))
		return chroot("/nonexistent/root");
	if (!strcmp(how, "pivot"))
		return (int)syscall(SYS_pivot_root, "/nonexistent/root", "/nonexistent/old");
	if (!strcmp(how, "filter"))
		return by_prctl(BPF_RET | BPF_K);
	if (!strcmp(how, "refused"))
		return by_prctl(0xffff);
	if (!strcmp(how, "refused_syscall"))
		return by_syscall(0xffff);
	if (!strcmp(how, "failed_exec"))
		return chroot("/nonexistent/root") &
		       execv("/etc/passwd", (char *[]){"passwd", NULL});
	return wait_first();
}

int main(int argc, char **argv)
{
	bool by_vfork = !strcmp(argv[2], "vfork");
	char buf[5000];

	if (!strcmp(argv[2], "image")) {
		try(argv[1]);
		fread(buf, 1, sizeof(buf), fopen("/dev/zero", "r"));
		execv(argv[3], argv + 3);
		return 127;
	}

	for (int i = 0; i < 3; i++) {
		int status;
		pid_t pid = by_vfork ? vfork() : fork();

		if (!pid) {
			try(argv[1]);
			execv(argv[3], argv + 3);
			_exit(127);
		}
		waitpid(pid, &status, 0);
		printf("status %d\n", WEXITSTATUS(status));
	}
	return 0;
}
