/* perfmon's JSON files; see perfmon_files.h. Hosts are read and written one by one, so memory holds
 * the series of one host. */
#include "compat/perfmon/perfmon_files.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat/perfmon/perfmon_series.h"
#include "core/files/fs.h"
#include "core/text/text.h"

/* ---- a file that grows while it is written -------------------------------------------------- */

struct output {
	struct json_writer j;
	const char *name;
	char *aside;
	int dir, fd;
	int error;
	struct value *host_names;
};

#define OUTPUT_CHUNK ((size_t)1 << 20)

static void output_flush(struct output *o, size_t keep)
{
	if (o->j.out.len < keep)
		return;
	if (!o->error)
		o->error = fs_write_all(o->fd, o->j.out.buf, o->j.out.len);
	strbuf_reset(&o->j.out);
}

static void output_open(struct output *o, int dir, const char *name)
{
	struct stat old;

	*o = (struct output){.j = JSON_WRITER_INIT, .name = name, .dir = dir, .fd = -1};
	o->j.pretty = true;
	o->aside = xasprintf(".%s.%d", name, (int)getpid());
	o->host_names = value_new(VALUE_LIST);
	(void)unlinkat(dir, o->aside, 0);
	o->fd = openat(dir, o->aside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (o->fd < 0)
		o->error = -errno;
	else if (fstatat(dir, name, &old, AT_SYMLINK_NOFOLLOW) == 0)
		fs_keep_rights(o->fd, &old);
	json_begin_object(&o->j, NULL);
}

/* keep: replace the old one. */
static int output_close(struct output *o, bool keep, struct strbuf *why)
{
	if (keep) {
		value_to_json(o->host_names, &o->j, "host_names");
		json_end_object(&o->j);
		strbuf_addch(&o->j.out, '\n');
		output_flush(o, 0);
	}
	/* network filesystems report a full disk or quota only when the file is closed */
	if (o->fd >= 0 && close(o->fd) < 0 && !o->error)
		o->error = -errno;
	if (keep && !o->error && renameat(o->dir, o->aside, o->dir, o->name) < 0)
		o->error = -errno;
	if (!keep || o->error)
		(void)unlinkat(o->dir, o->aside, 0);
	if (keep && o->error)
		strbuf_addf(why, "cannot write '%s': %s\n", o->name, strerror(-o->error));
	json_release(&o->j);
	value_free(o->host_names);
	free(o->aside);
	return keep ? o->error : 0;
}

/* Arrays are on one line. */
static void begin_array(struct json_writer *j, const char *key)
{
	json_begin_array(j, key);
	j->pretty = false;
}

static void end_array(struct json_writer *j)
{
	json_end_array(j);
	j->pretty = true;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/*
 * The sum of the columns of one key at each tick: integers with a common divisor (milliseconds,
 * hundredths of a percent) where possible, so that no digits appear that were not measured.
 */
struct key_sum {
	const struct perfmon_key *key;
	struct {
		double value;
		int64_t integer; /* value = integer / by, where exact */
		bool present;
	} * at;
	int64_t by;
	bool exact, any;
};

static void sum_add(struct key_sum *c, const struct perfmon_column *column,
		    const struct perfmon_series *s, const struct perfmon_ticks *t, bool first)
{
	struct perfmon_point *points = xcalloc(t->count + 1, sizeof(*points));

	perfmon_column_at(column, s, t, points);
	if (first)
		c->by = column->by;
	c->exact = c->exact && c->by == column->by;
	c->any = c->any || column->any;
	for (size_t k = 0; k < t->count; k++) {
		int64_t product;

		c->at[k].value +=
			(double)points[k].raw * (double)column->times / (double)column->by;
		if (__builtin_mul_overflow(points[k].raw, column->times, &product) ||
		    __builtin_add_overflow(c->at[k].integer, product, &c->at[k].integer))
			c->exact = false;
		c->at[k].present = points[k].present && (first || c->at[k].present);
	}
	free(points);
}

static void write_number(struct json_writer *j, const struct key_sum *c, int64_t integer,
			 double value)
{
	if (!c->exact)
		json_f64(j, NULL, value);
	else if (c->by == 1)
		json_i64(j, NULL, integer);
	else
		json_f64(j, NULL, (double)integer / (double)c->by);
}

static void write_level(struct json_writer *j, const struct key_sum *c, size_t k)
{
	if (c->at[k].present)
		write_number(j, c, c->at[k].integer, c->at[k].value);
	else
		json_none(j, NULL);
}

/* The increase from tick k to the next; a counter that fell was reset. */
static void write_growth(struct json_writer *j, const struct key_sum *c, size_t k)
{
	double grown = c->at[k + 1].value - c->at[k].value;
	int64_t integer;

	if (!c->at[k].present || !c->at[k + 1].present || grown < 0 ||
	    __builtin_sub_overflow(c->at[k + 1].integer, c->at[k].integer, &integer))
		json_none(j, NULL);
	else
		write_number(j, c, integer, grown);
}

/* Counts of perf are those of the interval that begins at the time stamp: one less than ticks. */
static size_t stamps(const struct perfmon_ticks *t, enum perfmon_file file)
{
	return file == PERFMON_PERF && t->count ? t->count - 1 : t->count;
}

static void write_sum(struct output *o, const char *name, const struct key_sum *c,
		      const struct perfmon_ticks *t)
{
	size_t n = stamps(t, c->key->file);

	begin_array(&o->j, name);
	for (size_t k = 0; k < n; k++) {
		if (c->key->file != PERFMON_PERF)
			write_level(&o->j, c, k);
		else if (c->key->flags & PERFMON_LEVEL)
			write_level(&o->j, c, k + 1);
		else
			write_growth(&o->j, c, k);
		output_flush(o, OUTPUT_CHUNK);
	}
	end_array(&o->j);
}

/* ---- keys ----------------------------------------------------------------------------------- */

/* Columns of rows i..i+n, of one entity, or (NULL) of the whole host. */
static void sum_key(struct key_sum *c, const struct perfmon_series *s,
		    const struct perfmon_ticks *t, size_t i, size_t n, const char *entity)
{
	bool first = true;

	*c = (struct key_sum){.key = &perfmon_keys[i], .exact = true, .by = 1};
	c->at = xcalloc(t->count + 1, sizeof(*c->at));
	for (size_t m = 0; m < s->count; m++) {
		const struct perfmon_column *column = &s->columns[m];

		if (column->key < &perfmon_keys[i] || column->key >= &perfmon_keys[i + n] ||
		    !str_same(column->entity, entity) || !column->by)
			continue;
		sum_add(c, column, s, t, first);
		first = false;
	}
}

/* A group is opened when its first key is written. */
struct group {
	const char *open;
};

static void enter_group(struct output *o, struct group *g, const char *name)
{
	if (str_same(g->open, name))
		return;
	if (g->open)
		json_end_object(&o->j);
	if (name)
		json_begin_object(&o->j, name);
	g->open = name;
}

static void write_key(struct output *o, struct group *g, const struct perfmon_series *s,
		      const struct perfmon_ticks *t, size_t i, size_t n, const char *entity)
{
	const struct perfmon_key *k = &perfmon_keys[i];
	struct key_sum c;

	sum_key(&c, s, t, i, n, entity);
	if (c.any || !(k->flags & PERFMON_OPTIONAL)) {
		enter_group(o, g, k->group);
		write_sum(o, k->key ? k->key : entity, &c, t);
	}
	free(c.at);
}

/* All keys of one file at the level of a host, or of a GPU. */
static void write_keys(struct output *o, const struct perfmon_series *s, enum perfmon_file file,
		       const char *gpu)
{
	const struct perfmon_ticks *t = perfmon_series_ticks(s, file);
	struct group g = {NULL};

	for (size_t i = 0; i < perfmon_key_count;) {
		size_t n = perfmon_key_rows(i);

		if (perfmon_keys[i].file == file && perfmon_keys[i].key)
			write_key(o, &g, s, t, i, n, gpu);
		for (size_t m = 0;
		     perfmon_keys[i].file == file && !perfmon_keys[i].key && m < s->count; m++)
			if (s->columns[m].key == &perfmon_keys[i])
				write_key(o, &g, s, t, i, 1, s->columns[m].entity);
		i += n;
	}
	enter_group(o, &g, NULL);
	begin_array(&o->j, "time_stamps");
	for (size_t k = 0; k < stamps(t, file); k++)
		json_i64(&o->j, NULL, t->list[k].stamp_s);
	end_array(&o->j);
}

/* ---- hosts ---------------------------------------------------------------------------------- */

static void begin_host(struct output *o, const char *name)
{
	value_append(o->host_names, value_str(name));
	json_begin_object(&o->j, name);
}

static void end_host(struct output *o)
{
	json_end_object(&o->j);
	output_flush(o, OUTPUT_CHUNK);
}

/* The root process: the first one that none of the others started. */
static const struct value *parent_of_all(const struct value *processes)
{
	for (size_t i = 0; i < value_pairs(processes); i++) {
		const char *ppid = value_get_str(value_at(processes, i), "ppid");
		bool has_parent = false;

		for (size_t k = 0; ppid && !has_parent && k < value_pairs(processes); k++) {
			const char *pid = value_get_str(value_at(processes, k), "pid");

			has_parent = pid && !strcmp(pid, ppid);
		}
		if (!has_parent)
			return value_at(processes, i);
	}
	return NULL;
}

/* Metadata of the first process, and a line of text for each of the others. */
static void write_processes(struct output *o, const struct value *processes)
{
	const struct value *parent = parent_of_all(processes);

	begin_array(&o->j, "child_proc_md");
	for (size_t i = 0; i < value_pairs(processes); i++) {
		const struct value *one = value_at(processes, i);
		const char *pid = value_get_str(one, "pid"), *comm = value_get_str(one, "comm"),
			   *command = value_get_str(one, "cmdline");

		if (one == parent)
			continue;
		_cleanup_free_ char *line = xasprintf("%s %s", pid ? pid : "?",
						      command ? command
						      : comm  ? comm
							      : "");
		json_str(&o->j, NULL, line);
		output_flush(o, OUTPUT_CHUNK);
	}
	end_array(&o->j);
	json_begin_object(&o->j, "parent_proc_md");
	for (size_t i = 0; i < value_pairs(parent); i++) {
		const char *key = value_key(parent, i)->str.data,
			   *text = value_at(parent, i)->str.data;
		int64_t number;

		if (parse_i64(text, &number) == 0)
			json_i64(&o->j, key, number);
		else
			json_str(&o->j, key, text);
	}
	json_end_object(&o->j);
}

static void write_cpu(struct output *o, const struct perfmon_host *h,
		      const struct perfmon_series *s)
{
	begin_host(o, h->name);
	write_processes(o, s->processes);
	write_keys(o, s, PERFMON_CPU, NULL);
	end_host(o);
}

static void write_perf(struct output *o, const struct perfmon_host *h,
		       const struct perfmon_series *s)
{
	if (!perfmon_series_ticks(s, PERFMON_PERF)->count)
		return;
	begin_host(o, h->name);
	write_keys(o, s, PERFMON_PERF, NULL);
	end_host(o);
}

static void write_gpus(struct output *o, const struct perfmon_host *h,
		       const struct perfmon_series *s)
{
	for (size_t i = 0; i < value_pairs(s->gpus); i++) {
		const char *gpu = value_key(s->gpus, i)->str.data;
		_cleanup_free_ char *name = xasprintf("%s.%s", gpu, h->name);

		begin_host(o, name);
		write_keys(o, s, PERFMON_GPU, gpu);
		end_host(o);
	}
}

static void write_meta(struct output *o, const struct perfmon_input *in,
		       const struct perfmon_host *h, const struct perfmon_series *s)
{
	begin_host(o, h->name);
	for (size_t i = 0; i < value_pairs(h->hardware); i++) {
		const struct value *key = value_key(h->hardware, i);

		if (key->kind == VALUE_STR)
			value_to_json(value_at(h->hardware, i), &o->j, key->str.data);
	}
	if (s->gpus)
		value_to_json(s->gpus, &o->j, "nv_gpus");
	json_str(&o->j, "job_id", in->job);
	json_str(&o->j, "user", in->user);
	json_str(&o->j, "system", in->system);
	json_str(&o->j, "partition", in->partition);
	json_str(&o->j, "env", in->env);
	json_str(&o->j, "name", in->name);
	end_host(o);
}

static bool read_host(const struct perfmon_input *in, const struct perfmon_host *h,
		      struct perfmon_series *s, struct strbuf *why)
{
	bool any = false;

	for (size_t i = 0; i < h->file_count; i++) {
		_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
		int fd = openat(in->dir, h->files[i],
				O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		int r = fd < 0 ? -errno : perfmon_series_add(s, fd, h->name, &reason);

		if (r < 0)
			strbuf_addf(why, "cannot read '%s' of host %s: %s\n", h->files[i], h->name,
				    reason.len ? reason.buf : strerror(-r));
		any = any || r >= 0;
	}
	uint64_t lost = s->skipped + s->lost;
	if (s->damaged || lost)
		strbuf_addf(why, "host %s: %llu %s lost, %llu %s damaged\n", h->name,
			    (unsigned long long)lost, plural(lost, "sample is", "samples are"),
			    (unsigned long long)s->damaged,
			    plural(s->damaged, "place is", "places are"));
	return any;
}

/* the files of the table, and one */
enum { META = PERFMON_FILES, OUTPUTS };

static size_t write_hosts(const struct perfmon_input *in, struct output *out, struct strbuf *why)
{
	size_t written = 0;

	for (size_t i = 0; i < in->host_count; i++) {
		const struct perfmon_host *h = &in->hosts[i];
		struct perfmon_series s = {0};

		if (read_host(in, h, &s, why)) {
			write_cpu(&out[PERFMON_CPU], h, &s);
			write_perf(&out[PERFMON_PERF], h, &s);
			write_gpus(&out[PERFMON_GPU], h, &s);
			write_meta(&out[META], in, h, &s);
			written++;
		}
		perfmon_series_release(&s);
	}
	return written;
}

int perfmon_write(const struct perfmon_input *in, int dirfd, struct strbuf *why)
{
	struct output out[OUTPUTS];
	int result = 0;

	_cleanup_close_ int dir = fs_open_result_dir(dirfd, "metrics");
	if (dir < 0) {
		result = dir;
		strbuf_addf(why, "cannot create directory 'metrics': %s\n", strerror(-result));
		return result;
	}
	for (size_t i = 0; i < OUTPUTS; i++) {
		output_open(&out[i], dir, i == META ? PERFMON_META_NAME : perfmon_file_names[i]);
		if (i != META)
			json_u64(&out[i].j, "sampling_frequency", in->period_s);
	}
	size_t written = write_hosts(in, out, why);
	for (size_t i = 0; i < OUTPUTS; i++) {
		/* hosts without a GPU have no such file */
		bool keep = written && (i != PERFMON_GPU || out[i].host_names->list.count);
		int r = output_close(&out[i], keep, why);

		result = result ? result : r;
	}
	return written ? result : -ENODATA;
}
