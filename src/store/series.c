/* The series of a job in a store; see series.h. */
#include "store/series.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/value.h"
#include "store/delta_coding.h"

#define TIME_MAX ((int64_t)1 << 55) /* us; sample files have smaller times */

void series_list_release(struct series_list *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct series *s = &l->list[i];

		free(s->metric);
		free(s->unit);
		free(s->help);
		free(s->host);
		free(s->entity_kind);
		free(s->entity);
		free(s->metadata);
	}
	free(l->list);
	*l = (struct series_list){0};
}

/* Dividing by 1000 gives 0.035 where multiplying by 0.001 gives 0.035000000000000003. */
double series_value(double raw, double scale)
{
	double by = scale > 1e-15 && scale < 1 ? (double)round_i64(1 / scale) : 0;

	return by > 1 && fabs(by * scale - 1) < 1e-12 ? raw / by : raw * scale;
}

/* ---- the list ------------------------------------------------------------------------ */

static bool metric_wanted(const struct word_list *w, const char *name)
{
	const char *dot = strchr(name, '.');

	for (size_t i = 0; i < w->count; i++)
		if (pattern_matches(w->word[i], name) ||
		    (dot && pattern_matches(w->word[i], dot + 1)))
			return true;
	return !w->count;
}

static bool wanted(const struct series_filter *f, struct stmt *st)
{
	return metric_wanted(&f->metrics, stmt_get_str(st, 2)) &&
	       (!f->host || pattern_matches(f->host, stmt_get_str(st, 8))) &&
	       (!f->kind || !strcmp(f->kind, stmt_get_str(st, 9))) &&
	       (!f->entity || pattern_matches(f->entity, stmt_get_str(st, 10)));
}

static void take_row(struct series *s, struct stmt *st)
{
	double scale = stmt_get_real(st, 6);

	*s = (struct series){.metric_no = stmt_get_int(st, 0),
			     .entity_no = stmt_get_int(st, 1),
			     .metric = stmt_get_copy(st, 2),
			     .unit = stmt_get_copy(st, 3),
			     .kind = metric_kind_by_name(stmt_get_str(st, 4)),
			     .agg = metric_agg_by_name(stmt_get_str(st, 5)),
			     .scale = scale,
			     .help = stmt_get_copy(st, 7),
			     .host = stmt_get_copy(st, 8),
			     .entity_kind = stmt_get_copy(st, 9),
			     .entity = stmt_get_copy(st, 10),
			     .metadata = stmt_get_copy(st, 11),
			     .count = stmt_get_int(st, 12),
			     .first = stmt_get_int(st, 13),
			     .last = stmt_get_int(st, 14),
			     .minimum = series_value((double)stmt_get_int(st, 15), scale),
			     .mean = series_value(stmt_get_real(st, 16), scale),
			     .maximum = series_value((double)stmt_get_int(st, 17), scale),
			     .increase = series_value(stmt_get_real(st, 18), scale)};
	s->begin = stmt_is_null(st, 19) ? s->first : stmt_get_int(st, 19);
	/* invalid times must not overflow */
	if (s->begin > s->first || s->first > TIME_MAX || s->begin < -TIME_MAX)
		s->begin = s->first;
}

static int compare(const void *a, const void *b)
{
	const struct series *x = a, *y = b;
	int r = strcmp(x->metric, y->metric);

	if (!r)
		r = strcmp(x->entity_kind, y->entity_kind);
	if (!r)
		r = strcmp(x->host, y->host);
	/* 2 before 10 */
	if (!r)
		r = strverscmp(x->entity, y->entity);
	if (!r)
		r = x->metric_no < y->metric_no ? -1 : x->metric_no > y->metric_no;
	return r ? r : x->entity_no < y->entity_no ? -1 : x->entity_no > y->entity_no;
}

int series_list_load(struct series_list *l, struct store *s, int64_t job,
		     const struct series_filter *f)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT s.metric, s.entity, m.name, m.unit, m.kind, m.aggregation, m.scale / m.divisor, m.help, "
		"e.host, e.kind, e.name, e.facts, s.count, s.first_us, s.last_us, s.minimum, "
		"s.mean, s.maximum, s.increase, s.begin_us FROM sample_series s "
		"JOIN sample_metric m ON m.job = s.job AND m.n = s.metric "
		"JOIN sample_entity e ON e.job = s.job AND e.n = s.entity WHERE s.job = $1",
		db_int(job));
	int r;

	*l = (struct series_list){0};
	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1) {
		if (!wanted(f, st))
			continue;
		GROW(l->list, l->count, l->cap);
		take_row(&l->list[l->count++], st);
	}
	if (l->count)
		qsort(l->list, l->count, sizeof(*l->list), compare);
	return r;
}

static bool metadata_says_no(const struct value *metadata, const char *key)
{
	const char *text = value_get_str(metadata, key);

	return text && !strcmp(text, "no");
}

bool series_adds_up(const struct series *s)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *metadata = NULL;

	if (!s->metadata ||
	    (!strstr(s->metadata, "\"in_node_sum\"") && !strstr(s->metadata, "\"in_sum\"")) ||
	    value_from_json(s->metadata, strlen(s->metadata), &metadata, &why) < 0)
		return true;
	return !metadata_says_no(metadata, "in_node_sum") && !metadata_says_no(metadata, "in_sum");
}

/* ---- points --------------------------------------------------------------------------------- */

void series_points_release(struct series_points *p)
{
	free(p->list);
	*p = (struct series_points){0};
}

static int by_time(const void *a, const void *b)
{
	const struct series_point *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* Chunks come in order unless two monitors sampled the same host at once. */
static void sort_points(struct series_points *p)
{
	size_t i = 1;

	while (i < p->count && p->list[i].time >= p->list[i - 1].time)
		i++;
	if (i < p->count)
		qsort(p->list, p->count, sizeof(*p->list), by_time);
}

/* Time between this reading of a block and the previous one; 0: unknown. */
static int64_t since_before(const struct delta_coding *times, size_t i)
{
	size_t before = i;

	/* a large reading has several pieces with the same time */
	while (before && times->v[before] == times->v[i])
		before--;
	return times->v[before] < times->v[i] && times->v[before] >= -TIME_MAX
		       ? times->v[i] - times->v[before]
		       : 0;
}

static int add_chunk(struct series_points *p, struct stmt *st)
{
	struct delta_coding times, values;
	size_t n;
	const char *text = stmt_get_text(st, 3, &n);
	int64_t width = stmt_get_int(st, 2);
	int r = width < 0 ? -EBADMSG
			  : delta_coding_decode_times(&times, stmt_get_int(st, 0),
						      stmt_get_int(st, 1), (size_t)width,
						      text ? text : "", n);

	if (r)
		return r;
	text = stmt_get_text(st, 7, &n);
	r = delta_coding_decode(&values, stmt_get_int(st, 5), stmt_get_int(st, 6), text ? text : "",
				n);
	if (r)
		return r;
	int64_t skip = stmt_get_int(st, 4);
	for (size_t i = 0; i < values.n; i++) {
		if (!delta_coding_has(&values, i) || skip < 0 || (size_t)skip + i >= times.n ||
		    llabs(times.v[(size_t)skip + i]) > TIME_MAX)
			continue;
		GROW(p->list, p->count, p->cap);
		p->list[p->count++] = (struct series_point){times.v[(size_t)skip + i], values.v[i],
							    since_before(&times, (size_t)skip + i)};
	}
	return 0;
}

int series_reader_load(struct series_reader *reader, struct series_points *p, struct store *s,
		       int64_t job, const struct series *of)
{
	int r;

	p->count = 0;
	if (!reader->st)
		reader->st = stmt_prepare(
			s, "SELECT t.first_us, t.step_us, t.width, t.times, c.skip, c.base, "
			   "c.step, c.data FROM sample_chunk c JOIN sample_tick t ON t.job = c.job "
			   "AND t.n = c.tick WHERE c.job = $1 AND c.metric = $2 AND c.entity = $3 "
			   "ORDER BY t.first_us, c.tick, c.skip");
	if (!reader->st)
		return -EIO;
	stmt_bind(reader->st, db_int(job), db_int(of->metric_no), db_int(of->entity_no));
	while ((r = stmt_step(reader->st)) == 1) {
		r = add_chunk(p, reader->st);
		if (r < 0) {
			stmt_reset(reader->st);
			return store_fail(s, -r, "samples in the store are damaged");
		}
	}
	sort_points(p);
	/* also known for the first point, even at the start of a block */
	if (p->count && p->list[0].time == of->first)
		p->list[0].over = of->first - of->begin;
	return r;
}

void series_reader_release(struct series_reader *reader)
{
	stmt_finish_ptr(&reader->st);
}

int series_points_load(struct series_points *p, struct store *s, int64_t job,
		       const struct series *of)
{
	struct series_reader reader = {0};
	int r = series_reader_load(&reader, p, s, job, of);

	series_reader_release(&reader);
	return r;
}
