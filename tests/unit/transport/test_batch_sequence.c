/* What a collector remembers of batches that it took: one peer cannot make it forget another's. */
#include "unit.h"

#include "core/crc32c.h"
#include "transport/receiver_state.h"

/* Takes batch 1 of so many nodes; what a peer with this number would do. */
static void fill(struct sequences *s, uint64_t owner, const char *name, size_t count)
{
	char node[64];

	for (size_t i = 0; i < count; i++) {
		snprintf(node, sizeof(node), "%s-%zu", name, i);
		struct sequence *q = sequence_of(s, node, 1);

		q->owner = owner;
		q->last = q->durable = 5;
	}
}

static size_t known(struct sequences *s, const char *name, size_t count)
{
	char node[64];
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		snprintf(node, sizeof(node), "%s-%zu", name, i);
		struct sequence *q = sequence_find(s, node, 1);

		if (q)
			assert_int_equal(q->last, 5);
		n += q != NULL;
	}
	return n;
}

/* Those of the honest are older than all of the other's, and all of them stay. */
static void one_peer_cannot_use_up_all(void **state)
{
	struct sequences s = {0};

	(void)state;
	fill(&s, 7, "honest", 3000);
	fill(&s, 8, "relay", 20000);
	fill(&s, 666, "many", 3 * SEQUENCES_MAX);
	assert_true(s.count <= SEQUENCES_MAX);
	assert_int_equal(known(&s, "honest", 3000), 3000);
	assert_int_equal(known(&s, "relay", 20000), 20000);
	/* its own last ones are those that stay */
	assert_non_null(sequence_find(&s, "many-599999", 1));
	assert_null(sequence_find(&s, "many-0", 1));
	/* a new one finds room at once */
	fill(&s, 9, "late", 10);
	fill(&s, 666, "more", SEQUENCES_MAX);
	assert_int_equal(known(&s, "late", 10), 10);
	sequences_release(&s);
}

/* What waits for the disk is still needed, whoever it is of. */
static void what_is_not_synced_stays(void **state)
{
	struct sequences s = {0};

	(void)state;
	struct sequence *q = sequence_of(&s, "waits", 1);
	q->owner = 666;
	q->last = 9;
	fill(&s, 666, "many", 2 * SEQUENCES_MAX);
	q = sequence_find(&s, "waits", 1);
	assert_non_null(q);
	assert_int_equal(q->last, 9);
	sequences_release(&s);
}

/* Whose they are outlives a restart, and files without it are read. */
static void owners_are_kept(void **state)
{
	static const char old[] = "plimsoll received 1\nlog 00000000000000ab upto 7\n"
				  "a 3 4\na 3 9 +\n";
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, before = STRBUF_INIT;
	struct sequences s = {0}, back = {0};
	uint64_t upto = 0;

	(void)state;
	fill(&s, 7, "honest", 100);
	fill(&s, UINT64_MAX, "many", SEQUENCES_MAX - 200);
	sequence_add_beyond(sequence_of(&s, "honest-3", 1), 77);
	receiver_state_text(&s, 0xab, 12, &text);
	assert_true(receiver_state_parse(&back, text.buf, text.len, 0xab, &upto));
	assert_int_equal(upto, 12);
	assert_int_equal(sequence_find(&back, "honest-3", 1)->owner, 7);
	assert_true(sequence_is_beyond(sequence_find(&back, "honest-3", 1), 77));
	fill(&back, UINT64_MAX, "more", SEQUENCES_MAX);
	assert_int_equal(known(&back, "honest", 100), 100);
	sequences_release(&s);
	sequences_release(&back);

	strbuf_addstr(&before, old);
	strbuf_addf(&before, "check %08x\n", crc32c(0, old, strlen(old)));
	assert_true(receiver_state_parse(&back, before.buf, before.len, 0xab, &upto));
	assert_int_equal(upto, 7);
	struct sequence *q = sequence_find(&back, "a", 3);
	assert_int_equal(q->durable, 4);
	assert_int_equal(q->owner, 0);
	assert_true(sequence_is_beyond(q, 9));
	sequences_release(&back);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_peer_cannot_use_up_all),
		cmocka_unit_test(what_is_not_synced_stays),
		cmocka_unit_test(owners_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
