/* plimsoll samples: prints a sample file, event by event. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/command.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "samples/sample_file.h"
#include "views/series_view.h"

struct samples_options {
	bool json;
};

static void add_json_time(struct json_writer *j, const char *key, int64_t us)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	text_add_time(&text, us, false);
	json_str(j, key, text.buf);
}

static void json_source(struct json_writer *j, const struct sample_file_source *s)
{
	json_str(j, "source", s->name);
	json_u64(j, "every", s->every);
	json_begin_array(j, "metrics");
	for (size_t i = 0; i < s->metric_count; i++) {
		const struct sample_metric *m = &s->metrics[i];

		json_begin_object(j, NULL);
		json_str(j, "name", m->name);
		json_str(j, "unit", metric_unit_name(m->unit));
		json_str(j, "kind", metric_kind_name(m->kind));
		json_str(j, "aggregation", metric_agg_name(m->agg));
		json_f64(j, "scale", m->scale != 0 ? m->scale : 1);
		json_str(j, "help", m->help);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_entity(struct json_writer *j, const struct entity *e)
{
	json_str(j, "kind", entity_kind_name(e->kind));
	json_text(j, "name", e->name, strlen(e->name));
}

static void json_reading(struct json_writer *j, const struct sample_file *f)
{
	const struct sample_set *s = &f->reading;

	json_str(j, "source", f->sources[f->source].name);
	add_json_time(j, "time", f->time_us);
	json_begin_array(j, "rows");
	for (size_t i = 0; i < s->row_count; i++) {
		json_begin_object(j, NULL);
		json_entity(j, &s->entities[s->rows[i].entity]);
		sample_add_values(j, s, i);
		json_end_object(j);
	}
	json_end_array(j);
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
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_str(&j, "event", names[event]);
	switch (event) {
	case SAMPLE_HEAD:
		json_str(&j, "host", f->head.host);
		json_str(&j, "boot", f->head.boot);
		json_str(&j, "job", f->head.job);
		json_str(&j, "run", f->head.run);
		json_f64(&j, "period", (double)f->head.period_ns * 1e-9);
		add_json_time(&j, "time", f->head.realtime_ns / 1000);
		break;
	case SAMPLE_SOURCE:
		json_source(&j, &f->sources[f->source]);
		break;
	case SAMPLE_ENTITY:
		json_str(&j, "source", f->sources[f->source].name);
		json_entity(&j, &f->sources[f->source].entities[f->entity]);
		json_entity_metadata(&j, &f->sources[f->source].entities[f->entity]);
		break;
	case SAMPLE_READING:
		json_reading(&j, f);
		break;
	case SAMPLE_ABSENT:
		json_str(&j, "source", f->sources[f->source].name);
		json_str(&j, "metric", absent_metric(f));
		json_str(&j, "reason", f->reason);
		break;
	case SAMPLE_CLOCK:
		json_f64(&j, "boottime", (double)f->boottime_ns * 1e-9);
		add_json_time(&j, "time", f->realtime_ns / 1000);
		break;
	case SAMPLE_LOST:
		json_u64(&j, "readings", f->count);
		break;
	case SAMPLE_END:
		json_str(&j, "reason", f->reason);
		break;
	}
	json_end_object(&j);
	json_write(&j, stdout);
}

static void add_printable(struct strbuf *out, const char *before, const char *s)
{
	strbuf_addstr(out, before);
	text_add_printable(out, s ? s : "-", s ? strlen(s) : 1);
}

static void text_reading(struct strbuf *out, const struct sample_file *f)
{
	const struct sample_set *s = &f->reading;
	_cleanup_strbuf_ struct strbuf start = STRBUF_INIT;

	text_add_time(&start, f->time_us, false);
	add_printable(&start, " ", f->sources[f->source].name);
	for (size_t i = 0; i < s->row_count; i++) {
		const struct entity *e = &s->entities[s->rows[i].entity];

		strbuf_addf(out, "%s%s %s ", i ? "\n" : "", start.buf, entity_kind_name(e->kind));
		add_printable(out, "", e->name);
		for (unsigned m = 0; m < s->metric_count; m++)
			if (s->rows[i].present >> m & 1) {
				add_printable(out, " ", s->metrics[m].name);
				strbuf_addf(out, "=%.15g", sample_value(s, i, m));
			}
	}
	if (!s->row_count)
		strbuf_addf(out, "%s (nothing)", start.buf);
}

static void text_source(struct strbuf *out, const struct sample_file_source *s)
{
	add_printable(out, "source ", s->name);
	strbuf_addf(out, ", every %u", s->every);
	for (size_t i = 0; i < s->metric_count; i++) {
		const struct sample_metric *m = &s->metrics[i];

		add_printable(out, "\n    ", m->name);
		strbuf_addf(out, " (%s%s%s): ", metric_kind_name(m->kind),
			    m->unit == UNIT_NONE ? "" : ", ", metric_unit_name(m->unit));
		add_printable(out, "", m->help);
	}
}

static void print_text(const struct sample_file *f, enum sample_event event)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	switch (event) {
	case SAMPLE_HEAD:
		add_printable(&out, "host ", f->head.host);
		add_printable(&out, ", boot ", f->head.boot);
		add_printable(&out, ", job ", f->head.job);
		add_printable(&out, ", run ", f->head.run);
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
		add_printable(&out, "absent ", f->sources[f->source].name);
		add_printable(&out, ".", absent_metric(f));
		add_printable(&out, ": ", f->reason);
		break;
	case SAMPLE_LOST:
		strbuf_addf(&out, "lost: %llu %s could not be written",
			    (unsigned long long)f->count, plural(f->count, "sample", "samples"));
		break;
	case SAMPLE_END:
		add_printable(&out, "end: ",
			      f->reason && !strcmp(f->reason, "job") ? "the job ended" : f->reason);
		break;
	default:
		return;
	}
	puts(out.buf);
}

static int run(struct context *ctx, int argc PL_UNUSED, char **argv)
{
	const struct samples_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sample_file f;
	int event;

	int fd = open(argv[0], O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail_with(EXIT_FAILED, "cannot open '%s': %s", argv[0], strerror(errno));
	struct stat st;
	bool dir = fstat(fd, &st) == 0 && S_ISDIR(st.st_mode);
	if (sample_file_open(&f, fd, &why) < 0) {
		if (dir)
			log_error("'%s' is a directory; name a sample file in it (*.smp), or use "
				  "`plimsoll series` for a whole job",
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
		log_error("%s: damaged; skipped %llu bytes in %llu place%s, and %llu sample%s that "
			  "depend on them",
			  argv[0], (unsigned long long)f.damaged_bytes,
			  (unsigned long long)f.damaged_places, plural(f.damaged_places, "", "s"),
			  (unsigned long long)f.skipped_readings,
			  plural(f.skipped_readings, "", "s"));
	bool whole = event == 0 && !f.damaged_places;
	sample_file_close(&f);
	return whole ? EXIT_OK : EXIT_FAILED;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "json", NULL, "print JSON, one object per line",
	 AT(struct samples_options, json)},
	ROWS_COMMON,
};

const struct command command_samples = {
	.name = "samples",
	.summary = "print the content of a sample file",
	.operands = {"FILE.smp", 1, 1},
	.description =
		"Prints the events of a sample file in order: its host and job, the sources and their "
		"metrics, the samples, and what is absent and why. Values are in the unit of their "
		"metric. A file that is still being written is printed as far as it goes.\n\n"
		"Damaged parts are skipped and reported, and the exit status is 1. `plimsoll series` "
		"prints the same files as time series.",
	.examples = "  plimsoll samples node1.0123abcd/4711.smp\n"
		    "  plimsoll samples --json samples.smp | jq 'select(.event == \"absent\")'\n",
	OPTIONS(struct samples_options, rows),
	.run = run,
};
