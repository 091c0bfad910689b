/* See colmet_names.h. */
#include "compat/colmet/colmet_names.h"

#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "compat/colmet/colmet_internal.h"
#include "sources/counters/events.h"

void colmet_names_release(struct colmet_names *n)
{
	strbuf_release(&n->metrics);
	strbuf_release(&n->counters);
	strbuf_release(&n->counter_metrics);
	strbuf_release(&n->without);
	strbuf_release(&n->rust);
}

static void add_word(struct strbuf *out, const char *between, const char *name, const char *rest)
{
	strbuf_addf(out, "%s%s%s", out->len ? between : "", name, rest);
}

/* The event as colmet spells it; NULL if it is not an event. */
static const char *event_of(const char *name)
{
	const struct colmet_rust_table *t = &colmet_rust_tables[COLMET_RUST_PERFHW];

	for (size_t i = 0; i < t->metric_count; i++)
		if (event_name_same(t->metrics[i].name, name))
			return t->metrics[i].name;
	return NULL;
}

static void add_event(struct colmet_names *n, const char *name, const char *rest)
{
	_cleanup_free_ char *ours = xasprintf("job_counters.%s", name);

	n->periods |= *rest && strcmp(rest, ":-1") != 0 && strcmp(rest, ":-1:-1") != 0;
	add_word(&n->counters, ",", name, "");
	add_word(&n->counter_metrics, " ", ours, rest);
}

/* NAME[:PERIOD[:JOB]] */
static void add_name(struct colmet_names *n, const char *word, bool colmets)
{
	const char *rest = word + strcspn(word, ":");
	_cleanup_free_ char *whole = xstrndup(word, (size_t)(rest - word));
	const char *ours, *event = event_of(whole);

	if (event) {
		add_event(n, event, rest);
		return;
	}
	if (colmet_rust_answer(whole, &ours)) {
		n->periods |= *rest && strcmp(rest, ":-1") != 0 && strcmp(rest, ":-1:-1") != 0;
		_cleanup_free_ char *metric = ours ? xasprintf("jobs.%s", ours) : NULL;
		if (!ours)
			add_word(&n->without, ", ", whole, "");
		else if (colmets)
			add_word(&n->rust, ",", whole, "");
		else
			add_word(&n->metrics, " ", metric, rest);
		return;
	}
	add_word(&n->metrics, " ", word, "");
}

int colmet_names_read(struct colmet_names *ret, const char *list, bool colmets, struct strbuf *why)
{
	_cleanup_free_ char *own = xstrdup(list);
	char *rest = own;

	*ret = (struct colmet_names)COLMET_NAMES_INIT;
	for (char *word; (word = strsep(&rest, ", \t\n"));)
		if (*word)
			add_name(ret, word, colmets);
	if (ret->without.len && !ret->metrics.len && !ret->counters.len && !ret->rust.len) {
		strbuf_addf(why, "nothing would be sent: no source measures %s", ret->without.buf);
		return -EINVAL;
	}
	if (ret->without.len)
		log_warn("no source measures %s: left out", ret->without.buf);
	/* events go the same way, where there is one besides that of records */
	if (ret->rust.len && ret->counters.len)
		strbuf_addf(&ret->rust, ",%s", ret->counters.buf);
	if (ret->periods && colmets)
		log_warn("all jobs are sampled, with one period: periods and jobs behind names of "
			 "colmet's have no effect");
	return 0;
}

void colmet_names_filter(const struct colmet_names *n, const char *old, struct strbuf *out)
{
	/* events alone are an order to count them, and the rest goes on as before */
	strbuf_addstr(out, n->metrics.len ? n->metrics.buf : old);
	if (out->len && n->counter_metrics.len)
		strbuf_addf(out, " %s", n->counter_metrics.buf);
	_cleanup_free_ char *own = xstrdup(n->rust.buf);
	char *rest = own;
	for (char *word; out->len && (word = strsep(&rest, ","));) {
		const char *ours = NULL;

		if (colmet_rust_answer(word, &ours) && ours)
			strbuf_addf(out, " jobs.%s", ours);
	}
}
