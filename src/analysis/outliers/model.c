/* See model.h. */
#include "analysis/outliers/model.h"

#include <string.h>

#include "core/util.h"

struct value *value_real(double v)
{
	struct value *value = value_new(VALUE_REAL);

	value->real = v;
	return value;
}

bool value_number(const struct value *v, double *ret)
{
	if (v && v->kind == VALUE_REAL)
		*ret = v->real;
	else if (v && v->kind == VALUE_INT)
		*ret = (double)v->integer;
	else
		return false;
	return true;
}

static bool is_list(const struct value *v)
{
	return v && (v->kind == VALUE_LIST || v->kind == VALUE_TUPLE);
}

bool model_of_operations(const struct value *model)
{
	const struct value *tags = value_get(model, "op_tags");

	return is_list(tags) && tags->list.count;
}

static bool same_tags(const struct value *a, const struct value *b)
{
	if (value_pairs(a) != value_pairs(b))
		return false;
	for (size_t i = 0; i < value_pairs(a); i++) {
		const char *mine = value_get_str(a, value_key(a, i)->str.data);
		const char *other = value_get_str(b, value_key(a, i)->str.data);

		if (!mine || !other || strcmp(mine, other) != 0)
			return false;
	}
	return true;
}

/* Keys of operations are JSON texts, whose keys may have another order than ours. */
static const struct value *computed_of(const struct value *computed, const struct value *tags)
{
	for (size_t i = 0; i < value_pairs(computed); i++) {
		const struct value *key = value_key(computed, i);
		_cleanup_value_ struct value *own = NULL;

		if (key->kind == VALUE_STR &&
		    value_from_json(key->str.data, key->str.size, &own, NULL) == 0 &&
		    own->kind == VALUE_DICT && same_tags(own, tags))
			return value_at(computed, i);
	}
	return NULL;
}

const struct value *model_computed(const struct value *model, const struct value *tags)
{
	const struct value *computed = value_get(model, "computed");

	if (!computed || computed->kind != VALUE_DICT)
		return NULL;
	return tags ? computed_of(computed, tags) : computed;
}

static bool read_params(const struct value *v, struct score_params *ret)
{
	return is_list(v) && v->list.count == 3 && value_number(v->list.items[0], &ret->max) &&
	       value_number(v->list.items[1], &ret->center) &&
	       value_number(v->list.items[2], &ret->spread);
}

bool model_feature(const struct value *computed, const char *feature, struct feature_model *ret)
{
	bool any = false;

	*ret = (struct feature_model){0};
	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		const struct value *by_feature = value_get(computed, outlier_methods[m].stored);

		ret->has[m] = read_params(value_get(by_feature, feature), &ret->params[m]);
		any |= ret->has[m];
	}
	return any;
}

void model_set_feature(struct value *computed, const char *feature, const struct feature_model *m)
{
	for (enum outlier_method i = 0; i < METHOD_COUNT; i++) {
		const char *method = outlier_methods[i].stored;
		const double numbers[] = {m->params[i].max, m->params[i].center,
					  m->params[i].spread};

		if (!m->has[i])
			continue;
		if (!value_get(computed, method))
			value_set(computed, method, value_new(VALUE_DICT));
		struct value *list = value_new(VALUE_LIST);
		for (size_t k = 0; k < ARRAY_SIZE(numbers); k++)
			value_append(list, value_real(numbers[k]));
		value_set(value_get(computed, method), feature, list);
	}
}

/* Calls for the numbers of whole jobs, or of each operation. */
static void each_part(const struct value *model,
		      void (*call)(void *user, const struct value *computed), void *user)
{
	const struct value *computed = model_computed(model, NULL);

	if (!model_of_operations(model)) {
		call(user, computed);
		return;
	}
	for (size_t i = 0; i < value_pairs(computed); i++)
		call(user, value_at(computed, i));
}

bool model_uses(const struct value *features, const char *feature)
{
	for (size_t i = 0; i < features->list.count; i++) {
		const struct value *f = features->list.items[i];

		if (f->kind == VALUE_STR && !strcmp(f->str.data, feature))
			return true;
	}
	return false;
}

/* Adds the words of "name,name" that are not there yet. */
static void add_words(struct value *list, const char *names)
{
	for (const char *end; *names; names = *end ? end + 1 : end) {
		end = strchrnul(names, ',');
		_cleanup_free_ char *name = xstrndup(names, (size_t)(end - names));

		if (!model_uses(list, name))
			value_append(list, value_str(name));
	}
}

static void add_features(void *user, const struct value *computed)
{
	struct value *list = user;

	for (enum detector k = 0; k < DETECTOR_COUNT; k++) {
		const struct value *by_features = value_get(computed, detectors[k].stored);

		for (size_t i = 0; i < value_pairs(by_features); i++)
			if (value_key(by_features, i)->kind == VALUE_STR)
				add_words(list, value_key(by_features, i)->str.data);
	}

	for (enum outlier_method m = 0; m < METHOD_COUNT; m++) {
		const struct value *by_feature = value_get(computed, outlier_methods[m].stored);

		for (size_t i = 0; i < value_pairs(by_feature); i++) {
			const struct value *key = value_key(by_feature, i);

			if (key->kind == VALUE_STR && !model_uses(list, key->str.data))
				value_append(list, value_str(key->str.data));
		}
	}
}

struct value *model_all_features(const struct value *model)
{
	struct value *all = value_new(VALUE_LIST);

	each_part(model, add_features, all);
	return all;
}

struct value *model_features(const struct value *model)
{
	const struct value *active = value_get(value_get(model, "info_dict"), "active_metrics");
	_cleanup_value_ struct value *all = model_all_features(model);
	struct value *used = value_new(VALUE_LIST);

	for (size_t i = 0; i < all->list.count; i++) {
		const char *name = all->list.items[i]->str.data;

		if (!is_list(active) || !active->list.count || model_uses(active, name))
			value_append(used, value_str(name));
	}
	return used;
}

struct method_search {
	const char *name;
	bool found;
};

static void look_for_method(void *user, const struct value *computed)
{
	struct method_search *s = user;

	s->found |= value_get(computed, s->name) != NULL;
}

bool model_has_method(const struct value *model, enum outlier_method m)
{
	struct method_search s = {outlier_methods[m].stored, false};

	each_part(model, look_for_method, &s);
	return s.found;
}

bool model_has_detector(const struct value *model, enum detector k)
{
	struct method_search s = {detectors[k].stored, false};

	each_part(model, look_for_method, &s);
	return s.found;
}

unsigned model_only_detectors(const struct value *model)
{
	unsigned found = 0;

	for (enum outlier_method m = 0; m < METHOD_COUNT; m++)
		if (model_has_method(model, m))
			return 0;
	for (enum detector k = 0; k < DETECTOR_COUNT; k++)
		found |= model_has_detector(model, k) ? 1u << k : 0;
	return found;
}

bool model_detector(const struct value *computed, enum detector k, const char *features, size_t d,
		    struct detector_model *ret)
{
	const struct value *v = value_get(value_get(computed, detectors[k].stored), features);
	const struct value *rows = is_list(v) && v->list.count == 2 ? v->list.items[1] : NULL;

	if (!is_list(rows) || !value_number(v->list.items[0], &ret->max))
		return false;
	ret->n = rows->list.count;
	ret->x = xcalloc(ret->n * d + 1, sizeof(*ret->x));
	for (size_t i = 0; i < ret->n; i++) {
		const struct value *row = rows->list.items[i];
		bool good = is_list(row) && row->list.count == d;

		for (size_t c = 0; c < d && good; c++)
			good = value_number(row->list.items[c], &ret->x[i * d + c]);
		if (!good) {
			free(ret->x);
			ret->x = NULL;
			return false;
		}
	}
	return true;
}

void model_set_detector(struct value *computed, enum detector k, const char *features, size_t d,
			const struct detector_model *m)
{
	struct value *pair = value_new(VALUE_LIST), *rows = value_new(VALUE_LIST);

	for (size_t i = 0; i < m->n; i++) {
		struct value *row = value_new(VALUE_LIST);

		for (size_t c = 0; c < d; c++)
			value_append(row, value_real(m->x[i * d + c]));
		value_append(rows, row);
	}
	value_append(pair, value_real(m->max));
	value_append(pair, rows);
	if (!value_get(computed, detectors[k].stored))
		value_set(computed, detectors[k].stored, value_new(VALUE_DICT));
	value_set(value_get(computed, detectors[k].stored), features, pair);
}
