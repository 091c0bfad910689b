/*
 * The sources of a node and the description of its hardware, on trees. An input is files, each
 * behind a line "@@ NAME" with one of the names below; "@@ again" is a second reading with the
 * files behind it. Whatever they hold: an entity has one row, values are not negative, counters
 * that are continued do not fall, metadata are lines.
 */
#include "fuzz.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jobs/hardware/hardware.h"
#include "sources/source.h"

static const char *const names[] = {
	"proc/stat",
	"proc/meminfo",
	"proc/vmstat",
	"proc/loadavg",
	"proc/uptime",
	"proc/pressure/cpu",
	"proc/net/dev",
	"proc/diskstats",
	"proc/self/mountstats",
	"proc/self/mountinfo",
	"proc/net/rpc/nfs",
	"proc/cpuinfo",
	"etc/os-release",
	"sys/class/net/eth0/operstate",
	"sys/class/net/eth0/uevent",
	"sys/class/net/eth0/ifindex",
	"sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
	"sys/devices/system/cpu/cpu0/cache/index0/size",
	"sys/devices/system/cpu/cpu0/cache/index0/shared_cpu_list",
	"sys/devices/system/node/node0/meminfo",
	"sys/fs/cgroup/cpuacct/g/cpuacct.stat",
	"sys/fs/cgroup/memory/g/memory.stat",
	"sys/fs/cgroup/memory/g/memory.limit_in_bytes",
	"sys/fs/cgroup/blkio/g/blkio.throttle.io_service_bytes",
	"sys/fs/cgroup/unified/g/cpu.stat",
	"sys/fs/cgroup/unified/g/cpu.max",
	"sys/fs/cgroup/unified/g/io.stat",
	"sys/fs/cgroup/unified/g/memory.events",
	"sys/fs/cgroup/unified/g/pids.max",
	"sys/fs/cgroup/unified/g/cpu.pressure",
};

static const struct {
	const char *source, *option;
	bool continued; /* counters that start again go on */
} read_ones[] = {{"system", NULL, false}, {"procstats", NULL, false}, {"pressure", NULL, false},
		 {"network", NULL, true}, {"disk", NULL, true},       {"nfs", NULL, true},
		 {"cgroup", "g", true}};

static char root[64];
static bool present[ARRAY_SIZE(names)];

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void clean_up(void)
{
	(void)nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The directories, once. */
static void make_tree(void)
{
	const char *tmp = getenv("TMPDIR");
	char path[256];

	snprintf(root, sizeof(root), "%.40s/fuzz-node-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	REQUIRE(mkdtemp(root));
	atexit(clean_up);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
			*p = 0;
			REQUIRE(mkdir(path, 0700) == 0 || errno == EEXIST);
			*p = '/';
		}
	}
}

static void write_one(size_t i, const char *data, size_t size)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", root, names[i]);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	REQUIRE(fd >= 0);
	REQUIRE(write(fd, data, size) == (ssize_t)size);
	close(fd);
	present[i] = true;
}

static void remove_all(void)
{
	char path[256];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!present[i])
			continue;
		snprintf(path, sizeof(path), "%s/%s", root, names[i]);
		(void)unlink(path);
		present[i] = false;
	}
}

/* Writes the files up to "@@ again"; what is behind it, or NULL. */
static const char *write_files(const char *p, const char *end)
{
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t length = eol ? (size_t)(eol - p) : 0;

		if (!eol)
			return NULL;
		if (length < 3 || memcmp(p, "@@ ", 3) != 0) {
			p = eol + 1;
			continue;
		}
		if (length == 8 && !memcmp(p, "@@ again", 8))
			return eol + 1;
		const char *text = eol + 1, *stop = text;
		while (stop < end && (end - stop < 3 || memcmp(stop, "@@ ", 3) != 0)) {
			const char *next = memchr(stop, '\n', (size_t)(end - stop));

			stop = next ? next + 1 : end;
		}
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (strlen(names[i]) == length - 3 && !memcmp(names[i], p + 3, length - 3))
				write_one(i, text, (size_t)(stop - text));
		p = stop;
	}
	return NULL;
}

static void check_metadata(const char *metadata)
{
	for (const char *p = metadata; p && *p;) {
		const char *eol = strchr(p, '\n'), *equals = strchr(p, '=');

		REQUIRE(eol && equals && equals > p && equals < eol);
		p = eol + 1;
	}
}

/* The rows of the reading before. */
struct before {
	struct {
		enum entity_kind kind;
		char *name;
		uint64_t present;
	} * rows;
	int64_t *values;
	size_t count;
};

static void forget(struct before *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->rows[i].name);
	free(b->rows);
	free(b->values);
	*b = (struct before){0};
}

static void remember(struct before *b, const struct sample_set *set)
{
	size_t cells = set->row_count * set->metric_count;

	forget(b);
	b->count = set->row_count;
	b->rows = xcalloc(b->count + 1, sizeof(*b->rows));
	b->values = xcalloc(cells + 1, sizeof(*b->values));
	for (size_t i = 0; i < b->count; i++) {
		const struct entity *e = &set->entities[set->rows[i].entity];

		b->rows[i].kind = e->kind;
		b->rows[i].name = xstrdup(e->name);
		b->rows[i].present = set->rows[i].present;
	}
	if (cells)
		memcpy(b->values, set->values, cells * sizeof(*b->values));
}

/* Counters do not fall. What the kernel prints in one sum for the node is passed on as it is. */
static void compare(const struct before *b, const struct sample_set *set, size_t row)
{
	const struct entity *e = &set->entities[set->rows[row].entity];
	size_t n = set->metric_count;

	for (size_t i = 0; i < b->count; i++) {
		if (b->rows[i].kind != e->kind || strcmp(b->rows[i].name, e->name) != 0)
			continue;
		uint64_t both = b->rows[i].present & set->rows[row].present;
		for (unsigned m = 0; m < n; m++)
			if (both >> m & 1 && set->metrics[m].kind == KIND_COUNTER)
				REQUIRE(set->values[row * n + m] >= b->values[i * n + m]);
	}
}

static void check_rows(const struct sample_set *set, struct before *b, bool continued)
{
	for (size_t i = 0; i < set->row_count; i++) {
		uint32_t e = set->rows[i].entity;

		REQUIRE(e < set->entity_count && set->entities[e].kind);
		REQUIRE(!strchr(set->entities[e].name, '\n'));
		check_metadata(set->entities[e].metadata);
		for (size_t k = 0; k < i; k++)
			REQUIRE(set->rows[k].entity != e);
		for (unsigned m = 0; m < set->metric_count; m++) {
			int64_t v = set->values[i * set->metric_count + m];

			if (!(set->rows[i].present >> m & 1))
				continue;
			REQUIRE(v >= 0);
			if (!strcmp(set->metrics[m].name, "cpu_percent"))
				REQUIRE(v <= 100000);
		}
		if (continued)
			compare(b, set, i);
	}
	remember(b, set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *p = (const char *)data, *end = p + size, *again;
	void *states[ARRAY_SIZE(read_ones)] = {NULL};
	struct sample_set sets[ARRAY_SIZE(read_ones)];
	struct source_context contexts[ARRAY_SIZE(read_ones)];
	struct before before[ARRAY_SIZE(read_ones)] = {0};

	if (!*root)
		make_tree();
	again = write_files(p, end);
	for (size_t i = 0; i < ARRAY_SIZE(read_ones); i++) {
		const struct source *s = source_find(read_ones[i].source);
		struct strbuf why = STRBUF_INIT;

		if (!s) { /* that of src/compat may be left out */
			REQUIRE(!strcmp(read_ones[i].source, "procstats"));
			sample_init(&sets[i], NULL, 0);
			continue;
		}
		contexts[i] = (struct source_context){.root = root, .option = read_ones[i].option};
		sample_init(&sets[i], s->metrics, s->metric_count);
		int r = s->open(&contexts[i], &sets[i], &states[i], &why);
		REQUIRE((r == 0) == (states[i] != NULL));
		REQUIRE(r == 0 || why.len);
		strbuf_release(&why);
	}
	for (int reading = 0; reading < 3; reading++) {
		if (reading == 1 && again)
			(void)write_files(again, end);
		for (size_t i = 0; i < ARRAY_SIZE(read_ones); i++) {
			if (!states[i])
				continue;
			sample_begin(&sets[i]);
			(void)source_find(read_ones[i].source)->read(states[i], &sets[i]);
			check_rows(&sets[i], &before[i], read_ones[i].continued);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(read_ones); i++) {
		if (states[i])
			source_find(read_ones[i].source)->close(states[i]);
		sample_release(&sets[i]);
		forget(&before[i]);
	}
	struct value *metadata = hardware_metadata(root);
	REQUIRE(metadata);
	value_free(metadata);
	remove_all();
	return 0;
}
