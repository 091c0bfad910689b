/*
 * The last reading of slow sources: whatever their rhythm, what devices say at the end of a job is
 * in its file.
 */
#include "tree.h"

#include <pthread.h>
#include <time.h>

#include "core/clock.h"
#include "sampler/sampler.h"

#define IB "sys/class/infiniband/mlx5_0"
#define HW "sys/class/hwmon/hwmon0"
#define TH "sys/class/thermal/thermal_zone0"

/* Answers of a GPU, put in the place of those before. */
static void put_gpu(const char *begins, unsigned milliwatts, unsigned millijoules)
{
	_cleanup_free_ char *text = xasprintf("nvmlInit_v2 = %s\nnvmlDeviceGetCount_v2 = 0 1\n"
					      "nvmlDeviceGetHandleByIndex_v2 0 = 0\n"
					      "nvmlDeviceGetPowerUsage gpu0 = 0 %u\n"
					      "nvmlDeviceGetTotalEnergyConsumption gpu0 = 0 %u\n",
					      begins, milliwatts, millijoules);
	_cleanup_free_ char *from = tree_path("new.answers"), *to = tree_path("gpu.answers");

	put("new.answers", text);
	assert_int_equal(rename(from, to), 0);
}

static void put_devices(const char *words, const char *degrees, const char *watts)
{
	put(IB "/ports/1/state", "4: ACTIVE\n");
	put(IB "/ports/1/link_layer", "InfiniBand\n");
	put(IB "/ports/1/counters/port_xmit_data", words);
	put(IB "/ports/1/counters/port_rcv_data", words);
	put(HW "/name", "coretemp\n");
	put(HW "/temp1_input", degrees);
	put(HW "/temp1_label", "Core 0\n");
	put(TH "/type", "x86_pkg_temp\n");
	put(TH "/temp", degrees);
	put("watts", watts);
}

/* After the readings that come in the rhythm, long before the end. */
static void *change(void *user)
{
	(void)user;
	nanosleep(&(struct timespec){0, 500000000}, NULL);
	put_devices("5000\n", "80000\n", "Instantaneous power reading: 700 Watts\n");
	put_gpu("0", 600000, 90000);
	return NULL;
}

static struct seen {
	const char *source, *metric;
	enum entity_kind kind;
	int64_t want_first, want_last;
	unsigned readings;
	int64_t first, last;
} seen[] = {
	{"infiniband", "port_xmit_data", ENTITY_PORT, 0, 4 * 4000, 0, 0, 0}, /* words of 4 bytes */
	{"hwmon", "temperature", ENTITY_SENSOR, 40000, 80000, 0, 0, 0},
	{"thermal", "temperature", ENTITY_SENSOR, 40000, 80000, 0, 0, 0},
	{"ipmi", "power", ENTITY_NODE, 200, 700, 0, 0, 0},
	{"nvidia", "power", ENTITY_GPU, 50000, 600000, 0, 0, 0},
	{"nvidia", "energy", ENTITY_GPU, 1000, 90000, 0, 0, 0},
};

static void take(const struct sample_file *f, struct seen *s)
{
	const struct sample_set *set = &f->reading;

	if (strcmp(f->sources[f->source].name, s->source) != 0)
		return;
	for (size_t i = 0; i < set->row_count; i++)
		for (unsigned m = 0; m < set->metric_count; m++) {
			if (set->entities[set->rows[i].entity].kind != s->kind ||
			    strcmp(set->metrics[m].name, s->metric) != 0 ||
			    !(set->rows[i].present >> m & 1))
				continue;
			s->last = set->values[i * set->metric_count + m];
			s->first = s->readings++ ? s->first : s->last;
		}
}

/* Samples on the tree and takes what the file has. */
static void sample(const struct sampler_source *only, size_t count, uint64_t period_ns,
		   uint64_t duration_ns)
{
	static char host[] = "n1", boot[] = "0123", job[] = "1", run[] = "r";
	struct sample_file_head head = {host, boot, job, run, period_ns, 0, 0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *path = tree_path("out.smp");
	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	struct sampler_result result;
	struct sample_file f;

	clock_pair(&head.boottime_ns, &head.realtime_ns);
	const struct sampler_options o = {.root = tree,
					  .period_ns = period_ns,
					  .duration_ns = duration_ns,
					  .timeout_ns = 5000000000,
					  .only = only,
					  .only_count = count,
					  .stop = -1,
					  .file = fd,
					  .head = &head};
	sampler_run(&o, &result);
	assert_string_equal(result.end, "duration");
	sampler_result_release(&result);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(sample_file_open(&f, fd, &why), 0);
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		seen[i].readings = 0;
	for (int event; (event = sample_file_next(&f)) > 0;)
		for (size_t i = 0; event == SAMPLE_READING && i < ARRAY_SIZE(seen); i++)
			take(&f, &seen[i]);
	sample_file_close(&f);
}

/* The name of the source with the stand-in for its library. */
static char *fake_gpu(void)
{
	_cleanup_free_ char *answers = tree_path("gpu.answers");

	assert_non_null(getenv("PL_BUILD"));
	assert_int_equal(setenv("FAKE_NVML_ANSWERS", answers, 1), 0);
	return xasprintf("nvidia=%s/tests/libnvidia-ml-fake.so", getenv("PL_BUILD"));
}

static void slow_sources_are_read_at_the_end(void **state)
{
	_cleanup_free_ char *gpu = fake_gpu();
	_cleanup_free_ char *ipmitool = xasprintf("#!/bin/sh\ncat '%s/watts'\n", tree);
	const struct sampler_source only[] = {{"infiniband", 60000000000},
					      {"hwmon", 60000000000},
					      {"thermal", 60000000000},
					      {"ipmi=ipmitool", 60000000000},
					      {gpu, 60000000000}};
	pthread_t thread;

	(void)state;
	program("usr/bin/ipmitool", ipmitool);
	put_devices("1000\n", "40000\n", "Instantaneous power reading: 200 Watts\n");
	put_gpu("0", 50000, 1000);
	assert_int_equal(pthread_create(&thread, NULL, change, NULL), 0);
	sample(only, ARRAY_SIZE(only), 100000000, 1500000000);
	pthread_join(thread, NULL);
	/* those at the beginning, one at the end, and between them at a whole minute only */
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++) {
		const struct seen *s = &seen[i];

		if (s->readings < 2)
			fail_msg("%s.%s was read %u times", s->source, s->metric, s->readings);
		assert_int_equal(s->last - s->first, s->want_last - s->want_first);
		if (s->want_first)
			assert_int_equal(s->first, s->want_first);
	}
}

/* A library that may not be opened is opened again: a GPU may be given to the job later. */
static void a_source_that_is_refused_is_opened_again(void **state)
{
	_cleanup_free_ char *gpu = fake_gpu();
	const struct sampler_source only[] = {{.name = gpu}};
	pthread_t thread;

	(void)state;
	put_gpu("4", 50000, 1000); /* no permission */
	assert_int_equal(pthread_create(&thread, NULL, change, NULL), 0);
	sample(only, 1, 50000000, 7000000000);
	pthread_join(thread, NULL);
	assert_true(seen[4].readings >= 1);
	assert_int_equal(seen[4].first, 600000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(slow_sources_are_read_at_the_end),
		with_tree(a_source_that_is_refused_is_opened_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
