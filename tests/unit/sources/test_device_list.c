/*
 * Devices with one line of counters each (device_list.h), on a class of the test: a level, devices
 * that come and go, counters that restart, and the sum for the node.
 */
#include "source.h"

#include "sources/columns.h"
#include "sources/device_list.h"

#define METRICS_OF_TEST(X)                         \
	X(OPS, COUNT("ops", "operations"))         \
	X(OTHER_OPS, COUNT("other_ops", "others")) \
	X(QUEUE, LEVEL("queue", "requests waiting"))
DEFINE_METRICS(METRICS_OF_TEST);

static unsigned examined;

/* "name 1 2 3" */
static unsigned parse_line(struct words line, struct words *name, uint64_t *raw)
{
	unsigned count = 0;

	if (!word_next(&line, name))
		return 0;
	while (count < METRICS && number_next(&line, &raw[count]))
		count++;
	return count;
}

static bool skip_device(struct device_list *l, struct device *d, const uint64_t *raw,
			unsigned count)
{
	(void)l;
	(void)raw;
	(void)count;
	return !strcmp(d->name, "skipped");
}

static bool examine(struct device_list *l, struct sample_set *set, struct device *d, bool came)
{
	(void)l;
	(void)set;
	(void)d;
	examined += came;
	return false;
}

static const char *left_out(struct device_list *l, const struct device *d, bool any_hardware)
{
	(void)l;
	(void)any_hardware;
	return str_prefix(d->name, "virtual") ? "not real" : NULL;
}

static const struct device_class class = {
	.file = "/proc/devices",
	.kind = ENTITY_DISK,
	.counters = METRICS,
	.level = QUEUE,
	.operations = {OPS, OTHER_OPS},
	.size = sizeof(struct device),
	.parse = parse_line,
	.skip = skip_device,
	.examine = examine,
	.left_out = left_out,
};

static int open_devices(const struct source_context *ctx, struct sample_set *set, void **state,
			struct strbuf *why)
{
	(void)set;
	return devices_open(&class, ctx, state, why);
}

static const struct source source = {
	.name = "test",
	.metrics = columns,
	.metric_count = METRICS,
	.open = open_devices,
	.read = devices_read,
	.close = devices_close,
};

static void take_text(const char *text)
{
	put("proc/devices", text);
	assert_int_equal(take(), 0);
}

static void devices_come_and_go(void **state)
{
	(void)state;
	R.source = &source;
	sample_init(&R.set, source.metrics, source.metric_count);
	assert_int_equal(source.open(&R.ctx, &R.set, &R.state, &R.why), -ENOENT);
	assert_contains(R.why.buf, "proc/devices");
	put("proc/devices", "");
	assert_int_equal(source.open(&R.ctx, &R.set, &R.state, &R.why), 0);

	examined = 0;
	take_text("a 10 20 3\nskipped 5 5 5\nvirtual 1 1 1\na 99 99 9\n");
	assert_int_equal(examined, 2);
	check_value(ENTITY_DISK, "a", "ops", 10);
	check_value(ENTITY_DISK, "a", "queue", 3);
	check_value(ENTITY_NODE, "node", "ops", 10);
	check_value(ENTITY_NODE, "node", "queue", 3);
	check_fact(ENTITY_DISK, "virtual", "left_out", "not real");
	check_fact(ENTITY_DISK, "a", "in_node_sum", "yes");
	assert_false(has_entity(ENTITY_DISK, "skipped"));

	/* one that comes later has counted elsewhere; one that goes takes nothing away */
	take_text("a 15 20 1\nb 1000 0 4\n");
	check_value(ENTITY_DISK, "b", "ops", 1000);
	check_value(ENTITY_NODE, "node", "ops", 15);
	check_value(ENTITY_NODE, "node", "queue", 5);
	assert_false(has_row(ENTITY_DISK, "virtual"));
	take_text("b 1007 0 0\n");
	assert_false(has_row(ENTITY_DISK, "a"));
	check_value(ENTITY_NODE, "node", "ops", 22);

	/* a reset counter, and a device that comes back, continue from where they were */
	take_text("a 2 20 0\nb 5 0 0\n");
	assert_int_equal(examined, 4);
	check_value(ENTITY_DISK, "b", "ops", 1007);
	check_value(ENTITY_DISK, "a", "ops", 15);
	check_value(ENTITY_NODE, "node", "ops", 22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {with_source(devices_come_and_go)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
