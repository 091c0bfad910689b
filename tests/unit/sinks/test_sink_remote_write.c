/* Feed remote-write: against a stand-in that reads every byte, and against VictoriaMetrics. */
#define HARNESS_BEGIN_S 1700000000ll /* servers take nothing from the days to come */
#include "fake_server.h"
#include "sink_harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "core/log.h"
#include "sinks/prometheus/openmetrics.h"

extern const struct sink sink_remote_write;

static const struct harness_plan plan = {
	.nodes = 2, .entries = 8, .readings = 5, .jobs = 3, .processes = 2};

static const char *text_of(const json_t *d, const char *key)
{
	const char *s = json_string_value(json_object_get(d, key));

	return s ? s : "";
}

struct found {
	json_t *values;
	size_t count;
};

/* {"metric": labels, "timestamps": [], "values": []}; the same time twice fails. */
static void take_series(struct found *found, const json_t *series)
{
	const json_t *labels = json_object_get(series, "metric"), *v;
	const json_t *times = json_object_get(series, "timestamps");
	size_t i;

	json_array_foreach(json_object_get(series, "values"), i, v) {
		_cleanup_free_ char *key =
			xasprintf("%s %s %s %s %s %lld", text_of(labels, "__name__"),
				  text_of(labels, "host"), text_of(labels, "kind"),
				  text_of(labels, "entity"), text_of(labels, "job_id"),
				  (long long)json_integer_value(json_array_get(times, i)));

		if (json_object_get(found->values, key))
			fail_msg("twice: %s", key);
		json_object_set(found->values, key, (json_t *)v);
		found->count++;
	}
}

static void check_value(void *user, const struct harness_expected *x)
{
	static const char *const kinds[] = {"job", "node", "process"};
	struct found *found = user;
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;
	unsigned s = 0, m;
	char job[32] = "";

	while (strcmp(harness_sources[s], x->source) != 0)
		s++;
	m = strcmp(harness_metrics[s][0].name, x->metric) != 0;
	const struct sample_metric *metric = &harness_metrics[s][m];
	openmetrics_name(&name, x->source, metric);
	if (metric->kind == KIND_COUNTER)
		strbuf_addstr(&name, "_total");
	if (x->job)
		snprintf(job, sizeof(job), "%u", x->job);
	_cleanup_free_ char *key = xasprintf("%s %s %s %s %s %lld", name.buf, x->host, kinds[s],
					     x->entity, job, (long long)(x->time_us / 1000));
	const json_t *v = json_object_get(found->values, key);
	double want = metric->unit == UNIT_NANOSECONDS ? x->value / 1e9 : x->value;
	double off = json_number_value(v) - want;

	if (!v || (off < 0 ? -off : off) > 1e-12 * want)
		fail_msg("%s is %.17g, not %.17g", key, json_number_value(v), want);
}

static void check_all(struct found *found)
{
	assert_int_equal(found->count, harness_expect(&plan, plan.entries, check_value, found));
	json_decref(found->values);
}

static void check_fake(const struct fake_server *s)
{
	struct found found = {.values = json_object()};
	json_t *state = fake_state(s);
	const json_t *series;
	size_t i;

	json_array_foreach(json_object_get(state, "series"), i, series)
		take_series(&found, series);
	check_all(&found);
	json_decref(state);
}

static void every_value_is_there_once(void **state)
{
	struct fake_server s;

	fake_start(&s, "fake_remote_write.py", NULL);
	_cleanup_free_ char *url = xasprintf("%s/?processes=1", s.url);
	const struct sink_options o = {.target = url, .state = *state};
	harness_life(&sink_remote_write, &o, &plan);
	check_fake(&s);
	fake_stop(&s);
}

/* Prometheus refuses a request whole for one sample that it has: what is new in it must arrive. */
static void what_comes_again_costs_nothing_new(void **state)
{
	static const char *const ordered[] = {"--ordered", NULL};
	struct fake_server s;
	uint64_t position;

	fake_start(&s, "fake_remote_write.py", ordered);
	_cleanup_free_ char *url = xasprintf("%s/?processes=1", s.url);
	const struct sink_options o = {.target = url, .state = *state};
	void *feed = harness_start(&sink_remote_write, &o, &position);
	harness_must(&sink_remote_write, feed, &plan, 1, 4, true);
	sink_remote_write.close(feed);
	feed = harness_start(&sink_remote_write, &o, &position);
	harness_must(&sink_remote_write, feed, &plan, 2, plan.entries, true);
	sink_remote_write.close(feed);
	check_fake(&s);
	json_t *after = fake_state(&s);
	/* all at once, then each of the three that are there; the last of these is the newest of
	 * its series only in part */
	assert_true(fake_count(after, "refused") >= 3 && fake_count(after, "refused") <= 4);
	json_decref(after);
	fake_stop(&s);
}

static void processes_are_left_out(void **state)
{
	struct fake_server s;
	uint64_t position;

	fake_start(&s, "fake_remote_write.py", NULL);
	_cleanup_free_ char *url = xasprintf("%s/api/v1/write", s.url);
	const struct sink_options o = {.target = url, .state = *state};
	void *feed = harness_start(&sink_remote_write, &o, &position);
	harness_must(&sink_remote_write, feed, &plan, 1, 2, true);
	sink_remote_write.close(feed);
	json_t *seen = fake_state(&s);
	const json_t *series;
	size_t i;
	json_array_foreach(json_object_get(seen, "series"), i, series) {
		const json_t *labels = json_object_get(series, "metric");

		assert_string_not_equal(text_of(labels, "kind"), "process");
		assert_string_equal(text_of(labels, "user"),
				    !strcmp(text_of(labels, "kind"), "job") ? "alice" : "");
	}
	assert_int_equal(i, 2 * (3 * 2 + 2));
	json_decref(seen);
	fake_stop(&s);
}

static uint64_t left_out;

static unsigned full; /* times that nothing can be kept aside */

static int on_refused(void *user, uint64_t number, const char *reason)
{
	(void)user;
	if (full && full--)
		return -ENOSPC;
	assert_true(*reason);
	left_out = number;
	return 0;
}

static void a_server_with_troubles(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct fake_server s;
	uint64_t position;
	unsigned failures = 0;

	fake_start(&s, "fake_remote_write.py", NULL);
	_cleanup_free_ char *url = xasprintf("%s/?processes=1", s.url);
	const struct sink_options o = {.target = url, .state = *state, .refused = on_refused};
	void *feed = harness_start(&sink_remote_write, &o, &position);
	harness_must(&sink_remote_write, feed, &plan, 1, 8, false);
	fake_faults(&s, "[{\"status\":503},{\"break\":\"after\"},{\"break\":\"after\"},"
			"{\"status\":404},{\"status\":429,\"retry_after\":1}]");
	while (sink_remote_write.commit(feed, 8, &why) == -EAGAIN) {
		const struct timespec pause = {.tv_nsec = 50000000};

		assert_true(++failures < 500);
		nanosleep(&pause, NULL);
	}
	assert_true(failures >= 4);
	assert_contains(why.buf, "asked to wait");
	check_fake(&s);
	/* what is refused is given up, and what comes then is taken */
	json_t *before = fake_state(&s);
	fake_faults(&s, "[{\"status\":400}]");
	harness_must(&sink_remote_write, feed, &plan, 9, 9, true);
	assert_int_equal(left_out, 9);
	json_t *after = fake_state(&s);
	assert_int_equal(fake_count(after, "samples"), fake_count(before, "samples"));
	json_decref(after);
	harness_must(&sink_remote_write, feed, &plan, 10, 10, true);
	after = fake_state(&s);
	/* 5 ticks of 10 entities, 2 values each but for one tick */
	assert_int_equal(fake_count(after, "samples"), fake_count(before, "samples") + 90);
	json_decref(before);
	/* what is refused and cannot be kept aside waits, here until the server takes it */
	before = after;
	fake_faults(&s, "[{\"status\":400},{\"status\":400}]");
	full = 2;
	harness_must(&sink_remote_write, feed, &plan, 11, 11, false);
	for (unsigned i = 0; i < 2; i++) {
		strbuf_reset(&why);
		assert_int_equal(sink_remote_write.commit(feed, 11, &why), -EAGAIN);
		assert_contains(why.buf, "part of entry 11 is refused and cannot be kept aside");
	}
	harness_must(&sink_remote_write, feed, &plan, 11, 11, true);
	assert_int_equal(left_out, 9);
	after = fake_state(&s);
	assert_int_equal(fake_count(after, "samples"), fake_count(before, "samples") + 90);
	json_decref(before);
	json_decref(after);
	sink_remote_write.close(feed);
	fake_stop(&s);
}

/* Three jobs, then two of them, then all. */
static void series_of_jobs_end(void **state)
{
	static const unsigned jobs[] = {3, 2, 2, 3};
	struct fake_server s;
	uint64_t position;

	fake_start(&s, "fake_remote_write.py", NULL);
	const struct sink_options o = {.target = s.url, .state = *state};
	void *feed = harness_start(&sink_remote_write, &o, &position);
	for (unsigned k = 1; k <= 4; k++) {
		const struct harness_plan p = {
			.nodes = 1, .entries = 4, .readings = 1, .jobs = jobs[k - 1]};

		harness_must(&sink_remote_write, feed, &p, k, k, true);
	}
	sink_remote_write.close(feed);
	json_t *seen = fake_state(&s);
	const json_t *series, *v;
	size_t i, k, ended = 0;
	json_array_foreach(json_object_get(seen, "series"), i, series) {
		const char *job = text_of(json_object_get(series, "metric"), "job_id");

		json_array_foreach(json_object_get(series, "values"), k, v) {
			if (!json_is_null(v))
				continue;
			/* once, in the second reading; the third says nothing */
			assert_string_equal(job, "1002");
			assert_int_equal(k, 1);
			assert_int_equal(json_integer_value(json_array_get(
						 json_object_get(series, "timestamps"), k)),
					 (HARNESS_BEGIN_S + 1) * 1000);
			ended++;
		}
		if (!strcmp(job, "1002"))
			assert_int_equal(k, 3);
	}
	assert_int_equal(ended, 2);
	json_decref(seen);
	fake_stop(&s);
}

/* ---- VictoriaMetrics ---- */

static int get(const char *url, const char *path, struct http_reply *reply)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct http_functions *f = http_module(&why);
	const struct http_options o = {.url = url};
	const struct http_request r = {.method = "GET", .path = path};
	struct http *h = NULL;

	assert_non_null(f);
	assert_int_equal(f->open(&h, &o, &why), 0);
	int e = f->send(h, &r, reply, &why);
	f->close(h);
	return e == 0 && reply->status / 100 == 2 ? 0 : -EAGAIN;
}

static pid_t start_victoria(const char *dir, char *url, size_t size)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct http_reply reply = HTTP_REPLY_INIT;

	assert_int_equal(bind(fd, (struct sockaddr *)&at, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	close(fd);
	_cleanup_free_ char *listen = xasprintf("-httpListenAddr=127.0.0.1:%u", ntohs(at.sin_port));
	_cleanup_free_ char *path = xasprintf("-storageDataPath=%s/data", dir);
	_cleanup_free_ char *log = xasprintf("%s/log", dir);
	snprintf(url, size, "http://127.0.0.1:%u", ntohs(at.sin_port));
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		int out = open(log, O_WRONLY | O_CREAT, 0600);

		dup2(out, 1);
		dup2(out, 2);
		execlp("victoria-metrics", "victoria-metrics", listen, path,
		       "-retentionPeriod=100y", "-dedup.minScrapeInterval=1ms",
		       "-memory.allowedBytes=100000000", NULL);
		_exit(127);
	}
	for (unsigned i = 0; get(url, "/health", &reply) < 0; i++) {
		const struct timespec pause = {.tv_nsec = 100000000};

		if (waitpid(pid, NULL, WNOHANG) == pid || i > 600) {
			strbuf_release(&reply.body);
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	strbuf_release(&reply.body);
	return pid;
}

static void victoria_metrics_has_every_value_once(void **state)
{
	struct http_reply reply = HTTP_REPLY_INIT;
	struct found found = {.values = json_object()};
	char url[64];

	if (access("/usr/bin/victoria-metrics", X_OK) < 0)
		skip_because("VictoriaMetrics is not installed");
	pid_t pid = start_victoria(*state, url, sizeof(url));
	assert_true(pid > 0);
	_cleanup_free_ char *target = xasprintf("%s/api/v1/write?processes=1", url);
	const struct sink_options o = {.target = target, .state = *state};
	harness_life(&sink_remote_write, &o, &plan);
	assert_int_equal(get(url, "/internal/force_flush", &reply), 0);
	assert_int_equal(get(url, "/api/v1/export?match[]=%7B__name__!=%22%22%7D&start=0", &reply),
			 0);
	for (char *line = reply.body.buf; *line; line += strcspn(line, "\n") + 1) {
		json_t *series = json_loadb(line, strcspn(line, "\n"), 0, NULL);

		assert_non_null(series);
		take_series(&found, series);
		json_decref(series);
	}
	kill(pid, SIGTERM);
	waitpid(pid, NULL, 0);
	strbuf_release(&reply.body);
	check_all(&found);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
	const struct CMUnitTest tests[] = {
		TEST(every_value_is_there_once), TEST(what_comes_again_costs_nothing_new),
		TEST(processes_are_left_out),    TEST(a_server_with_troubles),
		TEST(series_of_jobs_end),        TEST(victoria_metrics_has_every_value_once),
	};

	log_init("test", LOG_WARN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
