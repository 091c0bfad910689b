/*
 * Reports for tests of the page, without a store: of two hosts with everything, of one process, of
 * a job without curves, of one with nothing at all, of texts that want to do harm, of very many.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "report/report.h"

#define PAGE_START INT64_C(1700000000000000)
#define PAGE_SPAN INT64_C(600000000)

/* Everything that a text may try: markup, an end of script, quotes, controls, bytes that are no
 * text, and a mark that turns the direction. */
#define HOSTILE                                                              \
	"<script>hurt()</script><!--</script><img src=x onerror=hurt()>\"'&" \
	"\x01\x1b[31m\xff\xfe\u202egpj.exe\n"

struct report_maker {
	struct report r;
	const char *text; /* put into every text; NULL: ordinary ones */
};

static char *maker_text(const struct report_maker *m, const char *ordinary)
{
	return m->text ? xasprintf("%s%s", ordinary, m->text) : xstrdup(ordinary);
}

static size_t maker_place(struct report_maker *m, const char *ordinary)
{
	struct joblist *l = &m->r.show.list;
	_cleanup_free_ char *s = maker_text(m, ordinary);
	size_t place = l->texts.len;

	strbuf_add(&l->texts, s, strlen(s) + 1);
	return place;
}

/* json: annotations are JSON. */
static void maker_entry(struct report_maker *m, struct job_entries *e, const char *key,
			const char *value, bool json)
{
	struct joblist *l = &m->r.show.list;
	_cleanup_free_ char *k = maker_text(m, key), *v = maker_text(m, value);
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	if (!e->count)
		e->first = (uint32_t)l->entry_count;
	e->count++;
	GROW(l->entries, l->entry_count, l->entry_cap);
	struct job_entry *t = &l->entries[l->entry_count++];
	*t = (struct job_entry){.key = maker_place(m, key), .key_size = (uint32_t)strlen(k)};
	if (json)
		json_str(&j, NULL, v);
	else
		strbuf_addstr(&j.out, v);
	t->value = l->texts.len;
	t->value_size = (uint32_t)j.out.len;
	strbuf_add(&l->texts, j.out.buf, j.out.len + 1);
}

/* As report_load() leaves what it does not know. */
static void maker_begin(struct report_maker *m, const char *jobid)
{
	struct report *r = &m->r;
	struct joblist *l = &r->show.list;

	*r = (struct report){.joules = NAN,
			     .co2_g_per_kwh = NAN,
			     .cpu_share = NAN,
			     .cpu_itemised = UNKNOWN,
			     .cpu_total = UNKNOWN,
			     .cpu_residue = UNKNOWN,
			     .cores = UNKNOWN,
			     .memory_limit = UNKNOWN};
	*l = (struct joblist)JOBLIST_INIT;
	strbuf_addch(&l->texts, '\0');
	GROW(l->rows, l->count, l->cap);
	l->rows[l->count++] = (struct job_row){.submit = UNKNOWN,
					       .start = UNKNOWN,
					       .end = UNKNOWN,
					       .duration = UNKNOWN,
					       .cpu = UNKNOWN,
					       .exitcode = UNKNOWN,
					       .ingested = UNKNOWN,
					       .processes = UNKNOWN,
					       .images = UNKNOWN,
					       .num_threads = UNKNOWN,
					       .peak_procs = UNKNOWN,
					       .peak_threads = UNKNOWN};
	l->rows[0].jobid = maker_place(m, jobid);
	GROW(r->names, r->name_count, r->name_cap);
	r->names[r->name_count++] = xstrdup("");
}

static uint32_t maker_name(struct report_maker *m, const char *name)
{
	struct report *r = &m->r;
	_cleanup_free_ char *text = maker_text(m, name);

	for (size_t i = 0; i < r->name_count; i++)
		if (!strcmp(r->names[i], text))
			return (uint32_t)i;
	GROW(r->names, r->name_count, r->name_cap);
	r->names[r->name_count] = xstrdup(text);
	return (uint32_t)r->name_count++;
}

static void maker_finding(struct report_maker *m, enum finding_id id, enum finding_weight weight,
			  const char *title, const char *details, const char *advice)
{
	struct findings *f = &m->r.findings;

	GROW(f->list, f->count, f->cap);
	f->list[f->count++] = (struct finding){.id = id,
					       .weight = weight,
					       .title = maker_text(m, title),
					       .details = maker_text(m, details),
					       .advice = maker_text(m, advice)};
}

static void maker_sum(struct report_maker *m, const char *name, int64_t sum, int64_t max)
{
	struct jobshow *s = &m->r.show;

	GROW(s->sums, s->sum_count, s->sum_cap);
	s->sums[s->sum_count++] = (struct job_sum){
		.name = xstrdup(name), .metric = metric_by_name(name), .sum = sum, .max = max};
}

static void maker_group(struct report_maker *m, struct report_groups *g, const char *name,
			const char *host, int64_t weight)
{
	GROW(g->list, g->count, g->cap);
	g->list[g->count++] = (struct report_group){.name = maker_text(m, name),
						    .host = host ? maker_text(m, host) : NULL,
						    .images = weight,
						    .failed = weight % 3 == 0,
						    .cpu = weight * 7000000,
						    .wall = weight * 3000000,
						    .duration = weight * 9000000,
						    .rssmax = weight * 5120,
						    .read = weight << 24,
						    .written = weight % 2 ? UNKNOWN : weight << 20,
						    .start = PAGE_START,
						    .end = PAGE_START + PAGE_SPAN};
}

static void maker_series(struct report_maker *m, const char *panel, const char *metric,
			 const char *unit, const char *host, const char *entity, double size, int n)
{
	struct report *r = &m->r;

	GROW(r->series, r->series_count, r->series_cap);
	struct report_series *c = &r->series[r->series_count++];
	*c = (struct report_series){.metric = maker_text(m, metric),
				    .label = maker_text(m, metric),
				    .unit = xstrdup(unit),
				    .host = host ? maker_text(m, host) : NULL,
				    .entity = entity ? maker_text(m, entity) : NULL,
				    .panel = xstrdup(panel),
				    .mean = size / 2,
				    .maximum = size};
	for (int i = 0; i < n; i++) { /* up to the middle and down again, with a gap and a NAN */
		double v = size * (i < n / 2 ? i : n - i) * 2 / (n > 1 ? n : 2);

		if (i > n / 4 && i < n / 4 + n / 20)
			continue;
		points_add(&c->points, PAGE_START + PAGE_SPAN / n * i, i == n / 2 + 3 ? NAN : v,
			   v * 0.9,
			   i == n / 2        ? size
			   : v * 1.05 > size ? size
					     : v * 1.05);
	}
}

static void maker_step(struct report_maker *m, int64_t time, int64_t processes, int64_t threads)
{
	struct timeline *t = &m->r.timeline;

	GROW(t->steps, t->count, t->cap);
	t->steps[t->count++] = (struct timeline_step){time, processes, threads};
	t->peak_procs = processes > t->peak_procs ? processes : t->peak_procs;
	t->peak_threads = threads > t->peak_threads ? threads : t->peak_threads;
}

static uint32_t maker_node(struct report_maker *m, uint32_t parent, const char *name,
			   int64_t processes, int64_t weight)
{
	struct report *r = &m->r;
	uint32_t depth = r->flame_count ? r->flame[parent].depth + 1 : 0;

	GROW(r->flame, r->flame_count, r->flame_cap);
	r->flame[r->flame_count] = (struct flame_node){.parent = parent,
						       .name = maker_name(m, name),
						       .depth = depth,
						       .processes = processes,
						       .cpu = weight * 1000000,
						       .wall = weight * 2000000,
						       .rssmax = 1000 + weight * 512,
						       .io = (int64_t)(1000 - weight) << 20};
	return (uint32_t)r->flame_count++;
}

static void maker_bar(struct report_maker *m, const char *name, const char *tags, uint32_t lane,
		      int64_t from, int64_t to, uint32_t processes)
{
	struct report *r = &m->r;

	GROW(r->bars, r->bar_count, r->bar_cap);
	r->bars[r->bar_count] = (struct report_bar){.start = PAGE_START + from,
						    .end = PAGE_START + to,
						    .name = maker_name(m, name),
						    .tags = tags ? maker_name(m, tags) : 0,
						    .lane = lane,
						    .processes = processes,
						    .pid = 1000 + (uint32_t)r->bar_count,
						    .cpu = (to - from) / 2,
						    .failed = r->bar_count % 5 == 4};
	r->bar_count++;
	r->lanes = lane + 1 > r->lanes ? lane + 1 : r->lanes;
}

static void maker_records(struct report_maker *m)
{
	static const char *const names[] = {"/usr/bin/bash", "/opt/model/ocean", "/usr/bin/cp",
					    "/usr/bin/nccopy", "/usr/bin/sed"};
	struct report *r = &m->r;
	struct job_row *j = &r->show.list.rows[0];

	r->has_records = true;
	j->processes = j->images = 107;
	j->num_threads = 121;
	j->peak_procs = 6;
	j->peak_threads = 19;
	j->cpu = 730 * INT64_C(1000000);
	uint32_t root = maker_node(m, 0, names[0], 1, 900);
	uint32_t model = maker_node(m, root, names[1], 4, 700);
	maker_node(m, model, names[4], 40, 30);
	uint32_t post = maker_node(m, root, names[0], 2, 180);
	maker_node(m, post, names[2], 30, 20);
	maker_node(m, post, names[3], 30, 150);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *op = xasprintf("op:step %zu;member:1", i);

		maker_group(m, &r->executables, names[i], NULL, 60 - (int64_t)i * 11);
		maker_group(m, &r->operations, op, NULL, 50 - (int64_t)i * 9);
		maker_bar(m, names[i], i % 2 ? op : NULL, (uint32_t)i, (int64_t)i * PAGE_SPAN / 10,
			  PAGE_SPAN - (int64_t)i * PAGE_SPAN / 12, (uint32_t)i + 1);
	}
	for (int i = 0; i < 60; i++)
		maker_bar(m, names[2 + i % 3], "op:fold", 5 + (uint32_t)(i % 3),
			  PAGE_SPAN / 2 + i * PAGE_SPAN / 150,
			  PAGE_SPAN / 2 + i * PAGE_SPAN / 150 + PAGE_SPAN / 300, 1);
	for (int i = 0; i < 100; i++)
		maker_step(m, PAGE_START + i * PAGE_SPAN / 100, 1 + i % 6, 3 + (i * 7) % 17);
	maker_step(m, PAGE_START + PAGE_SPAN, 0, 0);
	r->cpu_itemised = 700 * INT64_C(1000000);
	r->cpu_total = 730 * INT64_C(1000000);
	r->cpu_residue = 30 * INT64_C(1000000);
	maker_sum(m, "usertime", 600000000, 300000000);
	maker_sum(m, "systemtime", 130000000, 30000000);
	maker_sum(m, "rssmax", 9000000, 3145728);
	maker_sum(m, "rchar", INT64_C(5) << 30, 1 << 30);
	maker_sum(m, "wchar", INT64_C(3) << 29, 1 << 28);
}

static void maker_all_series(struct report_maker *m)
{
	static const char *const hosts[] = {NULL, "node0", "node1"};

	m->r.has_series = true;
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		maker_series(m, "cpu", "process.cpu", "CPUs", hosts[i], NULL, i ? 2 : 4, 300);
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		maker_series(m, "memory", "process.rss", "bytes", hosts[i], NULL,
			     i ? 4294967296 : 8589934592, 300);
	maker_series(m, "io", "disk.read", "bytes/s", NULL, NULL, 10737418240, 300);
	maker_series(m, "power", "rapl.power", "W", "node0", "package-0", 180, 300);
	maker_series(m, "gpu", "gpu.utilization", "%", "node0", "gpu 0", 97, 300);
	maker_series(m, "gpu", "gpu.utilization", "%", "node0", "gpu 1", 40, 300);
	maker_series(m, "other", "one.sample", "degC", NULL, NULL, 55, 1);
}

static void maker_rest(struct report_maker *m)
{
	struct report *r = &m->r;
	struct job_row *j = &r->show.list.rows[0];

	j->jobname = maker_place(m, "ocean_forecast");
	j->user = maker_place(m, "ada");
	j->format = maker_place(m, "records");
	j->source = maker_place(m, "/data/jobs/4711");
	j->start = PAGE_START;
	j->end = PAGE_START + PAGE_SPAN;
	j->submit = PAGE_START - 90000000;
	j->duration = PAGE_SPAN;
	j->exitcode = 3;
	maker_entry(m, &j->hosts, "node0", "", false);
	maker_entry(m, &j->hosts, "node1", "", false);
	maker_entry(m, &j->tags, "experiment", "historical", false);
	maker_entry(m, &j->annotations, "reviewed", "yes", true);
	maker_finding(m, FINDING_FAILED, FINDING_SEVERE, "The job ended with status 3",
		      "ocean ended with status 3 after 9 min 58 s.",
		      "Look at the last lines of its log.");
	maker_finding(m, FINDING_SERIAL, FINDING_WARNING, "6 of 8 cores were idle",
		      "1.2 CPUs were busy on average.", "Ask for 2 cores: -c 2.");
	maker_finding(m, FINDING_SHORT_PROCESSES, FINDING_NOTE, "Many short processes",
		      "60 processes ran for less than 10 ms.", "Put them into one.");
	maker_group(m, &r->hosts, "node0", NULL, 60);
	maker_group(m, &r->hosts, "node1", NULL, 41);
	maker_group(m, &r->ranks, "0", "node0", 30);
	maker_group(m, &r->ranks, "1", "node1", 12);
	GROW(r->energy, r->energy_count, r->energy_cap);
	r->energy[r->energy_count++] =
		(struct report_energy){maker_text(m, "node0"), maker_text(m, "package-0"), 54000};
	r->joules = 54000;
	r->co2_g_per_kwh = 380;
	r->cores = 8;
	r->cpu_share = 0.152;
	r->memory_limit = INT64_C(8) << 30;
	GROW(r->absences, r->absence_count, r->absence_cap);
	r->absences[r->absence_count++] =
		(struct report_absence){maker_text(m, "node0"), maker_text(m, "counters.flops"),
					maker_text(m, "perf_event_paranoid is 3"), 4};
	GROW(r->show.warnings, r->show.warning_count, r->show.warning_cap);
	r->show.warnings[r->show.warning_count++] = maker_text(m, "2 records were cut off");
	_cleanup_json_ struct json_writer h = JSON_WRITER_INIT;
	for (int i = 0; i < 2; i++) { /* metadata, hardware */
		_cleanup_free_ char *a = maker_text(m, "node0"), *b = maker_text(m, "AMD EPYC");

		json_begin_object(&h, NULL);
		json_begin_object(&h, a);
		json_str(&h, "cpu", b);
		json_u64(&h, "memory_bytes", 25276518400);
		json_begin_array(&h, "caches");
		json_begin_object(&h, NULL);
		json_u64(&h, "level", 1);
		json_u64(&h, "size_bytes", 32768);
		json_end_object(&h);
		json_end_array(&h);
		json_end_object(&h);
		json_end_object(&h);
		*(i ? &r->hardware : &r->metadata) = strbuf_take(&h.out);
		h.first[0] = true;
	}
}

/* kind: "full", "hostile", "records", "series", "one", "nothing", "many". */
PL_UNUSED static void maker_make(struct report_maker *m, const char *kind)
{
	*m = (struct report_maker){.text = !strcmp(kind, "hostile") ? HOSTILE : NULL};
	maker_begin(m, "4711");
	if (!strcmp(kind, "nothing"))
		return;
	if (!strcmp(kind, "one")) {
		struct job_row *j = &m->r.show.list.rows[0];

		m->r.has_records = true;
		j->start = PAGE_START;
		j->end = PAGE_START + 250000;
		j->duration = 250000;
		j->cpu = 200000;
		j->processes = j->images = j->num_threads = j->peak_procs = j->peak_threads = 1;
		j->exitcode = 0;
		maker_node(m, 0, "/bin/true", 1, 2);
		maker_bar(m, "/bin/true", NULL, 0, 0, 250000, 1);
		maker_group(m, &m->r.executables, "/bin/true", NULL, 1);
		maker_step(m, PAGE_START, 1, 1);
		maker_step(m, PAGE_START + 250000, 0, 0);
		return;
	}
	maker_rest(m);
	if (strcmp(kind, "series") != 0)
		maker_records(m);
	if (strcmp(kind, "records") != 0)
		maker_all_series(m);
	for (int i = 0; !strcmp(kind, "many") && i < 10000; i++) {
		_cleanup_free_ char *host = xasprintf("node%05d", i);

		maker_entry(m, &m->r.show.list.rows[0].hosts, host, "", false);
		if (i < REPORT_GROUPS_MAX)
			maker_group(m, &m->r.hosts, host, NULL, i);
		if (i < 100)
			maker_series(m, "network", "network.received", "bytes/s", host, NULL,
				     1e6 + i * 1e4, REPORT_POINTS);
	}
	m->r.hosts.left_out = !strcmp(kind, "many") ? 10000 - REPORT_GROUPS_MAX : 0;
}
