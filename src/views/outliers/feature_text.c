/* See feature_text.h. */
#include "views/outliers/feature_text.h"

#include <math.h>

#include "analysis/outliers/statistics.h"
#include "core/text/text.h"
#include "views/output.h"

void add_tags_text(struct strbuf *out, const struct value *tags)
{
	for (size_t i = 0; i < value_pairs(tags); i++) {
		const struct value *key = value_key(tags, i), *v = value_at(tags, i);

		strbuf_addf(out, "%s%s:%s", i ? ";" : "",
			    key->kind == VALUE_STR ? key->str.data : "",
			    v->kind == VALUE_STR ? v->str.data : "");
	}
}

void add_feature(struct strbuf *out, const char *feature, double v, bool human)
{
	bool time = !strcmp(feature, "duration") || !strcmp(feature, "cpu_time");
	const struct metric *m = metric_by_name(time ? "usertime" : feature);

	/* a median of integers may lie between two of them */
	if (human && fabs(v) >= 1000)
		v = (double)round_i64(v);
	if (isnan(v))
		strbuf_addch(out, '-');
	else if (fabs(v) < 9e15 && (m || v == (double)round_i64(v)))
		add_metric(out, m, round_i64(v), human);
	else
		text_add_real(out, round4(v));
}

void add_plain_number(struct strbuf *out, double v)
{
	if (fabs(v) < 9e15 && v == (double)(int64_t)v)
		text_add_i64(out, (int64_t)v);
	else
		text_add_real(out, v);
}
