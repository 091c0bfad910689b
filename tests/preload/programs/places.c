/*
 * Programs that go where records cannot follow: `places chroot DIRECTORY`, `places drop UID`,
 * `places chdir DIRECTORY`, `places nested`.
 */
#include <sched.h>
#include <sys/prctl.h>

#include "host.h"

static void report(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(5);
	printf("child %d\n", wait_for(pid));
}

static int mode_chroot(char **argv)
{
	printf("chroot %d", chroot(argv[0]));
	printf(" chdir %d\n", chdir("/"));
	report();
	DIR *d = opendir("/");
	struct dirent *e;
	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			printf("there is %s\n", e->d_name);
	return 121;
}

/* Privileges given up for good: what was opened as root cannot be opened any more. */
static int mode_drop(char **argv)
{
	uid_t uid = (uid_t)atoi(argv[0]);

	printf("drop %d %d\n", setresgid(uid, uid, uid), setresuid(uid, uid, uid));
	report();
	return 122;
}

static int mode_chdir(char **argv)
{
	printf("chdir %d\n", chdir(argv[0]));
	report();
	return 123;
}

/* Nobody may look into /proc/self any more. */
static int mode_undumpable(char **argv)
{
	(void)argv;
	printf("prctl %d\n", prctl(PR_SET_DUMPABLE, 0));
	report();
	printf("dumpable %d\n", prctl(PR_GET_DUMPABLE));
	return 124;
}

/* As the first process of a pid namespace it makes another one, whose first process is its copy. */
static int mode_nested(char **argv)
{
	(void)argv;
	if (getpid() != 1 || unshare(CLONE_NEWPID) != 0)
		return 125;
	pid_t pid = fork();
	if (!pid) {
		usleep(20000);
		_exit(getpid() == 1 ? 23 : 24);
	}
	return wait_for(pid) != 23;
}

static const struct mode modes[] = {{"chroot", mode_chroot},
				    {"nested", mode_nested},
				    {"drop", mode_drop},
				    {"chdir", mode_chdir},
				    {"undumpable", mode_undumpable}};
MAIN(modes)
