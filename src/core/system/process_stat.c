/* Reads /proc/PID/stat; see process_stat.h. */
#include "core/system/process_stat.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/util.h"

bool process_stat_read(const char *root, int pid, struct process_stat *ret)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/proc/%d/stat", root, pid);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, ret->text, sizeof(ret->text));
	return n > 0 && clock_parse_stat(ret->text, (size_t)n, &ret->st) &&
	       ret->st.last >= STAT_STARTTIME;
}
