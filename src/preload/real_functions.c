/*
 * The functions behind ours, see guest.h.
 */
#include "preload/guest.h"

#include <dlfcn.h>

struct next next;
struct next_is_libc next_is_libc;
struct libcs libcs;
__attribute__((visibility("hidden"))) void *next_syscall;

extern void *dlsym(void *restrict handle, const char *restrict name) __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* Since glibc 2.31 wait4() is a cancellation point, like wait() and waitpid(), and may replace
 * them.
 */
#define WAIT4_CANCELS 31

unsigned libc_minor(void)
{
	unsigned minor = 0;

	if (!gnu_get_libc_version)
		return 0;
	const char *v = gnu_get_libc_version();
	if (!starts_with(v, "2."))
		return 0;
	for (v += 2; *v >= '0' && *v <= '9'; v++)
		minor = minor * 10 + (unsigned)(*v - '0');
	return minor;
}

/* Other loaders than glibc's have no such list, but dlsym() in libc. */
static void *find(struct lookup *l, const char *name)
{
	const struct link_map *in = NULL;

	if (l->self)
		return lookup_after(l, name, &in);
	return dlsym ? dlsym(RTLD_NEXT, name) : NULL;
}

/* Is the next function libc's own, not that of another library? */
static bool is_libcs(struct lookup *l, const struct link_map *libc, const char *name)
{
	const struct link_map *in = NULL;

	if (!libc || !lookup_after(l, name, &in))
		return false;
	if (in == libc)
		return true;
	/* before 2.34 libpthread has them, too */
	const char *base = in->l_name;
	for (const char *p = in->l_name; *p; p++)
		if (*p == '/')
			base = p + 1;
	return starts_with(base, "libpthread.so.") || starts_with(base, "libpthread-2.");
}

static void resolve_libcs(struct lookup *l)
{
	const struct link_map *libc = NULL;
	bool cancels = libc_minor() >= WAIT4_CANCELS;

	libcs.execvp = next.execvp;
	libcs.wait4 = next.wait4;
	if (!l->self || !lookup_after(l, "gnu_get_libc_version", &libc))
		return;
	libcs.execvp = lookup_after(l, "execvp", &libc);
	libcs.wait4 = lookup_after(l, "wait4", &libc);
	next_is_libc.execl = is_libcs(l, libc, "execl");
	next_is_libc.execle = is_libcs(l, libc, "execle");
	next_is_libc.execlp = is_libcs(l, libc, "execlp");
	next_is_libc.wait = cancels && is_libcs(l, libc, "wait");
	next_is_libc.waitpid = cancels && is_libcs(l, libc, "waitpid");
	next_is_libc.wait3 = is_libcs(l, libc, "wait3");
}

void resolve_next(void)
{
	struct lookup l;

	if (next.resolved)
		return;
	l.self = lookup_self();
	l.read = 0;
#define F(type, name, arguments) next.name = (type(*) arguments)find(&l, #name);
	NEXT_FUNCTIONS
#undef F
	next_syscall = (void *)next.syscall;
	resolve_libcs(&l);
	next.resolved = true;
}

void resolve_threads(void)
{
	struct lookup l;

	l.self = lookup_self();
	l.read = 0;
	if (next.pthread_create || !l.self)
		return;
#define F(type, name, arguments) next.name = (type(*) arguments)find(&l, #name);
	NEXT_THREAD_FUNCTIONS
#undef F
}
