/* The list of sources. */
#include <errno.h>
#include <string.h>

#include "core/patience.h"
#include "sources/source.h"

#define PROBE_SECONDS 5u

#define SOURCE(symbol) extern const struct source source_##symbol;
#include "sources/sources.def"
#undef SOURCE

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

struct probing {
	const struct source *source;
	struct source_context ctx;
	struct source_report report;
	int result;
};

static void probe(void *user)
{
	struct probing *p = user;

	p->result = p->source->probe(&p->ctx, &p->report);
}

int source_probe(const struct source *s, const struct source_context *ctx,
		 struct source_report *report)
{
	if (!s->slow)
		return s->probe(ctx, report);
	struct probing *p = xcalloc(1, sizeof(*p));
	*p = (struct probing){.source = s, .ctx = *ctx, .report = SOURCE_REPORT_INIT};
	if (!call_within(probe, p, PROBE_SECONDS * 1000000000ull)) {
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
