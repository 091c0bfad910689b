/* Sets of samples; see sample.h. */
#include "samples/sample.h"

#include <stdarg.h>
#include <string.h>

#include "core/clock.h"
#include "core/strbuf.h"

static const char *const kind_names[ENTITY_KIND_END] = {
	[ENTITY_NODE] = "node",
	[ENTITY_JOB] = "job",
	[ENTITY_PROCESS] = "process",
	[ENTITY_CPU] = "cpu",
	[ENTITY_PACKAGE] = "package",
	[ENTITY_INTERFACE] = "interface",
	[ENTITY_PORT] = "port",
	[ENTITY_DISK] = "disk",
	[ENTITY_FILESYSTEM] = "filesystem",
	[ENTITY_CGROUP] = "cgroup",
	[ENTITY_SENSOR] = "sensor",
	[ENTITY_GPU] = "gpu",
};

const char *entity_kind_name(enum entity_kind kind)
{
	return kind > 0 && kind < ENTITY_KIND_END ? kind_names[kind] : "unknown";
}

enum entity_kind entity_kind_by_name(const char *name)
{
	for (unsigned i = 1; i < ENTITY_KIND_END; i++)
		if (!strcmp(kind_names[i], name))
			return (enum entity_kind)i;
	return 0;
}

void sample_init(struct sample_set *s, const struct sample_metric *columns, size_t count)
{
	*s = (struct sample_set){.metrics = columns, .metric_count = count};
}

static void free_entity(struct entity *e)
{
	free(e->name);
	free(e->metadata);
	*e = (struct entity){0};
}

void sample_release(struct sample_set *s)
{
	for (size_t i = 0; i < s->entity_count; i++)
		free_entity(&s->entities[i]);
	for (size_t i = 0; i < s->absence_count; i++)
		free(s->absences[i].reason);
	free(s->entities);
	free(s->ended);
	free(s->rows);
	free(s->values);
	free(s->absences);
	*s = (struct sample_set){0};
}

void sample_begin(struct sample_set *s)
{
	for (size_t i = 0; i < s->ended_count; i++)
		free_entity(&s->entities[s->ended[i]]);
	s->ended_count = 0;
	s->row_count = 0;
	s->entity_hint = 0;
	s->time_ns = clock_boottime_ns();
	s->timed = false;
}

void sample_between(struct sample_set *s, uint64_t from_ns, uint64_t to_ns)
{
	s->time_ns = from_ns + (to_ns - from_ns) / 2;
	s->timed = true;
}

void sample_done(struct sample_set *s)
{
	if (!s->timed)
		sample_between(s, s->time_ns, clock_boottime_ns());
}

uint32_t sample_entity(struct sample_set *s, enum entity_kind kind, const char *name)
{
	size_t free_place = s->entity_count;

	for (size_t n = 0; n < s->entity_count; n++) {
		size_t i = (s->entity_hint + n) % s->entity_count;
		const struct entity *e = &s->entities[i];

		if (!e->kind) {
			free_place = i;
		} else if (e->kind == kind && !strcmp(e->name, name)) {
			s->entity_hint = i + 1;
			return (uint32_t)i;
		}
	}
	if (free_place == s->entity_count) {
		GROW(s->entities, s->entity_count, s->entity_cap);
		s->entity_count++;
	}
	s->entities[free_place] =
		(struct entity){.kind = kind, .name = xstrdup(name), .fresh = true};
	s->entity_hint = free_place + 1;
	return (uint32_t)free_place;
}

static const char *find_metadata(const char *metadata, const char *key)
{
	size_t n = strlen(key);

	for (const char *p = metadata; p && *p; p = strchr(p, '\n') + 1)
		if (!strncmp(p, key, n) && p[n] == '=')
			return p;
	return NULL;
}

bool entity_metadata(const struct entity *e, const char *key, const char **ret, size_t *ret_size)
{
	const char *line = find_metadata(e->metadata, key);

	if (!line)
		return false;
	*ret = line + strlen(key) + 1;
	*ret_size = strcspn(*ret, "\n");
	return true;
}

void sample_set_metadata(struct sample_set *s, uint32_t entity, const char *key, const char *value)
{
	struct entity *e = &s->entities[entity];
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const char *old = find_metadata(e->metadata, key);
	size_t n = value ? strcspn(value, "\n") : 0;

	if (old) {
		const char *was = old + strlen(key) + 1;
		const char *next = strchr(old, '\n') + 1;

		if (value && strcspn(was, "\n") == n && !memcmp(was, value, n))
			return;
		strbuf_add(&out, e->metadata, (size_t)(old - e->metadata));
		strbuf_addstr(&out, next);
	} else {
		if (!value)
			return;
		strbuf_addstr(&out, e->metadata ? e->metadata : "");
	}
	if (value) {
		strbuf_addf(&out, "%s=", key);
		strbuf_add(&out, value, n);
		strbuf_addch(&out, '\n');
	}
	free(e->metadata);
	e->metadata = out.len ? strbuf_take(&out) : NULL;
	e->fresh = true;
}

void sample_format_metadata(struct sample_set *s, uint32_t entity, const char *key, const char *fmt,
			    ...)
{
	char value[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	sample_set_metadata(s, entity, key, value);
}

void sample_end(struct sample_set *s, uint32_t entity)
{
	GROW(s->ended, s->ended_count, s->ended_cap);
	s->ended[s->ended_count++] = entity;
}

void sample_row(struct sample_set *s, uint32_t entity)
{
	if (s->row_count == s->row_cap) {
		s->row_cap = s->row_cap ? s->row_cap * 2 : 16;
		s->rows = xreallocarray(s->rows, s->row_cap, sizeof(*s->rows));
		s->values = xreallocarray(s->values, s->row_cap,
					  (s->metric_count + 1) * sizeof(*s->values));
	}
	s->rows[s->row_count++] = (struct sample_row){.entity = entity};
}

void sample_absent(struct sample_set *s, unsigned metric, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	for (size_t i = 0; i < s->absence_count; i++)
		if (s->absences[i].metric == metric)
			return;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	GROW(s->absences, s->absence_count, s->absence_cap);
	s->absences[s->absence_count++] = (struct sample_absence){
		.metric = metric, .reason = strbuf_take(&text), .fresh = true};
}

double sample_value(const struct sample_set *s, size_t row, unsigned metric)
{
	return sample_scaled(s->values[row * s->metric_count + metric], s->metrics[metric].scale);
}

uint64_t unwrap(struct unwrap *u, uint64_t raw, uint64_t range)
{
	if (!u->seen) {
		u->seen = true;
		u->total = raw;
	} else if (raw >= u->last) {
		u->total += raw - u->last;
	} else if (range == UNWRAP_SET_BACK) {
		u->total += raw;
	} else if (range && u->last < range) {
		u->total += range - u->last + raw;
	} else if (!range) {
		u->total += raw - u->last;
	}
	u->last = raw;
	return u->total;
}

bool count_wrapped(const struct unwrap *u, uint64_t raw)
{
	const uint64_t half = (uint64_t)1 << 31;

	return u->seen && raw < u->last && u->last >= half && u->last < 2 * half && raw < half;
}

uint64_t count_on(struct unwrap *u, uint64_t raw, bool again)
{
	if (again && u->seen)
		u->last = raw;
	unwrap(u, raw, count_wrapped(u, raw) ? (uint64_t)1 << 32 : UNWRAP_STAYS);
	/* values are signed: the counter stops at the largest */
	u->total = u->total < INT64_MAX ? u->total : INT64_MAX;
	return u->total;
}
