/* Flags, models as JSON, root causes, and the table of features that they work on. */
#include "unit.h"

#include <errno.h>
#include <math.h>

#include "analysis/outliers/model.h"
#include "analysis/outliers/root_cause.h"
#include "core/feature_table.h"

static const double durations[] = {527820255, 542680315, 565343997};

static struct outlier_rules only(enum outlier_method m)
{
	struct outlier_rules r;

	outlier_rules_init(&r);
	memset(r.use, 0, sizeof(r.use));
	r.use[m] = true;
	return r;
}

static void flags_of_methods(void **state)
{
	static const double v[] = {10, 11, 12, 11, 10, 12, 11, 100};
	struct outlier_rules r;
	uint8_t flags[8] = {0};
	double excess = -1;

	(void)state;
	outlier_rules_init(&r);
	assert_int_equal(outlier_rules_count(&r), 3);
	assert_int_equal(flag_outliers(&r, NULL, v, 8, flags, &excess), 0);
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(flags[i], 0);
	/* z is at most 7 / sqrt(8) among 8 values */
	assert_int_equal(flags[7], 1u << METHOD_IQR | 1u << METHOD_MADZ);
	assert_int_equal(flag_count(flags[7]), 2);
	/* 1 of IQR, and 0.6745 * 89 / 1 - 3.5 of MADZ */
	assert_true(fabs(excess - (1 + 60.0305 - 3.5)) < 1e-9);
	r.threshold[METHOD_Z] = 2;
	assert_int_equal(flag_outliers(&r, NULL, v, 8, flags, NULL), 0);
	assert_int_equal(flag_count(flags[7]), 3);
	assert_int_equal(flag_outliers(&r, NULL, v, 0, flags, NULL), -ENODATA);
}

static void models_as_json(void **state)
{
	_cleanup_value_ struct value *model = value_new(VALUE_DICT), *read = NULL, *features = NULL;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	struct outlier_rules rules = only(METHOD_MADZ);
	struct value *computed = value_new(VALUE_DICT);
	struct feature_model m = {0}, back = {0};
	static const double outlier[] = {1173629067};
	uint8_t flags[3] = {0};

	(void)state;
	assert_int_equal(fit_feature(&rules, durations, 3, &m), 0);
	model_set_feature(computed, "duration", &m);
	value_set(model, "computed", computed);
	value_to_json(model, &j, NULL);
	assert_text(&j.out, "{\"computed\":{\"modified_z_score\":{\"duration\":[1.0287,542680315.0,"
			    "14860060.0]}}}");
	assert_int_equal(value_from_json(j.out.buf, j.out.len, &read, NULL), 0);
	assert_false(model_of_operations(read));
	assert_true(model_has_method(read, METHOD_MADZ));
	assert_false(model_has_method(read, METHOD_Z));
	assert_true(model_feature(model_computed(read, NULL), "duration", &back));
	assert_false(model_feature(model_computed(read, NULL), "rchar", &m));
	features = model_features(read);
	assert_int_equal(features->list.count, 1);
	/* its own jobs are inside, the outlier is not; methods that it does not have are skipped */
	outlier_rules_init(&rules);
	assert_int_equal(flag_outliers(&rules, &back, durations, 3, flags, NULL), 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(flags[i], 0);
	assert_int_equal(flag_outliers(&rules, &back, outlier, 1, flags, NULL), 0);
	assert_int_equal(flags[0], 1u << METHOD_MADZ);
}

/* What an imported or damaged model may hold. */
static void odd_models(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{\"computed\":[]}",
		"{\"computed\":{\"z_score\":7}}",
		"{\"computed\":{\"z_score\":{\"duration\":[1,2]}}}",
		"{\"computed\":{\"z_score\":{\"duration\":[1,\"x\",3]}}}",
		"{\"computed\":{\"pyod.models.cof\":{\"a,b\":[1,[[1,2],[3]]]}}}",
		"{\"op_tags\":[{}],\"computed\":{\"no json\":{},\"[1]\":{}}}",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_value_ struct value *model = NULL, *features = NULL;
		struct feature_model m;
		struct detector_model d = {0};

		assert_int_equal(value_from_json(texts[i], strlen(texts[i]), &model, NULL), 0);
		features = model_features(model);
		assert_non_null(features);
		assert_false(model_feature(model_computed(model, NULL), "duration", &m));
		assert_false(
			model_detector(model_computed(model, NULL), DETECTOR_COF, "a,b", 2, &d));
		(void)model_has_method(model, METHOD_Z);
	}
}

static void operations_by_tags(void **state)
{
	static const char text[] =
		"{\"op_tags\":[{\"op\":\"cp\",\"n\":\"1\"}],\"computed\":{\"{\\\"op\\\": \\\"cp\\\", "
		"\\\"n\\\": \\\"1\\\"}\":{\"z_score\":{\"duration\":[1,2,3]}}},"
		"\"info_dict\":{\"active_metrics\":[\"cpu_time\"]}}";
	_cleanup_value_ struct value *model = NULL, *features = NULL, *tags = value_new(VALUE_DICT);
	struct feature_model m;

	(void)state;
	assert_int_equal(value_from_json(text, strlen(text), &model, NULL), 0);
	assert_true(model_of_operations(model));
	/* the order of keys does not matter */
	value_set(tags, "n", value_str("1"));
	assert_null(model_computed(model, tags));
	value_set(tags, "op", value_str("cp"));
	assert_true(model_feature(model_computed(model, tags), "duration", &m));
	assert_true(m.has[METHOD_Z] && m.params[METHOD_Z].spread == 3);
	value_set(tags, "op", value_str("mv"));
	assert_null(model_computed(model, tags));
	/* features that are not active are not used */
	features = model_features(model);
	assert_int_equal(features->list.count, 0);
}

static void detectors_in_models(void **state)
{
	double x[] = {1, 2, 3, 4, 5, 6};
	struct detector_model m = {9.5, x, 3}, back = {0};
	_cleanup_value_ struct value *model = value_new(VALUE_DICT), *features = NULL;
	struct value *computed = value_new(VALUE_DICT);

	(void)state;
	model_set_detector(computed, DETECTOR_HBOS, "cpu_time,duration", 2, &m);
	value_set(model, "computed", computed);
	assert_true(model_has_detector(model, DETECTOR_HBOS));
	assert_false(model_has_detector(model, DETECTOR_COF));
	assert_true(model_detector(computed, DETECTOR_HBOS, "cpu_time,duration", 2, &back));
	assert_true(back.max == 9.5 && back.n == 3);
	assert_memory_equal(back.x, x, sizeof(x));
	free(back.x);
	assert_false(model_detector(computed, DETECTOR_HBOS, "duration", 1, &back));
	features = model_features(model);
	assert_int_equal(features->list.count, 2);
	assert_true(model_uses(features, "cpu_time") && model_uses(features, "duration"));
}

static void root_causes(void **state)
{
	struct outlier_rules rules = only(METHOD_MADZ);
	struct root_cause c[3] = {{.feature = 0}, {.feature = 1}, {.feature = 2}};
	static const double same[] = {4, 4, 4};

	(void)state;
	assert_int_equal(root_cause_of(&rules, NULL, durations, 3, 1173629067, &c[2]), 0);
	assert_true(c[2].score[METHOD_MADZ] == 28.6388 && c[2].ref_max[METHOD_MADZ] == 1.0287);
	assert_int_equal((int)c[2].total, 27);
	assert_int_equal(c[2].reference.count, 3);
	assert_true(c[2].reference.median == 542680315 && c[2].reference.max == 565343997);
	/* without spread: 0 for the same value, infinite for any other */
	assert_int_equal(root_cause_of(&rules, NULL, same, 3, 4, &c[0]), 0);
	assert_true(c[0].total == 0);
	assert_int_equal(root_cause_of(&rules, NULL, same, 3, 5, &c[1]), 0);
	assert_true(isinf(c[1].total));
	root_causes_sort(c, 3);
	assert_int_equal(c[0].feature, 1);
	assert_int_equal(c[1].feature, 2);
	assert_int_equal(c[2].feature, 0);
	assert_int_equal(root_cause_of(&rules, NULL, same, 3, NAN, &c[0]), -EDOM);
}

static void tables(void **state)
{
	_cleanup_features_ struct feature_table t = {0};
	bool keep[3] = {true, false, true};

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		size_t row = feature_table_row(&t, (int64_t)(100 - i), i % 3);
		size_t column = feature_table_column(&t, "b");

		t.columns[column].v[row] = (double)i;
	}
	size_t none = feature_table_column(&t, "none"), a = feature_table_column(&t, "a");
	t.columns[a].v[7] = 1;
	assert_int_equal(feature_table_find(&t, "c"), FEATURE_NONE);
	assert_false(feature_table_known(&t, none));
	assert_true(feature_table_known(&t, a));
	assert_int_equal(feature_table_gap(&t, a), 0);
	assert_int_equal(feature_table_gap(&t, feature_table_find(&t, "b")), FEATURE_NONE);
	feature_table_keep(&t, keep);
	assert_int_equal(t.column_count, 2);
	assert_string_equal(t.columns[0].name, "a");
	feature_table_sort(&t);
	for (size_t i = 1; i < 100; i++) {
		assert_true(t.rows[i - 1].group <= t.rows[i].group);
		if (t.rows[i - 1].group == t.rows[i].group)
			assert_true(t.rows[i - 1].id < t.rows[i].id);
	}
	for (size_t i = 0; i < 100; i++)
		assert_true(t.columns[1].v[i] == (double)(100 - t.rows[i].id));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flags_of_methods),
		cmocka_unit_test(models_as_json),
		cmocka_unit_test(odd_models),
		cmocka_unit_test(operations_by_tags),
		cmocka_unit_test(detectors_in_models),
		cmocka_unit_test(root_causes),
		cmocka_unit_test(tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
