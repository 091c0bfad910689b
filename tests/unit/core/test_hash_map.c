/* The hash map against a plain array, with additions, removals and equal hashes. */
#include "unit.h"

#include "core/hash_map.h"

#define KEYS 4096

static bool has(const struct hash_map *m, uint64_t hash, uintptr_t value)
{
	for (struct hash_slot *s = hash_map_first(m, hash); s; s = hash_map_next(m, s))
		if (s->value == value)
			return true;
	return false;
}

static void remove_value(struct hash_map *m, uint64_t hash, uintptr_t value)
{
	for (struct hash_slot *s = hash_map_first(m, hash); s; s = hash_map_next(m, s))
		if (s->value == value) {
			hash_map_remove(m, s);
			return;
		}
	fail_msg("value %zu is not there", (size_t)value);
}

static void finds_what_was_added(void **state)
{
	struct hash_map m = {0};

	(void)state;
	assert_null(hash_map_first(&m, 5));
	assert_null(hash_map_each(&m, NULL));
	for (uintptr_t i = 0; i < KEYS; i++)
		hash_map_add(&m, hash_number(i), i);
	for (uintptr_t i = 0; i < KEYS; i++)
		assert_true(has(&m, hash_number(i), i));
	assert_false(has(&m, hash_number(KEYS), KEYS));
	assert_int_equal(m.count, KEYS);

	uintptr_t sum = 0;
	for (struct hash_slot *s = hash_map_each(&m, NULL); s; s = hash_map_each(&m, s))
		sum += s->value;
	assert_int_equal(sum, (uintptr_t)KEYS * (KEYS - 1) / 2);
	hash_map_clear(&m);
	assert_false(has(&m, hash_number(1), 1));
	hash_map_release(&m);
}

/* Few places for many hashes, so that runs wrap around the end and removal has to move entries. */
static void removal_keeps_the_rest(void **state)
{
	struct hash_map m = {0};
	bool there[KEYS] = {false};
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 20 * KEYS; round++) {
		seed = seed * 1664525u + 1013904223u;
		uintptr_t i = seed >> 8 & 511;
		uint64_t hash = i % 37 * 0x0101010101010101u; /* 0 too, which marks free slots */

		if (there[i])
			remove_value(&m, hash, i);
		else
			hash_map_add(&m, hash, i);
		there[i] = !there[i];
	}
	size_t count = 0;
	for (uintptr_t i = 0; i < 512; i++) {
		assert_int_equal(has(&m, i % 37 * 0x0101010101010101u, i), there[i]);
		count += there[i];
	}
	assert_int_equal(m.count, count);
	hash_map_release(&m);
}

static void hashes_differ(void **state)
{
	(void)state;
	assert_int_equal(hash_text("abc"), hash_bytes("abcd", 3));
	assert_int_not_equal(hash_text("abc"), hash_text("abd"));
	assert_int_not_equal(hash_more(hash_text("a"), "bc", 2),
			     hash_more(hash_text("ab"), "c", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_was_added),
		cmocka_unit_test(removal_keeps_the_rest),
		cmocka_unit_test(hashes_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
