/* plimsoll samples: what a sample file holds, event by event. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/command.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "samples/sample_file.h"

struct samples_options {
	bool json;
};

static void add_json_time(struct jsonw *j, const char *key, int64_t us)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	text_add_time(&text, us, false);
	jsonw_str(j, key, text.buf);
}

static void json_source(struct jsonw *j, const struct sample_file_source *s)
{
	jsonw_str(j, "source", s->name);
	jsonw_u64(j, "every", s->every);
	jsonw_begin_array(j, "metrics");
	for (size_t i = 0; i < s->metric_count; i++) {
		const struct sample_metric *m = &s->metrics[i];

		jsonw_begin_object(j, NULL);
		jsonw_str(j, "name", m->name);
		jsonw_str(j, "unit", metric_unit_name(m->unit));
		jsonw_str(j, "kind", metric_kind_name(m->kind));
		jsonw_str(j, "aggregation", metric_agg_name(m->agg));
		jsonw_f64(j, "scale", m->scale != 0 ? m->scale : 1);
		jsonw_str(j, "help", m->help);
		jsonw_end_object(j);
	}
	jsonw_end_array(j);
}

static void json_entity(struct jsonw *j, const struct entity *e)
{
	jsonw_str(j, "kind", entity_kind_name(e->kind));
	jsonw_text(j, "name", e->name, strlen(e->name));
}

static void json_facts(struct jsonw *j, const struct entity *e)
{
	jsonw_begin_object(j, "facts");
	for (const char *p = e->facts; p && *p;) {
		size_t key = strcspn(p, "="), value = strcspn(p + key, "\n");
		_cleanup_free_ char *name = xstrndup(p, key);

		jsonw_text(j, name, p + key + 1, value - 1);
		p += key + value + 1;
	}
	jsonw_end_object(j);
}

static void json_reading(struct jsonw *j, const struct sample_file *f)
{
	const struct sample_set *s = &f->reading;

	jsonw_str(j, "source", f->sources[f->source].name);
	add_json_time(j, "time", f->time_us);
	jsonw_begin_array(j, "rows");
	for (size_t i = 0; i < s->row_count; i++) {
		jsonw_begin_object(j, NULL);
		json_entity(j, &s->entities[s->rows[i].entity]);
		jsonw_begin_object(j, "values");
		for (unsigned m = 0; m < s->metric_count; m++) {
			const struct sample_metric *metric = &s->metrics[m];

			if (!(s->rows[i].present >> m & 1))
				continue;
			if (metric->scale == 0 || metric->scale == 1)
				jsonw_i64(j, metric->name, s->values[i * s->metric_count + m]);
			else
				jsonw_f64(j, metric->name, sample_value(s, i, m));
		}
		jsonw_end_object(j);
		jsonw_end_object(j);
	}
	jsonw_end_array(j);
}

static const char *absent_metric(const struct sample_file *f)
{
	const struct sample_file_source *s = &f->sources[f->source];

	return f->metric < s->metric_count ? s->metrics[f->metric].name : "*";
}

static void print_json(const struct sample_file *f, enum sample_event event)
{
	static const char *const names[] = {NULL,     "head",  "source", "entity", "reading",
					    "absent", "clock", "lost",   "end"};
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	jsonw_begin_object(&j, NULL);
	jsonw_str(&j, "event", names[event]);
	switch (event) {
	case SAMPLE_HEAD:
		jsonw_str(&j, "host", f->head.host);
		jsonw_str(&j, "boot", f->head.boot);
		jsonw_str(&j, "job", f->head.job);
		jsonw_str(&j, "run", f->head.run);
		jsonw_f64(&j, "period", (double)f->head.period_ns * 1e-9);
		add_json_time(&j, "time", f->head.realtime_ns / 1000);
		break;
	case SAMPLE_SOURCE:
		json_source(&j, &f->sources[f->source]);
		break;
	case SAMPLE_ENTITY:
		jsonw_str(&j, "source", f->sources[f->source].name);
		json_entity(&j, &f->sources[f->source].entities[f->entity]);
		json_facts(&j, &f->sources[f->source].entities[f->entity]);
		break;
	case SAMPLE_READING:
		json_reading(&j, f);
		break;
	case SAMPLE_ABSENT:
		jsonw_str(&j, "source", f->sources[f->source].name);
		jsonw_str(&j, "metric", absent_metric(f));
		jsonw_str(&j, "reason", f->reason);
		break;
	case SAMPLE_CLOCK:
		jsonw_f64(&j, "boottime", (double)f->boottime_ns * 1e-9);
		add_json_time(&j, "time", f->realtime_ns / 1000);
		break;
	case SAMPLE_LOST:
		jsonw_u64(&j, "readings", f->count);
		break;
	case SAMPLE_END:
		jsonw_str(&j, "reason", f->reason);
		break;
	}
	jsonw_end_object(&j);
	jsonw_write(&j, stdout);
}

static void add_printable(struct strbuf *out, const char *s)
{
	text_add_printable(out, s ? s : "-", s ? strlen(s) : 1);
}

static void text_reading(struct strbuf *out, const struct sample_file *f)
{
	const struct sample_set *s = &f->reading;
	_cleanup_strbuf_ struct strbuf start = STRBUF_INIT;

	text_add_time(&start, f->time_us, false);
	strbuf_addch(&start, ' ');
	add_printable(&start, f->sources[f->source].name);
	for (size_t i = 0; i < s->row_count; i++) {
		const struct entity *e = &s->entities[s->rows[i].entity];

		strbuf_addf(out, "%s%s %s ", i ? "\n" : "", start.buf, entity_kind_name(e->kind));
		add_printable(out, e->name);
		for (unsigned m = 0; m < s->metric_count; m++)
			if (s->rows[i].present >> m & 1) {
				strbuf_addch(out, ' ');
				add_printable(out, s->metrics[m].name);
				strbuf_addf(out, "=%.15g", sample_value(s, i, m));
			}
	}
	if (!s->row_count)
		strbuf_addf(out, "%s (nothing)", start.buf);
}

static void text_source(struct strbuf *out, const struct sample_file_source *s)
{
	strbuf_addstr(out, "source ");
	add_printable(out, s->name);
	strbuf_addf(out, ", every %u", s->every);
	for (size_t i = 0; i < s->metric_count; i++) {
		const struct sample_metric *m = &s->metrics[i];

		strbuf_addstr(out, "\n    ");
		add_printable(out, m->name);
		strbuf_addf(out, " (%s%s%s): ", metric_kind_name(m->kind),
			    m->unit == UNIT_NONE ? "" : ", ", metric_unit_name(m->unit));
		add_printable(out, m->help);
	}
}

static void print_text(const struct sample_file *f, enum sample_event event)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	switch (event) {
	case SAMPLE_HEAD:
		strbuf_addstr(&out, "host ");
		add_printable(&out, f->head.host);
		strbuf_addstr(&out, ", boot ");
		add_printable(&out, f->head.boot);
		strbuf_addstr(&out, ", job ");
		add_printable(&out, f->head.job);
		strbuf_addstr(&out, ", run ");
		add_printable(&out, f->head.run);
		strbuf_addstr(&out, ", a tick every ");
		text_add_duration(&out, (double)f->head.period_ns * 1e-9);
		break;
	case SAMPLE_SOURCE:
		text_source(&out, &f->sources[f->source]);
		break;
	case SAMPLE_READING:
		text_reading(&out, f);
		break;
	case SAMPLE_ABSENT:
		strbuf_addstr(&out, "absent ");
		add_printable(&out, f->sources[f->source].name);
		strbuf_addch(&out, '.');
		add_printable(&out, absent_metric(f));
		strbuf_addstr(&out, ": ");
		add_printable(&out, f->reason);
		break;
	case SAMPLE_LOST:
		strbuf_addf(&out, "lost: %llu %s could not be written",
			    (unsigned long long)f->count, plural(f->count, "reading", "readings"));
		break;
	case SAMPLE_END:
		strbuf_addstr(&out, "end: ");
		add_printable(&out, f->reason);
		break;
	default:
		return;
	}
	puts(out.buf);
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct samples_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sample_file f;
	int event;

	if (argc != 1)
		return usage_error("samples", "samples takes one file");
	int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		log_error("cannot open '%s': %s", argv[0], strerror(errno));
		return EXIT_FAILED;
	}
	struct stat st;
	bool dir = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
	if (sample_file_open(&f, fd, &why) < 0) {
		if (dir)
			log_error("'%s' is a directory: name a sample file in it (*.smp), or let "
				  "`plimsoll series` show those of a job",
				  argv[0]);
		else
			log_error("'%s' %s", argv[0], why.buf);
		return EXIT_FAILED;
	}
	while ((event = sample_file_next(&f)) > 0)
		(o->json ? print_json : print_text)(&f, (enum sample_event)event);
	if (event < 0)
		log_error("cannot read '%s': %s", argv[0], strerror(-event));
	else if (f.damaged_places)
		log_error("%s: damaged: %llu bytes in %llu place%s skipped, and %llu %s that %s "
			  "them; the rest is shown",
			  argv[0], (unsigned long long)f.damaged_bytes,
			  (unsigned long long)f.damaged_places, plural(f.damaged_places, "", "s"),
			  (unsigned long long)f.skipped_readings,
			  plural(f.skipped_readings, "reading", "readings"),
			  plural(f.skipped_readings, "needs", "need"));
	bool whole = event == 0 && !f.damaged_places;
	sample_file_close(&f);
	return whole ? EXIT_OK : EXIT_FAILED;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "json", NULL, "print JSON, one object a line",
	 AT(struct samples_options, json)},
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_samples = {
	.name = "samples",
	.summary = "show what a sample file holds",
	.arguments = "FILE.smp",
	.description =
		"Prints the events of a sample file in their order: whose it is, the sources with their metrics, "
		"the readings, what is absent and why. Values are in the unit of their metric. A file that is "
		"being written is shown as far as it is there.\n\n"
		"Damaged places are skipped and reported, and the exit status is 1 then. `plimsoll series` makes "
		"curves of the same files.",
	.examples = "  plimsoll samples node1.0123abcd/4711.smp\n"
		    "  plimsoll samples --json samples.smp | jq 'select(.event == \"absent\")'\n",
	.options = rows,
	.options_size = sizeof(struct samples_options),
	.run = run,
};
