/*
 * The source "infiniband": words and flits, counters that wrap, stop or are cleared, ports that
 * come and go.
 */
#include "source.h"

#define IB "sys/class/infiniband"

static void put_port(const char *device, int port, const char *port_state)
{
	putf(IB "/%s/ports/%d/state", port_state, device, port);
	putf(IB "/%s/ports/%d/phys_state", "5: LinkUp\n", device, port);
	putf(IB "/%s/ports/%d/rate", "100 Gb/sec (4X EDR)\n", device, port);
	putf(IB "/%s/ports/%d/link_layer", "InfiniBand\n", device, port);
	putf(IB "/%s/hca_type", "MT4119\n", device);
	putf(IB "/%s/board_id", "MT_0000000008\n", device);
	putf(IB "/%s/fw_ver", "16.35.2000\n", device);
}

static void put_data(const char *device, int port, const char *xmit, const char *rcv)
{
	putf(IB "/%s/ports/%d/counters/port_xmit_data", xmit, device, port);
	putf(IB "/%s/ports/%d/counters/port_rcv_data", rcv, device, port);
}

static void ports_count_words_and_packets(void **state)
{
	(void)state;
	put_port("mlx5_0", 1, "4: ACTIVE\n");
	put_data("mlx5_0", 1, "1000000000000\n", "7\n");
	put_files(IB "/mlx5_0/ports/1", {"counters/port_xmit_packets", "123\n"},
		  {"counters/port_rcv_packets", "456\n"}, {"counters/link_downed", "3\n"},
		  {"counters/VL15_dropped", "11\n"}, {"hw_counters/np_cnp_sent", "21\n"});
	check_probe("infiniband", NULL, 0, "mlx5_0/1 active");
	begin("infiniband", NULL);
	check_values(ENTITY_PORT, "mlx5_0/1", {"port_xmit_data", 4000000000000},
		     {"port_rcv_data", 28}, {"port_xmit_packets", 123}, {"port_rcv_packets", 456},
		     {"link_downed", 3}, {"vl15_dropped", 11}, {"np_cnp_sent", 21});
	check_node("port_xmit_data", 4000000000000);
	check_none(ENTITY_PORT, "mlx5_0/1", "symbol_error");
	assert_string_equal(absence("symbol_error"), "no port has this counter");
	check_metadata(ENTITY_PORT, "mlx5_0/1", {"state", "4: ACTIVE"},
		       {"rate", "100 Gb/sec (4X EDR)"}, {"link_layer", "InfiniBand"},
		       {"model", "MT4119"}, {"board", "MT_0000000008"}, {"firmware", "16.35.2000"},
		       {"counts_in", "words of 4 bytes"});
}

static void omnipath_counts_flits(void **state)
{
	(void)state;
	put_port("hfi1_0", 1, "4: ACTIVE\n");
	put_data("hfi1_0", 1, "1000\n", "3\n");
	begin("infiniband", NULL);
	check_value(ENTITY_PORT, "hfi1_0/1", "port_xmit_data", 8000);
	check_value(ENTITY_PORT, "hfi1_0/1", "port_rcv_data", 24);
	check_fact(ENTITY_PORT, "hfi1_0/1", "counts_in", "flits of 8 bytes");
}

static void wide_counters_are_preferred_unless_they_lag(void **state)
{
	(void)state;
	put_port("mlx4_0", 1, "4: ACTIVE\n");
	put_data("mlx4_0", 1, "4294967295\n", "100\n");
	put_files(IB "/mlx4_0/ports/1", {"counters_ext/port_xmit_data_64", "9000000000\n"},
		  {"counters_ext/port_rcv_data_64", "0\n"}, {"counters/port_rcv_packets", "10\n"},
		  {"counters_ext/port_rcv_packets_64", "10\n"},
		  {"counters_ext/port_unicast_xmit_packets", "61\n"});
	begin("infiniband", NULL);
	check_values(ENTITY_PORT, "mlx4_0/1", {"port_xmit_data", 36000000000},
		     {"port_rcv_data", 400}, {"port_rcv_packets", 10},
		     {"unicast_xmit_packets", 61});
	/* the wide one is read from now on where it was chosen */
	putf(IB "/mlx4_0/ports/1/counters_ext/port_xmit_data_64", "9000000005\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_PORT, "mlx4_0/1", "port_xmit_data", 36000000020);
}

static void narrow_counters_stop_and_are_cleared(void **state)
{
	(void)state;
	put_port("mthca0", 1, "4: ACTIVE\n");
	put_data("mthca0", 1, "4294967000\n", "50\n");
	putf(IB "/mthca0/ports/1/counters/symbol_error", "65535\n");
	putf(IB "/mthca0/ports/1/counters/link_downed", "254\n");
	begin("infiniband", NULL);
	check_value(ENTITY_PORT, "mthca0/1", "port_xmit_data", 4294967000 * 4);
	check_value(ENTITY_PORT, "mthca0/1", "symbol_error", 65535);
	check_fact(ENTITY_PORT, "mthca0/1", "at_end", "symbol_error");

	/* stopped: neither idle nor a wrap */
	put_data("mthca0", 1, "4294967295\n", "60\n");
	putf(IB "/mthca0/ports/1/counters/link_downed", "255\n");
	assert_int_equal(take(), 0);
	check_none(ENTITY_PORT, "mthca0/1", "port_xmit_data");
	assert_contains(absence("port_xmit_data"), "mthca0/1 has reached its maximum");
	check_value(ENTITY_PORT, "mthca0/1", "port_rcv_data", 240);
	check_fact(ENTITY_PORT, "mthca0/1", "at_end", "port_xmit_data symbol_error link_downed");
	/* nor has the node a total that stands still */
	check_none(ENTITY_NODE, "node", "port_xmit_data");
	check_node("port_rcv_data", 240);

	/* cleared: goes on, and never falls */
	put_data("mthca0", 1, "10\n", "5\n");
	putf(IB "/mthca0/ports/1/counters/symbol_error", "0\n");
	putf(IB "/mthca0/ports/1/counters/link_downed", "1\n");
	assert_int_equal(take(), 0);
	check_values(ENTITY_PORT, "mthca0/1", {"port_xmit_data", (4294967000 + 10) * 4},
		     {"port_rcv_data", 260}, {"link_downed", 256});
	check_fact(ENTITY_PORT, "mthca0/1", "at_end", NULL);
	check_node("port_xmit_data", (4294967000 + 10) * 4);
}

static void what_a_port_does_not_tell_is_absent(void **state)
{
	static const char *const none[] = {"N/A (no PMA)\n",
					   "",
					   "\n",
					   "none\n",
					   "-5\n",
					   "18446744073709551616\n",
					   "9223372036854775807\n",
					   "4611686018427387904\n"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		put_port("i40iw0", 1, "4: ACTIVE\n");
		put_data("i40iw0", 1, none[i], "9\n");
		begin("infiniband", NULL);
		check_none(ENTITY_PORT, "i40iw0/1", "port_xmit_data");
		check_none(ENTITY_NODE, "node", "port_xmit_data");
		check_value(ENTITY_PORT, "i40iw0/1", "port_rcv_data", 36);
	}
}

static void ports_without_an_agent_have_hardware_counters(void **state)
{
	(void)state;
	put_port("irdma0", 1, "4: ACTIVE\n");
	put_data("irdma0", 1, "N/A (no PMA)\n", "N/A (no PMA)\n");
	put_files(IB "/irdma0/ports/1/hw_counters", {"ip4OutOctets", "1000\n"},
		  {"ip6OutOctets", "24\n"}, {"ip4InOctets", "77\n"}, {"ip4OutPkts", "5\n"},
		  {"ip6OutPkts", "1\n"}, {"cnpSent", "2\n"});
	put_port("bnxt_re0", 1, "4: ACTIVE\n");
	putf(IB "/bnxt_re0/ports/1/hw_counters/tx_bytes", "4096\n");
	putf(IB "/bnxt_re0/ports/1/hw_counters/rx_bytes", "8192\n");
	begin("infiniband", NULL);
	check_values(ENTITY_PORT, "irdma0/1", {"port_xmit_data", 1024}, {"port_rcv_data", 77},
		     {"port_xmit_packets", 6}, {"np_cnp_sent", 2});
	check_fact(ENTITY_PORT, "irdma0/1", "counts_in", NULL);
	check_value(ENTITY_PORT, "bnxt_re0/1", "port_xmit_data", 4096);
	check_value(ENTITY_PORT, "bnxt_re0/1", "port_rcv_data", 8192);
	check_node("port_xmit_data", 5120);
}

static void the_node_is_the_sum_of_active_ports(void **state)
{
	(void)state;
	put_port("mlx5_0", 1, "4: ACTIVE\n");
	put_port("mlx5_1", 1, "1: DOWN\n");
	put_port("mlx5_2", 2, "5: ACTIVE_DEFER\n");
	put_data("mlx5_0", 1, "100\n", "1\n");
	put_data("mlx5_1", 1, "1000\n", "2\n");
	put_data("mlx5_2", 2, "10000\n", "3\n");
	check_probe("infiniband", NULL, 0, "mlx5_0/1 active, mlx5_1/1 down, mlx5_2/2 down");
	begin("infiniband", NULL);
	check_node("port_xmit_data", 400);
	check_value(ENTITY_PORT, "mlx5_1/1", "port_xmit_data", 4000);

	/* a port that comes up brings what it adds, not its past */
	put_port("mlx5_1", 1, "4: ACTIVE\n");
	put_data("mlx5_1", 1, "1010\n", "2\n");
	assert_int_equal(take(), 0);
	check_node("port_xmit_data", 440);
	check_fact(ENTITY_PORT, "mlx5_1/1", "state", "4: ACTIVE");

	/* so does one whose counter was not to be read at first */
	put_data("mlx5_1", 1, "1010\n", "100\n");
	assert_int_equal(start("infiniband", NULL), 0);
	put_data("mlx5_1", 1, "1010\n", "busy\n");
	assert_int_equal(take(), 0);
	check_node("port_rcv_data", 4);
	put_data("mlx5_1", 1, "1010\n", "110\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_PORT, "mlx5_1/1", "port_rcv_data", 440);
	check_node("port_rcv_data", 4);
	put_data("mlx5_1", 1, "1010\n", "111\n");
	assert_int_equal(take(), 0);
	check_node("port_rcv_data", 8);
	check_node("port_xmit_data", 4440);

	/* one that goes down, and one that is gone, take nothing away */
	put_port("mlx5_0", 1, "1: DOWN\n");
	drop(IB "/mlx5_1/ports");
	assert_int_equal(take(), 0);
	check_node("port_xmit_data", 4440);
	check_fact(ENTITY_PORT, "mlx5_0/1", "state", "1: DOWN");
}

static void adapters_that_come_later(void **state)
{
	(void)state;
	put_port("mlx5_0", 1, "4: ACTIVE\n");
	put_data("mlx5_0", 1, "100\n", "1\n");
	begin("infiniband", NULL);
	put_port("mlx5_1", 1, "4: ACTIVE\n");
	put_data("mlx5_1", 1, "1000\n", "2\n");
	assert_int_equal(take(), 0);
	assert_false(has_row(ENTITY_PORT, "mlx5_1/1"));
	assert_int_equal(take_later(31), 0);
	check_value(ENTITY_PORT, "mlx5_1/1", "port_xmit_data", 4000);
	check_value(ENTITY_PORT, "mlx5_0/1", "port_xmit_data", 400);
	/* with what it adds from now on */
	check_node("port_xmit_data", 400);
	put_data("mlx5_1", 1, "1010\n", "2\n");
	assert_int_equal(take_later(32), 0);
	check_node("port_xmit_data", 440);
}

static void no_adapter(void **state)
{
	(void)state;
	check_probe("infiniband", NULL, -ENOENT, "no host channel adapter");
	assert_int_equal(start("infiniband", NULL), -ENOENT);
	put(IB "/mlx5_0/hca_type", "MT4119\n");
	check_probe("infiniband", NULL, -ENOENT, "no host channel adapter");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(ports_count_words_and_packets),
		with_source(omnipath_counts_flits),
		with_source(wide_counters_are_preferred_unless_they_lag),
		with_source(narrow_counters_stop_and_are_cleared),
		with_source(what_a_port_does_not_tell_is_absent),
		with_source(ports_without_an_agent_have_hardware_counters),
		with_source(the_node_is_the_sum_of_active_ports),
		with_source(adapters_that_come_later),
		with_source(no_adapter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
