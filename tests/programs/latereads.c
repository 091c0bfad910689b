/*
 * Preloaded into a program: every seventh reading of some files of the kernel takes 40 ms, as when
 * somebody else has the CPU or the kernel's lock.
 *     /proc/loadavg     which is read to see whether there are new processes
 *     /proc/pressure/*  whose totals are the boot time: something waits all the time
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static bool is_at(int fd, const char *path)
{
	char link[64], name[256];

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, name, sizeof(name) - 1);
	if (n < 0)
		return false;
	name[n] = 0;
	return !strncmp(name, path, strlen(path));
}

static void be_late(void)
{
	static unsigned calls;

	if (++calls % 7 == 0)
		nanosleep(&(struct timespec){0, 40000000}, NULL);
}

static ssize_t pressure(char *buf, size_t size, off_t at)
{
	struct timespec ts;
	char text[256];

	be_late();
	clock_gettime(CLOCK_BOOTTIME, &ts);
	long long us = ts.tv_sec * 1000000ll + ts.tv_nsec / 1000;
	int n = snprintf(text, sizeof(text),
			 "some avg10=0.00 avg60=0.00 avg300=0.00 total=%lld\n"
			 "full avg10=0.00 avg60=0.00 avg300=0.00 total=%lld\n",
			 us, us);
	if (at >= n)
		return 0;
	size_t left = (size_t)(n - at) < size ? (size_t)(n - at) : size;
	memcpy(buf, text + at, left);
	return (ssize_t)left;
}

ssize_t pread(int fd, void *buf, size_t size, off_t at)
{
	static ssize_t (*real)(int, void *, size_t, off_t);

	if (!real)
		real = (ssize_t(*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
	if (is_at(fd, "/proc/pressure/"))
		return pressure(buf, size, at);
	if (is_at(fd, "/proc/loadavg"))
		be_late();
	return real(fd, buf, size, at);
}

ssize_t pread64(int fd, void *buf, size_t size, off_t at) __attribute__((alias("pread")));
