/*
 * Converts the jobs of an HDF5 file to sample files. A sample file has one host after the other,
 * while a table has their rows mixed: so a limited number of hosts at a time each get a temporary
 * file while the tables are read, and these files are then concatenated. Rows of the node are found
 * by the times of their blocks, which are read once.
 */
#include "tables/hdf5/hdf5_jobs.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/text/text.h"
#include "samples/row_layout.h"
#include "samples/sample_file.h"
#include "tables/hdf5/column_notes.h"

#define HOSTS_AT_ONCE 128
#define HOSTS_MAX (1u << 17) /* of a job */
#define BLOCK_ROWS 1024
#define SOURCE_NAME 64
#define FLUSH_SETS 64
#define WARNINGS_MAX 32
/* Years 1970 to 2262 in nanoseconds fit. */
#define TIME_MAX_S 9223372036
#define NS 1000000000

/* A usable table: it has times and hosts. */
struct source_table {
	char job[HDF5_JOB_MAX + 1], name[HDF5_NAME_MAX + 1], source[SOURCE_NAME];
	bool ours; /* times in ns, entities by name */
	uint64_t rows;
	struct sample_metric metrics[SAMPLE_METRICS_MAX];
	char names[SAMPLE_METRICS_MAX][COLUMN_NOTE_NAME];
	bool real[SAMPLE_METRICS_MAX];
	const char *columns[SAMPLE_METRICS_MAX + 3]; /* time, host, entity, then the metrics */
	char column_names[SAMPLE_METRICS_MAX][HDF5_NAME_MAX + 1];
	size_t metric_count;
	struct {
		int64_t first, last;
	} * blocks; /* times, of the node's tables only */
	size_t block_count;
};

struct host_source {
	unsigned number;
	bool known, open; /* it is in the file; set has samples to be written */
	struct sample_set set;
};

struct job_host {
	char name[256];
	int64_t first, last;
	/* while it is written */
	int fd;
	struct sample_writer *w;
	struct host_source *sources; /* by table */
	unsigned sets;               /* written */
};

struct conversion {
	const struct hdf5_functions *h;
	struct hdf5_file *f;
	struct source_table **tables; /* those of the node first */
	size_t count, cap, node_count;
	const char *job;
	struct job_host *hosts; /* by name */
	size_t host_count, host_cap;
	size_t first, end; /* hosts that are being written */
	size_t table;      /* that is being read */
	struct strbuf warnings;
	unsigned warning_count;
	int error;
};

static void warn(struct conversion *c, const struct hdf5_table *t, const char *what)
{
	if (c->warning_count++ >= WARNINGS_MAX)
		return;
	strbuf_addstr(&c->warnings, "table /job_");
	text_add_printable(&c->warnings, t->job, strlen(t->job));
	strbuf_addch(&c->warnings, '/');
	text_add_printable(&c->warnings, t->name, strlen(t->name));
	strbuf_addf(&c->warnings, " %s\n", what);
}

/* ---- tables ---- */

static bool has_column(const struct hdf5_table *t, const char *name, enum hdf5_type type)
{
	for (size_t i = 0; i < t->column_count; i++)
		if (!strcmp(t->columns[i].name, name))
			return t->columns[i].type == type;
	return false;
}

static bool is_head(const struct source_table *s, const char *column)
{
	static const char *const ours[] = {"time", "host", "entity"};
	static const char *const theirs[] = {"timestamp", "hostname", "job_id", "metric_backend",
					     "involved_jobs"};

	for (size_t i = 0; i < (s->ours ? ARRAY_SIZE(ours) : ARRAY_SIZE(theirs)); i++)
		if (!strcmp(column, s->ours ? ours[i] : theirs[i]))
			return true;
	return false;
}

/* The fixed-row table with this name; a table whose columns changed has a number added. */
static const struct row_table *fixed_table(const char *table)
{
	size_t n = strlen(table), digits = n;

	while (digits && table[digits - 1] >= '0' && table[digits - 1] <= '9')
		digits--;
	if (digits < n && digits > 1 && table[digits - 1] == '_')
		n = digits - 1;
	_cleanup_free_ char *name = xstrndup(table, n);
	return row_table_find(name);
}

/* Describes a column by the fixed-row table, by our note, or else as a plain number. */
static void describe_column(struct source_table *s, const struct hdf5_table *t,
			    const struct hdf5_column *c)
{
	const struct row_table *b = s->ours ? NULL : fixed_table(t->name);
	int field = b ? row_field_find(b, c->name) : -1;
	size_t n = s->metric_count++;
	struct sample_metric *m = &s->metrics[n];

	snprintf(s->column_names[n], sizeof(s->column_names[n]), "%s", c->name);
	s->columns[n + 3] = s->column_names[n];
	s->real[n] = c->type != HDF5_I64;
	if (field >= 0 && (size_t)field < b->metric_count) {
		*m = b->metrics[field];
	} else if (!s->ours ||
		   !column_note_metric(t->note, c->name, m, s->names[n], sizeof(s->names[n]))) {
		snprintf(s->names[n], sizeof(s->names[n]), "%.*s", COLUMN_NOTE_NAME - 1, c->name);
		*m = (struct sample_metric){.name = s->names[n],
					    .unit = UNIT_NONE,
					    .kind = KIND_GAUGE,
					    .agg = AGG_NONE,
					    .scale = s->real[n] ? 1e-3 : 0};
	}
	if (!m->help)
		m->help = "";
}

static int take_table(void *user, const struct hdf5_table *t)
{
	struct conversion *c = user;
	bool ours = has_column(t, "time", HDF5_I64) && has_column(t, "host", HDF5_TEXT) &&
		    has_column(t, "entity", HDF5_TEXT);
	bool cut = false;

	if (!t->rows)
		return 0;
	if (!ours &&
	    (!has_column(t, "timestamp", HDF5_I64) || !has_column(t, "hostname", HDF5_TEXT))) {
		warn(c, t, "skipped: it has no column of times or hosts");
		return 0;
	}
	struct source_table *s = xcalloc(1, sizeof(*s));
	s->ours = ours;
	s->rows = t->rows;
	snprintf(s->job, sizeof(s->job), "%s", t->job);
	snprintf(s->name, sizeof(s->name), "%s", t->name);
	if (!ours || !column_note_source(t->note, s->source, sizeof(s->source)))
		snprintf(s->source, sizeof(s->source), "%.*s", SOURCE_NAME - 1,
			 !ours && fixed_table(t->name) ? fixed_table(t->name)->name : t->name);
	/* a source whose columns changed has two tables: only the first keeps the source's name */
	for (size_t i = 0; i < c->count; i++)
		if (!strcmp(c->tables[i]->source, s->source))
			snprintf(s->source, sizeof(s->source), "%.*s", SOURCE_NAME - 1, t->name);
	s->columns[0] = ours ? "time" : "timestamp";
	s->columns[1] = ours ? "host" : "hostname";
	s->columns[2] = ours ? "entity" : "job_id";
	for (size_t i = 0; i < t->column_count; i++) {
		const struct hdf5_column *column = &t->columns[i];

		if (is_head(s, column->name) || column->type == HDF5_TEXT ||
		    column->type == HDF5_OTHER)
			continue;
		cut |= s->metric_count == SAMPLE_METRICS_MAX;
		if (!cut)
			describe_column(s, t, column);
	}
	if (cut)
		warn(c, t, "has more columns than a source can have metrics: the last are skipped");
	GROW(c->tables, c->count, c->cap);
	c->tables[c->count++] = s;
	return 0;
}

static void drop_tables(struct conversion *c, size_t from)
{
	for (size_t i = from; i < c->count; i++) {
		free(c->tables[i]->blocks);
		free(c->tables[i]);
	}
	c->count = from;
}

/* ---- rows ---- */

/* Time in nanoseconds and host of a row; false: it has none. */
static bool row_key(const struct source_table *s, const struct hdf5_value *v, int64_t *time,
		    char *host, size_t room)
{
	if (v[0].i < 0 || (!s->ours && v[0].i > TIME_MAX_S) || !v[1].n || v[1].n >= room)
		return false;
	*time = s->ours ? v[0].i : v[0].i * NS;
	memcpy(host, v[1].s, v[1].n);
	host[v[1].n] = 0;
	return true;
}

/* Index of a host among those of the job, or where it would be inserted. */
static size_t host_place(const struct conversion *c, const char *name, bool *ret_there)
{
	size_t low = 0, high = c->host_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int r = strcmp(c->hosts[middle].name, name);

		if (!r) {
			*ret_there = true;
			return middle;
		}
		if (r < 0)
			low = middle + 1;
		else
			high = middle;
	}
	*ret_there = false;
	return low;
}

/* First pass over a job's rows: its hosts, and when it ran on them. */
static int note_host(void *user, uint64_t row PL_UNUSED, const struct hdf5_value *v)
{
	struct conversion *c = user;
	char name[256];
	int64_t time;
	bool there;

	if (!row_key(c->tables[c->table], v, &time, name, sizeof(name)))
		return 0;
	size_t at = host_place(c, name, &there);
	if (!there) {
		if (c->host_count == HOSTS_MAX)
			return 0;
		GROW(c->hosts, c->host_count, c->host_cap);
		memmove(c->hosts + at + 1, c->hosts + at, (c->host_count - at) * sizeof(*c->hosts));
		c->hosts[at] = (struct job_host){.first = time, .last = time, .fd = -1};
		memcpy(c->hosts[at].name, name, sizeof(name));
		c->host_count++;
	}
	struct job_host *h = &c->hosts[at];
	h->first = time < h->first ? time : h->first;
	h->last = time > h->last ? time : h->last;
	return 0;
}

static void write_set(struct job_host *h, struct host_source *s)
{
	if (!s->open)
		return;
	sample_writer_add(h->w, s->number, &s->set);
	s->open = false;
	if (++h->sets % FLUSH_SETS == 0)
		(void)sample_writer_flush(h->w, false);
}

static uint32_t entity_of(const struct conversion *c, const struct source_table *t,
			  const struct hdf5_value *v, struct sample_set *set)
{
	char name[256], *colon;

	if (!t->ours)
		return strcmp(t->job, "0") ? sample_entity(set, ENTITY_JOB, c->job)
					   : sample_entity(set, ENTITY_NODE, "node");
	snprintf(name, sizeof(name), "%.*s", (int)(v[2].n < 255 ? v[2].n : 255), v[2].s);
	colon = strchr(name, ':');
	if (colon) {
		*colon = 0;
		enum entity_kind kind = entity_kind_by_name(name);

		if (kind && colon[1])
			return sample_entity(set, kind, colon + 1);
	}
	return sample_entity(set, ENTITY_NODE, "node");
}

static void put_value(struct sample_set *set, const struct source_table *t, unsigned m,
		      const struct hdf5_value *v)
{
	double scale = t->metrics[m].scale == 0 ? 1 : t->metrics[m].scale;

	if (!v->present)
		return;
	if (!t->real[m]) {
		if (v->i != -1)
			sample_put(set, m, v->i);
		return;
	}
	double raw = scale < 1 ? v->d * (1 / scale) : v->d / scale;
	/* -1 is unknown in fixed rows, NaN in ours */
	if (!(raw > -9e18 && raw < 9e18) || (!t->ours && v->d == -1))
		return;
	sample_put(set, m, round_i64(raw));
}

/* Second pass: writes the rows of the current hosts. */
static int write_row(void *user, uint64_t row PL_UNUSED, const struct hdf5_value *v)
{
	struct conversion *c = user;
	const struct source_table *t = c->tables[c->table];
	char name[256];
	int64_t time;
	bool there;

	if (!row_key(t, v, &time, name, sizeof(name)))
		return 0;
	size_t at = host_place(c, name, &there);
	if (!there || at < c->first || at >= c->end)
		return 0;
	struct job_host *h = &c->hosts[at];
	if (time < h->first || time > h->last)
		return 0;
	struct host_source *s = &h->sources[c->table];
	if (!s->known) {
		sample_init(&s->set, t->metrics, t->metric_count);
		s->number = sample_writer_source(h->w, t->source, 1, &s->set);
		s->known = true;
	}
	if (s->open && s->set.time_ns != (uint64_t)time)
		write_set(h, s);
	if (!s->open) {
		sample_begin(&s->set);
		s->set.time_ns = (uint64_t)time;
		s->open = true;
	}
	sample_row(&s->set, entity_of(c, t, v, &s->set));
	for (unsigned m = 0; m < t->metric_count; m++)
		put_value(&s->set, t, m, &v[m + 3]);
	return 0;
}

/* ---- the node's tables ---- */

static int note_time(void *user, uint64_t row, const struct hdf5_value *v)
{
	struct conversion *c = user;
	struct source_table *t = c->tables[c->table];
	size_t b = (size_t)(row / BLOCK_ROWS);
	int64_t time = v[0].i < 0 ? 0 : t->ours ? v[0].i : v[0].i > TIME_MAX_S ? 0 : v[0].i * NS;

	if (b >= t->block_count)
		return -EBADMSG;
	if (row % BLOCK_ROWS == 0 || time < t->blocks[b].first)
		t->blocks[b].first = time;
	if (row % BLOCK_ROWS == 0 || time > t->blocks[b].last)
		t->blocks[b].last = time;
	return 0;
}

static int index_node(struct conversion *c, struct strbuf *why)
{
	int r = c->h->tables(c->f, "0", take_table, c, why);

	c->node_count = c->count;
	for (c->table = 0; c->table < c->count && r == 0; c->table++) {
		struct source_table *t = c->tables[c->table];

		t->block_count = (size_t)((t->rows + BLOCK_ROWS - 1) / BLOCK_ROWS);
		t->blocks = xcalloc(t->block_count, sizeof(*t->blocks));
		r = c->h->rows(c->f, t->job, t->name, t->columns, 1, note_time, c, why);
	}
	return r;
}

static int read_node(struct conversion *c, struct strbuf *why)
{
	const struct source_table *t = c->tables[c->table];
	int64_t first = INT64_MAX, last = 0;
	int r = 0;

	for (size_t i = c->first; i < c->end; i++) {
		first = c->hosts[i].first < first ? c->hosts[i].first : first;
		last = c->hosts[i].last > last ? c->hosts[i].last : last;
	}
	for (size_t b = 0; b < t->block_count && r == 0; b++)
		if (t->blocks[b].last >= first && t->blocks[b].first <= last)
			r = c->h->some_rows(c->f, t->job, t->name, t->columns, t->metric_count + 3,
					    b * BLOCK_ROWS, BLOCK_ROWS, write_row, c, why);
	return r;
}

/* ---- a job ---- */

const char *hdf5_jobs_format(void)
{
	return row_layouts[0] ? row_layouts[0]->name : "hdf5";
}

static int begin_host(struct conversion *c, struct job_host *h)
{
	const struct sample_file_head head = {
		.host = h->name, .job = (char *)c->job, .run = (char *)hdf5_jobs_format()};

	h->fd = fs_scratch_file();
	if (h->fd < 0)
		return h->fd;
	(void)fcntl(h->fd, F_SETFL, O_APPEND);
	h->sources = xcalloc(c->count, sizeof(*h->sources));
	h->w = sample_writer_open(h->fd, &head);
	return h->w ? 0 : -ENOMEM;
}

/* Completes a host's file and appends it to the others. */
static int end_host(struct conversion *c, struct job_host *h, int fd)
{
	off_t at = 0;
	int r = 0;

	for (size_t i = 0; i < c->count && h->sources; i++) {
		if (!h->sources[i].known)
			continue;
		write_set(h, &h->sources[i]);
		sample_release(&h->sources[i].set);
	}
	free(h->sources);
	h->sources = NULL;
	if (h->w)
		r = sample_writer_close(h->w, NULL);
	h->w = NULL;
	off_t size = h->fd >= 0 ? lseek(h->fd, 0, SEEK_END) : 0;
	while (r == 0 && at < size) {
		ssize_t n = sendfile(fd, h->fd, &at, (size_t)(size - at));

		if (n < 0 && errno != EINTR)
			r = -errno;
	}
	close_fd(&h->fd);
	h->fd = -1;
	return r;
}

static int write_hosts(struct conversion *c, int fd, struct strbuf *why)
{
	int r = 0;

	for (size_t i = c->first; i < c->end && r == 0; i++)
		r = begin_host(c, &c->hosts[i]);
	for (c->table = 0; c->table < c->count && r == 0; c->table++) {
		const struct source_table *t = c->tables[c->table];

		if (c->table < c->node_count)
			r = read_node(c, why);
		else
			r = c->h->rows(c->f, t->job, t->name, t->columns, t->metric_count + 3,
				       write_row, c, why);
	}
	for (size_t i = c->first; i < c->end; i++) {
		int e = end_host(c, &c->hosts[i], fd);

		r = r ? r : e;
	}
	if (r < 0 && !why->len)
		strbuf_addf(why, "cannot write a temporary file in $TMPDIR: %s", strerror(-r));
	return r;
}

static int write_job(struct conversion *c, int fd, struct strbuf *why)
{
	int r = c->h->tables(c->f, c->job, take_table, c, why);

	c->host_count = 0;
	for (c->table = c->node_count; c->table < c->count && r == 0; c->table++) {
		const struct source_table *t = c->tables[c->table];

		r = c->h->rows(c->f, t->job, t->name, t->columns, 2, note_host, c, why);
	}
	for (c->first = 0; c->first < c->host_count && r == 0; c->first = c->end) {
		c->end = c->first + HOSTS_AT_ONCE < c->host_count ? c->first + HOSTS_AT_ONCE
								  : c->host_count;
		r = write_hosts(c, fd, why);
	}
	return r;
}

/* ---- all ---- */

struct names {
	char **list;
	size_t count, cap;
};

static int note_job(void *user, const struct hdf5_table *t)
{
	struct names *n = user;

	if (!strcmp(t->job, "0") || (n->count && !strcmp(n->list[n->count - 1], t->job)))
		return 0;
	GROW(n->list, n->count, n->cap);
	n->list[n->count++] = xstrdup(t->job);
	return 0;
}

int hdf5_jobs_write(const char *path, int fd, hdf5_job_sender send, void *user, struct strbuf *why)
{
	struct conversion c = {.h = hdf5_module(why), .warnings = STRBUF_INIT};
	struct names jobs = {0};

	if (!c.h)
		return -ENOSYS;
	int r = c.h->open(path, &c.f, why);
	if (r < 0)
		return r;
	r = c.h->tables(c.f, NULL, note_job, &jobs, why);
	if (r == 0)
		r = index_node(&c, why);
	size_t common = c.warnings.len;
	for (size_t i = 0; i < jobs.count && r == 0; i++) {
		strbuf_cut(&c.warnings, common);
		c.warning_count = 0;
		c.job = jobs.list[i];
		r = ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0 ? -errno
								       : write_job(&c, fd, why);
		if (r == 0)
			r = send(user, c.job, c.warnings.buf);
		drop_tables(&c, c.node_count);
	}
	drop_tables(&c, 0);
	c.h->close(c.f);
	for (size_t i = 0; i < jobs.count; i++)
		free(jobs.list[i]);
	free(jobs.list);
	free(c.tables);
	free(c.hosts);
	strbuf_release(&c.warnings);
	return r;
}
