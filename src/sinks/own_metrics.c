/* See own_metrics.h. */
#include "sinks/own_metrics.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "core/text/text.h"
#include "sinks/prometheus/openmetrics.h"

struct own_metrics {
	pthread_mutex_t lock;
	struct strbuf text[2]; /* the older format, OpenMetrics */
};

struct own_metrics *own_metrics_new(void)
{
	struct own_metrics *o = xcalloc(1, sizeof(*o));

	*o = (struct own_metrics){.text = {STRBUF_INIT, STRBUF_INIT}};
	pthread_mutex_init(&o->lock, NULL);
	return o;
}

void own_metrics_free(struct own_metrics *o)
{
	if (!o)
		return;
	strbuf_release(&o->text[0]);
	strbuf_release(&o->text[1]);
	pthread_mutex_destroy(&o->lock);
	free(o);
}

void own_metrics_set(struct own_metrics *o, const struct strbuf *older,
		     const struct strbuf *openmetrics)
{
	const struct strbuf *from[] = {older, openmetrics};

	pthread_mutex_lock(&o->lock);
	for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
		strbuf_reset(&o->text[i]);
		strbuf_add(&o->text[i], from[i]->buf, from[i]->len);
	}
	pthread_mutex_unlock(&o->lock);
}

void own_metrics_add(struct own_metrics *o, bool openmetrics, struct strbuf *out)
{
	pthread_mutex_lock(&o->lock);
	strbuf_add(out, o->text[openmetrics].buf, o->text[openmetrics].len);
	pthread_mutex_unlock(&o->lock);
}

void own_metrics_head(struct strbuf *out, bool openmetrics, const struct own_family *f)
{
	/* the older format has the complete name of a counter here */
	const char *end = f->counter && !openmetrics ? "_total" : "";

	strbuf_addf(out, "# TYPE " OWN_METRICS_PREFIX "%s%s %s\n", f->name, end,
		    f->counter ? "counter" : "gauge");
	strbuf_addf(out, "# HELP " OWN_METRICS_PREFIX "%s%s %s\n", f->name, end, f->help);
}

void own_metrics_value(struct strbuf *out, const struct own_family *f, const char *sink,
		       double value)
{
	_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;

	if (sink)
		openmetrics_add_label(&label, "sink", sink, strlen(sink));
	strbuf_addf(out, OWN_METRICS_PREFIX "%s%s%s%s%s ", f->name, f->counter ? "_total" : "",
		    sink ? "{" : "", label.buf, sink ? "}" : "");
	if (value == floor(value) && fabs(value) < 1e15)
		strbuf_addf(out, "%.0f\n", value);
	else {
		text_add_real(out, value);
		strbuf_addch(out, '\n');
	}
}
