/*
 * Traffic, packets and errors of each network interface from /proc/net/dev, with what
 * /sys/class/net says of it.
 *
 * The row of the node is the sum over interfaces with a device behind them. Bridges, bonds, VLANs
 * and the ends of containers carry the same bytes again. So does a device whose master has one,
 * too: the virtual function of an accelerated interface (Azure's, virtio's failover) is counted by
 * the synthetic one above it. Ports of a switch chip and representors of virtual functions pass on
 * what the interface behind them carries. Where none has a device (a container, a recorded tree
 * without /sys) the sum is over all but the loopback and those that are stacked on others by their
 * kind or name. The rows of the interfaces allow any other sum.
 *
 * Some drivers count in 32 bits, which wrap.
 */
#include <string.h>

#include "core/files/fs.h"
#include "sources/columns.h"
#include "sources/device_list.h"

/* In the order of the file. */
#define METRICS_OF_NETWORK(X)                                                             \
	X(RX_BYTES, BYTES("rx_bytes", "bytes received, with the headers of frames"))      \
	X(RX_PACKETS, COUNT("rx_packets", "packets received"))                            \
	X(RX_ERRORS, COUNT("rx_errors", "packets received with an error"))                \
	X(RX_DROPPED, COUNT("rx_dropped", "packets received and dropped"))                \
	X(RX_FIFO, COUNT("rx_fifo_errors", "packets lost because a buffer was full"))     \
	X(RX_FRAME, COUNT("rx_frame_errors", "packets received with a framing error"))    \
	X(RX_COMPRESSED, COUNT("rx_compressed", "compressed packets received"))           \
	X(RX_MULTICAST, COUNT("rx_multicast", "multicast packets received"))              \
	X(TX_BYTES, BYTES("tx_bytes", "bytes sent, with the headers of frames"))          \
	X(TX_PACKETS, COUNT("tx_packets", "packets sent"))                                \
	X(TX_ERRORS, COUNT("tx_errors", "packets not sent because of an error"))          \
	X(TX_DROPPED, COUNT("tx_dropped", "packets dropped before being sent"))           \
	X(TX_FIFO, COUNT("tx_fifo_errors", "packets not sent because a buffer was full")) \
	X(TX_COLLISIONS, COUNT("tx_collisions", "collisions while sending"))              \
	X(TX_CARRIER, COUNT("tx_carrier_errors", "carrier losses while sending"))         \
	X(TX_COMPRESSED, COUNT("tx_compressed", "compressed packets sent"))
DEFINE_METRICS(METRICS_OF_NETWORK);

struct interface {
	struct device d;
	bool stacked;  /* its traffic is that of others, or never leaves the node */
	bool switched; /* the interface of the switch that it is a port of has its traffic */
	bool mastered; /* it has a master with a device, which counts for it */
	struct cached_file index;
	uint64_t last_index;
	bool has_index;
};

/* ---- what an interface is ---- */

/* Link types of linux/if_arp.h. */
static const char *link_type(const char *number)
{
	static const struct {
		const char *number, *name;
	} types[] = {{"1", "ethernet"}, {"32", "infiniband"}, {"512", "ppp"},
		     {"768", "tunnel"}, {"772", "loopback"},  {"776", "sit"},
		     {"778", "gre"},    {"801", "wifi"},      {"65534", "none"}};

	for (size_t i = 0; number && i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].number, number))
			return types[i].name;
	return NULL;
}

/* By the name alone, where /sys has no entry. */
static bool stacked_by_name(const char *name)
{
	static const char *const prefixes[] = {
		"veth", "docker", "br-", "virbr",   "bond", "team", "dummy", "ifb",     "tun",
		"tap",  "vnet",   "cni", "flannel", "cali", "lxc",  "vxlan", "macvlan", "wg"};

	if (strpbrk(name, ".@"))
		return true;
	if (str_prefix(name, "br") && name[2] >= '0' && name[2] <= '9')
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (str_prefix(name, prefixes[i]))
			return true;
	return false;
}

/* "bridge", "bond", "vlan" and the like from uevent; NULL: an ordinary interface. */
static char *device_type(const char *root, const char *name)
{
	_cleanup_free_ char *uevent = read_once("%s/sys/class/net/%s/uevent", root, name);
	const char *p = uevent ? strstr(uevent, "DEVTYPE=") : NULL;

	if (!p || (p > uevent && p[-1] != '\n'))
		return NULL;
	p += strlen("DEVTYPE=");
	return xstrndup(p, strcspn(p, "\n"));
}

/* Facts that change: whether it is up, and how fast it is. */
static void refresh_metadata(const struct device_list *l, struct sample_set *set,
			     const struct device *d)
{
	_cleanup_free_ char *state = read_fact("%s/sys/class/net/%s/operstate", l->root, d->name);
	const char *was;
	size_t size;

	if (!state || !fs_is_name(d->name))
		return;
	if (entity_metadata(&set->entities[d->entity], "operstate", &was, &size) &&
	    strlen(state) == size && !memcmp(state, was, size))
		return;
	sample_set_metadata(set, d->entity, "operstate", state);
	/* read the speed only when the state is new: it may wait for the driver's lock */
	_cleanup_free_ char *speed = read_fact("%s/sys/class/net/%s/speed", l->root, d->name);
	uint64_t mbit;
	_cleanup_free_ char *text = speed && parse_u64(speed, &mbit) == 0 && mbit && mbit < 1u << 31
					    ? xasprintf("%s Mbit/s", speed)
					    : NULL;
	sample_set_metadata(set, d->entity, "speed", text);
}

/* "pf0vf3", "c1pf0sf2": the representor of a virtual function in the switch. */
static bool is_representor(const char *dir)
{
	_cleanup_free_ char *port = read_fact("%s/phys_port_name", dir);
	const char *pf = port ? strstr(port, "pf") : NULL;

	return pf && (strstr(pf, "vf") || strstr(pf, "sf"));
}

/* Finds out whether its master has a device. Bonds and bridges have none. */
static void find_master(const struct device_list *l, struct sample_set *set, struct interface *f)
{
	_cleanup_free_ char *link = xasprintf("%s/sys/class/net/%s/master", l->root, f->d.name);
	char target[4096];
	ssize_t length = readlink(link, target, sizeof(target) - 1);

	f->mastered = false;
	if (length <= 0) {
		sample_set_metadata(set, f->d.entity, "master", NULL);
		return;
	}
	target[length] = 0;
	_cleanup_free_ char *device =
		xasprintf("%s/sys/class/net/%s/device", l->root, path_base(target));
	sample_set_metadata(set, f->d.entity, "master", path_base(target));
	f->mastered = f->d.hardware && access(device, F_OK) == 0;
}

static void find_metadata(const struct device_list *l, struct sample_set *set, struct interface *f)
{
	if (!fs_is_name(f->d.name))
		return;
	_cleanup_free_ char *dir = xasprintf("%s/sys/class/net/%s", l->root, f->d.name);
	_cleanup_free_ char *device = xasprintf("%s/device", dir);
	_cleanup_free_ char *driver = xasprintf("%s/device/driver", dir);
	_cleanup_free_ char *number = read_fact("%s/type", dir);
	_cleanup_free_ char *kind = device_type(l->root, f->d.name);
	const char *type = link_type(number);
	char target[4096];

	f->d.hardware = access(device, F_OK) == 0;
	f->stacked = !strcmp(f->d.name, "lo") || (type && !strcmp(type, "loopback"));
	/* an ordinary one without a device may be the end of a pair, by which a container is
	 * connected */
	if (!kind)
		f->stacked |= stacked_by_name(f->d.name);
	else if (strcmp(kind, "wlan") != 0)
		f->stacked = true;
	f->switched = (kind && !strcmp(kind, "dsa")) || (f->d.hardware && is_representor(dir));
	if (!kind && !f->d.hardware && type && !strcmp(type, "ethernet"))
		type = "virtual";
	sample_set_metadata(set, f->d.entity, "type", kind ? kind : type ? type : number);
	ssize_t length = readlink(driver, target, sizeof(target) - 1);
	if (length > 0) {
		target[length] = 0;
		sample_set_metadata(set, f->d.entity, "driver", path_base(target));
	}
	refresh_metadata(l, set, &f->d);
	find_master(l, set, f);
}

/* ---- the source ---- */

/* Has another interface taken the name since the last reading? */
static bool was_replaced(const struct device_list *l, struct interface *f, bool first)
{
	uint64_t index = 0;
	struct words text;

	if (!fs_is_name(f->d.name) || (!first && !f->has_index))
		return false;
	if (!f->index.file.path)
		cached_file_init(&f->index, "%s/sys/class/net/%s/ifindex", l->root, f->d.name);
	/* the descriptor of a removed interface fails; reading again opens its successor */
	bool good =
		cached_file_read(&f->index) == 0 || (!first && cached_file_read(&f->index) == 0);
	text = cached_file_words(&f->index);
	good = good && number_only(&text, &index);
	bool other = f->has_index && (!good || index != f->last_index);
	f->has_index = good;
	f->last_index = index;
	return other;
}

static bool examine(struct device_list *l, struct sample_set *set, struct device *d, bool came)
{
	struct interface *f = (struct interface *)d;

	if (came)
		find_metadata(l, set, f);
	bool other = was_replaced(l, f, came && !d->counts[0].seen);
	if (other && !came)
		find_metadata(l, set, f);
	return other;
}

static void refresh(struct device_list *l, struct sample_set *set, struct device *d)
{
	refresh_metadata(l, set, d);
	find_master(l, set, (struct interface *)d);
}

static const char *left_out(struct device_list *l, const struct device *d, bool any_hardware)
{
	const struct interface *f = (const struct interface *)d;

	(void)l;
	if (!any_hardware)
		return f->stacked ? "carries the traffic of others, or never leaves the node"
				  : NULL;
	return !d->hardware  ? "no device is behind it"
	       : f->mastered ? "counted by its master"
	       : f->switched ? "a port of a switch that counts the same"
			     : NULL;
}

static void release(struct device *d)
{
	cached_file_release(&((struct interface *)d)->index);
}

/* "  eth0: 1 2 ..." or, of old kernels, "eth0:1 2 ..." */
static unsigned parse_line(struct words line, struct words *name, uint64_t *raw)
{
	const char *colon = memrchr(line.p, ':', (size_t)(line.end - line.p));
	unsigned count = 0;

	if (!colon)
		return 0;
	struct words numbers = {colon + 1, line.end};
	line.end = colon;
	if (!word_next(&line, name))
		return 0;
	while (count < METRICS && number_next(&numbers, &raw[count]))
		count++;
	return count == METRICS ? count : 0;
}

static const struct device_class interfaces = {
	.file = "/proc/net/dev",
	.kind = ENTITY_INTERFACE,
	.counters = METRICS,
	.level = -1,
	.operations = {RX_PACKETS, TX_PACKETS},
	.size = sizeof(struct interface),
	.parse = parse_line,
	.examine = examine,
	.refresh = refresh,
	.left_out = left_out,
	.release = release,
};

static int open_network(const struct source_context *ctx, struct sample_set *set, void **state,
			struct strbuf *why)
{
	(void)set;
	return devices_open(&interfaces, ctx, state, why);
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	return source_probe_kind(&source_network, ctx, ENTITY_INTERFACE,
				 "there is no network interface", report);
}

const struct source source_network = {
	.name = "network",
	.help = "traffic, packets and errors of each network interface",
	.probe = probe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.open = open_network,
	.read = devices_read,
	.close = devices_close,
};
