/* `epmt list op_metrics`: metrics of operations, in the columns of EPMT's get_op_metrics(). */
#include <errno.h>

#include "compat/epmt/epmt_dict.h"
#include "compat/epmt/epmt_filter.h"
#include "views/operations/operation_list.h"

/* rssmax is the sum over all threads, which is what EPMT has. */
static void add_metrics(struct value *row, const struct job_operations *jo, size_t at)
{
	const struct operation *o = &jo->operations.v[at];
	_cleanup_value_ struct value *sums = value_new(VALUE_DICT);
	const enum metric_id *list;
	size_t n = operation_metrics(&list);

	for (size_t i = 0; i < n; i++) {
		const char *name = metric_by_id(list[i])->name;
		int64_t v = operation_value(o, (int)i, OPERATION_SUM);

		if (list[i] == METRIC_RSSMAX)
			v = o->metrics[n].sum;
		if (v != OPERATION_UNKNOWN)
			value_set(sums, name, value_int(v));
	}
	for (size_t i = 0; i < jo->event_count; i++)
		if (jo->events[i].sums[at] != UNKNOWN)
			value_set(sums, jo->events[i].name, value_int(jo->events[i].sums[at]));
	value_sort(sums);
	for (size_t i = 0; i < value_pairs(sums); i++)
		value_set(row, value_key(sums, i)->str.data, value_ref(value_at(sums, i)));
}

static struct value *number(int64_t v)
{
	return v == OPERATION_UNKNOWN ? value_new(VALUE_NONE) : value_int(v);
}

static void add_rows(struct value *rows, const struct job_operations *jo,
		     const struct epmt_filter *f)
{
	_cleanup_value_ struct value *sorted = value_new(VALUE_DICT);

	for (size_t i = 0; i < jo->operations.count; i++) {
		const struct operation *o = &jo->operations.v[i];

		if (jo->names[i].phase) /* it has none of these */
			continue;
		struct value *row = value_new(VALUE_DICT);
		if (jo->label)
			value_set(row, "jobid", value_str(jo->label));
		value_set(row, "tags", value_ref(jo->names[i].tags));
		value_set(row, "duration",
			  number(operation_value(o, OPERATION_BY_DURATION, f->op_duration)));
		value_set(row, "cpu_time",
			  number(operation_value(o, OPERATION_BY_CPU, f->op_duration)));
		value_set(row, "num_procs", value_int((int64_t)o->images));
		add_metrics(row, jo, i);
		if (epmt_filter_matches_tags(f, jo->names[i].text))
			value_set(sorted, jo->names[i].text, row);
		else
			value_free(row);
	}
	value_sort(sorted);
	for (size_t i = 0; i < value_pairs(sorted); i++)
		value_append(rows, value_ref(value_at(sorted, i)));
}

int epmt_op_metrics(struct store *s, const struct epmt_filter *f, char *const *ids, size_t count,
		    struct value **ret)
{
	struct job_filter how = {.ids = ids, .id_count = count, .limit = NO_LIMIT};
	/* a set of tags is an operation, unless it has to be exactly that of the processes */
	struct operation_query q = {.tags = f->exact_tags ? NULL : f->tag_sets,
				    .whole = true,
				    .metric = OPERATION_BY_CPU,
				    .events = true};
	_cleanup_value_ struct value *none = value_new(VALUE_LIST), *rows = value_new(VALUE_LIST);
	struct job_operations total = {0};
	struct job_query jq;

	if (!q.tags)
		q.tags = none;
	int r = job_query_begin(&jq, s, "j.jobid, j.no", &how);
	while (r >= 0 && (r = job_query_next(&jq)) == 1) {
		struct job_operations jo = {0};

		r = job_operations_load(&jo, s, stmt_get_int(jq.st, 1), stmt_get_str(jq.st, 0), &q);
		if (r >= 0 && f->by_tag)
			job_operations_merge(&total, &jo);
		else if (r >= 0)
			add_rows(rows, &jo, f);
		job_operations_release(&jo);
	}
	job_query_end(&jq);
	if (r >= 0 && f->by_tag)
		add_rows(rows, &total, f);
	job_operations_release(&total);
	*ret = value_ref(rows);
	return r < 0 ? r : 0;
}
