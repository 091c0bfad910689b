/*
 * Reads perfmon's results; see perfmon_read.h. A file is an object with one object per host, which
 * has arrays, alone or in groups, parallel to time_stamps. Values that are not numbers, too large
 * or beyond time_stamps are left out and counted.
 */
#include "compat/perfmon/perfmon_read.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "compat/perfmon/perfmon_walk.h"
#include "core/files/fs.h"
#include "samples/sample_file.h"

#define META_MAX (16u << 20)
#define COLUMNS_MAX 1024
#define VALUES_MAX ((size_t)16 << 20) /* of one host: 128 MiB */
#define ABSENT INT64_MIN

struct column {
	struct perfmon_series_map map;
	int64_t *values;
	size_t count, cap;
	bool millionths; /* a value was not an integer */
};

struct reading {
	enum perfmon_file file;
	const char *id;
	int out;
	char *host, *gpu;
	double period_s;
	struct column *columns;
	size_t column_count, column_cap, total;
	struct column times; /* ns; ABSENT: none */
	bool any;
	uint64_t bad_values, late_values, lost_columns, hosts_without_times;
	int64_t first_ns, last_ns;
};

/* ---- numbers -------------------------------------------------------------------------------- */

static int64_t whole_of(double v)
{
	return isfinite(v) && fabs(v) < 9e18 ? round_i64(v) : ABSENT;
}

/* A value of unknown scale is not an integer: all values of the column are in millionths from now
 * on. */
static void use_millionths(struct column *c)
{
	c->millionths = true;
	c->map.times = 1e6;
	c->map.m.scale = 1e-6;
	for (size_t i = 0; i < c->count; i++)
		if (c->values[i] != ABSENT &&
		    __builtin_mul_overflow(c->values[i], 1000000, &c->values[i]))
			c->values[i] = ABSENT;
}

static int64_t raw_value(struct column *c, const struct json_reader *j)
{
	int64_t v;

	if (c->map.guess && !c->millionths && !j->whole && isfinite(j->real))
		use_millionths(c);
	if (!j->whole || c->map.times < 1 ||
	    __builtin_mul_overflow(j->integer, (int64_t)c->map.times, &v))
		v = whole_of(j->real * c->map.times);
	return v;
}

static void put_value(void *user, void *column, const struct json_reader *j, enum json_token token)
{
	struct reading *r = user;
	struct column *c = column;
	bool time = c == &r->times;
	int64_t v = token != JSON_NUMBER ? ABSENT
		    : time               ? whole_of(j->real * 1e9)
					 : raw_value(c, j);

	if (v == ABSENT && token != JSON_NONE)
		r->bad_values++;
	if ((time ? c->count : r->total) >= VALUES_MAX) {
		r->late_values += !time;
		return;
	}
	GROW(c->values, c->count, c->cap);
	c->values[c->count++] = time && v < 0 ? ABSENT : v;
	r->total += !time;
}

/* ---- a host --------------------------------------------------------------------------------- */

static void forget_host(struct reading *r)
{
	for (size_t i = 0; i < r->column_count; i++)
		free(r->columns[i].values);
	r->column_count = r->times.count = r->total = 0;
	free(r->host);
	free(r->gpu);
	r->host = r->gpu = NULL;
}

static bool same_series(const struct perfmon_series_map *a, const struct perfmon_series_map *b)
{
	return !strcmp(a->source, b->source) && !strcmp(a->metric, b->metric) &&
	       a->kind == b->kind && !strcmp(a->entity, b->entity);
}

/* A column for an array of this name; NULL if it exists already, or if there are too many. */
static void *new_column(void *user, const char *group, const char *key)
{
	struct reading *r = user;
	struct perfmon_series_map map;

	if (!group && !strcmp(key, "time_stamps") && !r->times.count)
		return &r->times;
	perfmon_map(r->file, group, key, r->gpu, &map);
	for (size_t i = 0; i < r->column_count; i++)
		if (same_series(&r->columns[i].map, &map))
			return NULL;
	if (r->column_count == COLUMNS_MAX) {
		r->lost_columns++;
		return NULL;
	}
	GROW(r->columns, r->column_count, r->column_cap);
	r->columns[r->column_count] = (struct column){.map = map};
	return &r->columns[r->column_count++];
}

/* "gpu-<n>.<host>" is a GPU of a host. */
static void name_host(void *user, const char *key)
{
	struct reading *r = user;
	size_t digits = str_prefix(key, "gpu-") ? strspn(key + 4, "0123456789") : 0;

	if (r->file == PERFMON_GPU && digits && key[4 + digits] == '.') {
		r->gpu = xstrndup(key + 4, digits);
		r->host = xstrdup(key + 5 + digits);
	} else {
		r->host = xstrdup(key);
	}
}

/* ---- to samples ----------------------------------------------------------------------------- */

/* The metrics of one source as a set. */
struct part {
	const char *name;
	struct sample_set set;
	struct sample_metric metrics[SAMPLE_METRICS_MAX];
	unsigned number;
};

/* The metric of a column in its source; -1 if there are too many. */
static int metric_of(struct part *p, const struct column *c)
{
	size_t n = p->set.metric_count;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(p->metrics[i].name, c->map.metric))
			return (int)i;
	if (n == SAMPLE_METRICS_MAX)
		return -1;
	p->metrics[n] = c->map.m;
	p->metrics[n].name = c->map.metric;
	p->set.metric_count++;
	return (int)n;
}

static void sum_up(struct column *c)
{
	int64_t sum = 0;

	for (size_t i = 0; i < c->count; i++)
		if (c->values[i] != ABSENT && __builtin_add_overflow(sum, c->values[i], &sum))
			c->values[i] = ABSENT;
		else if (c->values[i] != ABSENT)
			c->values[i] = sum;
}

struct parts {
	struct part *list;
	size_t count;
	unsigned char part[COLUMNS_MAX];
	signed char metric[COLUMNS_MAX]; /* -1: left out */
};

static void make_parts(struct reading *r, struct parts *p)
{
	p->list = xcalloc(16, sizeof(*p->list));
	for (size_t i = 0; i < r->column_count; i++) {
		struct column *c = &r->columns[i];
		size_t k = 0;

		p->metric[i] = -1;
		if (!c->count)
			continue;
		while (k < p->count && strcmp(p->list[k].name, c->map.source) != 0)
			k++;
		if (k == 16) {
			r->lost_columns++;
			continue;
		}
		if (k == p->count)
			p->list[p->count++].name = c->map.source;
		p->list[k].set.metrics = p->list[k].metrics;
		p->part[i] = (unsigned char)k;
		p->metric[i] = (signed char)metric_of(&p->list[k], c);
		r->lost_columns += p->metric[i] < 0;
		if (c->map.adds_up)
			sum_up(c);
		if (c->count > r->times.count)
			r->late_values += c->count - r->times.count;
	}
}

/* The row of an entity in the current tick. */
static void put(struct sample_set *s, const struct column *c, unsigned metric, int64_t v)
{
	uint32_t e = sample_entity(s, c->map.kind, c->map.entity);
	size_t row = 0;

	while (row < s->row_count && s->rows[row].entity != e)
		row++;
	if (row == s->row_count)
		sample_row(s, e);
	s->values[row * s->metric_count + metric] = v;
	s->rows[row].present |= (uint64_t)1 << metric;
}

static void add_readings(struct reading *r, struct parts *p, struct sample_writer *w, size_t i)
{
	for (size_t k = 0; k < p->count; k++) {
		sample_begin(&p->list[k].set);
		p->list[k].set.time_ns = (uint64_t)r->times.values[i];
	}
	for (size_t n = 0; n < r->column_count; n++)
		if (p->metric[n] >= 0 && i < r->columns[n].count &&
		    r->columns[n].values[i] != ABSENT)
			put(&p->list[p->part[n]].set, &r->columns[n], (unsigned)p->metric[n],
			    r->columns[n].values[i]);
	for (size_t k = 0; k < p->count; k++)
		if (p->list[k].set.row_count)
			sample_writer_add(w, p->list[k].number, &p->list[k].set);
}

static void note_time(struct reading *r, int64_t ns)
{
	r->first_ns = !r->any || ns < r->first_ns ? ns : r->first_ns;
	r->last_ns = !r->any || ns > r->last_ns ? ns : r->last_ns;
	r->any = true;
}

static int write_host(struct reading *r)
{
	_cleanup_free_ char *run = xasprintf("%s%s%s", perfmon_file_names[r->file],
					     r->gpu ? " gpu-" : "", r->gpu ? r->gpu : "");
	struct sample_file_head head = {.host = r->host, .job = (char *)r->id, .run = run};
	struct parts p = {0};
	int e = 0;

	if (!r->times.count) {
		r->hosts_without_times += r->column_count > 0;
		return 0;
	}
	if (r->period_s > 0 && r->period_s < 1e9)
		head.period_ns = (uint64_t)(r->period_s * 1e9);
	make_parts(r, &p);
	struct sample_writer *w = sample_writer_open(r->out, &head);
	for (size_t k = 0; k < p.count; k++)
		p.list[k].number = sample_writer_source(w, p.list[k].name, 1, &p.list[k].set);
	for (size_t i = 0; i < r->times.count && e == 0; i++) {
		if (r->times.values[i] == ABSENT)
			continue;
		note_time(r, r->times.values[i]);
		add_readings(r, &p, w, i);
		if (i % 64 == 63)
			e = sample_writer_flush(w, false);
	}
	int end = sample_writer_close(w, NULL);
	for (size_t k = 0; k < p.count; k++)
		sample_release(&p.list[k].set);
	free(p.list);
	return e < 0 ? e : end;
}

static int end_host(void *user, const char *key PL_UNUSED)
{
	int e = write_host(user);

	forget_host(user);
	return e;
}

/* ---- files ---------------------------------------------------------------------------------- */

static int read_one(struct reading *r, int dir, enum perfmon_file file, struct strbuf *why)
{
	struct perfmon_walk w = {.file = file,
				 .user = r,
				 .begin = name_host,
				 .column = new_column,
				 .value = put_value,
				 .end = end_host,
				 .ret_period_s = &r->period_s};

	r->file = file;
	int e = perfmon_walk(&w, dir, why);
	forget_host(r);
	return e == -ENOENT ? 0 : e;
}

/* ---- metadata ------------------------------------------------------------------------------- */

/* The first of several keys that has a text or a number, at the top level or in an object there. */
static struct value *find_meta(const struct value *meta, const char *const *keys)
{
	for (const char *const *k = keys; *k; k++) {
		struct value *v = value_get(meta, *k);

		for (size_t i = 0; !v && i < value_pairs(meta); i++)
			v = value_get(value_at(meta, i), *k);
		if (v && (v->kind == VALUE_INT || (v->kind == VALUE_STR && v->str.size)))
			return v;
	}
	return NULL;
}

static void set_meta(struct value *to, const char *name, const struct value *meta,
		     const char *const *keys)
{
	struct value *v = find_meta(meta, keys);

	if (v)
		value_set(to, name, value_ref(v));
}

static struct value *make_meta(const struct reading *r, struct value *given)
{
	static const char *const ids[] = {"jobid", "job_id", NULL};
	static const char *const users[] = {"user", "username", NULL};
	static const char *const labels[][2] = {
		{"system", NULL}, {"partition", NULL}, {"env", NULL}, {"name", NULL}};
	struct value *meta = value_new(VALUE_DICT), *tags = value_new(VALUE_DICT);

	value_set(meta, "jobid", value_str(r->id));
	set_meta(meta, "jobid", given, ids);
	set_meta(meta, "user", given, users);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		set_meta(tags, labels[i][0], given, labels[i]);
	value_set(meta, "tags", tags);
	if (r->any) {
		value_set(meta, "start_us", value_int(r->first_ns / 1000));
		value_set(meta, "stop_us", value_int(r->last_ns / 1000));
	}
	if (given)
		value_set(meta, "perfmon", value_ref(given));
	return meta;
}

static int read_meta(int dir, struct value **ret, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, reason = STRBUF_INIT;
	int r = fs_read(dir, PERFMON_META_NAME, META_MAX, &text);

	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = value_from_json(text.buf, text.len, ret, &reason);
	if (r < 0)
		strbuf_addf(why, "'%s': %s", PERFMON_META_NAME,
			    reason.len ? reason.buf : strerror(-r));
	return r;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool has_files(int dir)
{
	bool any = faccessat(dir, PERFMON_META_NAME, F_OK, AT_SYMLINK_NOFOLLOW) == 0;

	for (size_t i = 0; i < PERFMON_FILES && !any; i++)
		any = faccessat(dir, perfmon_file_names[i], F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	return any;
}

int perfmon_open(const char *path, char **ret_id)
{
	int top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int below = top < 0 ? -1 : openat(top, "metrics", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool here = top >= 0 && (below < 0 || !has_files(below)) && has_files(top);

	if (!here && (below < 0 || !has_files(below))) {
		close_fd(&below);
		close_fd(&top);
		return -ENOENT;
	}
	_cleanup_free_ char *full = fs_path_of(top);
	char *slash = here && full ? strrchr(full, '/') : NULL;
	if (slash && slash != full && !strcmp(slash, "/metrics"))
		*slash = 0; /* the name of the job is that of the directory above */
	*ret_id = xstrdup(full && *path_base(full) ? path_base(full) : "perfmon");
	int fd = here ? top : below;
	close_fd(here ? &below : &top);
	return fd;
}

static void warn(struct value *list, uint64_t count, const char *text)
{
	_cleanup_free_ char *line = xasprintf("perfmon: %llu %s", (unsigned long long)count, text);

	if (count)
		value_append(list, value_str(line));
}

int perfmon_read(int dir, const char *id, int fd, struct sampled_job *ret, struct strbuf *why)
{
	struct reading r = {.id = id, .out = fd};
	_cleanup_value_ struct value *given = NULL;

	*ret = (struct sampled_job){0};
	int e = read_meta(dir, &given, why);
	for (unsigned i = 0; i < PERFMON_FILES && e == 0; i++)
		e = read_one(&r, dir, (enum perfmon_file)i, why);
	free(r.columns);
	free(r.times.values);
	if (e < 0)
		return e;
	ret->meta = make_meta(&r, given);
	ret->warnings = value_new(VALUE_LIST);
	warn(ret->warnings, r.bad_values, "values are not numbers, or too large: left out");
	warn(ret->warnings, r.late_values, "values are beyond the time stamps: left out");
	warn(ret->warnings, r.lost_columns, "metrics too many: left out");
	warn(ret->warnings, r.hosts_without_times, "hosts have no time stamps: left out");
	return 0;
}

const struct sample_importer sample_importer_perfmon = {
	.name = "perfmon", .open = perfmon_open, .read = perfmon_read};
