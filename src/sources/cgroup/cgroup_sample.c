/*
 * CPU, memory, I/O, tasks and limits of the control groups of a job. Version 1 has a tree per
 * controller, version 2 one for all: either way a job is one row, named by its path below the
 * mount, and metrics have the same names. Without a limit its metric is absent.
 *
 * Surprising: the groups of a job may change while it runs, so they are looked up at every reading.
 * In version 1 the controllers of a job may be at different depths (Slurm: memory of the step, CPU
 * of the task); they are still one row, named by the shortest path.
 */
#include <errno.h>
#include <string.h>

#include "sources/cgroup/cgroup.h"
#include "sources/cgroup/cgroup_files.h"

/* A group: controller ("" is version 2), directory, path below the mount. */
struct group {
	char controller[16];
	char *path, *name;
};

/* One file of a row. */
struct group_file {
	const struct cgroup_file *rule;
	struct cached_file file;
	int result; /* of the last reading */
	bool dead;  /* the group does not have it */
};

struct row {
	char *name;
	struct group *groups;
	size_t group_count, group_cap;
	struct group_file *files;
	size_t file_count, file_cap;
	struct unwrap counts[CGROUP_METRICS];
	struct cgroup_io io;
	uint32_t entity;
	bool alive;    /* has an entity */
	bool reported; /* absent metrics were reported */
};

struct cgroups {
	const struct source_context *ctx;
	struct group *named; /* groups of the option; none: those of the job */
	size_t named_count, named_cap;
	struct strbuf seen; /* the groups of the rows, to detect a change */
	struct blockdevs devices;
	struct row *rows;
	size_t count, cap;
};

/* ---- from groups to rows -------------------------------------------------------------------- */

/* "/sys/fs/cgroup/memory/slurm/job_1" is "/slurm/job_1". */
static char *below_mount(const char *root, const char *controller, const char *path)
{
	static const char mount[] = "/sys/fs/cgroup";
	const char *p = path;

	if (!str_prefix(p, root) || !str_prefix(p + strlen(root), mount))
		return xstrdup(path);
	p += strlen(root) + strlen(mount);
	if (*p && *p != '/')
		return xstrdup(path);
	/* the directory of the hierarchy: of a controller, or of version 2 beside them */
	size_t n = *p ? 1 + strcspn(p + 1, "/") : 0;
	if (*controller || (n == strlen("/unified") && !strncmp(p, "/unified", n)))
		p += n;
	return xstrdup(*p ? p : "/");
}

static bool has_controller(const struct row *r, const char *controller)
{
	for (size_t i = 0; i < r->group_count; i++)
		if (!strcmp(r->groups[i].controller, controller))
			return true;
	return false;
}

/* The row of a group: one with the same path, else, in version 1, one that lacks its controller. */
static struct row *row_for(struct row *rows, size_t count, const struct group *g)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < rows[i].group_count; k++)
			if (!strcmp(rows[i].groups[k].name, g->name) &&
			    !has_controller(&rows[i], g->controller))
				return &rows[i];
	for (size_t i = 0; i < count && *g->controller; i++)
		if (!has_controller(&rows[i], "") && !has_controller(&rows[i], g->controller))
			return &rows[i];
	return NULL;
}

static void free_group(struct group *g)
{
	free(g->path);
	free(g->name);
}

static void free_row(struct row *r)
{
	for (size_t i = 0; i < r->group_count; i++)
		free_group(&r->groups[i]);
	for (size_t i = 0; i < r->file_count; i++)
		cached_file_release(&r->files[i].file);
	cgroup_io_release(&r->io);
	free(r->groups);
	free(r->files);
	free(r->name);
}

static void add_group(struct row **rows, size_t *count, size_t *cap, const char *root,
		      const char *controller, const char *path)
{
	struct group g = {.path = xstrdup(path), .name = below_mount(root, controller, path)};

	snprintf(g.controller, sizeof(g.controller), "%s", controller);
	struct row *r = row_for(*rows, *count, &g);
	if (!r) {
		GROW(*rows, *count, *cap);
		r = &(*rows)[(*count)++];
		*r = (struct row){0};
	}
	GROW(r->groups, r->group_count, r->group_cap);
	r->groups[r->group_count++] = g;
}

static void name_row(struct row *r)
{
	const char *shortest = r->groups[0].name;

	for (size_t i = 1; i < r->group_count; i++)
		if (strlen(r->groups[i].name) < strlen(shortest))
			shortest = r->groups[i].name;
	r->name = xstrdup(shortest);
	/* in the order of the table: a metric is taken from the first file that has it */
	for (size_t f = 0; f < cgroup_file_count; f++)
		for (size_t i = 0; i < r->group_count; i++) {
			if (strcmp(r->groups[i].controller, cgroup_files[f].controller) != 0)
				continue;
			GROW(r->files, r->file_count, r->file_cap);
			struct group_file *file = &r->files[r->file_count++];
			*file = (struct group_file){.rule = &cgroup_files[f]};
			cached_file_init(&file->file, "%s/%s", r->groups[i].path,
					 cgroup_files[f].name);
		}
}

/* An entity has one row: of two with the same path the first stays. Returns the new count. */
static size_t drop_twins(struct row *rows, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		bool twin = false;

		for (size_t k = 0; k < kept; k++)
			twin |= !strcmp(rows[k].name, rows[i].name);
		if (twin)
			free_row(&rows[i]);
		else
			rows[kept++] = rows[i];
	}
	return kept;
}

/* Continues the counters of the old row with this name. */
static void go_on(struct cgroups *c, struct row *r)
{
	for (size_t i = 0; i < c->count; i++) {
		struct row *old = &c->rows[i];

		if (strcmp(old->name, r->name) != 0)
			continue;
		memcpy(r->counts, old->counts, sizeof(old->counts));
		r->io = old->io;
		old->io = (struct cgroup_io){0};
		r->entity = old->entity;
		r->alive = old->alive;
		old->alive = false;
		return;
	}
}

/* Builds the rows of the current groups; those that existed before continue. */
static void make_rows(struct cgroups *c, struct sample_set *set)
{
	const struct job_processes *w = c->ctx->watch;
	struct row *rows = NULL;
	size_t count = 0, cap = 0;

	for (size_t i = 0; i < c->named_count; i++)
		add_group(&rows, &count, &cap, c->ctx->root, c->named[i].controller,
			  c->named[i].path);
	for (size_t i = 0; w && !c->named_count && i < w->group_count; i++)
		add_group(&rows, &count, &cap, c->ctx->root, w->groups[i].controller,
			  w->groups[i].path);
	for (size_t i = 0; i < count; i++)
		name_row(&rows[i]);
	count = drop_twins(rows, count);
	for (size_t i = 0; i < count; i++) {
		go_on(c, &rows[i]);
		rows[i].io.devices = &c->devices;
	}
	for (size_t i = 0; i < c->count; i++) {
		if (c->rows[i].alive)
			sample_end(set, c->rows[i].entity);
		free_row(&c->rows[i]);
	}
	free(c->rows);
	c->rows = rows;
	c->count = count;
	c->cap = cap;
}

static void look_for_changes(struct cgroups *c, struct sample_set *set)
{
	_cleanup_strbuf_ struct strbuf now = STRBUF_INIT;
	const struct job_processes *w = c->ctx->watch;

	strbuf_addch(&now, '\n');
	for (size_t i = 0; w && !c->named_count && i < w->group_count; i++)
		strbuf_addf(&now, "%s:%s\n", w->groups[i].controller, w->groups[i].path);
	if (now.len == c->seen.len && !memcmp(now.buf, c->seen.buf, now.len))
		return;
	make_rows(c, set);
	strbuf_reset(&c->seen);
	strbuf_add(&c->seen, now.buf, now.len);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void tell_absent(struct sample_set *set, const struct row *r, const struct cgroup_values *v)
{
	for (unsigned m = 0; m < CGROUP_METRICS; m++)
		if (v->unlimited >> m & 1)
			sample_absent(set, m, "the group %s has no such limit", r->name);
		else if (v->uncounted && m >= IO_READ_BYTES && m <= IO_WRITES)
			sample_absent(set, m, CGROUP_IO_UNCOUNTED);
		else if (!(v->present >> m & 1))
			sample_absent(set, m, "the group %s does not provide it", r->name);
}

/* Reads the files of a row; false: the group is gone or may not be read. */
static bool read_row(struct row *r, struct cgroup_values *v, int *error)
{
	bool good = false;

	*v = (struct cgroup_values){.io = &r->io};
	for (size_t i = 0; i < r->file_count; i++) {
		struct group_file *f = &r->files[i];

		if (f->dead)
			continue;
		f->result = cached_file_read(&f->file);
		if (f->result == 0)
			cgroup_take(f->rule, cached_file_words(&f->file), v);
		else if (*error == 0)
			*error = f->result;
		good |= f->result == 0;
	}
	cgroup_finish(v);
	/* files that an existing group does not have are not tried again */
	for (size_t i = 0; good && !r->reported && i < r->file_count; i++)
		r->files[i].dead =
			r->files[i].result == -ENOENT || r->files[i].result == -EOPNOTSUPP;
	return good;
}

static void put_row(struct sample_set *set, struct row *r, const struct cgroup_values *v)
{
	if (!r->alive)
		r->entity = sample_entity(set, ENTITY_CGROUP, r->name);
	r->alive = true;
	sample_row(set, r->entity);
	for (unsigned m = 0; m < CGROUP_METRICS; m++) {
		if (!(v->present >> m & 1) || v->v[m] > INT64_MAX)
			continue;
		uint64_t value = v->v[m];
		/* a group that was created again starts at 0 and continues here */
		if (cgroup_columns[m].kind == KIND_COUNTER)
			value = count_on(&r->counts[m], value, value < r->counts[m].last);
		sample_put(set, m, (int64_t)value);
	}
	cgroup_io_tell(&r->io, set, r->entity);
	if (!r->reported)
		tell_absent(set, r, v);
	r->reported = true;
}

static int read_all(void *state, struct sample_set *set)
{
	struct cgroups *c = state;
	struct cgroup_values v;
	int error = 0;

	look_for_changes(c, set);
	for (size_t i = 0; i < c->count; i++) {
		struct row *r = &c->rows[i];

		if (read_row(r, &v, &error)) {
			put_row(set, r, &v);
		} else if (r->alive) {
			sample_end(set, r->entity);
			r->alive = false;
		}
	}
	if (set->row_count || !c->count)
		return 0;
	return error ? error : -ENOENT;
}

static void close_all(void *state)
{
	struct cgroups *c = state;

	for (size_t i = 0; i < c->count; i++)
		free_row(&c->rows[i]);
	for (size_t i = 0; i < c->named_count; i++)
		free_group(&c->named[i]);
	free(c->rows);
	free(c->named);
	blockdevs_release(&c->devices);
	strbuf_release(&c->seen);
	free(c);
}

/* Finds the groups of a path below the mounts, "cgroup=/slurm/job_1". */
static void find_named(struct cgroups *c, const char *path)
{
	static const struct {
		const char *controller, *mount;
	} mounts[] = {{"cpuacct", "/cpuacct"},
		      {"cpu", "/cpu"},
		      {"memory", "/memory"},
		      {"blkio", "/blkio"},
		      {"pids", "/pids"},
		      {"", "/unified"},
		      {"", ""}};
	_cleanup_free_ char *unified =
		xasprintf("%s/sys/fs/cgroup/cgroup.controllers", c->ctx->root);

	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		/* the mount is version 2, or contains the mounts of version 1 */
		if (!*mounts[i].mount && access(unified, F_OK) < 0)
			continue;
		char *dir = xasprintf("%s/sys/fs/cgroup%s%s%s", c->ctx->root, mounts[i].mount,
				      *path == '/' ? "" : "/", path);
		if (access(dir, F_OK) < 0) {
			free(dir);
			continue;
		}
		GROW(c->named, c->named_count, c->named_cap);
		struct group *g = &c->named[c->named_count++];
		*g = (struct group){.path = dir};
		snprintf(g->controller, sizeof(g->controller), "%s", mounts[i].controller);
	}
}

static int open_all(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why)
{
	struct cgroups *c = xcalloc(1, sizeof(*c));
	int r = 0;

	(void)set;
	*c = (struct cgroups){.ctx = ctx, .seen = STRBUF_INIT, .devices = {.root = ctx->root}};
	if (ctx->option) {
		find_named(c, ctx->option);
		if (!c->named_count) {
			strbuf_addf(why, "there is no control group '%s' below %s/sys/fs/cgroup",
				    ctx->option, ctx->root);
			r = -ENOENT;
		}
	} else if (!ctx->watch) {
		strbuf_addstr(why, "no job is watched, so there is no control group to read");
		r = -ENOENT;
	} else if (!ctx->watch->group_count) {
		strbuf_addstr(why, "the job has no control group of its own");
		r = -ENOENT;
	}
	if (r < 0) {
		close_all(c);
		return r;
	}
	*state = c;
	return 0;
}

const struct source source_cgroup = {
	.name = "cgroup",
	.help = "CPU, memory, I/O and limits of the job's control group",
	.probe = cgroup_probe,
	.metrics = cgroup_columns,
	.metric_count = CGROUP_METRICS,
	.every = 1,
	.needs_job = true,
	.open = open_all,
	.read = read_all,
	.close = close_all,
};
