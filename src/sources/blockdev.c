/* Block devices and those below them; see blockdev.h. */
#include "sources/blockdev.h"

#include <dirent.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "core/fs.h"
#include "core/kept.h"

#define DEVICES_MAX 8192
/* Whether the kernel counts is looked at again after so many questions: a limit may be set. */
#define ASK_AGAIN 256

bool block_named(const char *name, const char *prefix)
{
	size_t n = strlen(prefix);

	return !strncmp(name, prefix, n) && name[n] >= '0' && name[n] <= '9';
}

static bool of_memory(const char *name)
{
	return block_named(name, "ram") || block_named(name, "zram");
}

bool block_stacked_by_name(const char *name)
{
	return of_memory(name) || block_named(name, "dm-") || block_named(name, "md") ||
	       block_named(name, "loop") || block_named(name, "drbd") ||
	       block_named(name, "bcache");
}

bool block_has_slaves(const char *dir)
{
	_cleanup_free_ char *path = xasprintf("%s/slaves", dir);
	bool found = false;
	DIR *slaves = opendir(path);

	for (const struct dirent *e; slaves && !found && (e = readdir(slaves));)
		found = e->d_name[0] != '.';
	if (slaves)
		closedir(slaves);
	return found;
}

/* "nvme" number "c" number "n" number */
bool block_nvme_head(const char *name, char *ret, size_t size)
{
	static const char digits[] = "0123456789";

	if (!block_named(name, "nvme"))
		return false;
	size_t subsystem = 4 + strspn(name + 4, digits);
	if (!block_named(name + subsystem, "c"))
		return false;
	const char *n = name + subsystem + 1 + strspn(name + subsystem + 1, digits);
	if (!block_named(n, "n") || n[1 + strspn(n + 1, digits)])
		return false;
	int length = snprintf(ret, size, "%.*s%s", (int)subsystem, name, n);
	return length > 0 && (size_t)length < size;
}

/* ---- by number ----------------------------------------------------------------------------------
 */

/* Where /sys does not say (a device that is gone already), by the numbers that are fixed. */
static const char *name_of_major(uint32_t major)
{
	return major == 1 ? "ram" : major == 7 ? "loop" : major == 9 ? "md" : "disk";
}

static const char *why_left_out(const char *dir, const char *name)
{
	_cleanup_free_ char *requests = xasprintf("%s/mq", dir);

	if (of_memory(name))
		return "in memory";
	if (block_named(name, "loop"))
		return "counted where its file is";
	/* multipath that passes on whole requests: the groups' account ends with it */
	if (block_named(name, "dm-") && access(requests, F_OK) == 0)
		return NULL;
	return block_stacked_by_name(name) || block_has_slaves(dir) ? "counted by devices below it"
								    : NULL;
}

static void look_up(const struct blockdevs *b, struct blockdev *d)
{
	_cleanup_free_ char *dir = xasprintf("%s/sys/dev/block/%u:%u", b->root, d->major, d->minor);
	char target[PATH_MAX];
	ssize_t n = readlink(dir, target, sizeof(target) - 1);

	if (n > 0) {
		target[n] = 0;
		d->name = xstrdup(path_base(target));
	} else {
		d->name = xasprintf("%s%u", name_of_major(d->major), d->minor);
	}
	d->left_out = why_left_out(dir, d->name);
}

const struct blockdev *blockdevs_find(struct blockdevs *b, uint32_t major, uint32_t minor)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->list[i].major == major && b->list[i].minor == minor)
			return &b->list[i];
	if (b->count == DEVICES_MAX)
		blockdevs_release(b);
	GROW(b->list, b->count, b->cap);
	struct blockdev *d = &b->list[b->count++];
	*d = (struct blockdev){.major = major, .minor = minor};
	look_up(b, d);
	return d;
}

bool blockdevs_uncounted(struct blockdevs *b)
{
	static const char *const files[] = {"io_service_bytes_recursive", "io_service_bytes"};
	bool read = false;

	if (b->counted || b->asked++ % ASK_AGAIN)
		return !b->counted;
	for (size_t i = 0; i < ARRAY_SIZE(files) && !b->counted; i++) {
		_cleanup_free_ char *text =
			read_once("%s/sys/fs/cgroup/blkio/blkio.throttle.%s", b->root, files[i]);

		read |= text != NULL;
		b->counted = text && strchr(text, ':');
	}
	/* what cannot be seen is not said */
	b->counted |= !read;
	return !b->counted;
}

void blockdevs_release(struct blockdevs *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->list[i].name);
	free(b->list);
	b->list = NULL;
	b->count = b->cap = 0;
}
