/*
 * The source "network": interfaces that come and go, sums that count nothing twice, counters that
 * wrap or start again.
 */
#include "source.h"

#include <inttypes.h>

#define DEV_HEAD                                                                              \
	"Inter-|   Receive                                                |  Transmit\n"      \
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets " \
	"errs drop fifo colls carrier compressed\n"

/* One interface with these bytes and packets in both directions, the rest 1 to 12. */
static void add_interface(struct strbuf *text, const char *name, uint64_t rx, uint64_t rx_packets,
			  uint64_t tx, uint64_t tx_packets)
{
	strbuf_addf(text,
		    "%6s: %" PRIu64 " %" PRIu64 " 1 2 3 4 5 6 %" PRIu64 " %" PRIu64
		    " 7 8 9 10 11 12\n",
		    name, rx, rx_packets, tx, tx_packets);
}

static void put_interfaces(struct strbuf *text)
{
	_cleanup_free_ char *all = xasprintf(DEV_HEAD "%s", text->buf);

	put("proc/net/dev", all);
	strbuf_reset(text);
}

static void network_values(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	add_interface(&text, "lo", 500, 5, 500, 5);
	add_interface(&text, "eth0", 1000, 10, 2000, 20);
	add_interface(&text, "ib0", 7000, 70, 8000, 80);
	add_interface(&text, "br0", 900, 9, 1900, 19);
	add_interface(&text, "veth12", 90, 1, 80, 2);
	strbuf_addstr(&text, "eth1:11 1 0 0 0 0 0 0 22 2 0 0 0 0 0 0\n"); /* of old kernels */
	put_interfaces(&text);
	put("sys/class/net/lo/type", "772\n");
	put("sys/class/net/eth0/type", "1\n");
	put("sys/class/net/eth0/operstate", "up\n");
	put("sys/class/net/eth0/speed", "25000\n");
	put_dir("sys/class/net/eth0/device");
	put_link("sys/class/net/eth0/device/driver", "../../../bus/pci/drivers/mlx5_core");
	put("sys/class/net/ib0/type", "32\n");
	put("sys/class/net/ib0/operstate", "down\n");
	put("sys/class/net/ib0/speed", "-1\n");
	put_dir("sys/class/net/ib0/device");
	put("sys/class/net/br0/type", "1\n");
	put("sys/class/net/br0/uevent", "DEVTYPE=bridge\nINTERFACE=br0\n");
	put("sys/class/net/veth12/type", "1\n");
	begin("network", NULL);
	assert_int_equal(R.set.row_count, 7);
	check_value(ENTITY_INTERFACE, "eth0", "rx_bytes", 1000);
	check_value(ENTITY_INTERFACE, "eth0", "rx_packets", 10);
	check_value(ENTITY_INTERFACE, "eth0", "rx_errors", 1);
	check_value(ENTITY_INTERFACE, "eth0", "rx_dropped", 2);
	check_value(ENTITY_INTERFACE, "eth0", "rx_fifo_errors", 3);
	check_value(ENTITY_INTERFACE, "eth0", "rx_frame_errors", 4);
	check_value(ENTITY_INTERFACE, "eth0", "rx_compressed", 5);
	check_value(ENTITY_INTERFACE, "eth0", "rx_multicast", 6);
	check_value(ENTITY_INTERFACE, "eth0", "tx_bytes", 2000);
	check_value(ENTITY_INTERFACE, "eth0", "tx_packets", 20);
	check_value(ENTITY_INTERFACE, "eth0", "tx_compressed", 12);
	check_value(ENTITY_INTERFACE, "eth1", "rx_bytes", 11);
	check_value(ENTITY_INTERFACE, "eth1", "tx_bytes", 22);
	check_fact(ENTITY_INTERFACE, "eth0", "type", "ethernet");
	check_fact(ENTITY_INTERFACE, "eth0", "operstate", "up");
	check_fact(ENTITY_INTERFACE, "eth0", "speed", "25000 Mbit/s");
	check_fact(ENTITY_INTERFACE, "eth0", "driver", "mlx5_core");
	check_fact(ENTITY_INTERFACE, "ib0", "type", "infiniband");
	check_fact(ENTITY_INTERFACE, "ib0", "speed", NULL);
	check_fact(ENTITY_INTERFACE, "br0", "type", "bridge");
	check_fact(ENTITY_INTERFACE, "veth12", "type", "virtual");
	check_fact(ENTITY_INTERFACE, "lo", "in_node_sum", "no");
	/* those with a device: eth0 and ib0 */
	check_node("rx_bytes", 8000);
	check_node("tx_bytes", 10000);
	check_node("tx_packets", 100);
	/* what changes is seen: one interface at each reading */
	put("sys/class/net/ib0/operstate", "up\n");
	put("sys/class/net/ib0/speed", "200000\n");
	for (int i = 0; i < 6; i++)
		assert_int_equal(take(), 0);
	check_fact(ENTITY_INTERFACE, "ib0", "operstate", "up");
	check_fact(ENTITY_INTERFACE, "ib0", "speed", "200000 Mbit/s");
}

/* Without /sys, names tell; in a container one end of a pair is the network. */
static void network_sums(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	static const char *const out[] = {"lo",    "docker0", "br-1f",  "br0",
					  "bond0", "eth0.12", "virbr0", "vethf34",
					  "tun0",  "dummy0",  "ifb0",   "cali99"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		add_interface(&text, out[i], 1000000, 1, 1000000, 1);
	add_interface(&text, "eth0", 3, 1, 4, 1);
	add_interface(&text, "eno1", 30, 1, 40, 1);
	put_interfaces(&text);
	begin("network", NULL);
	check_node("rx_bytes", 33);
	check_node("tx_bytes", 44);
	stop();

	add_interface(&text, "lo", 500, 5, 500, 5);
	add_interface(&text, "eth0", 70, 1, 80, 1);
	put_interfaces(&text);
	put("sys/class/net/eth0/type", "1\n");
	begin("network", NULL);
	check_node("rx_bytes", 70);
	stop();

	/* the loopback alone is no network */
	add_interface(&text, "lo", 500, 5, 500, 5);
	put_interfaces(&text);
	begin("network", NULL);
	assert_int_equal(R.set.row_count, 1);
	assert_int_equal(row_of(ENTITY_NODE, "node"), -1);
}

/* Devices that carry what another device carries: a virtual function below the synthetic interface
 * of a cloud, ports of a switch chip, representors. Those of a bond count, the bond does not. */
static void network_twice(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	static const char *const devices[] = {"eth0", "enP1s1", "eno1", "eno2",
					      "lan1", "sw0",    "rep0"};

	(void)state;
	add_interface(&text, "eth0", 1000, 10, 2000, 20);
	add_interface(&text, "enP1s1", 990, 9, 1990, 19);
	add_interface(&text, "eno1", 30, 1, 40, 1);
	add_interface(&text, "eno2", 3, 1, 4, 1);
	add_interface(&text, "bond0", 33, 2, 44, 2);
	add_interface(&text, "sw0", 500000, 1, 0, 0);
	add_interface(&text, "lan1", 400000, 1, 0, 0);
	add_interface(&text, "rep0", 7000000, 1, 0, 0);
	put_interfaces(&text);
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		_cleanup_free_ char *dir = xasprintf("sys/class/net/%s/device", devices[i]);

		put_dir(dir);
	}
	put_link("sys/class/net/enP1s1/master", "../../../VMBUS:00/net/eth0");
	put_link("sys/class/net/eno1/master", "../../../virtual/net/bond0");
	put_link("sys/class/net/eno2/master", "../../../virtual/net/bond0");
	put("sys/class/net/bond0/uevent", "DEVTYPE=bond\n");
	put("sys/class/net/lan1/uevent", "DEVTYPE=dsa\n");
	put("sys/class/net/rep0/phys_port_name", "pf0vf3\n");
	put("sys/class/net/sw0/phys_port_name", "p0\n");
	begin("network", NULL);
	check_node("rx_bytes", 501033);
	check_node("tx_bytes", 2044);
	check_metadata(ENTITY_INTERFACE, "enP1s1", {"in_node_sum", "no"}, {"master", "eth0"},
		       {"left_out", "counted by its master"});
	check_metadata(ENTITY_INTERFACE, "eno1", {"in_node_sum", "yes"}, {"master", "bond0"},
		       {"left_out", NULL});
	check_fact(ENTITY_INTERFACE, "bond0", "left_out", "no device is behind it");
	check_probe("network", NULL, 0,
		    "enP1s1 (left out of the node's sum: counted by its master)");
	check_fact(ENTITY_INTERFACE, "lan1", "left_out", "a port of a switch that counts the same");
	check_fact(ENTITY_INTERFACE, "rep0", "left_out", "a port of a switch that counts the same");
	/* the virtual function is taken away from its master: one interface is looked at a reading
	 */
	drop("sys/class/net/enP1s1/master");
	for (int i = 0; i < 8; i++)
		assert_int_equal(take(), 0);
	check_fact(ENTITY_INTERFACE, "enP1s1", "in_node_sum", "yes");
	check_node("rx_bytes", 501033);
}

static void network_counters(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	add_interface(&text, "eth0", 4294967000u, 1000, 4294960000u, 2000);
	put_interfaces(&text);
	put("sys/class/net/eth0/ifindex", "4\n");
	put_dir("sys/class/net/eth0/device");
	begin("network", NULL);
	check_node("rx_bytes", 4294967000);
	/* 32 bits wrap: packets went on */
	add_interface(&text, "eth0", 704, 1010, 4294961000u, 2010);
	put_interfaces(&text);
	assert_int_equal(take(), 0);
	check_value(ENTITY_INTERFACE, "eth0", "rx_bytes", 4294968000);
	check_node("rx_bytes", 4294968000);
	check_value(ENTITY_INTERFACE, "eth0", "tx_bytes", 4294961000);
	/* the driver was reset: packets fell too, so tx_bytes did not wrap */
	add_interface(&text, "eth0", 5, 1, 6, 1);
	put_interfaces(&text);
	assert_int_equal(take(), 0);
	check_value(ENTITY_INTERFACE, "eth0", "rx_bytes", 4294968000);
	check_value(ENTITY_INTERFACE, "eth0", "tx_bytes", 4294961000);
	check_value(ENTITY_INTERFACE, "eth0", "rx_packets", 1010);
	add_interface(&text, "eth0", 105, 2, 206, 2);
	put_interfaces(&text);
	assert_int_equal(take(), 0);
	check_value(ENTITY_INTERFACE, "eth0", "rx_bytes", 4294968100);
	check_value(ENTITY_INTERFACE, "eth0", "tx_bytes", 4294961200);
	/* another interface has the name, and counted far more before */
	put("sys/class/net/eth0/ifindex", "9\n");
	add_interface(&text, "eth0", 900000000000, 900000, 1, 900000);
	put_interfaces(&text);
	assert_int_equal(take(), 0);
	check_value(ENTITY_INTERFACE, "eth0", "rx_bytes", 4294968100);
	check_value(ENTITY_INTERFACE, "eth0", "tx_bytes", 4294961200);
	check_node("rx_bytes", 4294968100);
	add_interface(&text, "eth0", 900000000010, 900001, 2, 900001);
	put_interfaces(&text);
	assert_int_equal(take(), 0);
	check_node("rx_bytes", 4294968110);
	check_node("tx_bytes", 4294961201);
}

static void network_comes_and_goes(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	add_interface(&text, "eth0", 100, 1, 100, 1);
	add_interface(&text, "eth1", 1000, 10, 1000, 10);
	put_interfaces(&text);
	begin("network", NULL);
	check_node("rx_bytes", 1100);
	/* eth1 is gone: the node does not fall; eth2 counted elsewhere before: the node does not
	 * jump */
	add_interface(&text, "eth0", 150, 2, 150, 2);
	add_interface(&text, "eth2", 5000000, 50, 5000000, 50);
	put_interfaces(&text);
	assert_int_equal(take(), 0);
	check_node("rx_bytes", 1150);
	assert_int_equal(R.set.ended_count, 1);
	assert_string_equal(R.set.entities[R.set.ended[0]].name, "eth1");
	check_value(ENTITY_INTERFACE, "eth2", "rx_bytes", 5000000);
	add_interface(&text, "eth0", 150, 2, 150, 2);
	add_interface(&text, "eth2", 5000007, 50, 5000000, 50);
	put_interfaces(&text);
	assert_int_equal(take(), 0);
	check_node("rx_bytes", 1157);
	/* eth1 is back, from 0: it goes on */
	add_interface(&text, "eth0", 150, 2, 150, 2);
	add_interface(&text, "eth1", 30, 1, 30, 1);
	put_interfaces(&text);
	assert_int_equal(take(), 0);
	check_value(ENTITY_INTERFACE, "eth1", "rx_bytes", 1000);
	check_node("rx_bytes", 1157);
	add_interface(&text, "eth0", 150, 2, 150, 2);
	add_interface(&text, "eth1", 33, 1, 30, 1);
	put_interfaces(&text);
	assert_int_equal(take(), 0);
	check_value(ENTITY_INTERFACE, "eth1", "rx_bytes", 1003);
	check_node("rx_bytes", 1160);
	/* containers come and go by the thousand, with names of their own */
	for (int i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "veth%d", i);
		add_interface(&text, name, 1, 1, 1, 1);
		put_interfaces(&text);
		assert_int_equal(take(), 0);
		assert_int_equal(R.set.row_count, 2);
	}
	assert_in_range(R.set.entity_count, 2, 8);
	check_node("rx_bytes", 1160);
}

static void network_of_garbage(void **state)
{
	char *name = xmalloc(5000);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	memset(name, 'n', 4999);
	name[4999] = 0;
	add_interface(&text, "eth0", 1, 2, 3, 4);
	add_interface(&text, "eth0", 1, 2, 3, 4);
	add_interface(&text, "../../etc", 5, 1, 5, 1);
	add_interface(&text, "a\\b\xff", 6, 1, 6, 1);
	add_interface(&text, name, 7, 1, 7, 1);
	free(name);
	strbuf_addstr(&text,
		      ":\n: 1 2 3\n x:\n eth1: 1 2 3 4\n eth2: a b c d e f g h i j k l m n o p\n"
		      " eth3: 99999999999999999999 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
		      " eth4: -1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
		      " eth5: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
	put_interfaces(&text);
	begin("network", NULL);
	check_value(ENTITY_INTERFACE, "eth0", "rx_bytes", 1);
	check_value(ENTITY_INTERFACE, "../../etc", "rx_bytes", 5);
	check_value(ENTITY_INTERFACE, "a\\b\xff", "rx_bytes", 6);
	/* too long, too short, no numbers, too large, negative, cut off */
	assert_int_equal(R.set.row_count, 4);
	put("proc/net/dev", "");
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.ended_count, 3);
	stop();
	R.ctx.root = "/nowhere";
	assert_int_equal(start("network", NULL), -ENOENT);
	assert_contains(R.why.buf, "/nowhere/proc/net/dev");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(network_values),         with_source(network_sums),
		with_source(network_twice),          with_source(network_counters),
		with_source(network_comes_and_goes), with_source(network_of_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
