/*
 * Reads, writes and time of each whole disk from /proc/diskstats, with what /sys/block says of it.
 * Partitions are left out: their disk has them already. Loop devices and RAM disks are left out
 * until they are used.
 *
 * The row of the node is the sum over disks with a device behind them: what the device mapper, RAID
 * and loop devices do is done again by those below, and what a disk of NVMe multipath does by its
 * paths. Where none has a device (a recorded tree without /sys) kinds are told by the name. What is
 * left out says so, and why. It grows by what each counted since the last reading,
 * so that a disk which comes or goes is no jump.
 *
 * Surprising: the times are 32 bits of milliseconds in all kernels and wrap after 49 days of work,
 * of a busy queue within hours.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "core/files/cached_file.h"
#include "core/files/fs.h"
#include "sources/columns.h"
#include "sources/filesystem/blockdev.h"
#include "sources/source.h"

/* In the order of the file, behind the name. */
enum {
	READS,
	READS_MERGED,
	READ_BYTES,
	READ_TIME,
	WRITES,
	WRITES_MERGED,
	WRITE_BYTES,
	WRITE_TIME,
	IN_FLIGHT,
	IO_TIME,
	WEIGHTED_TIME,
	FIELDS_LEAST,
	DISCARDS = FIELDS_LEAST, /* from Linux 4.18 */
	DISCARDS_MERGED,
	DISCARD_BYTES,
	DISCARD_TIME,
	FLUSHES, /* from Linux 5.5 */
	FLUSH_TIME,
	METRICS,
};

#define SECTORS(n, text) COLUMN(n, BYTES, COUNTER, 512, text)
#define TIME(n, text) TIME_COLUMN(n, 1000, text)

static const struct sample_metric columns[METRICS] = {
	[READS] = COUNT("reads", "reads completed"),
	[READS_MERGED] = COUNT("reads_merged", "reads that joined another"),
	[READ_BYTES] = SECTORS("read_bytes", "bytes read"),
	[READ_TIME] = TIME("read_time", "time of all reads, added up"),
	[WRITES] = COUNT("writes", "writes completed"),
	[WRITES_MERGED] = COUNT("writes_merged", "writes that joined another"),
	[WRITE_BYTES] = SECTORS("write_bytes", "bytes written"),
	[WRITE_TIME] = TIME("write_time", "time of all writes, added up"),
	[IN_FLIGHT] = {"in_flight", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 1,
		       "requests at the disk and not yet completed"},
	[IO_TIME] = TIME("io_time", "time in which the disk had something to do"),
	[WEIGHTED_TIME] =
		TIME("weighted_time", "time in which requests were waiting, times their number"),
	[DISCARDS] = COUNT("discards", "discards completed"),
	[DISCARDS_MERGED] = COUNT("discards_merged", "discards that joined another"),
	[DISCARD_BYTES] = SECTORS("discard_bytes", "bytes discarded"),
	[DISCARD_TIME] = TIME("discard_time", "time of all discards, added up"),
	[FLUSHES] = COUNT("flushes", "flushes of the disk's cache completed"),
	[FLUSH_TIME] = TIME("flush_time", "time of all flushes, added up"),
};

/* Disks that were there and are gone, kept so that one which comes back goes on. */
#define GONE_MAX 256
/* No host has as many, partitions too; what is above is left out, and after some of that the rest
 * of the text, so that it cannot make us search for ever. */
#define DISKS_MAX 8192
#define LEFT_OUT_MAX 64

struct disk {
	char *name;
	struct unwrap counts[METRICS];
	uint64_t fresh[METRICS]; /* counted since the last reading */
	uint32_t entity;
	uint64_t reading;
	bool known; /* the three below were found out */
	bool whole, device, stacked;
	char head[32]; /* the disk that this is a path of; "": none */
	bool alive;    /* has an entity */
	bool told;     /* whether the node's sum has it */
	const char *left_out;
};

struct disks {
	const char *root;
	struct cached_file stats;
	bool sysfs; /* /sys/block is there */
	struct disk *list;
	size_t count, cap, hint, left_out;
	uint64_t reading;
	uint64_t sum[METRICS], summed; /* bits of those that a disk had */
	bool has_node;
};

/* ---- what a disk is -----------------------------------------------------------------------------
 */

/* There by the dozen, and mostly not in use. */
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
static char *directory(const struct disks *d, const char *name)
{
	_cleanup_free_ char *copy = xstrdup(name);

	for (char *p = copy; *p; p++)
		*p = *p == '/' ? '!' : *p;
	return fs_is_name(copy) ? xasprintf("%s/sys/block/%s", d->root, copy) : NULL;
}

static void find_out(struct disks *d, struct disk *disk)
{
	_cleanup_free_ char *dir = directory(d, disk->name);
	_cleanup_free_ char *device = xasprintf("%s/device", dir ? dir : "");

	disk->known = true;
	disk->stacked = block_stacked_by_name(disk->name);
	if (!block_nvme_head(disk->name, disk->head, sizeof(disk->head)))
		disk->head[0] = 0;
	if (d->sysfs) {
		disk->whole = dir && access(dir, F_OK) == 0;
		disk->stacked |= dir && block_has_slaves(dir);
		/* a disk over the network has none, and yet is one */
		disk->device = (dir && access(device, F_OK) == 0) || block_named(disk->name, "nbd");
		return;
	}
	disk->whole = true;
	for (size_t i = 0; i < d->count && disk->whole; i++)
		disk->whole = !d->list[i].whole || &d->list[i] == disk ||
			      !is_partition_of(disk->name, d->list[i].name);
}

static void find_facts(const struct disks *d, struct sample_set *set, const struct disk *disk)
{
	static const struct {
		const char *fact, *file;
	} facts[] = {{"model", "device/model"},
		     {"vendor", "device/vendor"},
		     {"device_mapper", "dm/name"},
		     {"raid", "md/level"}};
	_cleanup_free_ char *dir = directory(d, disk->name);

	if (!dir || !d->sysfs)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		_cleanup_free_ char *value = read_fact("%s/%s", dir, facts[i].file);

		/* the vendor of a virtual disk is a number */
		if (value && !str_prefix(value, "0x"))
			sample_fact(set, disk->entity, facts[i].fact, value);
	}
	_cleanup_free_ char *sectors = read_fact("%s/size", dir);
	_cleanup_free_ char *turns = read_fact("%s/queue/rotational", dir);
	uint64_t size;
	if (sectors && parse_u64(sectors, &size) == 0 && size && size < INT64_MAX / 512) {
		_cleanup_free_ char *bytes = xasprintf("%llu", (unsigned long long)size * 512);

		sample_fact(set, disk->entity, "size_bytes", bytes);
	}
	if (turns)
		sample_fact(set, disk->entity, "rotational", strcmp(turns, "0") ? "yes" : "no");
}

/* ---- the list -----------------------------------------------------------------------------------
 */

static struct disk *find(struct disks *d, const struct words *name)
{
	for (size_t i = 0; i < d->count; i++) {
		size_t at = (d->hint + i) % d->count;

		if (word_is(name, d->list[at].name)) {
			d->hint = at + 1;
			return &d->list[at];
		}
	}
	if (d->count >= DISKS_MAX)
		return NULL;
	GROW(d->list, d->count, d->cap);
	struct disk *disk = &d->list[d->count++];
	*disk = (struct disk){.name = xstrndup(name->p, (size_t)(name->end - name->p))};
	return disk;
}

static bool all_zero(const uint64_t *raw, unsigned count)
{
	for (unsigned m = 0; m < count; m++)
		if (raw[m])
			return false;
	return true;
}

static void take(struct disks *d, struct sample_set *set, const struct words *name,
		 const uint64_t *raw, unsigned count)
{
	struct disk *disk = find(d, name);

	d->left_out += !disk;
	if (!disk || disk->reading == d->reading)
		return; /* too many, or twice in one text */
	disk->reading = d->reading;
	memset(disk->fresh, 0, sizeof(disk->fresh));
	if (!disk->known)
		find_out(d, disk);
	if (!disk->whole || (!disk->alive && often_idle(disk->name) && all_zero(raw, count)))
		return;
	bool back = !disk->alive, again = back && disk->counts[0].seen;
	if (back) {
		disk->entity = sample_entity(set, ENTITY_DISK, disk->name);
		disk->alive = true;
		disk->told = false;
		find_facts(d, set, disk);
	}
	/* requests fall only when another disk has the name */
	for (unsigned m = READS; m <= WRITES; m += WRITES - READS)
		again |= disk->counts[m].seen && raw[m] < disk->counts[m].last &&
			 !count_wrapped(&disk->counts[m], raw[m]);
	sample_row(set, disk->entity);
	for (unsigned m = 0; m < count; m++) {
		uint64_t was = disk->counts[m].total;

		if (m == IN_FLIGHT) {
			/* kernels before 3.x could print a negative number as unsigned */
			if (raw[m] <= INT32_MAX)
				sample_put(set, m, (int64_t)raw[m]);
			disk->fresh[m] = raw[m] <= INT32_MAX ? raw[m] : 0;
			continue;
		}
		sample_put(set, m, (int64_t)count_on(&disk->counts[m], raw[m], again));
		disk->fresh[m] = disk->counts[m].total - was;
		/* one that comes later counted elsewhere before */
		if (back && d->reading > 1)
			disk->fresh[m] = 0;
	}
}

/* Kernels before 6.3 count nothing for a disk of NVMe multipath, and all for its paths. */
static bool head_counts(const struct disks *d, const struct disk *path)
{
	for (size_t i = 0; *path->head && i < d->count; i++) {
		const struct disk *disk = &d->list[i];

		if (disk->alive && !strcmp(disk->name, path->head))
			return disk->counts[READS].total || disk->counts[WRITES].total;
	}
	return false;
}

/* Why a disk is not in the node's sum; NULL: it is. */
static const char *why_left_out(const struct disks *d, const struct disk *disk, bool any_device)
{
	return disk->stacked                 ? "made of others or of memory"
	       : any_device && !disk->device ? "no device is behind it"
	       : head_counts(d, disk)        ? "a path of a disk that counts the same"
					     : NULL;
}

static void add_node(struct disks *d, struct sample_set *set)
{
	bool any_device = false, any = false;

	for (size_t i = 0; i < d->count; i++)
		any_device |= d->list[i].alive && d->list[i].device;
	for (size_t i = 0; i < set->row_count; i++)
		d->summed |= set->rows[i].present;
	d->sum[IN_FLIGHT] = 0;
	for (size_t i = 0; i < d->count; i++) {
		struct disk *disk = &d->list[i];

		if (!disk->alive)
			continue;
		const char *left_out = why_left_out(d, disk, any_device);
		bool counted = !left_out;
		if (!disk->told || left_out != disk->left_out) {
			sample_fact(set, disk->entity, "in_node_sum", counted ? "yes" : "no");
			sample_fact(set, disk->entity, "left_out", left_out);
		}
		disk->told = true;
		disk->left_out = left_out;
		any |= counted;
		for (unsigned m = 0; m < METRICS && counted; m++) {
			d->sum[m] += disk->fresh[m];
			if (d->sum[m] > INT64_MAX)
				d->sum[m] = INT64_MAX;
		}
	}
	d->has_node |= any;
	if (!d->has_node)
		return;
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	for (unsigned m = 0; m < METRICS; m++)
		if (d->summed >> m & 1)
			sample_put(set, m, (int64_t)d->sum[m]);
}

/* Ends those that are gone, and forgets the oldest of many. */
static void end_gone(struct disks *d, struct sample_set *set)
{
	size_t gone = 0, oldest = SIZE_MAX;

	for (size_t i = 0; i < d->count; i++) {
		struct disk *disk = &d->list[i];

		if (disk->reading == d->reading)
			continue;
		if (disk->alive)
			sample_end(set, disk->entity);
		disk->alive = false;
		/* what comes back under this name may be another thing */
		disk->known = false;
		gone++;
		if (oldest == SIZE_MAX || disk->reading < d->list[oldest].reading)
			oldest = i;
	}
	if (gone > GONE_MAX) {
		free(d->list[oldest].name);
		memmove(&d->list[oldest], &d->list[oldest + 1],
			(d->count - oldest - 1) * sizeof(*d->list));
		d->count--;
	}
}

/* "   8       0 sda 25354637 34367663 ..." */
static unsigned parse_line(struct words line, struct words *name, uint64_t *raw)
{
	uint64_t device;
	unsigned count = 0;

	if (!number_next(&line, &device) || !number_next(&line, &device) ||
	    !word_next(&line, name) || name->end - name->p > NAME_MAX)
		return 0;
	while (count < METRICS && number_next(&line, &raw[count]))
		count++;
	/* a line of Linux 2.6 about a partition has four numbers */
	return count < FIELDS_LEAST ? 0 : count;
}

static int read_all(void *state, struct sample_set *set)
{
	struct disks *d = state;
	int r = cached_file_read(&d->stats);
	uint64_t raw[METRICS];
	struct words line, name;

	if (r < 0)
		return r;
	struct words text = cached_file_words(&d->stats);
	d->reading++;
	d->hint = 0;
	d->left_out = 0;
	while (d->left_out < LEFT_OUT_MAX && line_next(&text, &line)) {
		unsigned count = parse_line(line, &name, raw);

		if (count)
			take(d, set, &name, raw, count);
	}
	end_gone(d, set);
	add_node(d, set);
	if (d->reading == 1 && set->row_count)
		for (unsigned m = FIELDS_LEAST; m < METRICS; m++)
			if (!(d->summed >> m & 1))
				sample_absent(set, m,
					      "/proc/diskstats of this kernel does not have it");
	return 0;
}

static void close_all(void *state)
{
	struct disks *d = state;

	for (size_t i = 0; i < d->count; i++)
		free(d->list[i].name);
	free(d->list);
	cached_file_release(&d->stats);
	free(d);
}

static int open_all(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why)
{
	struct disks *d = xcalloc(1, sizeof(*d));
	_cleanup_free_ char *block = xasprintf("%s/sys/block", ctx->root);

	(void)set;
	d->root = ctx->root;
	d->sysfs = access(block, F_OK) == 0;
	cached_file_init(&d->stats, "%s/proc/diskstats", ctx->root);
	int r = cached_file_read(&d->stats);
	if (r < 0) {
		strbuf_addf(why, "cannot read '%s': %s", d->stats.file.path, strerror(-r));
		close_all(d);
		return r;
	}
	*state = d;
	return 0;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	return source_probe_kind(&source_disk, ctx, ENTITY_DISK, "there is no disk that was used",
				 report);
}

const struct source source_disk = {
	.name = "disk",
	.help = "reads, writes and time of each disk",
	.probe = probe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.open = open_all,
	.read = read_all,
	.close = close_all,
};
