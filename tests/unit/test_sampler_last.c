/*
 * The last reading of slow sources: whatever their rhythm, what devices say at the end of a job is
 * in its file.
 */
#include "tree.h"

#include <pthread.h>
#include <time.h>

#include "core/clock.h"
#include "pipeline/sampler.h"

#define IB "sys/class/infiniband/mlx5_0"
#define HW "sys/class/hwmon/hwmon0"

static void put_devices(const char *words, const char *degrees)
{
	put(IB "/ports/1/state", "4: ACTIVE\n");
	put(IB "/ports/1/link_layer", "InfiniBand\n");
	put(IB "/ports/1/counters/port_xmit_data", words);
	put(IB "/ports/1/counters/port_rcv_data", words);
	put(HW "/name", "coretemp\n");
	put(HW "/temp1_input", degrees);
	put(HW "/temp1_label", "Core 0\n");
}

/* After the readings that come in the rhythm, long before the end. */
static void *change(void *user)
{
	(void)user;
	nanosleep(&(struct timespec){0, 500000000}, NULL);
	put_devices("5000\n", "80000\n");
	return NULL;
}

struct seen {
	unsigned readings;
	int64_t first, last;
};

static void take(const struct samplefile *f, const char *source, const char *metric,
		 enum entity_kind kind, struct seen *seen)
{
	const struct sample_set *set = &f->reading;

	if (strcmp(f->sources[f->source].name, source) != 0)
		return;
	for (size_t i = 0; i < set->row_count; i++)
		for (unsigned m = 0; m < set->metric_count; m++) {
			if (set->entities[set->rows[i].entity].kind != kind ||
			    strcmp(set->metrics[m].name, metric) != 0 ||
			    !(set->rows[i].present >> m & 1))
				continue;
			seen->last = set->values[i * set->metric_count + m];
			seen->first = seen->readings++ ? seen->first : seen->last;
		}
}

static void slow_sources_are_read_at_the_end(void **state)
{
	static char host[] = "n1", boot[] = "0123", job[] = "1", run[] = "r";
	const struct sampler_source only[] = {{.name = "infiniband"}, {.name = "hwmon"}};
	const struct sampler_source periods[] = {{"infiniband", 60000000000},
						 {"hwmon", 60000000000}};
	struct samplefile_head head = {host, boot, job, run, 100000000, 0, 0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/out.smp", (const char *)*state);
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct seen sent = {0}, heat = {0};
	struct sampler_result result;
	struct samplefile f;
	pthread_t thread;

	put_devices("1000\n", "40000\n");
	clock_pair(&head.boottime_ns, &head.realtime_ns);
	const struct sampler_options o = {.root = tree,
					  .period_ns = 100000000,
					  .duration_ns = 1500000000,
					  .timeout_ns = 5000000000,
					  .only = only,
					  .only_count = 2,
					  .periods = periods,
					  .period_count = 2,
					  .stop = -1,
					  .file = fd,
					  .head = &head};
	assert_int_equal(pthread_create(&thread, NULL, change, NULL), 0);
	assert_int_equal(sampler_run(&o, &result), 0);
	pthread_join(thread, NULL);
	assert_string_equal(result.end, "duration");
	sampler_result_release(&result);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(samplefile_open(&f, fd, &why), 0);
	for (int event; (event = samplefile_next(&f)) > 0;) {
		if (event != SAMPLE_READING)
			continue;
		take(&f, "infiniband", "port_xmit_data", ENTITY_PORT, &sent);
		take(&f, "hwmon", "temperature", ENTITY_SENSOR, &heat);
	}
	samplefile_close(&f);
	/* those at the beginning, one at the end, and between them at a whole minute only */
	assert_true(sent.readings >= 2);
	assert_int_equal(sent.last - sent.first, 4 * 4000); /* words of four bytes */
	assert_true(heat.readings >= 2);
	assert_int_equal(heat.first, 40000);
	assert_int_equal(heat.last, 80000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {with_tree(slow_sources_are_read_at_the_end)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
