/* See outlier_options.h. */
#include "cmd/outlier_options.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "jobs/tags.h"

static bool take_features(const struct outlier_options *o, struct outlier_request *q)
{
	for (size_t i = 0; i < o->features.count; i++)
		if (!strcmp(o->features.word[i], "all") || !strcmp(o->features.word[i], "*"))
			q->all_features = true;
	if (o->features.count && !q->all_features) {
		q->features = o->features.word;
		q->feature_count = o->features.count;
	}
	return true;
}

static bool take_methods(const struct outlier_options *o, struct outlier_request *q,
			 const char *command)
{
	outlier_rules_init(&q->rules);
	if (o->methods.count)
		memset(q->rules.use, 0, sizeof(q->rules.use));
	q->methods_given = o->methods.count > 0;
	for (size_t i = 0; i < o->methods.count; i++) {
		enum outlier_method m = outlier_method_by_name(o->methods.word[i]);
		enum detector k = detector_by_name(o->methods.word[i]);

		if (m == METHOD_COUNT && k == DETECTOR_COUNT) {
			usage_error(command, "unknown method '%s'; there are " METHOD_NAMES,
				    o->methods.word[i]);
			return false;
		}
		if (m < METHOD_COUNT)
			q->rules.use[m] = true;
		else
			q->detectors |= 1u << k;
	}
	if (q->detectors && outlier_rules_count(&q->rules)) {
		usage_error(command, "iqr, madz and z look at one feature at a time and cannot be "
				     "combined with detectors");
		return false;
	}
	return true;
}

static bool take_threshold(const char *word, struct outlier_request *q)
{
	const char *sign = strchr(word, '=');
	_cleanup_free_ char *name = xstrndup(word, sign ? (size_t)(sign - word) : 0);
	enum outlier_method m = outlier_method_by_name(name);
	char *end = NULL;

	/* the fences of IQR are not a score */
	if (!sign || m == METHOD_COUNT || m == METHOD_IQR || !sign[1])
		return false;
	q->rules.threshold[m] = strtod(sign + 1, &end);
	return !*end && isfinite(q->rules.threshold[m]) && q->rules.threshold[m] >= 0;
}

static bool take_operations(const struct outlier_options *o, struct value **ret,
			    const char *command)
{
	for (size_t i = 0; i < o->ops.count; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct value *tags = tags_parse_all(o->ops.word[i], &why);

		if (!tags) {
			usage_error(command, "--op: %s", why.buf);
			return false;
		}
		if (!*ret)
			*ret = value_new(VALUE_LIST);
		value_sort(tags);
		value_append(*ret, tags);
	}
	return true;
}

bool outlier_options_take(const struct outlier_options *o, struct outlier_request *q,
			  struct value **ret_ops, const char *command)
{
	if (!take_features(o, q) || !take_methods(o, q, command) ||
	    !take_operations(o, ret_ops, command))
		return false;
	q->op_tags = *ret_ops;
	for (size_t i = 0; i < o->thresholds.count; i++)
		if (!take_threshold(o->thresholds.word[i], q)) {
			usage_error(command,
				    "--thresholds takes z=NUMBER and madz=NUMBER, not '%s'",
				    o->thresholds.word[i]);
			return false;
		}
	return true;
}

void request_jobs_release(struct request_jobs *j)
{
	job_selection_release(&j->selection);
	free(j->numbers);
	free(j->labels);
}

int request_jobs_find(struct request_jobs *j, struct store *s, char *const *words, int count,
		      const char *where, struct outlier_request *q)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = job_selection_find(&j->selection, s, words, (size_t)count, where, &why);

	if (r < 0)
		return fail_with(r, "%s", why.buf);
	size_t n = j->selection.count;
	j->numbers = xcalloc(n + 1, sizeof(*j->numbers));
	j->labels = xcalloc(n + 1, sizeof(*j->labels));
	for (size_t i = 0; i < n; i++) {
		j->numbers[i] = j->selection.v[i].no;
		j->labels[i] = j->selection.v[i].label;
	}
	q->jobs = j->numbers;
	q->labels = j->labels;
	q->job_count = n;
	return 0;
}
