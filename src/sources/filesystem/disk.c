/*
 * Reads, writes and time of each whole disk from /proc/diskstats, with what /sys/block says of it.
 * Partitions are left out: their disk has them already. Loop devices and RAM disks are left out
 * until they are used.
 *
 * The row of the node is the sum over disks with a device behind them: the I/O of device mapper,
 * RAID and loop devices is counted again by the devices below, that of an NVMe multipath disk by
 * its paths. Where no disk has a device (a recorded tree without /sys) the name tells the kind. A
 * disk that is left out has metadata that say why.
 *
 * Times are 32 bits of milliseconds in all kernels: they wrap after 49 days of work, those of a
 * busy queue within hours.
 */
#include <string.h>

#include "core/files/fs.h"
#include "sources/columns.h"
#include "sources/device_list.h"
#include "sources/filesystem/blockdev.h"

#define SECTORS(n, text) COLUMN(n, BYTES, COUNTER, 512, text)
#define TIME(n, text) TIME_COLUMN(n, 1000, text)

/* In the order of the file, behind the name. Discards are from Linux 4.18, flushes from 5.5. */
#define METRICS_OF_DISKS(X)                                                                 \
	X(READS, COUNT("reads", "reads completed"))                                         \
	X(READS_MERGED, COUNT("reads_merged", "reads merged with another"))                 \
	X(READ_BYTES, SECTORS("read_bytes", "bytes read"))                                  \
	X(READ_TIME, TIME("read_time", "time of all reads, added up"))                      \
	X(WRITES, COUNT("writes", "writes completed"))                                      \
	X(WRITES_MERGED, COUNT("writes_merged", "writes merged with another"))              \
	X(WRITE_BYTES, SECTORS("write_bytes", "bytes written"))                             \
	X(WRITE_TIME, TIME("write_time", "time of all writes, added up"))                   \
	X(IN_FLIGHT, LEVEL("in_flight", "requests sent to the disk and not yet completed")) \
	X(IO_TIME, TIME("io_time", "time in which the disk was busy"))                      \
	X(WEIGHTED_TIME, TIME("weighted_time", "time that requests waited, added up"))      \
	X(DISCARDS, COUNT("discards", "discards completed"))                                \
	X(DISCARDS_MERGED, COUNT("discards_merged", "discards merged with another"))        \
	X(DISCARD_BYTES, SECTORS("discard_bytes", "bytes discarded"))                       \
	X(DISCARD_TIME, TIME("discard_time", "time of all discards, added up"))             \
	X(FLUSHES, COUNT("flushes", "flushes of the disk's cache completed"))               \
	X(FLUSH_TIME, TIME("flush_time", "time of all flushes, added up"))
DEFINE_METRICS(METRICS_OF_DISKS);

#define FIELDS_LEAST (WEIGHTED_TIME + 1) /* what every kernel has */

struct disk {
	struct device d;
	bool whole;    /* not a partition */
	bool stacked;  /* made of other devices, or of memory */
	char head[32]; /* the disk that this is a path of; "": none */
};

/* ---- what a disk is ---- */

/* There are dozens of these, mostly unused. */
static bool often_idle(const char *name)
{
	return block_named(name, "loop") || block_named(name, "ram") || block_named(name, "zram") ||
	       block_named(name, "nbd") || block_named(name, "fd") || block_named(name, "sr");
}

/* The kernel names the partitions of a disk by adding a number, behind a p when its name ends in
 * one. */
static bool is_partition_of(const char *name, const char *disk)
{
	size_t n = strlen(disk);

	if (!n || strncmp(name, disk, n) != 0)
		return false;
	name += n;
	if (disk[n - 1] >= '0' && disk[n - 1] <= '9' && *name++ != 'p')
		return false;
	return *name && strspn(name, "0123456789") == strlen(name);
}

/* Its directory: a slash in the name of a device is an exclamation mark there. */
static char *directory(const struct device_list *l, const char *name)
{
	_cleanup_free_ char *copy = xstrdup(name);

	for (char *p = copy; *p; p++)
		*p = *p == '/' ? '!' : *p;
	return fs_is_name(copy) ? xasprintf("%s/sys/block/%s", l->root, copy) : NULL;
}

static bool has_sysfs(const struct device_list *l)
{
	_cleanup_free_ char *block = xasprintf("%s/sys/block", l->root);

	return access(block, F_OK) == 0;
}

static void find_out(const struct device_list *l, struct disk *disk)
{
	const char *name = disk->d.name;
	_cleanup_free_ char *dir = directory(l, name);
	_cleanup_free_ char *device = xasprintf("%s/device", dir ? dir : "");

	disk->d.known = true;
	disk->stacked = block_stacked_by_name(name);
	if (!block_nvme_head(name, disk->head, sizeof(disk->head)))
		disk->head[0] = 0;
	if (has_sysfs(l)) {
		disk->whole = dir && access(dir, F_OK) == 0;
		disk->stacked |= dir && block_has_slaves(dir);
		/* a network block device has no such directory */
		disk->d.hardware = (dir && access(device, F_OK) == 0) || block_named(name, "nbd");
		return;
	}
	disk->whole = true;
	for (size_t i = 0; i < l->count && disk->whole; i++) {
		const struct disk *o = device_at(l, i);

		disk->whole = !o->whole || o == disk || !is_partition_of(name, o->d.name);
	}
}

static bool find_metadata(struct device_list *l, struct sample_set *set, struct device *d,
			  bool came)
{
	static const struct {
		const char *key, *file;
	} metadata[] = {{"model", "device/model"},
			{"vendor", "device/vendor"},
			{"device_mapper", "dm/name"},
			{"raid", "md/level"}};
	_cleanup_free_ char *dir = came ? directory(l, d->name) : NULL;

	if (!dir || !has_sysfs(l))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(metadata); i++) {
		_cleanup_free_ char *value = read_fact("%s/%s", dir, metadata[i].file);

		/* the vendor of a virtual disk is a number */
		if (value && !str_prefix(value, "0x"))
			sample_set_metadata(set, d->entity, metadata[i].key, value);
	}
	_cleanup_free_ char *sectors = read_fact("%s/size", dir);
	_cleanup_free_ char *rotational = read_fact("%s/queue/rotational", dir);
	uint64_t size;
	if (sectors && parse_u64(sectors, &size) == 0 && size && size < INT64_MAX / 512)
		sample_format_metadata(set, d->entity, "size_bytes", "%llu",
				       (unsigned long long)size * 512);
	if (rotational)
		sample_set_metadata(set, d->entity, "rotational",
				    strcmp(rotational, "0") ? "yes" : "no");
	return false;
}

/* ---- the source ---- */

static bool all_zero(const uint64_t *raw, unsigned count)
{
	for (unsigned m = 0; m < count; m++)
		if (raw[m])
			return false;
	return true;
}

/* Partitions, and loop devices and the like until they are used. */
static bool skip(struct device_list *l, struct device *d, const uint64_t *raw, unsigned count)
{
	struct disk *disk = (struct disk *)d;

	if (!d->known)
		find_out(l, disk);
	return !disk->whole || (!d->present && often_idle(d->name) && all_zero(raw, count));
}

/* Kernels before 6.3 count nothing for a disk of NVMe multipath, and all for its paths. */
static bool head_counts(const struct device_list *l, const struct disk *path)
{
	for (size_t i = 0; *path->head && i < l->count; i++) {
		const struct device *d = device_at(l, i);

		if (d->present && !strcmp(d->name, path->head))
			return d->counts[READS].total || d->counts[WRITES].total;
	}
	return false;
}

static const char *left_out(struct device_list *l, const struct device *d, bool any_hardware)
{
	const struct disk *disk = (const struct disk *)d;

	return disk->stacked                  ? "made of other devices or of memory"
	       : any_hardware && !d->hardware ? "no device is behind it"
	       : head_counts(l, disk)         ? "a path of a disk that counts the same"
					      : NULL;
}

/* "   8       0 sda 25354637 34367663 ..." */
static unsigned parse_line(struct words line, struct words *name, uint64_t *raw)
{
	uint64_t device;
	unsigned count = 0;

	if (!number_next(&line, &device) || !number_next(&line, &device) || !word_next(&line, name))
		return 0;
	while (count < METRICS && number_next(&line, &raw[count]))
		count++;
	/* a line of Linux 2.6 about a partition has four numbers */
	return count < FIELDS_LEAST ? 0 : count;
}

static const struct device_class disks = {
	.file = "/proc/diskstats",
	.kind = ENTITY_DISK,
	.counters = METRICS,
	.level = IN_FLIGHT,
	.operations = {READS, WRITES},
	.size = sizeof(struct disk),
	.parse = parse_line,
	.skip = skip,
	.examine = find_metadata,
	.left_out = left_out,
};

static int read_disks(void *state, struct sample_set *set)
{
	const struct device_list *l = state;
	int r = devices_read(state, set);

	for (unsigned m = FIELDS_LEAST; r == 0 && l->reading == 1 && set->row_count && m < METRICS;
	     m++)
		if (!(l->summed >> m & 1))
			sample_absent(set, m, "/proc/diskstats of this kernel does not have it");
	return r;
}

static int open_disks(const struct source_context *ctx, struct sample_set *set, void **state,
		      struct strbuf *why)
{
	(void)set;
	return devices_open(&disks, ctx, state, why);
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	return source_probe_kind(&source_disk, ctx, ENTITY_DISK, "no disk has been used", report);
}

const struct source source_disk = {
	.name = "disk",
	.help = "reads, writes and time of each disk",
	.probe = probe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.open = open_disks,
	.read = read_disks,
	.close = devices_close,
};
