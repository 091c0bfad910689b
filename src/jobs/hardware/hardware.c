/*
 * Description of a host; see hardware.h. Surprising: /proc/cpuinfo of a large machine takes long to
 * read (the kernel asks every CPU for its clock), so only its beginning is, unless /sys does not
 * tell how many CPUs there are.
 */
#include "jobs/hardware.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/files/cached_file.h"
#include "jobs/microarch.h"

#define CPUS_MAX 16384
#define NODES_MAX 1024
#define CACHES_MAX 64
#define CPUINFO_START 65536

/* ---- files ------------------------------------------------------------------------------------
 */

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

char **hardware_names(const char *dir, const char *prefix, size_t max)
{
	size_t count = 0, cap = 0;
	char **names = NULL;
	DIR *d = opendir(dir);

	for (const struct dirent *e; d && count < max && (e = readdir(d));) {
		if (e->d_name[0] == '.' || !str_prefix(e->d_name, prefix))
			continue;
		GROW(names, count, cap);
		names[count++] = xstrdup(e->d_name);
	}
	if (d)
		closedir(d);
	if (count)
		qsort(names, count, sizeof(*names), by_version);
	GROW(names, count, cap);
	names[count] = NULL;
	return names;
}

void hardware_free_names(char ***names)
{
	for (char **p = *names; p && *p; p++)
		free(*p);
	free(*names);
}

void hardware_put_file(struct value *dict, const char *key, const char *dir, const char *file)
{
	_cleanup_free_ char *text = read_fact("%s/%s", dir, file);

	if (text)
		value_set(dict, key, value_str(text));
}

void hardware_put_number(struct value *dict, const char *key, const char *dir, const char *file,
			 int64_t times)
{
	_cleanup_free_ char *text = read_fact("%s/%s", dir, file);
	int64_t v;

	if (text && parse_i64(text, &v) == 0 && v >= 0 && v <= INT64_MAX / times)
		value_set(dict, key, value_int(v * times));
}

/* A number from a file; false when there is none. */
static bool file_number(const char *path, int64_t *ret)
{
	_cleanup_free_ char *text = read_fact("%s", path);

	return text && parse_i64(text, ret) == 0;
}

/* The first number of a list such as "0-3,8-11"; -1 when there is none. */
static int64_t list_first(const char *list)
{
	char *end;
	long v = list ? strtol(list, &end, 10) : -1;

	return list && end > list && v >= 0 && v < CPUS_MAX ? v : -1;
}

/* How many numbers a list names. */
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

/* ---- processor ---------------------------------------------------------------------------------
 */

/* The text behind "name : " at the start of a line; NULL when there is none. */
static char *line_value(const char *text, const char *name)
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

/* A number of such a line, decimal or with 0x; -1 when there is none. */
static int line_number(const char *text, const char *name)
{
	_cleanup_free_ char *value = line_value(text, name);
	char *end;
	long v = value ? strtol(value, &end, 0) : -1;

	return value && end > value && v >= 0 && v < 1 << 24 ? (int)v : -1;
}

static char *cpuinfo_start(const char *root)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/cpuinfo", root);
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char *text = xcalloc(1, CPUINFO_START + 1);
	size_t len = 0;

	for (ssize_t n = 1; fd >= 0 && n > 0 && len<CPUINFO_START; len += n> 0 ? (size_t)n : 0)
		n = read(fd, text + len, CPUINFO_START - len);
	if (fd >= 0)
		close(fd);
	text[len] = 0;
	return text;
}

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

/* Sockets, cores and threads by /sys; false when it does not tell. */
static bool add_topology(struct value *cpu, const char *root)
{
	_cleanup_free_ char *dir = xasprintf("%s/sys/devices/system/cpu", root);
	_cleanup_names_ char **names = hardware_names(dir, "cpu", CPUS_MAX);
	int64_t sockets[NODES_MAX], cores = 0, threads = 0;
	size_t socket_count = 0;

	for (char **name = names; *name; name++) {
		_cleanup_free_ char *at =
			xasprintf("%s/%s/topology/physical_package_id", dir, *name);
		int64_t socket, number = list_first(*name + 3);
		size_t i = 0;

		if (number < 0 || (*name)[3 + strspn(*name + 3, "0123456789")])
			continue;
		_cleanup_free_ char *siblings =
			read_fact("%s/%s/topology/thread_siblings_list", dir, *name);
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

/* The same from the blocks of /proc/cpuinfo, one a CPU. */
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

static void add_cpu(struct value *facts, const char *root, const char *machine)
{
	_cleanup_free_ char *text = cpuinfo_start(root);
	_cleanup_free_ char *vendor = line_value(text, "vendor_id");
	_cleanup_free_ char *name = line_value(text, "model name");
	_cleanup_free_ char *flags = line_value(text, "flags");
	_cleanup_free_ char *features = line_value(text, "Features");
	_cleanup_free_ char *power = line_value(text, "cpu");
	_cleanup_free_ char *uarch = line_value(text, "uarch");
	_cleanup_free_ char *isa = line_value(text, "isa");
	_cleanup_free_ char *microcode = line_value(text, "microcode");
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
	hardware_put_number(cpu, "max_hz", first, "cpuinfo_max_freq", 1000);
	if (!machine && (vendor || p.implementer >= 0))
		put_text(facts, "architecture", vendor ? "x86_64" : "aarch64");
	if (flags && strstr(flags, "hypervisor"))
		value_set(facts, "virtual", value_bool(true));
	if (value_pairs(cpu))
		value_set(facts, "cpu", cpu);
	else
		value_free(cpu);
}

/* ---- caches, memory, nodes ---------------------------------------------------------------------
 */

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

static void add_caches(struct value *facts, const char *root)
{
	_cleanup_free_ char *dir = xasprintf("%s/sys/devices/system/cpu", root);
	_cleanup_names_ char **names = hardware_names(dir, "cpu", CPUS_MAX);
	struct cache caches[CACHES_MAX];
	size_t count = 0;

	for (char **name = names; *name; name++) {
		int64_t number = list_first(*name + 3);

		for (int i = 0; number >= 0 && i < 16; i++) {
			_cleanup_free_ char *at = xasprintf("%s/%s/cache/index%d", dir, *name, i);

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
	value_set(facts, "caches", list);
}

/* "MemTotal:  1234 kB" or "Node 0 MemTotal:  1234 kB"; -1 when there is none. */
static int64_t memory_bytes(const char *text)
{
	const char *p = text ? strstr(text, "MemTotal:") : NULL;
	char *end;

	if (!p)
		return -1;
	long long kib = strtoll(p + strlen("MemTotal:"), &end, 10);
	return kib > 0 && kib < INT64_MAX / 1024 && !strncmp(end, " kB", 3) ? kib * 1024 : -1;
}

static void add_memory(struct value *facts, const char *root)
{
	_cleanup_free_ char *meminfo = read_once("%s/proc/meminfo", root);
	_cleanup_free_ char *dir = xasprintf("%s/sys/devices/system/node", root);
	_cleanup_names_ char **names = hardware_names(dir, "node", NODES_MAX);
	struct value *list = value_new(VALUE_LIST);

	put_number(facts, "memory_bytes", memory_bytes(meminfo));
	for (char **name = names; *name; name++) {
		_cleanup_free_ char *at = xasprintf("%s/%s", dir, *name);
		_cleanup_free_ char *own = read_once("%s/meminfo", at);
		struct value *node = value_new(VALUE_DICT);

		put_number(node, "node", list_first(*name + 4));
		hardware_put_file(node, "cpus", at, "cpulist");
		put_number(node, "memory_bytes", memory_bytes(own));
		hardware_put_file(node, "distance", at, "distance");
		value_append(list, node);
	}
	if (*names)
		value_set(facts, "numa", list);
	else
		value_free(list);
}

/* ---- system -------------------------------------------------------------------------------------
 */

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

static void add_system(struct value *facts, const char *root)
{
	_cleanup_free_ char *etc = read_once("%s/etc/os-release", root);
	_cleanup_free_ char *usr = read_once("%s/usr/lib/os-release", root);
	_cleanup_free_ char *os = release_value(etc ? etc : usr, "PRETTY_NAME");
	_cleanup_free_ char *kernel = xasprintf("%s/proc/sys/kernel", root);
	_cleanup_free_ char *dmi = xasprintf("%s/sys/class/dmi/id", root);
	_cleanup_free_ char *hypervisor = read_fact("%s/sys/hypervisor/type", root);
	struct value *machine = value_new(VALUE_DICT);

	hardware_put_file(facts, "kernel", kernel, "osrelease");
	put_text(facts, "os", os);
	hardware_put_file(machine, "vendor", dmi, "sys_vendor");
	hardware_put_file(machine, "product", dmi, "product_name");
	if (hypervisor) {
		value_set(facts, "virtual", value_bool(true));
		value_set(facts, "hypervisor", value_str(hypervisor));
	}
	if (value_pairs(machine))
		value_set(facts, "machine", machine);
	else
		value_free(machine);
}

struct value *hardware_facts(const char *root)
{
	struct value *facts = value_new(VALUE_DICT);
	_cleanup_free_ char *arch = read_fact("%s/proc/sys/kernel/arch", root);

	put_text(facts, "architecture", arch);
	add_cpu(facts, root, arch);
	add_caches(facts, root);
	add_memory(facts, root);
	add_system(facts, root);
	hardware_add_devices(facts, root);
	return facts;
}
