/* The steps of a job; see job_steps.h. */
#include "store/analysis/job_steps.h"

#include <string.h>

#include "core/text/text.h"
#include "store/ingest/ingest.h"
#include "store/ingest/part_inventory.h"
#include "store/store.h"

/* A job with more different values of the tag has no steps beyond these. */
#define STEPS_MAX 4096
/* A run is compared with so many before it. */
#define BESIDE_MAX 64

void job_steps_release(struct job_steps *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].name);
		free(s->list[i].program);
	}
	free(s->list);
	hash_map_release(&s->by_name);
	hash_map_release(&s->by_file);
	*s = (struct job_steps){0};
}

static uint32_t add(struct job_steps *s, const char *name, size_t n, bool by_run)
{
	if (s->count >= STEPS_MAX)
		return 0;
	GROW(s->list, s->count, s->cap);
	s->list[s->count] = (struct job_step){.name = xstrndup(name, n), .by_run = by_run};
	/* runs are found by their files */
	if (!by_run)
		hash_map_add(&s->by_name, hash_bytes(name, n), s->count);
	return (uint32_t)++s->count;
}

static uint32_t named(struct job_steps *s, const char *name, size_t n)
{
	for (struct hash_slot *at = hash_map_first(&s->by_name, hash_bytes(name, n)); at;
	     at = hash_map_next(&s->by_name, at)) {
		const char *have = s->list[at->value].name;

		if (strlen(have) == n && !memcmp(have, name, n))
			return (uint32_t)at->value + 1;
	}
	return add(s, name, n, false);
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* The files of all parts of the job. */
static void take_files(struct inventory *inv, const struct value *metadata)
{
	const struct value *parts = value_get(metadata, "parts");
	const char *files = value_get_str(metadata, "files");

	(void)(files && inventory_parse(inv, files));
	for (size_t i = 0; parts && parts->kind == VALUE_LIST && i < parts->list.count; i++) {
		files = value_get_str(parts->list.items[i], "files");
		(void)(files && inventory_parse(inv, files));
	}
}

struct runs {
	const struct value *list;
	struct inventory files;
	uint32_t *step; /* of each run; 0: none yet */
	size_t ordinal; /* of runs that are steps by themselves */
};

static const char *command_of(const struct value *run)
{
	const struct value *command = value_get(run, "command");

	if (!command || command->kind != VALUE_LIST || !command->list.count ||
	    command->list.items[0]->kind != VALUE_STR)
		return NULL;
	return command->list.items[0]->str.data;
}

static bool same_command(const struct value *a, const struct value *b)
{
	const struct value *x = value_get(a, "command"), *y = value_get(b, "command");

	if (!command_of(a) || !command_of(b) || x->list.count != y->list.count)
		return false;
	for (size_t i = 0; i < x->list.count; i++) {
		const struct value *v = x->list.items[i], *w = y->list.items[i];

		if (v->kind != VALUE_STR || w->kind != VALUE_STR || v->str.size != w->str.size ||
		    memcmp(v->str.data, w->str.data, v->str.size) != 0)
			return false;
	}
	return true;
}

static bool same_text(const struct value *a, const struct value *b, const char *key)
{
	const char *x = value_get_str(a, key), *y = value_get_str(b, key);

	return x && y && !strcmp(x, y);
}

/* Did a launcher start both: the same command, at the same time, as ranks or on several hosts? */
static bool is_beside(const struct value *before, const struct value *run)
{
	const struct value *end = value_get(before, "end_us");
	bool over = end && end->kind == VALUE_INT && end->integer <= value_get_int(run, "start_us"),
	     ranks = value_get(before, "rank") && value_get(run, "rank");

	return !over && (ranks || !same_text(before, run, "host")) && same_command(before, run);
}

static uint32_t step_of_run(struct job_steps *s, struct runs *r, size_t i)
{
	const struct value *run = r->list->list.items[i];
	const char *batch = value_get_str(run, "step");
	char name[24];

	if (batch) {
		s->batch = true;
		return named(s, batch, strlen(batch));
	}
	for (size_t k = i, n = 0; k-- > 0 && n < BESIDE_MAX; n++) {
		const struct value *before = r->list->list.items[k];

		if (r->step[k] && s->list[r->step[k] - 1].by_run && is_beside(before, run))
			return r->step[k];
	}
	snprintf(name, sizeof(name), "%zu", ++r->ordinal);
	return add(s, name, strlen(name), true);
}

/* A run inside of another one. */
static uint32_t step_of_parent(const struct runs *r, const struct value *run)
{
	const char *parent = value_get_str(run, "parent");

	for (size_t k = 0; k < r->list->list.count; k++) {
		const char *name = value_get_str(r->list->list.items[k], "run");

		if (name && !strcmp(name, parent) && same_text(r->list->list.items[k], run, "host"))
			return r->step[k];
	}
	return 0;
}

static void take_run(struct job_steps *s, struct runs *r, size_t i)
{
	const struct value *run = r->list->list.items[i];
	const char *records = value_get_str(run, "records"), *program = command_of(run);
	bool inside = value_get_str(run, "parent") != NULL;
	uint32_t step = inside ? step_of_parent(r, run) : step_of_run(s, r, i);

	r->step[i] = step;
	if (!step)
		return;
	if (!inside && program)
		job_steps_note_program(s, step, path_base(program));
	const struct inventory_file *f =
		records ? inventory_find(&r->files, INVENTORY_RECORDS, strtoull(records, NULL, 16))
			: NULL;
	if (f && f->rows)
		hash_map_add(&s->by_file, hash_number(f->rows), step);
}

void job_steps_take(struct job_steps *s, const struct value *metadata)
{
	const struct value *list = value_get(metadata, "steps");
	struct runs r = {.list = list};

	if (!list || list->kind != VALUE_LIST || !list->list.count || list->list.count > STEPS_MAX)
		return;
	take_files(&r.files, metadata);
	r.step = xcalloc(list->list.count, sizeof(*r.step));
	for (size_t i = 0; i < list->list.count; i++)
		if (list->list.items[i]->kind == VALUE_DICT)
			take_run(s, &r, i);
	inventory_release(&r.files);
	free(r.step);
}

/* ---- processes ------------------------------------------------------------------------------ */

uint32_t job_steps_own(struct job_steps *s, const char *tags, int64_t state)
{
	char name[16];

	/* "a:1;step:3" */
	for (const char *p = tags; p && *p;) {
		size_t n = strcspn(p, ";"), key = strcspn(p, ":;");

		if (key == 4 && !strncmp(p, "step", 4) && key + 1 < n)
			return named(s, p + key + 1, n - key - 1);
		p += n + (p[n] == ';');
	}
	uint32_t step = ingest_state_unpack(state).step;
	if (!step)
		return 0;
	s->batch = true;
	snprintf(name, sizeof(name), "%u", step - 1);
	return named(s, name, strlen(name));
}

uint32_t job_steps_of_run(const struct job_steps *s, int64_t state)
{
	uint32_t file = ingest_state_unpack(state).file;
	const struct hash_slot *at = file ? hash_map_first(&s->by_file, hash_number(file)) : NULL;

	return at ? (uint32_t)at->value : 0;
}

void job_steps_note_program(struct job_steps *s, uint32_t step, const char *program)
{
	if (step && program && *program && !s->list[step - 1].program)
		s->list[step - 1].program = xstrdup(program);
}

/* Beside Slurm's steps, runs are what the batch script does itself: one step, named as there. */
static void number_run(struct job_steps *s, size_t i, size_t runs, uint32_t *batch)
{
	struct job_step *one = &s->list[i];

	if (s->batch && *batch) {
		one->number = *batch;
		return;
	}
	one->number = s->batch || runs > 1 ? (uint32_t)i + 1 : 0;
	s->shown += one->number != 0;
	if (!s->batch)
		return;
	*batch = one->number;
	free(one->name);
	one->name = xstrdup("batch");
}

void job_steps_settle(struct job_steps *s)
{
	size_t runs = 0;
	uint32_t batch = 0;

	for (size_t i = 0; i < s->count; i++)
		runs += s->list[i].by_run;
	s->shown = 0;
	for (size_t i = 0; i < s->count; i++) {
		if (s->list[i].by_run) {
			number_run(s, i, runs, &batch);
			continue;
		}
		s->list[i].number = (uint32_t)i + 1;
		s->shown++;
	}
}

const struct job_step *job_steps_get(const struct job_steps *s, uint32_t step)
{
	return &s->list[step - 1];
}

char *job_steps_label(const struct job_step *step)
{
	return step->program ? xasprintf("%s (%s)", step->name, step->program)
			     : xstrdup(step->name);
}
