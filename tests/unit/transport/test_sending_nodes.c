/* The nodes that a collector lists: by name, with a bound, the silent ones first. */
#include "unit.h"

#include "transport/sending_nodes.h"

static void names_are_counted_once(void **state)
{
	struct sending_nodes s = {0}, copy;

	(void)state;
	sending_node_of(&s, "n2")->last_us = 20;
	sending_node_of(&s, "n1")->last_us = 30;
	sending_node_of(&s, "n2")->batches += 2;
	sending_node_of(&s, "n3")->refused++;
	sending_node_of(&s, "n2")->batches++;
	assert_int_equal(s.count, 3);
	sending_nodes_copy(&s, &copy);
	sending_nodes_release(&s);
	assert_int_equal(copy.count, 3);
	assert_string_equal(copy.list[0].name, "n3"); /* nothing since the start */
	assert_int_equal(copy.list[0].refused, 1);
	assert_string_equal(copy.list[1].name, "n2");
	assert_int_equal(copy.list[1].batches, 3);
	assert_string_equal(copy.list[2].name, "n1");
	sending_nodes_release(&copy);
}

static void those_that_were_silent_for_longest_go(void **state)
{
	struct sending_nodes s = {0};
	char name[32];

	(void)state;
	sending_node_of(&s, "old")->batches = 7;
	for (int i = 0; i < 3 * SENDING_NODES_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		sending_node_of(&s, name)->batches = (uint64_t)i;
		if (i % 1000 == 0)
			sending_node_of(&s, "heard")->batches++;
		assert_true(s.count <= SENDING_NODES_MAX);
	}
	assert_int_equal(sending_node_of(&s, "old")->batches, 0); /* it is new again */
	assert_int_equal(sending_node_of(&s, "heard")->batches, 3 * SENDING_NODES_MAX / 1000);
	assert_int_equal(sending_node_of(&s, "n59999")->batches, 59999);
	assert_int_equal(sending_node_of(&s, "n50000")->batches, 50000);
	sending_nodes_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_counted_once),
		cmocka_unit_test(those_that_were_silent_for_longest_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
