/*
 * The functions behind ours, see guest.h.
 */
#include "preload/guest.h"

#include <dlfcn.h>

struct next next;
struct next_is_libc next_is_libc;
__attribute__((visibility("hidden"))) void *next_syscall;

extern void *dlsym(void *restrict handle, const char *restrict name) __attribute__((weak));
extern int _dl_find_object(void *address, struct dl_find_object *ret) __attribute__((weak));
extern const char *gnu_get_libc_version(void) __attribute__((weak));

/* Where libc is loaded; older ones do not say, and nobody is supposed to stand in for them. */
static bool is_libcs(const void *function)
{
	struct dl_find_object libc;

	if (!_dl_find_object || !gnu_get_libc_version ||
	    _dl_find_object((void *)gnu_get_libc_version, &libc) != 0)
		return true;
	return function >= libc.dlfo_map_start && function < libc.dlfo_map_end;
}

void resolve_next(void)
{
	if (next.resolved || !dlsym)
		return;
#define F(type, name, arguments) next.name = (type(*) arguments)dlsym(RTLD_NEXT, #name);
	NEXT_FUNCTIONS
#undef F
	next_syscall = (void *)next.syscall;
	next_is_libc.wait = is_libcs((const void *)next.wait);
	next_is_libc.waitpid = is_libcs((const void *)next.waitpid);
	next.resolved = true;
}
