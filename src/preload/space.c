/*
 * Which pid namespace the ids in a record are of. A process in a namespace of its own is known
 * outside by another pid, and different namespaces have the same pids, so whoever joins the records
 * has to know it. Asking /proc/self/ns/pid costs a third of what all of identity costs else, so it
 * is asked only where the answer may be another than the command's: where /proc is another one than
 * the command's, or shows another pid, and in forked copies that speak.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "preload/guest.h"

void space_configure(const char *home)
{
	uint64_t device = 0, ns = 0, clock = 0;

	/* what another host said, or another container, is of no use here */
	if (!home || guest.create)
		return;
	const char *end = home + str_len(home);
	if (proc_number(&home, end, &device) && *home++ == ':' && proc_number(&home, end, &ns)) {
		guest.home_procdev = device;
		guest.home_pidns = ns;
		if (home < end && *home++ == ':' && proc_number(&home, end, &clock))
			guest.home_clock_ns = clock;
	}
}

/* The link reads "pid:[4026531836]"; 0 without /proc. */
uint64_t space_of_caller(void)
{
	char text[64];
	uint64_t ns = 0;
	long n = sys4(__NR_readlinkat, AT_FDCWD, "/proc/self/ns/pid", text, sizeof(text));
	const char *p = text + 5;

	if (n < 7 || text[4] != '[' || !proc_number(&p, text + n, &ns))
		return 0;
	return ns;
}

static uint64_t abroad(uint64_t ns)
{
	return ns == guest.home_pidns ? 0 : ns;
}

void space_of_image(uint64_t seen)
{
	bool home = guest.home_pidns && guest.procdev == guest.home_procdev &&
		    seen == (uint64_t)guest.pid;

	guest.pidns = home ? 0 : abroad(space_of_caller());
}

static uint64_t space_of_copy(int pid)
{
	return guest.copy_pid == pid ? guest.copy_pidns : abroad(space_of_caller());
}

void put_space(struct fields *f, int pid)
{
	uint64_t ns = guest.pidns;

	if (pid != guest.pid) {
		ns = space_of_copy(pid);
		if (guest.forked == pid) {
			guest.copy_pidns = ns;
			guest.copy_pid = pid;
		}
	}
	if (ns)
		put_u64(f, METRIC_PIDNS, ns);
	put_u64(f, METRIC_PROCDEV, guest.procdev);
}

void put_last_space(struct fields *f, int pid, uint64_t seen)
{
	uint64_t ns = space_of_copy(pid), device = guest.procdev;
	struct stat proc;

	/* it may have gone there alone, and mounted another /proc */
	if (ns != guest.pidns && sys4(__NR_newfstatat, AT_FDCWD, "/proc/self/stat", &proc, 0) == 0)
		device = proc.st_dev;
	if (ns)
		put_u64(f, METRIC_PIDNS, ns);
	if (ns && seen && seen != (uint64_t)pid)
		put_u64(f, METRIC_NSPID, seen);
	put_u64(f, METRIC_PROCDEV, device);
}
