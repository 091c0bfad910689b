/*
 * The pid namespace of the ids in a record. A process in another namespace has another pid outside,
 * and namespaces have the same pids, so readers must know it. Reading /proc/self/ns/pid adds a
 * third to the cost of the identity, so it is read only if it may differ from the command's: if
 * /proc is another one or shows another pid, and in forked copies that write records.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "preload/guest.h"

void space_configure(const char *home)
{
	uint64_t device = 0, ns = 0, clock = 0;

	/* the value is of another host or container */
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

int space_shown_pid(int pid)
{
	char text[24];
	uint64_t shown;
	long n = sys4(__NR_readlinkat, AT_FDCWD, "/proc/self", text, sizeof(text));
	const char *p = text;

	return n > 0 && proc_number(&p, text + n, &shown) ? (int)shown : pid;
}

/* The line "NSpid:" has the ids of a thread, from the namespace of this /proc down to its own. */
struct ids {
	unsigned matched; /* matched characters of the name */
	bool within;      /* a number */
	int last;
};

/* False: end of the line. */
static bool take_character(struct ids *ids, char c)
{
	static const char name[] = "NSpid:";

	if (ids->matched < sizeof(name) - 1) {
		ids->matched = c == '\n'                 ? 0
			       : c == name[ids->matched] ? ids->matched + 1
							 : UINT32_MAX;
		return true;
	}
	if (c == '\n' && ids->matched == UINT32_MAX)
		ids->matched = 0;
	else if (c == '\n')
		return false;
	else if (ids->matched != UINT32_MAX && c >= '0' && c <= '9')
		ids->last = (ids->within ? ids->last * 10 : 0) + (c - '0');
	ids->within = c >= '0' && c <= '9';
	return true;
}

NOINLINE int space_own_tid(int shown, struct own_io *own)
{
	char buf[512];
	struct ids ids = {0};
	bool more = true;
	long n;

	format_path(buf, sizeof(buf), "/proc/self/task/", (unsigned long)shown, "/status");
	long fd = sys4(__NR_openat, AT_FDCWD, buf, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	while (more && (n = sys3(__NR_read, fd, buf, sizeof(buf))) > 0) {
		own->syscr++;
		own->rchar += (uint64_t)n;
		for (long i = 0; i < n && more; i++)
			more = take_character(&ids, buf[i]);
	}
	sys1(__NR_close, fd);
	return more ? 0 : ids.last;
}

static uint64_t abroad(uint64_t ns)
{
	return ns == guest.home_pidns ? 0 : ns;
}

bool space_of_image(uint64_t seen)
{
	bool home = guest.home_pidns && guest.procdev == guest.home_procdev &&
		    seen == (uint64_t)guest.pid;
	uint64_t ns = home ? guest.home_pidns : space_of_caller();

	guest.pidns = abroad(ns);
	return ns && ns == guest.home_pidns;
}

/* If /proc does not show the copy, it is in the namespace of its image. */
static uint64_t space_of_copy(int pid)
{
	if (guest.copy_pid == pid)
		return guest.copy_pidns;
	uint64_t ns = space_of_caller();
	return ns ? abroad(ns) : guest.pidns;
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

	/* it may have entered it and mounted another /proc */
	if (ns != guest.pidns && sys4(__NR_newfstatat, AT_FDCWD, "/proc/self/stat", &proc, 0) == 0)
		device = proc.st_dev;
	if (ns)
		put_u64(f, METRIC_PIDNS, ns);
	if (ns && seen && seen != (uint64_t)pid)
		put_u64(f, METRIC_NSPID, seen);
	put_u64(f, METRIC_PROCDEV, device);
}
