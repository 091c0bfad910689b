/* Sensors with one value per file; see sensors.h. */
#include "sources/node/sensors.h"

#include <errno.h>
#include <string.h>

struct sensor *sensors_add(struct sensor_list *l, unsigned metric, char *name, char *dir,
			   char *type, const char *file)
{
	GROW(l->list, l->count, l->cap);
	struct sensor *z = &l->list[l->count++];

	*z = (struct sensor){
		.name = name, .dir = dir, .type = type, .metric = metric, .fault = SYSFILE_INIT};
	sysfile_init(&z->value, "%s/%s", dir, file);
	return z;
}

bool sensors_have(const struct sensor_list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->list[i].name, name))
			return true;
	return false;
}

static size_t count_of(const struct sensor_list *l, unsigned metric)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++)
		n += l->list[i].metric == metric;
	return n;
}

void sensors_count(const struct sensor_list *l, const char *const *words, size_t count,
		   struct strbuf *out)
{
	for (unsigned m = 0; m < count; m++)
		if (count_of(l, m))
			strbuf_addf(out, "%s%s: %zu", out->len ? ", " : "", words[m],
				    count_of(l, m));
}

int sensors_opened(struct sensor_list *l, struct sample_set *set, void **state, const char *none,
		   const char *absent, struct strbuf *why)
{
	if (!l->count) {
		strbuf_addstr(why, none);
		sensors_close(l);
		return -ENOENT;
	}
	for (unsigned m = 0; m < set->metric_count; m++)
		if (!count_of(l, m))
			sample_absent(set, m, "%s", absent);
	*state = l;
	return 0;
}

int sensors_read(void *state, struct sample_set *set)
{
	struct sensor_list *l = state;
	int error = -ENODATA;

	for (size_t i = 0; i < l->count; i++) {
		struct sensor *z = &l->list[i];
		int64_t value, fault = 0;

		if (z->fault.path && sysfile_i64(&z->fault, &fault) == 0 && fault != 0)
			continue;
		int r = sysfile_i64(&z->value, &value);
		if (r < 0 || (value < 0 && !z->negative)) {
			error = r < 0 ? r : error;
			continue;
		}
		uint32_t e = sample_entity(set, ENTITY_SENSOR, z->name);
		if (!z->described)
			l->describe(set, e, z);
		z->described = true;
		sample_row(set, e);
		if (set->metrics[z->metric].kind == KIND_COUNTER)
			sys_put(set, z->metric, sys_grown(&z->count, (uint64_t)value));
		else
			sample_put(set, z->metric, value);
	}
	return set->row_count ? 0 : error;
}

void sensors_close(void *state)
{
	struct sensor_list *l = state;

	for (size_t i = 0; i < l->count; i++) {
		struct sensor *z = &l->list[i];

		free(z->name);
		free(z->dir);
		free(z->type);
		free(z->prefix);
		sysfile_close(&z->value);
		sysfile_close(&z->fault);
	}
	free(l->list);
	free(l);
}
