/* What Prometheus scrapes: names, types, values, escapes, and that jobs go when they end. */
#include "sink_harness.h"
#include "many_names.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "sinks/prometheus/openmetrics.h"

extern const struct sink sink_prometheus;

static const struct sample_metric columns[] = {
	{"cpu_time", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, "CPU time"},
	{"memory", UNIT_KIBIBYTES, KIND_GAUGE, AGG_SUM, 4, "memory \"in\" use"},
	{"read_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"busy", UNIT_PERCENT, KIND_GAUGE, AGG_NONE, 0.1, NULL},
	{"odd-name", UNIT_COUNT, KIND_GAUGE, AGG_NONE, 0, "a\\b"},
};

static void fill(struct sample_set *set, const char *const *jobs, size_t n)
{
	sample_begin(set);
	for (size_t i = 0; i < n; i++) {
		uint32_t e = sample_entity(set, ENTITY_JOB, jobs[i]);

		sample_set_metadata(set, e, "user", "al\"ice\\");
		sample_row(set, e);
		sample_put(set, 0, 1500000000);
		sample_put(set, 1, 3);
		sample_put(set, 2, INT64_MAX);
		sample_put(set, 3, 125);
		if (i == 0)
			sample_put(set, 4, -1);
	}
}

static void names_units_and_escapes(void **state)
{
	static const char *const jobs[] = {"17", "18"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct openmetrics *x = openmetrics_new(0);
	struct sample_set set;

	(void)state;
	sample_init(&set, columns, ARRAY_SIZE(columns));
	fill(&set, jobs, 2);
	openmetrics_take(x, "n\n1\xff", "group", &set, 0);
	openmetrics_render(x, true, &text);
	static const char want[] =
		"# TYPE plimsoll_group_busy_ratio gauge\n"
		"# UNIT plimsoll_group_busy_ratio ratio\n"
		"plimsoll_group_busy_ratio{host=\"n\\n1\xef\xbf\xbd\",job_id=\"17\",user=\"al\\\"ice"
		"\\\\\"} 0.125\n"
		"plimsoll_group_busy_ratio{host=\"n\\n1\xef\xbf\xbd\",job_id=\"18\",user=\"al\\\"ice"
		"\\\\\"} 0.125\n"
		"# TYPE plimsoll_group_cpu_time_seconds counter\n"
		"# UNIT plimsoll_group_cpu_time_seconds seconds\n"
		"# HELP plimsoll_group_cpu_time_seconds CPU time\n"
		"plimsoll_group_cpu_time_seconds_total{host=\"n\\n1\xef\xbf\xbd\",job_id=\"17\","
		"user=\"al\\\"ice\\\\\"} 1.5\n";
	if (!str_prefix(text.buf, want))
		fail_msg("%s", text.buf);
	assert_contains(text.buf, "# HELP plimsoll_group_memory_bytes memory \\\"in\\\" use\n");
	assert_contains(text.buf, "plimsoll_group_memory_bytes{host=\"n\\n1\xef\xbf\xbd\",job_id="
				  "\"18\",user=\"al\\\"ice\\\\\"} 12288");
	assert_contains(text.buf, "# TYPE plimsoll_group_read_bytes counter\n");
	assert_contains(text.buf, "\"} 9223372036854775807\n");
	assert_contains(text.buf, "# HELP plimsoll_group_odd_name a\\\\b\n");
	assert_contains(text.buf, "plimsoll_group_odd_name{host=");
	assert_true(str_suffix(text.buf, "\n# EOF\n"));
	strbuf_reset(&text);
	openmetrics_render(x, false, &text);
	assert_contains(text.buf, "# TYPE plimsoll_group_cpu_time_seconds_total counter\n");
	assert_contains(text.buf, "# HELP plimsoll_group_cpu_time_seconds_total CPU time\n");
	assert_null(strstr(text.buf, "# EOF"));
	assert_null(strstr(text.buf, "# UNIT"));
	openmetrics_free(x);
	sample_release(&set);
}

static void jobs_go_when_they_end(void **state)
{
	static const char *const jobs[] = {"17", "18"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct openmetrics *x = openmetrics_new(3);
	struct sample_set set;

	(void)state;
	sample_init(&set, columns, ARRAY_SIZE(columns));
	fill(&set, jobs, 2);
	openmetrics_take(x, "a", "group", &set, 0);
	/* three rows are the limit of this one */
	openmetrics_take(x, "b", "group", &set, 0);
	openmetrics_render(x, true, &text);
	assert_contains(text.buf, "host=\"b\",job_id=\"17\"");
	assert_null(strstr(text.buf, "host=\"b\",job_id=\"18\""));
	assert_contains(text.buf, "plimsoll_exposition_rows 3\n");
	assert_contains(text.buf, "plimsoll_exposition_left_out_total 1\n");
	fill(&set, jobs + 1, 1);
	openmetrics_take(x, "a", "group", &set, 0);
	strbuf_reset(&text);
	openmetrics_render(x, true, &text);
	assert_null(strstr(text.buf, "host=\"a\",job_id=\"17\""));
	assert_contains(text.buf, "host=\"a\",job_id=\"18\"");
	sample_begin(&set);
	openmetrics_take(x, "a", "group", &set, 0);
	openmetrics_take(x, "b", "group", &set, 0);
	strbuf_reset(&text);
	openmetrics_render(x, true, &text);
	assert_null(strstr(text.buf, "job_id"));
	assert_contains(text.buf, "plimsoll_exposition_rows 0\n");
	openmetrics_free(x);
	sample_release(&set);
}

/* ---- over HTTP ---- */

static void request(unsigned port, const char *text, size_t n, struct strbuf *out)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = 20};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char piece[4096];
	ssize_t r;

	strbuf_reset(out);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(send(fd, text, n, MSG_NOSIGNAL), (ssize_t)n);
	while ((r = recv(fd, piece, sizeof(piece), 0)) > 0)
		strbuf_add(out, piece, (size_t)r);
	close(fd);
}

static void get(unsigned port, const char *head, struct strbuf *out)
{
	_cleanup_free_ char *text =
		xasprintf("%s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", head);

	request(port, text, strlen(text), out);
}

static void pages(void **state)
{
	static const char *const jobs[] = {"17"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	struct openmetrics *x = openmetrics_new(0);
	struct endpoint *e = NULL, *other = NULL;
	struct sample_set set;

	(void)state;
	sample_init(&set, columns, ARRAY_SIZE(columns));
	fill(&set, jobs, 1);
	openmetrics_take(x, "a", "group", &set, 0);
	if (http_server_open(&e, "127.0.0.1:0", x, &why) < 0)
		fail_msg("%s", why.buf);
	unsigned port = http_server_port(e);
	get(port, "GET /metrics", &text);
	assert_true(str_prefix(text.buf, "HTTP/1.1 200 "));
	assert_contains(text.buf, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
	assert_contains(text.buf, "\r\n\r\n# TYPE plimsoll_group_busy_ratio gauge\n");
	_cleanup_free_ char *open_metrics =
		xasprintf("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAccept: "
			  "application/openmetrics-text; version=1.0.0;q=0.8,text/plain\r\n\r\n");
	request(port, open_metrics, strlen(open_metrics), &text);
	assert_contains(text.buf, "Content-Type: application/openmetrics-text; version=1.0.0");
	assert_true(str_suffix(text.buf, "# EOF\n"));
	get(port, "GET /other", &text);
	assert_true(str_prefix(text.buf, "HTTP/1.1 404 "));
	get(port, "DELETE /metrics", &text);
	assert_true(str_prefix(text.buf, "HTTP/1.1 405 "));
	/* bytes that are no request, and a line that never ends */
	char noise[40000];
	uint64_t seed = 7;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)random_next(&seed);
	noise[sizeof(noise) - 1] = '\n';
	request(port, noise, 4000, &text);
	get(port, "GET /metrics", &text);
	assert_true(str_prefix(text.buf, "HTTP/1.1 200 "));
	/* the address is taken */
	_cleanup_free_ char *same = xasprintf("127.0.0.1:%u", port);
	assert_int_equal(http_server_open(&other, same, x, &why), -EADDRINUSE);
	assert_contains(why.buf, same);
	assert_int_equal(http_server_open(&other, "nothing", x, &why), -EINVAL);
	assert_int_equal(http_server_open(&other, "127.0.0.1:99999", x, &why), -EINVAL);
	http_server_close(e);
	openmetrics_free(x);
	sample_release(&set);
}

/* The feed shows the last reading of each source in a batch. */
static size_t resident_kb(void)
{
	char line[256];
	size_t kb = 0;
	FILE *f = fopen("/proc/self/status", "re");

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		(void)sscanf(line, "VmRSS: %zu kB", &kb);
	fclose(f);
	return kb;
}

/* A page of some megabytes. */
static void fill_much(struct openmetrics *x)
{
	struct sample_set set;
	char name[32];

	sample_init(&set, columns, ARRAY_SIZE(columns));
	for (unsigned host = 0; host < 20; host++) {
		sample_begin(&set);
		for (unsigned i = 0; i < 1000; i++) {
			snprintf(name, sizeof(name), "job-%u", i);
			sample_row(&set, sample_entity(&set, ENTITY_JOB, name));
			for (unsigned k = 0; k < ARRAY_SIZE(columns); k++)
				sample_put(&set, k, INT64_MAX);
		}
		snprintf(name, sizeof(name), "host-%u", host);
		openmetrics_take(x, name, "group", &set, 0);
	}
	sample_release(&set);
}

#ifdef __SANITIZE_ADDRESS__ /* makes pages ten times as slowly, and keeps what was freed */
#define CALLERS 10
#else
#define CALLERS 50
#endif

/* Callers that ask for large pages and do not read them: only some can be held. */
static void pages_that_nobody_fetches(void **state)
{
	static const char ask[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	struct openmetrics *x = openmetrics_new(0);
	struct endpoint *e = NULL;
	int fds[CALLERS], small = 4096;

	(void)state;
	fill_much(x);
	if (http_server_open(&e, "127.0.0.1:0", x, &why) < 0)
		fail_msg("%s", why.buf);
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)http_server_port(e)),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	get(http_server_port(e), "GET /metrics", &text);
	size_t page = text.len, before = resident_kb();
	assert_true(page > 5000000);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		setsockopt(fds[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		assert_int_equal(connect(fds[i], (struct sockaddr *)&to, sizeof(to)), 0);
		assert_true(send(fds[i], ask, sizeof(ask) - 1, MSG_NOSIGNAL) > 0);
	}
	get(http_server_port(e), "GET /metrics", &text);
	assert_int_equal(text.len, page);
	print_message("%d pages of %zu kB asked for and not read: %zu kB, then %zu kB\n", CALLERS,
		      page >> 10, before, resident_kb());
#ifndef __SANITIZE_ADDRESS__
	assert_true(resident_kb() < before + 65536 + page / 1024 * 3);
#endif
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		close(fds[i]);
	http_server_close(e);
	openmetrics_free(x);
}

static void the_feed_has_the_last_values(void **state)
{
	static const struct harness_plan plan = {
		.nodes = 2, .entries = 4, .readings = 3, .jobs = 2, .processes = 1};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	/* a port that is free: asked for, and given back */
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	uint64_t position = 7;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_int_equal(bind(fd, (struct sockaddr *)&at, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &size), 0);
	close(fd);
	unsigned port = ntohs(at.sin_port);
	_cleanup_free_ char *address = xasprintf("127.0.0.1:%u", port);
	const struct sink_options o = {.target = address};
	void *feed = harness_start(&sink_prometheus, &o, &position);
	assert_int_equal(position, 0);
	harness_must(&sink_prometheus, feed, &plan, 1, 4, true);
	get(port, "GET /metrics", &text);
	/* tick 5: 5000 and 7 for the second job, 1 for the second node, in ns */
	assert_contains(text.buf, "plimsoll_group_cpu_time_seconds_total{host=\"node2\",job_id="
				  "\"1001\",user=\"alice\"} 5.008e-06\n");
	assert_contains(text.buf, "plimsoll_system_forks_total{host=\"node1\"} 10000\n");
	assert_null(strstr(text.buf, "plimsoll_process"));
	sink_prometheus.close(feed);
}

static void show(struct openmetrics *x, struct sample_file *f)
{
	while (sample_file_next(f) > 0)
		if (f->reading.row_count)
			openmetrics_take(x, f->head.host, f->sources[f->source].name, &f->reading,
					 0);
	sample_file_close(f);
}

/* Who has used as many names as he can keeps nobody from those that he needs. */
static void one_node_cannot_use_up_the_names(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct openmetrics *x = openmetrics_new(0);
	const struct source *ours = source_find("system");
	struct sample_file f;
	unsigned long long refused = 0;

	(void)state;
	for (unsigned n = 1; n <= 3; n++) {
		many_evil(n, &f);
		show(x, &f);
	}
	many_good(&f);
	show(x, &f);
	openmetrics_render(x, false, &text);
	for (size_t m = 0; m < ours->metric_count + ARRAY_SIZE(special_metrics); m++) {
		bool own = m < ours->metric_count;
		const struct sample_metric *metric =
			own ? &ours->metrics[m] : &special_metrics[m - ours->metric_count];
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		openmetrics_name(&name, own ? "system" : "special", metric);
		strbuf_addf(&name, "%s{host=\"good\",job_id=\"4711\"} ",
			    metric->kind == KIND_COUNTER ? "_total" : "");
		assert_contains(text.buf, name.buf);
	}
	const char *at = strstr(text.buf, "\nplimsoll_exposition_names_refused_total ");
	assert_non_null(at);
	assert_int_equal(sscanf(at, "%*s %llu", &refused), 1);
	/* its own 300 sources have 60 each, of which a quarter of 8,192 is shown */
	assert_true(refused > 10000);
	openmetrics_free(x);
}

/* Nor the room for rows and sources. */
static void one_node_cannot_use_up_the_rows(void **state)
{
	static const char *const jobs[] = {"17"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct openmetrics *x = openmetrics_new(0);
	struct sample_set set;
	char name[32];

	(void)state;
	sample_init(&set, columns, ARRAY_SIZE(columns));
	sample_begin(&set);
	for (unsigned i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "job-%u", i);
		sample_row(&set, sample_entity(&set, ENTITY_JOB, name));
	}
	for (unsigned i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "source-%u", i);
		openmetrics_take(x, "evil", name, &set, 0);
	}
	openmetrics_render(x, false, &text);
	assert_contains(text.buf, "\nplimsoll_exposition_rows 250000\n");
	sample_release(&set);
	sample_init(&set, columns, ARRAY_SIZE(columns));
	fill(&set, jobs, 1);
	openmetrics_take(x, "good", "group", &set, 0);
	strbuf_reset(&text);
	openmetrics_render(x, false, &text);
	assert_contains(text.buf,
			"plimsoll_group_cpu_time_seconds_total{host=\"good\",job_id=\"17\"");
	openmetrics_free(x);
	sample_release(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_units_and_escapes),
		cmocka_unit_test(jobs_go_when_they_end),
		cmocka_unit_test(pages),
		cmocka_unit_test(pages_that_nobody_fetches),
		cmocka_unit_test(one_node_cannot_use_up_the_names),
		cmocka_unit_test(one_node_cannot_use_up_the_rows),
		cmocka_unit_test(the_feed_has_the_last_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
