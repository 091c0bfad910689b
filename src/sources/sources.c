/* The list of sources, and functions that their probes share. */
#include <errno.h>
#include <string.h>

#include "core/files/cached_file.h"
#include "core/system/timed_call.h"
#include "core/text/similar.h"
#include "sources/source.h"

#define PROBE_SECONDS 5u
#define NAMES_MAX 8 /* of devices in a report */

const struct source *const sources[] = {
#define SOURCE(symbol) &source_##symbol,
#include "sources/sources.def"
#undef SOURCE
	NULL,
};

const struct source *source_find(const char *name)
{
	for (const struct source *const *s = sources; *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}

void sources_near_metrics(const char *word, size_t max, struct strbuf *out)
{
	_cleanup_name_list_ struct name_list l = {0};
	size_t cap = 0;

	/* metrics that are known before their source is opened */
	for (const struct source *const *s = sources; *s; s++)
		for (size_t i = 0; (*s)->open && (*s)->metrics && i < (*s)->metric_count; i++) {
			GROW(l.names, l.count, cap);
			l.names[l.count++] = xasprintf("%s.%s", (*s)->name, (*s)->metrics[i].name);
		}
	near_metrics((const char *const *)l.names, l.count, word, max, out);
}

void sources_add_near(const char *word, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf near = STRBUF_INIT;
	const char *best = NULL;
	unsigned least = strlen(word) < 4 ? 2 : 3;

	for (const struct source *const *s = sources; *s; s++) {
		unsigned d = (*s)->open ? word_distance(word, (*s)->name) : UINT32_MAX;

		if (d < least) {
			least = d;
			best = (*s)->name;
		}
	}
	/* by meaning instead of spelling */
	if (!best)
		sources_near_metrics(word, 1, &near);
	if (best)
		strbuf_addf(out, "; did you mean '%s'?", best);
	else if (near.len)
		strbuf_addf(out, "; did you mean '%.*s', which has %s?",
			    (int)strcspn(near.buf, "."), near.buf, near.buf);
	else
		strbuf_addstr(out, "; `plimsoll sources` lists them");
}

struct probing {
	const struct source *source;
	struct source_context ctx;
	struct source_report report;
	int result;
};

static int probe_open(const struct source *s, const struct source_context *ctx,
		      struct source_report *report)
{
	_cleanup_(sample_release) struct sample_set set = {0};
	void *state = NULL;

	sample_init(&set, s->metrics, s->metric_count);
	int r = s->open(ctx, &set, &state, &report->detail);
	if (r < 0)
		return r;
	s->describe(state, &report->detail);
	s->close(state);
	return 0;
}

static int probe(const struct source *s, const struct source_context *ctx,
		 struct source_report *report)
{
	int r = s->probe ? s->probe(ctx, report) : probe_open(s, ctx, report);

	if ((r == -EACCES || r == -EPERM) && !report->remedy)
		report->remedy = s->remedy;
	return r;
}

static void probe_slow(void *user)
{
	struct probing *p = user;

	p->result = probe(p->source, &p->ctx, &p->report);
}

int source_probe(const struct source *s, const struct source_context *ctx,
		 struct source_report *report)
{
	if (!s->slow)
		return probe(s, ctx, report);
	struct probing *p = xcalloc(1, sizeof(*p));
	*p = (struct probing){.source = s, .ctx = *ctx, .report = SOURCE_REPORT_INIT};
	if (!call_within(probe_slow, p, PROBE_SECONDS * 1000000000ull)) {
		strbuf_addf(&report->detail, "did not answer within %u s", PROBE_SECONDS);
		return -ETIMEDOUT; /* p stays with the call */
	}
	int r = p->result;
	strbuf_add(&report->detail, p->report.detail.buf, p->report.detail.len);
	report->remedy = p->report.remedy;
	strbuf_release(&p->report.detail);
	free(p);
	return r;
}

int source_once(const struct source *s, const struct source_context *ctx, struct sample_set *set,
		struct strbuf *why)
{
	void *state = NULL;

	sample_init(set, s->metrics, s->metric_count);
	int r = s->open(ctx, set, &state, why);
	if (r < 0)
		return r;
	sample_begin(set);
	r = s->read(state, set);
	s->close(state);
	if (r < 0)
		strbuf_addf(why, "cannot be read: %s", strerror(-r));
	return r;
}

int source_probe_kind(const struct source *s, const struct source_context *ctx,
		      enum entity_kind kind, const char *none, struct source_report *report)
{
	_cleanup_(sample_release) struct sample_set set = {0};
	const char *comma = "", *why;
	size_t size;
	int r = source_once(s, ctx, &set, &report->detail);

	for (size_t i = 0; r == 0 && i < set.row_count; i++) {
		const struct entity *e = &set.entities[set.rows[i].entity];

		if (e->kind != kind)
			continue;
		strbuf_addf(&report->detail, "%s%s", comma, e->name);
		if (entity_metadata(e, "left_out", &why, &size))
			strbuf_addf(&report->detail, " (left out of the node's sum: %.*s)",
				    (int)size, why);
		comma = ", ";
		if (i >= NAMES_MAX) {
			strbuf_addstr(&report->detail, " and more");
			break;
		}
	}
	if (r == 0 && !report->detail.len) {
		strbuf_addstr(&report->detail, none);
		r = -ENOENT;
	}
	return r;
}
