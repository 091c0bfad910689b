/*
 * Traffic, packets and errors of each network interface from /proc/net/dev, with what
 * /sys/class/net says of it.
 *
 * The row of the node is the sum over interfaces with a device behind them: bridges, bonds, VLANs
 * and the ends of containers carry the same bytes again. So does a device whose master has one,
 * too: the virtual function of an accelerated interface (Azure's, virtio's failover) is counted by
 * the synthetic one above it. Ports of a switch chip and representors of virtual functions pass on
 * what the interface behind them carries. Where none has a device (a container, a recorded tree
 * without /sys) it is the sum over all but the loopback and those that are told by their kind or
 * name to be stacked on others. The rows of the interfaces let anybody add up another choice. It
 * grows by what each interface counted since the last reading, so that one which comes or goes is
 * no jump.
 *
 * Surprising: some drivers count in 32 bits, which are taken as wrapped; an interface that was made
 * again, or whose driver was reset, goes on from where it was.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "core/files/cached_file.h"
#include "core/files/fs.h"
#include "sources/columns.h"
#include "sources/source.h"

/* In the order of the file. */
enum {
	RX_BYTES,
	RX_PACKETS,
	RX_ERRORS,
	RX_DROPPED,
	RX_FIFO,
	RX_FRAME,
	RX_COMPRESSED,
	RX_MULTICAST,
	TX_BYTES,
	TX_PACKETS,
	TX_ERRORS,
	TX_DROPPED,
	TX_FIFO,
	TX_COLLISIONS,
	TX_CARRIER,
	TX_COMPRESSED,
	METRICS,
};

static const struct sample_metric columns[METRICS] = {
	[RX_BYTES] = BYTES("rx_bytes", "bytes received, with the headers of frames"),
	[RX_PACKETS] = COUNT("rx_packets", "packets received"),
	[RX_ERRORS] = COUNT("rx_errors", "packets received with an error"),
	[RX_DROPPED] = COUNT("rx_dropped", "packets received and dropped"),
	[RX_FIFO] = COUNT("rx_fifo_errors", "packets lost because a buffer was full"),
	[RX_FRAME] = COUNT("rx_frame_errors", "packets received with a framing error"),
	[RX_COMPRESSED] = COUNT("rx_compressed", "compressed packets received"),
	[RX_MULTICAST] = COUNT("rx_multicast", "multicast packets received"),
	[TX_BYTES] = BYTES("tx_bytes", "bytes sent, with the headers of frames"),
	[TX_PACKETS] = COUNT("tx_packets", "packets sent"),
	[TX_ERRORS] = COUNT("tx_errors", "packets not sent because of an error"),
	[TX_DROPPED] = COUNT("tx_dropped", "packets dropped before being sent"),
	[TX_FIFO] =
		COUNT("tx_fifo_errors", "packets lost on the way out because a buffer was full"),
	[TX_COLLISIONS] = COUNT("tx_collisions", "collisions while sending"),
	[TX_CARRIER] = COUNT("tx_carrier_errors", "losses of the carrier while sending"),
	[TX_COMPRESSED] = COUNT("tx_compressed", "compressed packets sent"),
};

/* Interfaces that were there and are gone, kept so that one which comes back goes on. */
#define GONE_MAX 256
/* No host has as many; what is above is left out, and after some of that the rest of the text, so
 * that it cannot make us search for ever. */
#define INTERFACES_MAX 8192
#define LEFT_OUT_MAX 64

struct interface {
	char *name;
	struct unwrap counts[METRICS];
	uint64_t fresh[METRICS]; /* counted since the last reading */
	uint32_t entity;
	uint64_t reading; /* the last that it was there */
	bool alive;       /* has an entity */
	bool device;      /* something is behind it */
	bool stacked;     /* its traffic is that of others, or never leaves the node */
	bool switched;    /* the interface of the switch that it is a port of has its traffic */
	bool mastered;    /* it has a master with a device, which counts for it */
	bool told;        /* whether the node's sum has it */
	const char *left_out;
	struct cached_file index;
	uint64_t index_was;
	bool has_index;
};

struct network {
	const char *root;
	struct cached_file dev;
	struct interface *list;
	size_t count, cap, hint, left_out;
	uint64_t reading;
	size_t refresh; /* the interface whose facts are looked at next */
	uint64_t sum[METRICS];
	bool has_node;
};

/* ---- what an interface is -----------------------------------------------------------------------
 */

/* The kinds of linux/if_arp.h that a machine may have. */
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

/* By the name alone, where /sys says nothing. */
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

/* "bridge", "bond", "vlan" and the like, that the kernel names in uevent; NULL: an ordinary one. */
static char *device_type(const struct network *n, const char *name)
{
	_cleanup_free_ char *uevent = read_once("%s/sys/class/net/%s/uevent", n->root, name);
	const char *p = uevent ? strstr(uevent, "DEVTYPE=") : NULL;

	if (!p || (p > uevent && p[-1] != '\n'))
		return NULL;
	p += strlen("DEVTYPE=");
	return xstrndup(p, strcspn(p, "\n"));
}

/* What changes while it is there: is it up, how fast is it. */
static void refresh_facts(const struct network *n, struct sample_set *set,
			  const struct interface *f)
{
	_cleanup_free_ char *state = read_fact("%s/sys/class/net/%s/operstate", n->root, f->name);
	const char *was;
	size_t size;

	if (!state || !fs_is_name(f->name))
		return;
	if (entity_fact(&set->entities[f->entity], "operstate", &was, &size) &&
	    strlen(state) == size && !memcmp(state, was, size))
		return;
	sample_fact(set, f->entity, "operstate", state);
	/* the speed is asked for only when the state is new: it may wait for the driver's lock */
	_cleanup_free_ char *speed = read_fact("%s/sys/class/net/%s/speed", n->root, f->name);
	uint64_t mbit;
	_cleanup_free_ char *text = speed && parse_u64(speed, &mbit) == 0 && mbit && mbit < 1u << 31
					    ? xasprintf("%s Mbit/s", speed)
					    : NULL;
	sample_fact(set, f->entity, "speed", text);
}

/* "pf0vf3", "c1pf0sf2": the switch's end of a virtual function. */
static bool is_representor(const char *dir)
{
	_cleanup_free_ char *port = read_fact("%s/phys_port_name", dir);
	const char *pf = port ? strstr(port, "pf") : NULL;

	return pf && (strstr(pf, "vf") || strstr(pf, "sf"));
}

/* Has its master a device itself? Bonds and bridges have none. */
static void find_master(const struct network *n, struct sample_set *set, struct interface *f)
{
	_cleanup_free_ char *link = xasprintf("%s/sys/class/net/%s/master", n->root, f->name);
	char target[4096];
	ssize_t length = readlink(link, target, sizeof(target) - 1);

	f->mastered = false;
	if (length <= 0) {
		sample_fact(set, f->entity, "master", NULL);
		return;
	}
	target[length] = 0;
	_cleanup_free_ char *device =
		xasprintf("%s/sys/class/net/%s/device", n->root, path_base(target));
	sample_fact(set, f->entity, "master", path_base(target));
	f->mastered = f->device && access(device, F_OK) == 0;
}

static void find_facts(const struct network *n, struct sample_set *set, struct interface *f)
{
	f->told = false;
	if (!fs_is_name(f->name))
		return;
	_cleanup_free_ char *dir = xasprintf("%s/sys/class/net/%s", n->root, f->name);
	_cleanup_free_ char *device = xasprintf("%s/device", dir);
	_cleanup_free_ char *driver = xasprintf("%s/device/driver", dir);
	_cleanup_free_ char *number = read_fact("%s/type", dir);
	_cleanup_free_ char *kind = device_type(n, f->name);
	const char *type = link_type(number);
	char target[4096];

	f->device = access(device, F_OK) == 0;
	f->stacked = !strcmp(f->name, "lo") || (type && !strcmp(type, "loopback"));
	/* an ordinary one without a device may be the end of a pair, by which a container is
	 * connected */
	if (!kind)
		f->stacked |= stacked_by_name(f->name);
	else if (strcmp(kind, "wlan") != 0)
		f->stacked = true;
	f->switched = (kind && !strcmp(kind, "dsa")) || (f->device && is_representor(dir));
	if (!kind && !f->device && type && !strcmp(type, "ethernet"))
		type = "virtual";
	sample_fact(set, f->entity, "type", kind ? kind : type ? type : number);
	ssize_t length = readlink(driver, target, sizeof(target) - 1);
	if (length > 0) {
		target[length] = 0;
		sample_fact(set, f->entity, "driver", path_base(target));
	}
	refresh_facts(n, set, f);
	find_master(n, set, f);
}

/* ---- the list -----------------------------------------------------------------------------------
 */

static void free_interface(struct interface *f)
{
	cached_file_release(&f->index);
	free(f->name);
}

static struct interface *find(struct network *n, const struct words *name)
{
	for (size_t i = 0; i < n->count; i++) {
		size_t at = (n->hint + i) % n->count;

		if (word_is(name, n->list[at].name)) {
			n->hint = at + 1;
			return &n->list[at];
		}
	}
	if (n->count >= INTERFACES_MAX)
		return NULL;
	GROW(n->list, n->count, n->cap);
	struct interface *f = &n->list[n->count++];
	*f = (struct interface){.name = xstrndup(name->p, (size_t)(name->end - name->p))};
	cached_file_init(&f->index, "%s/sys/class/net/%s/ifindex", n->root, f->name);
	return f;
}

/* Has another interface taken the name since the last reading? */
static bool made_again(struct interface *f, bool first)
{
	uint64_t index = 0;
	struct words text;

	if (!fs_is_name(f->name) || (!first && !f->has_index))
		return false;
	/* the descriptor of one that was removed fails, and opens its successor */
	bool good =
		cached_file_read(&f->index) == 0 || (!first && cached_file_read(&f->index) == 0);
	text = cached_file_words(&f->index);
	good = good && number_only(&text, &index);
	bool other = f->has_index && (!good || index != f->index_was);
	f->has_index = good;
	f->index_was = index;
	return other;
}

static bool started_again(const struct interface *f, const uint64_t *raw)
{
	static const unsigned packets[] = {RX_PACKETS, TX_PACKETS};

	/* packets do not reach 2^31 before bytes do: when they fall, the driver was reset */
	for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
		const struct unwrap *u = &f->counts[packets[i]];

		if (u->seen && raw[packets[i]] < u->last && !count_wrapped(u, raw[packets[i]]))
			return true;
	}
	return false;
}

static void take(struct network *n, struct sample_set *set, const struct words *name,
		 const uint64_t *raw)
{
	struct interface *f = find(n, name);

	n->left_out += !f;
	if (!f || f->reading == n->reading)
		return; /* too many, or twice in one text */
	bool back = !f->alive;
	f->reading = n->reading;
	if (back) {
		f->entity = sample_entity(set, ENTITY_INTERFACE, f->name);
		f->alive = true;
		find_facts(n, set, f);
	}
	bool other = made_again(f, back && !f->counts[0].seen);
	bool again = other || (back && f->counts[0].seen) || started_again(f, raw);
	if (other && !back)
		find_facts(n, set, f);
	sample_row(set, f->entity);
	for (unsigned m = 0; m < METRICS; m++) {
		uint64_t was = f->counts[m].total;

		sample_put(set, m, (int64_t)count_on(&f->counts[m], raw[m], again));
		f->fresh[m] = f->counts[m].total - was;
	}
	/* one that comes later counted elsewhere before */
	if (back && n->reading > 1)
		memset(f->fresh, 0, sizeof(f->fresh));
}

/* Why an interface is not in the node's sum; NULL: it is. */
static const char *why_left_out(const struct interface *f, bool any_device)
{
	if (!any_device)
		return f->stacked ? "carries what others carry, or never leaves the node" : NULL;
	return !f->device    ? "no device is behind it"
	       : f->mastered ? "counted by its master"
	       : f->switched ? "a port of a switch that counts the same"
			     : NULL;
}

static void add_node(struct network *n, struct sample_set *set)
{
	bool any_device = false, any = false;

	for (size_t i = 0; i < n->count; i++)
		any_device |= n->list[i].alive && n->list[i].device;
	for (size_t i = 0; i < n->count; i++) {
		struct interface *f = &n->list[i];

		if (!f->alive)
			continue;
		const char *left_out = why_left_out(f, any_device);
		bool counted = !left_out;
		if (!f->told || left_out != f->left_out) {
			sample_fact(set, f->entity, "in_node_sum", counted ? "yes" : "no");
			sample_fact(set, f->entity, "left_out", left_out);
		}
		f->told = true;
		f->left_out = left_out;
		any |= counted;
		for (unsigned m = 0; m < METRICS && counted; m++) {
			n->sum[m] += f->fresh[m];
			if (n->sum[m] > INT64_MAX)
				n->sum[m] = INT64_MAX;
		}
	}
	n->has_node |= any;
	if (!n->has_node)
		return;
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	for (unsigned m = 0; m < METRICS; m++)
		sample_put(set, m, (int64_t)n->sum[m]);
}

/* Ends those that are gone, and forgets the oldest of many. */
static void end_gone(struct network *n, struct sample_set *set)
{
	size_t gone = 0, oldest = SIZE_MAX;

	for (size_t i = 0; i < n->count; i++) {
		struct interface *f = &n->list[i];

		if (f->reading == n->reading)
			continue;
		if (f->alive)
			sample_end(set, f->entity);
		f->alive = false;
		gone++;
		if (oldest == SIZE_MAX || f->reading < n->list[oldest].reading)
			oldest = i;
	}
	if (gone > GONE_MAX) {
		free_interface(&n->list[oldest]);
		memmove(&n->list[oldest], &n->list[oldest + 1],
			(n->count - oldest - 1) * sizeof(*n->list));
		n->count--;
	}
}

/* "  eth0: 1 2 ..." or, of old kernels, "eth0:1 2 ..." */
static bool parse_line(struct words line, struct words *name, uint64_t *raw)
{
	struct words numbers;
	const char *colon = memrchr(line.p, ':', (size_t)(line.end - line.p));

	if (!colon)
		return false;
	numbers = (struct words){colon + 1, line.end};
	line.end = colon;
	if (!word_next(&line, name) || name->end - name->p > NAME_MAX)
		return false;
	for (unsigned m = 0; m < METRICS; m++)
		if (!number_next(&numbers, &raw[m]))
			return false;
	return true;
}

static int read_all(void *state, struct sample_set *set)
{
	struct network *n = state;
	int r = cached_file_read(&n->dev);
	uint64_t raw[METRICS];
	struct words line, name;

	if (r < 0)
		return r;
	struct words text = cached_file_words(&n->dev);
	n->reading++;
	n->hint = 0;
	n->left_out = 0;
	while (n->left_out < LEFT_OUT_MAX && line_next(&text, &line))
		if (parse_line(line, &name, raw))
			take(n, set, &name, raw);
	end_gone(n, set);
	if (n->count) {
		struct interface *f = &n->list[n->refresh++ % n->count];

		if (f->alive) {
			refresh_facts(n, set, f);
			find_master(n, set, f);
		}
	}
	add_node(n, set);
	return 0;
}

static void close_all(void *state)
{
	struct network *n = state;

	for (size_t i = 0; i < n->count; i++)
		free_interface(&n->list[i]);
	free(n->list);
	cached_file_release(&n->dev);
	free(n);
}

static int open_all(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why)
{
	struct network *n = xcalloc(1, sizeof(*n));

	(void)set;
	n->root = ctx->root;
	cached_file_init(&n->dev, "%s/proc/net/dev", ctx->root);
	int r = cached_file_read(&n->dev);
	if (r < 0) {
		strbuf_addf(why, "cannot read '%s': %s", n->dev.file.path, strerror(-r));
		close_all(n);
		return r;
	}
	*state = n;
	return 0;
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
	.open = open_all,
	.read = read_all,
	.close = close_all,
};
