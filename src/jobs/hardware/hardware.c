/*
 * Description of a host; see hardware.h. Surprising: reading /proc/cpuinfo of a large machine takes
 * long (the kernel asks every CPU for its frequency), so only its start is read, unless /sys does
 * not show how many CPUs there are.
 */
#include "jobs/hardware/hardware.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/files/cached_file.h"
#include "jobs/hardware/microarch.h"

#define CPUS_MAX 16384
#define NODES_MAX 1024
#define CACHES_MAX 64
#define CPUINFO_START 65536

/* ---- files ---------------------------------------------------------------------------------- */

static void put_text(struct value *dict, const char *key, const char *text)
{
	if (text && *text)
		value_set(dict, key, value_str(text));
}

static void put_number(struct value *dict, const char *key, int64_t v)
{
	if (v >= 0)
		value_set(dict, key, value_int(v));
}

static void put_link(struct value *dict, const char *key, const char *path)
{
	char target[4096];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	target[n > 0 ? n : 0] = 0;
	put_text(dict, key, path_base(target));
}

void hardware_put(struct value *dict, const char *dir, const struct hardware_property *rows)
{
	for (const struct hardware_property *p = rows; p->key; p++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, p->file);
		_cleanup_free_ char *text = p->kind == AS_LINK ? NULL : read_fact("%s", path);
		int64_t v;

		if (p->kind == AS_LINK)
			put_link(dict, p->key, path);
		else if (p->kind == AS_TEXT)
			put_text(dict, p->key, text);
		else if (text && parse_i64(text, &v) == 0 && v <= INT64_MAX / p->times)
			put_number(dict, p->key, v * p->times);
	}
}

/* A number from a file; false: there is none. */
static bool file_number(const char *path, int64_t *ret)
{
	_cleanup_free_ char *text = read_fact("%s", path);

	return text && parse_i64(text, ret) == 0;
}

/* The first number of a list such as "0-3,8-11"; -1: none. */
static int64_t list_first(const char *list)
{
	char *end;
	long v = list ? strtol(list, &end, 10) : -1;

	return list && end > list && v >= 0 && v < CPUS_MAX ? v : -1;
}

/* How many numbers a list contains. */
static int64_t list_count(const char *list)
{
	int64_t count = 0;

	for (const char *p = list; p && *p >= '0' && *p <= '9';) {
		char *end;
		long from = strtol(p, &end, 10), to = from;

		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			to = strtol(end + 1, &end, 10);
		if (from < 0 || to < from || to >= CPUS_MAX)
			return 0;
		count += to - from + 1;
		p = *end == ',' ? end + 1 : "";
	}
	return count <= CPUS_MAX ? count : 0;
}

/* ---- processor ------------------------------------------------------------------------------ */

char *hardware_line(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = text; p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		const char *colon = p + n;

		if (strncmp(p, name, n) != 0)
			continue;
		colon += strspn(colon, " \t");
		if (*colon != ':')
			continue;
		colon += 1 + strspn(colon + 1, " \t");
		size_t length = strcspn(colon, "\n");
		return length ? xstrndup(colon, length) : NULL;
	}
	return NULL;
}

/* The same as a number, decimal or with 0x; -1: none. */
static int line_number(const char *text, const char *name)
{
	_cleanup_free_ char *value = hardware_line(text, name);
	char *end;
	long v = value ? strtol(value, &end, 0) : -1;

	return value && end > value && v >= 0 && v < 1 << 24 ? (int)v : -1;
}

char *hardware_file_start(const char *root, const char *file, size_t max)
{
	_cleanup_free_ char *path = xasprintf("%s%s", root, file);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char *text = xcalloc(1, max + 1);
	size_t len = 0;

	for (ssize_t n = 1; fd >= 0 && n > 0 && len<max; len += n> 0 ? (size_t)n : 0)
		n = read(fd, text + len, max - len);
	close_fd(&fd);
	text[len] = 0;
	return text;
}

/* Sockets, cores and threads from /sys; false: they are not there. */
static bool add_topology(struct value *cpu, const char *root)
{
	_cleanup_free_ char *dir = xasprintf("%s/sys/devices/system/cpu", root);
	_cleanup_name_list_ struct name_list l = {0};
	int64_t sockets[NODES_MAX], cores = 0, threads = 0;
	size_t socket_count = 0;

	(void)name_list_read(&l, "cpu", "%s", dir);
	for (size_t k = 0; k < l.count; k++) {
		const char *name = l.names[k];
		_cleanup_free_ char *at =
			xasprintf("%s/%s/topology/physical_package_id", dir, name);
		int64_t socket, number = list_first(name + 3);
		size_t i = 0;

		if (number < 0 || name[3 + strspn(name + 3, "0123456789")])
			continue;
		_cleanup_free_ char *siblings =
			read_fact("%s/%s/topology/thread_siblings_list", dir, name);
		if (!siblings)
			continue; /* it is offline */
		threads++;
		cores += list_first(siblings) == number;
		if (!file_number(at, &socket))
			continue;
		while (i < socket_count && sockets[i] != socket)
			i++;
		if (i == socket_count && socket_count < NODES_MAX)
			sockets[socket_count++] = socket;
	}
	if (!threads)
		return false;
	if (socket_count)
		put_number(cpu, "sockets", (int64_t)socket_count);
	if (cores)
		put_number(cpu, "cores", cores);
	put_number(cpu, "threads", threads);
	return true;
}

/* The same from the blocks of /proc/cpuinfo, one per CPU. */
static void add_counts(struct value *cpu, const char *root)
{
	_cleanup_free_ char *text = read_once("%s/proc/cpuinfo", root);
	int64_t threads = 0;
	int last_socket = -1, per_socket = text ? line_number(text, "cpu cores") : -1;

	for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		if (str_prefix(p, "processor") && strchr("\t :", p[strlen("processor")]))
			threads++;
		if (str_prefix(p, "physical id")) {
			_cleanup_free_ char *line = xstrndup(p, strcspn(p, "\n"));
			int socket = line_number(line, "physical id");

			last_socket = socket > last_socket ? socket : last_socket;
		}
	}
	if (last_socket >= 0) {
		put_number(cpu, "sockets", last_socket + 1);
		if (per_socket > 0 && last_socket < NODES_MAX)
			put_number(cpu, "cores", (int64_t)per_socket * (last_socket + 1));
	}
	if (threads)
		put_number(cpu, "threads", threads);
}

static void add_cpu(struct value *metadata, const char *root, const char *machine)
{
	_cleanup_free_ char *text = hardware_file_start(root, "/proc/cpuinfo", CPUINFO_START);
	_cleanup_free_ char *vendor = hardware_line(text, "vendor_id");
	_cleanup_free_ char *name = hardware_line(text, "model name");
	_cleanup_free_ char *flags = hardware_line(text, "flags");
	_cleanup_free_ char *features = hardware_line(text, "Features");
	_cleanup_free_ char *power = hardware_line(text, "cpu");
	_cleanup_free_ char *uarch = hardware_line(text, "uarch");
	_cleanup_free_ char *isa = hardware_line(text, "isa");
	_cleanup_free_ char *microcode = hardware_line(text, "microcode");
	struct processor p = {.vendor = vendor,
			      .family = line_number(text, "cpu family"),
			      .model = line_number(text, "model"),
			      .stepping = line_number(text, "stepping"),
			      .flags = flags ? flags : features,
			      .implementer = line_number(text, "CPU implementer"),
			      .part = line_number(text, "CPU part"),
			      .power = power,
			      .uarch = uarch ? uarch : isa,
			      .machine = machine};
	struct value *cpu = value_new(VALUE_DICT);

	put_text(cpu, "name", name ? name : power);
	put_text(cpu, "vendor", vendor ? vendor : microarch_implementer(p.implementer));
	put_number(cpu, "family", p.family);
	put_number(cpu, "model", p.model);
	put_number(cpu, "stepping", p.stepping);
	put_number(cpu, "implementer", p.implementer);
	put_number(cpu, "part", p.part);
	put_text(cpu, "microcode", microcode);
	if (vendor || p.implementer >= 0 || power || p.uarch)
		put_text(cpu, "microarchitecture", microarch_name(&p));
	put_text(cpu, "level", microarch_level(&p));
	if (!add_topology(cpu, root))
		add_counts(cpu, root);
	_cleanup_free_ char *first = xasprintf("%s/sys/devices/system/cpu/cpu0/cpufreq", root);
	HARDWARE_PUT(cpu, first, {"max_hz", "cpuinfo_max_freq", AS_NUMBER, 1000});
	if (!machine && (vendor || p.implementer >= 0))
		put_text(metadata, "architecture", vendor ? "x86_64" : "aarch64");
	if (flags && strstr(flags, "hypervisor"))
		value_set(metadata, "virtual", value_bool(true));
	if (value_pairs(cpu))
		value_set(metadata, "cpu", cpu);
	else
		value_free(cpu);
}

/* ---- caches, memory, nodes ------------------------------------------------------------------ */

struct cache {
	int64_t level, size, shared, count;
	char type[16];
};

/* "32K", "1024K", "33M" */
static int64_t cache_size(const char *text)
{
	char *end;
	long long v = text ? strtoll(text, &end, 10) : 0;

	if (!text || v <= 0 || v > 1 << 30)
		return 0;
	return *end == 'K' ? v * 1024 : *end == 'M' ? v * 1024 * 1024 : v;
}

/* Counts a cache at the first CPU that shares it. */
static void count_cache(struct cache *caches, size_t *count, const char *dir, int64_t cpu)
{
	_cleanup_free_ char *shared = read_fact("%s/shared_cpu_list", dir);
	_cleanup_free_ char *level = read_fact("%s/level", dir);
	_cleanup_free_ char *type = read_fact("%s/type", dir);
	_cleanup_free_ char *size = read_fact("%s/size", dir);
	struct cache c = {.size = cache_size(size), .shared = list_count(shared), .count = 1};
	size_t i = 0;

	if (!level || parse_i64(level, &c.level) < 0 || !type || list_first(shared) != cpu)
		return;
	snprintf(c.type, sizeof(c.type), "%s", type);
	for (; i < *count; i++)
		if (caches[i].level == c.level && caches[i].size == c.size &&
		    caches[i].shared == c.shared && !strcmp(caches[i].type, c.type)) {
			caches[i].count++;
			return;
		}
	if (*count < CACHES_MAX)
		caches[(*count)++] = c;
}

static void add_caches(struct value *metadata, const char *root)
{
	_cleanup_free_ char *dir = xasprintf("%s/sys/devices/system/cpu", root);
	_cleanup_name_list_ struct name_list l = {0};
	struct cache caches[CACHES_MAX];
	size_t count = 0;

	(void)name_list_read(&l, "cpu", "%s", dir);
	for (size_t k = 0; k < l.count; k++) {
		int64_t number = list_first(l.names[k] + 3);

		for (int i = 0; number >= 0 && i < 16; i++) {
			_cleanup_free_ char *at =
				xasprintf("%s/%s/cache/index%d", dir, l.names[k], i);

			if (access(at, F_OK) < 0)
				break;
			count_cache(caches, &count, at, number);
		}
	}
	if (!count)
		return;
	struct value *list = value_new(VALUE_LIST);
	for (size_t i = 0; i < count; i++) {
		struct value *c = value_new(VALUE_DICT);

		put_number(c, "level", caches[i].level);
		put_text(c, "type", caches[i].type);
		if (caches[i].size)
			put_number(c, "size_bytes", caches[i].size);
		if (caches[i].shared)
			put_number(c, "shared_by", caches[i].shared);
		put_number(c, "count", caches[i].count);
		value_append(list, c);
	}
	value_set(metadata, "caches", list);
}

/* "MemTotal:  1234 kB" or "Node 0 MemTotal:  1234 kB"; -1: none. */
static int64_t memory_bytes(const char *text)
{
	const char *p = text ? strstr(text, "MemTotal:") : NULL;
	char *end;

	if (!p)
		return -1;
	long long kib = strtoll(p + strlen("MemTotal:"), &end, 10);
	return kib > 0 && kib < INT64_MAX / 1024 && !strncmp(end, " kB", 3) ? kib * 1024 : -1;
}

static void add_memory(struct value *metadata, const char *root)
{
	_cleanup_free_ char *meminfo = read_once("%s/proc/meminfo", root);
	_cleanup_free_ char *dir = xasprintf("%s/sys/devices/system/node", root);
	_cleanup_name_list_ struct name_list l = {0};
	struct value *list = value_new(VALUE_LIST);

	put_number(metadata, "memory_bytes", memory_bytes(meminfo));
	(void)name_list_read(&l, "node", "%s", dir);
	for (size_t i = 0; i < l.count && i < NODES_MAX; i++) {
		_cleanup_free_ char *at = xasprintf("%s/%s", dir, l.names[i]);
		_cleanup_free_ char *own = read_once("%s/meminfo", at);
		struct value *node = value_new(VALUE_DICT);

		put_number(node, "node", list_first(l.names[i] + 4));
		HARDWARE_PUT(node, at, {"cpus", "cpulist", AS_TEXT, 0});
		put_number(node, "memory_bytes", memory_bytes(own));
		HARDWARE_PUT(node, at, {"distance", "distance", AS_TEXT, 0});
		value_append(list, node);
	}
	if (l.count)
		value_set(metadata, "numa", list);
	else
		value_free(list);
}

/* ---- system --------------------------------------------------------------------------------- */

/* NAME="value" of os-release. */
static char *release_value(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		if (strncmp(p, name, n) != 0 || p[n] != '=')
			continue;
		p += n + 1;
		size_t length = strcspn(p, "\n");
		if (length >= 2 && (*p == '"' || *p == '\'') && p[length - 1] == *p)
			return xstrndup(p + 1, length - 2);
		return xstrndup(p, length);
	}
	return NULL;
}

static void add_system(struct value *metadata, const char *root)
{
	_cleanup_free_ char *etc = read_once("%s/etc/os-release", root);
	_cleanup_free_ char *usr = read_once("%s/usr/lib/os-release", root);
	_cleanup_free_ char *os = release_value(etc ? etc : usr, "PRETTY_NAME");
	_cleanup_free_ char *kernel = xasprintf("%s/proc/sys/kernel", root);
	_cleanup_free_ char *dmi = xasprintf("%s/sys/class/dmi/id", root);
	_cleanup_free_ char *hypervisor = read_fact("%s/sys/hypervisor/type", root);
	struct value *machine = value_new(VALUE_DICT);

	HARDWARE_PUT(metadata, kernel, {"kernel", "osrelease", AS_TEXT, 0});
	put_text(metadata, "os", os);
	HARDWARE_PUT(machine, dmi, {"vendor", "sys_vendor", AS_TEXT, 0},
		     {"product", "product_name", AS_TEXT, 0});
	if (hypervisor) {
		value_set(metadata, "virtual", value_bool(true));
		value_set(metadata, "hypervisor", value_str(hypervisor));
	}
	if (value_pairs(machine))
		value_set(metadata, "machine", machine);
	else
		value_free(machine);
}

struct value *hardware_metadata(const char *root)
{
	struct value *metadata = value_new(VALUE_DICT);
	_cleanup_free_ char *arch = read_fact("%s/proc/sys/kernel/arch", root);

	put_text(metadata, "architecture", arch);
	add_cpu(metadata, root, arch);
	add_caches(metadata, root);
	add_memory(metadata, root);
	add_system(metadata, root);
	hardware_add_devices(metadata, root);
	return metadata;
}
