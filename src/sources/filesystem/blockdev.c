/* Kinds of block devices; see blockdev.h. */
#include "sources/filesystem/blockdev.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/files/cached_file.h"
#include "core/files/fs.h"
#include "core/strbuf.h"
#include "sources/sysfile.h"

#define DEVICES_MAX 8192
/* After as many calls it is checked again what the kernel counts: a limit may have been set. */
#define ASK_AGAIN 256
/* Devices that a probe lists. */
#define LISTED_MAX 16

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
	_cleanup_list_ DIR *slaves = opendir(path);

	for (const struct dirent *e; slaves && !found && (e = readdir(slaves));)
		found = e->d_name[0] != '.';
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

/* ---- by number ---- */

/* For devices that are gone from /sys: by the fixed numbers. */
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
		return "counted on the disk of its file";
	/* request-based multipath: cgroups are counted here, not below */
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

static struct blockdev *find(struct blockdevs *b, uint32_t major, uint32_t minor)
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

const struct blockdev *blockdevs_find(struct blockdevs *b, uint32_t major, uint32_t minor)
{
	return find(b, major, minor);
}

/* Does the text have a line of this device: "8:0 Read 1"? */
static bool has_line(const char *text, const char *device)
{
	size_t n = strlen(device);

	for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
		if (!strncmp(p, device, n) && p[n] == ' ')
			return true;
	return false;
}

/* The device of a name in /sys/block; NULL for drives without a medium, and for paths of a disk
 * with its own name. */
static struct blockdev *disk_named(struct blockdevs *b, const char *name, struct strbuf *ret_number)
{
	_cleanup_free_ char *number = read_once("%s/sys/block/%s/dev", b->root, name);
	_cleanup_free_ char *size = read_once("%s/sys/block/%s/size", b->root, name);
	char head[NAME_MAX + 1];
	unsigned major, minor;

	if (!number || !size || strtoull(size, NULL, 10) == 0 || block_named(name, "sr") ||
	    block_nvme_head(name, head, sizeof(head)) ||
	    sscanf(number, "%u:%u", &major, &minor) != 2)
		return NULL;
	strbuf_reset(ret_number);
	strbuf_addf(ret_number, "%u:%u", major, minor);
	return find(b, major, minor);
}

/* Marks the disks that have no line in the file of the root cgroup. */
static void look_at_disks(struct blockdevs *b, const char *account)
{
	_cleanup_strbuf_ struct strbuf number = STRBUF_INIT;
	_cleanup_name_list_ struct name_list l = {0};

	/* only the real root has this file; the root of a container lacks lines of idle disks */
	if (sys_readable("%s/sys/fs/cgroup/blkio/release_agent", b->root) < 0)
		return;
	(void)name_list_read(&l, "", "%s/sys/block", b->root);
	for (size_t i = 0; i < l.count; i++) {
		struct blockdev *d = disk_named(b, l.names[i], &number);

		if (!d)
			continue;
		bool uncounted = !d->left_out && !has_line(account, number.buf);
		b->changes += uncounted && !d->uncounted;
		d->uncounted = uncounted;
	}
}

bool blockdevs_uncounted(struct blockdevs *b)
{
	static const char *const files[] = {"io_service_bytes_recursive", "io_service_bytes"};
	bool read = false;

	if (b->asked++ % ASK_AGAIN)
		return !b->counted;
	b->counted = false;
	for (size_t i = 0; i < ARRAY_SIZE(files) && !b->counted; i++) {
		_cleanup_free_ char *text =
			read_once("%s/sys/fs/cgroup/blkio/blkio.throttle.%s", b->root, files[i]);

		read |= text != NULL;
		b->counted = text && strchr(text, ':');
		if (b->counted)
			look_at_disks(b, text);
	}
	/* unknown when nothing can be read */
	b->counted |= !read;
	return !b->counted;
}

void blockdevs_tell(const char *root, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf number = STRBUF_INIT;
	_cleanup_name_list_ struct name_list l = {0};
	struct blockdevs b = {.root = root};
	size_t listed = 0;

	if (blockdevs_uncounted(&b))
		strbuf_addstr(out, "; " CGROUP_IO_UNCOUNTED);
	(void)name_list_read(&l, "", "%s/sys/block", root);
	for (size_t i = 0; i < l.count; i++) {
		const struct blockdev *d = disk_named(&b, l.names[i], &number);
		const char *why = !d ? NULL : d->uncounted ? BLOCK_UNCOUNTED : d->left_out;

		if (why && listed++ < LISTED_MAX)
			strbuf_addf(out, "%s%s (%s)", listed == 1 ? "; I/O leaves out " : ", ",
				    l.names[i], why);
	}
	if (listed > LISTED_MAX)
		strbuf_addf(out, " and %zu more", listed - LISTED_MAX);
	blockdevs_release(&b);
}

void blockdevs_release(struct blockdevs *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->list[i].name);
	free(b->list);
	b->list = NULL;
	b->count = b->cap = 0;
}
