/* The nodes that a collector lists: by name, with a bound, the silent ones first. */
#include "unit.h"

#include "transport/sending_nodes.h"

static void names_are_counted_once(void **state)
{
	struct senders s = {0}, copy;

	(void)state;
	sender_of(&s, "n2")->last_us = 20;
	sender_of(&s, "n1")->last_us = 30;
	sender_of(&s, "n2")->batches += 2;
	sender_of(&s, "n3")->refused++;
	sender_of(&s, "n2")->batches++;
	assert_int_equal(s.count, 3);
	senders_copy(&s, &copy);
	senders_release(&s);
	assert_int_equal(copy.count, 3);
	assert_string_equal(copy.list[0].name, "n3"); /* nothing since the start */
	assert_int_equal(copy.list[0].refused, 1);
	assert_string_equal(copy.list[1].name, "n2");
	assert_int_equal(copy.list[1].batches, 3);
	assert_string_equal(copy.list[2].name, "n1");
	senders_release(&copy);
}

static void those_that_were_silent_for_longest_go(void **state)
{
	struct senders s = {0};
	char name[32];

	(void)state;
	sender_of(&s, "old")->batches = 7;
	for (int i = 0; i < 3 * SENDERS_MAX; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		sender_of(&s, name)->batches = (uint64_t)i;
		if (i % 1000 == 0)
			sender_of(&s, "heard")->batches++;
		assert_true(s.count <= SENDERS_MAX);
	}
	assert_int_equal(sender_of(&s, "old")->batches, 0); /* it is new again */
	assert_int_equal(sender_of(&s, "heard")->batches, 3 * SENDERS_MAX / 1000);
	assert_int_equal(sender_of(&s, "n59999")->batches, 59999);
	assert_int_equal(sender_of(&s, "n50000")->batches, 50000);
	senders_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_counted_once),
		cmocka_unit_test(those_that_were_silent_for_longest_go),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
