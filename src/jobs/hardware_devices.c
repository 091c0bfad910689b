/* Network adapters, InfiniBand adapters, disks and GPUs of a host; see hardware.h. */
#include <string.h>
#include <unistd.h>

#include "core/files/cached_file.h"
#include "jobs/hardware.h"

#define DEVICES_MAX 4096 /* of a kind */
#define PORTS_MAX 64

/* The last part of where a link points to; NULL when it is none. */
static char *link_base(const char *dir, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	char target[4096];
	ssize_t n = readlink(path, target, sizeof(target) - 1);

	if (n <= 0)
		return NULL;
	target[n] = 0;
	return xstrdup(path_base(target));
}

static void put_link(struct value *dict, const char *key, const char *dir, const char *name)
{
	_cleanup_free_ char *base = link_base(dir, name);

	if (base)
		value_set(dict, key, value_str(base));
}

static bool there(const char *dir, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);

	return access(path, F_OK) == 0;
}

static void set_list(struct value *facts, const char *key, struct value *list)
{
	if (list->list.count)
		value_set(facts, key, list);
	else
		value_free(list);
}

/* Adapters, not what is stacked on them. */
static void add_network(struct value *facts, const char *root)
{
	_cleanup_free_ char *dir = xasprintf("%s/sys/class/net", root);
	_cleanup_names_ char **names = hardware_names(dir, "", DEVICES_MAX);
	struct value *list = value_new(VALUE_LIST);

	for (char **name = names; *name; name++) {
		_cleanup_free_ char *at = xasprintf("%s/%s", dir, *name);
		_cleanup_free_ char *type = read_fact("%s/type", at);
		_cleanup_free_ char *pci = link_base(at, "device");

		if (!there(at, "device"))
			continue;
		struct value *a = value_new(VALUE_DICT);
		value_set(a, "name", value_str(*name));
		if (type)
			value_set(a, "type",
				  value_str(!strcmp(type, "1")    ? "ethernet"
					    : !strcmp(type, "32") ? "infiniband"
								  : type));
		put_link(a, "driver", at, "device/driver");
		hardware_put_number(a, "speed_mbit", at, "speed", 1);
		if (pci)
			value_set(a, "device", value_str(pci));
		value_append(list, a);
	}
	set_list(facts, "network", list);
}

static void add_infiniband(struct value *facts, const char *root)
{
	_cleanup_free_ char *dir = xasprintf("%s/sys/class/infiniband", root);
	_cleanup_names_ char **names = hardware_names(dir, "", DEVICES_MAX);
	struct value *list = value_new(VALUE_LIST);

	for (char **name = names; *name; name++) {
		_cleanup_free_ char *at = xasprintf("%s/%s", dir, *name);
		_cleanup_free_ char *ports_dir = xasprintf("%s/ports", at);
		_cleanup_names_ char **numbers = hardware_names(ports_dir, "", PORTS_MAX);
		struct value *a = value_new(VALUE_DICT), *ports = value_new(VALUE_LIST);

		value_set(a, "name", value_str(*name));
		hardware_put_file(a, "type", at, "hca_type");
		hardware_put_file(a, "firmware", at, "fw_ver");
		hardware_put_file(a, "board", at, "board_id");
		for (char **number = numbers; *number; number++) {
			_cleanup_free_ char *p = xasprintf("%s/%s", ports_dir, *number);
			struct value *port = value_new(VALUE_DICT);

			value_set(port, "port", value_str(*number));
			hardware_put_file(port, "state", p, "state");
			hardware_put_file(port, "rate", p, "rate");
			hardware_put_file(port, "link_layer", p, "link_layer");
			value_append(ports, port);
		}
		value_set(a, "ports", ports);
		value_append(list, a);
	}
	set_list(facts, "infiniband", list);
}

static void add_disks(struct value *facts, const char *root)
{
	_cleanup_free_ char *dir = xasprintf("%s/sys/block", root);
	_cleanup_names_ char **names = hardware_names(dir, "", DEVICES_MAX);
	struct value *list = value_new(VALUE_LIST);

	for (char **name = names; *name; name++) {
		_cleanup_free_ char *at = xasprintf("%s/%s", dir, *name);
		_cleanup_free_ char *turns = read_fact("%s/queue/rotational", at);
		_cleanup_free_ char *vendor = read_fact("%s/device/vendor", at);

		/* what is made of others, of files or of memory has no device */
		if (!there(at, "device"))
			continue;
		struct value *d = value_new(VALUE_DICT);
		value_set(d, "name", value_str(*name));
		/* the vendor of a virtual disk is a number */
		if (vendor && !str_prefix(vendor, "0x"))
			value_set(d, "vendor", value_str(vendor));
		hardware_put_file(d, "model", at, "device/model");
		hardware_put_number(d, "size_bytes", at, "size", 512);
		if (turns)
			value_set(d, "rotational", value_bool(strcmp(turns, "0") != 0));
		value_append(list, d);
	}
	set_list(facts, "disks", list);
}

static const char *pci_vendor(const char *id)
{
	static const struct {
		const char *id, *name;
	} vendors[] = {{"0x1002", "AMD"},    {"0x102b", "Matrox"}, {"0x10de", "NVIDIA"},
		       {"0x1a03", "ASPEED"}, {"0x1da3", "Habana"}, {"0x8086", "Intel"},
		       {"0x1af4", "virtio"}, {"0x15ad", "VMware"}, {"0x1234", "QEMU"}};

	for (size_t i = 0; id && i < ARRAY_SIZE(vendors); i++)
		if (!strcmp(vendors[i].id, id))
			return vendors[i].name;
	return NULL;
}

/* What the class of a PCI device calls it, when it can compute or draw. */
static const char *gpu_kind(const char *class)
{
	static const struct {
		const char *prefix, *kind;
	} kinds[] = {{"0x0300", "display"},
		     {"0x0302", "3D"},
		     {"0x0380", "display"},
		     {"0x1200", "accelerator"}};

	for (size_t i = 0; class && i < ARRAY_SIZE(kinds); i++)
		if (str_prefix(class, kinds[i].prefix))
			return kinds[i].kind;
	return NULL;
}

/* The name that NVIDIA's driver has for a card: "Model:  NVIDIA A100-SXM4-40GB". */
static void put_nvidia_model(struct value *gpu, const char *root, const char *pci)
{
	_cleanup_free_ char *text =
		read_once("%s/proc/driver/nvidia/gpus/%s/information", root, pci);
	const char *p = text ? strstr(text, "Model:") : NULL;

	if (!p)
		return;
	p += strlen("Model:");
	p += strspn(p, " \t");
	value_set(gpu, "model", value_strn(p, strcspn(p, "\n")));
}

static void add_gpus(struct value *facts, const char *root)
{
	_cleanup_free_ char *dir = xasprintf("%s/sys/bus/pci/devices", root);
	_cleanup_names_ char **names = hardware_names(dir, "", DEVICES_MAX);
	struct value *list = value_new(VALUE_LIST);

	for (char **name = names; *name; name++) {
		_cleanup_free_ char *at = xasprintf("%s/%s", dir, *name);
		_cleanup_free_ char *class = read_fact("%s/class", at);
		_cleanup_free_ char *vendor = read_fact("%s/vendor", at);
		const char *kind = gpu_kind(class), *known = pci_vendor(vendor);

		if (!kind)
			continue;
		struct value *gpu = value_new(VALUE_DICT);
		value_set(gpu, "pci", value_str(*name));
		value_set(gpu, "kind", value_str(kind));
		if (known)
			value_set(gpu, "vendor", value_str(known));
		put_nvidia_model(gpu, root, *name);
		if (vendor)
			value_set(gpu, "vendor_id", value_str(vendor));
		hardware_put_file(gpu, "device_id", at, "device");
		put_link(gpu, "driver", at, "driver");
		hardware_put_number(gpu, "numa_node", at, "numa_node", 1);
		value_append(list, gpu);
	}
	set_list(facts, "gpus", list);
}

void hardware_add_devices(struct value *facts, const char *root)
{
	add_network(facts, root);
	add_infiniband(facts, root);
	add_disks(facts, root);
	add_gpus(facts, root);
}
