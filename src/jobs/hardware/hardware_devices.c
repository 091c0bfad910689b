/* Network adapters, InfiniBand adapters, disks and GPUs of a host; see hardware.h. */
#include <string.h>
#include <unistd.h>

#include "core/files/cached_file.h"
#include "jobs/hardware/hardware.h"

#define DEVICES_MAX 4096 /* of a kind */

/* Describes a device in a dict; NULL: it is not of this kind. */
typedef struct value *(*describer)(const char *root, const char *dir, const char *name);

/* A list of all devices in a directory of /sys. */
static void add_devices(struct value *metadata, const char *key, const char *root,
			const char *below, describer describe)
{
	_cleanup_free_ char *dir = xasprintf("%s/%s", root, below);
	_cleanup_name_list_ struct name_list l = {0};
	struct value *list = value_new(VALUE_LIST);

	(void)name_list_read(&l, "", "%s", dir);
	for (size_t i = 0; i < l.count && i < DEVICES_MAX; i++) {
		_cleanup_free_ char *at = xasprintf("%s/%s", dir, l.names[i]);
		struct value *device = describe(root, at, l.names[i]);

		if (device)
			value_append(list, device);
	}
	if (list->list.count)
		value_set(metadata, key, list);
	else
		value_free(list);
}

static struct value *new_device(const char *key, const char *name)
{
	struct value *device = value_new(VALUE_DICT);

	value_set(device, key, value_str(name));
	return device;
}

/* Devices that are made of others, of files or of memory have no link `device`. */
static bool is_hardware(const char *dir)
{
	_cleanup_free_ char *path = xasprintf("%s/device", dir);

	return access(path, F_OK) == 0;
}

static struct value *describe_network(const char *root, const char *dir, const char *name)
{
	_cleanup_free_ char *type = read_fact("%s/type", dir);

	(void)root;
	if (!is_hardware(dir))
		return NULL;
	struct value *d = new_device("name", name);
	if (type)
		value_set(d, "type",
			  value_str(!strcmp(type, "1")    ? "ethernet"
				    : !strcmp(type, "32") ? "infiniband"
							  : type));
	HARDWARE_PUT(d, dir, {"driver", "device/driver", AS_LINK, 0},
		     {"speed_mbit", "speed", AS_NUMBER, 1}, {"device", "device", AS_LINK, 0});
	return d;
}

static struct value *describe_port(const char *root, const char *dir, const char *name)
{
	struct value *port = new_device("port", name);

	(void)root;
	HARDWARE_PUT(port, dir, {"state", "state", AS_TEXT, 0}, {"rate", "rate", AS_TEXT, 0},
		     {"link_layer", "link_layer", AS_TEXT, 0});
	return port;
}

static struct value *describe_infiniband(const char *root, const char *dir, const char *name)
{
	struct value *d = new_device("name", name);

	(void)root;
	HARDWARE_PUT(d, dir, {"type", "hca_type", AS_TEXT, 0}, {"firmware", "fw_ver", AS_TEXT, 0},
		     {"board", "board_id", AS_TEXT, 0});
	value_set(d, "ports", value_new(VALUE_LIST));
	add_devices(d, "ports", dir, "ports", describe_port);
	return d;
}

static struct value *describe_disk(const char *root, const char *dir, const char *name)
{
	_cleanup_free_ char *rotational = read_fact("%s/queue/rotational", dir);
	_cleanup_free_ char *vendor = read_fact("%s/device/vendor", dir);

	(void)root;
	if (!is_hardware(dir))
		return NULL;
	struct value *d = new_device("name", name);
	/* the vendor of a virtual disk is a number */
	if (vendor && !str_prefix(vendor, "0x"))
		value_set(d, "vendor", value_str(vendor));
	HARDWARE_PUT(d, dir, {"model", "device/model", AS_TEXT, 0},
		     {"size_bytes", "size", AS_NUMBER, 512});
	if (rotational)
		value_set(d, "rotational", value_bool(strcmp(rotational, "0") != 0));
	return d;
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

/* The kind of a PCI device by its class, if it is a GPU or an accelerator. */
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

/* The name of a card as NVIDIA's driver has it: "Model:  NVIDIA A100-SXM4-40GB". */
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

static struct value *describe_gpu(const char *root, const char *dir, const char *name)
{
	_cleanup_free_ char *class = read_fact("%s/class", dir);
	_cleanup_free_ char *vendor = read_fact("%s/vendor", dir);
	const char *kind = gpu_kind(class), *known = pci_vendor(vendor);

	if (!kind)
		return NULL;
	struct value *d = new_device("pci", name);
	value_set(d, "kind", value_str(kind));
	if (known)
		value_set(d, "vendor", value_str(known));
	put_nvidia_model(d, root, name);
	HARDWARE_PUT(d, dir, {"vendor_id", "vendor", AS_TEXT, 0},
		     {"device_id", "device", AS_TEXT, 0}, {"driver", "driver", AS_LINK, 0},
		     {"numa_node", "numa_node", AS_NUMBER, 1});
	return d;
}

void hardware_add_devices(struct value *metadata, const char *root)
{
	add_devices(metadata, "network", root, "sys/class/net", describe_network);
	add_devices(metadata, "infiniband", root, "sys/class/infiniband", describe_infiniband);
	add_devices(metadata, "disks", root, "sys/block", describe_disk);
	add_devices(metadata, "gpus", root, "sys/bus/pci/devices", describe_gpu);
}
