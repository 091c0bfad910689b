/* See known_names.h. */
#include "transport/known_names.h"

#include <string.h>

#include "sampler/sampler.h"
#include "samples/row_layout.h"
#include "sources/source.h"

#define SAMPLER "sampler" /* the source of the sampler's own metrics */

static const struct sample_metric *metrics_of(const char *source, size_t *ret)
{
	const struct source *s = source_find(source);
	const struct row_table *b = s ? NULL : row_table_find(source);

	*ret = s ? s->metric_count : b ? b->metric_count : 0;
	if (s)
		return s->metrics;
	if (b)
		return b->metrics;
	*ret = sampler_metric_count;
	return strcmp(source, SAMPLER) != 0 ? NULL : sampler_metrics;
}

bool known_source(const char *name)
{
	const struct source *s = source_find(name);
	size_t count;

	return s ? s->open != NULL : metrics_of(name, &count) != NULL;
}

const struct sample_metric *known_metric(const char *source, const char *name)
{
	size_t count;
	const struct sample_metric *list = metrics_of(source, &count);

	for (size_t i = 0; list && i < count; i++)
		if (!strcmp(list[i].name, name))
			return &list[i];
	return NULL;
}

bool known_set(const char *source, const struct sample_metric *list, size_t count)
{
	size_t n;
	const struct sample_metric *ours = metrics_of(source, &n);

	if (!ours || n != count)
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcmp(ours[i].name, list[i].name) != 0 || ours[i].kind != list[i].kind ||
		    ours[i].scale != list[i].scale)
			return false;
	return true;
}

static void visit(void (*each)(void *user, const char *source, const struct sample_metric *m),
		  void *user, const char *source)
{
	size_t count;
	const struct sample_metric *list = metrics_of(source, &count);

	for (size_t i = 0; list && i < count; i++)
		each(user, source, &list[i]);
}

void known_metrics(void (*each)(void *user, const char *source, const struct sample_metric *m),
		   void *user)
{
	for (const struct source *const *s = sources; *s; s++)
		visit(each, user, (*s)->name);
	for (size_t i = 0; row_layouts[i]; i++)
		for (const struct row_table *t = row_layouts[i]->tables; t->name; t++)
			visit(each, user, t->name);
	visit(each, user, SAMPLER);
}
