/*
 * Mounted Lustre filesystems, as the client counts: llite is what programs asked for, osc and mdc
 * what went to servers. A filesystem has one osc per storage target, which are added up. The files
 * are in /proc/fs/lustre, or in debugfs for newer clients, where only root may look unless the site
 * mounts it otherwise. Counters can be cleared: samples continue from where they were.
 */
#include "sources/filesystem/lustre.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/system/procparse.h"
#include "sources/columns.h"
#include "sources/source.h"
#include "sources/sysfile.h"

#define STATS_MAX ((size_t)256 << 10)
#define MOUNTS_MAX 64
#define TARGETS_MAX 4096 /* of one filesystem */

enum part_of { LLITE, OSC, MDC, PARTS };
enum { OLD, NEW };

static const struct sample_metric columns[] = {
#define LUSTRE_STAT(name, of, line, part, unit, since, help) COLUMN(name, unit, COUNTER, 0, help),
#include "sources/filesystem/lustre.def"
#undef LUSTRE_STAT
};
#define STATS ARRAY_SIZE(columns)

enum column { samples, sum };
static const struct stat_row {
	enum part_of of;
	const char *line;
	enum column part;
	int since;
} stat_rows[STATS] = {
#define LUSTRE_STAT(name, of, line, part, unit, since, help) {of, line, part, since},
#include "sources/filesystem/lustre.def"
#undef LUSTRE_STAT
};

static const char *const part_names[PARTS] = {"llite", "osc", "mdc"};

/* One stats file with its own counters, so that a cleared or new file does no harm. */
struct stats_file {
	char *name; /* directory of the target */
	struct sysfile file;
	struct unwrap counts[STATS];
	bool seen[STATS];
	bool read; /* at least once */
};

struct mount {
	char *name; /* "lustrefs-ffff88105db50000" */
	char *fsname, *id;
	struct stats_file *files[PARTS];
	size_t counts[PARTS];
	bool here; /* is still mounted */
};

struct lustre {
	const char *root, *base; /* base is the directory that has llite, osc, mdc */
	const char *prefix;      /* the option: only mounts with this prefix; NULL: all */
	struct mount mounts[MOUNTS_MAX];
	size_t count;
	struct strbuf text;
	uint64_t looked_ns; /* when we last looked for targets */
};

/* ---- parsing ---- */

static bool parse_stat(struct words line, struct lustre_stat *ret)
{
	struct words word;
	uint64_t ignored;

	*ret = (struct lustre_stat){.name = line.p};
	if (!word_next(&line, &word) || word.p != ret->name || !number_next(&line, &ret->samples))
		return false;
	ret->name_size = (size_t)(word.end - word.p);
	if (!word_next(&line, &word) || !word_begins(&word, "samples"))
		return false;
	ret->has_sum = word_next(&line, &word) && number_next(&line, &ignored) &&
		       number_next(&line, &ignored) && number_next(&line, &ret->sum);
	return true;
}

bool lustre_next_stat(const char **p, const char *end, struct lustre_stat *ret)
{
	struct words line;

	while (sys_line(p, end, &line))
		if (parse_stat(line, ret))
			return true;
	return false;
}

/* ---- finding mounts and targets ---- */

/* The directory with the files of the client: 0, or why there is none. */
static int find_base(const char *root, const char **ret, struct strbuf *why)
{
	static const char *const places[] = {"/proc/fs/lustre", "/sys/kernel/debug/lustre"};
	bool refused = false;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_name_list_ struct name_list l = {0};
		int r = name_list_read(&l, "", "%s%s/llite", root, places[i]);

		refused |= r == -EACCES;
		for (size_t k = 0; k < l.count; k++)
			if (sys_readable("%s%s/llite/%s/stats", root, places[i], l.names[k]) == 0) {
				*ret = places[i];
				return 0;
			}
	}
	_cleanup_free_ char *sysfs = xasprintf("%s/sys/fs/lustre", root);
	if (access(sysfs, F_OK) < 0)
		return strbuf_fail(why, -ENOENT, "no Lustre client here");
	if (refused)
		return strbuf_fail(
			why, -EACCES,
			"the Lustre counters are in '%s/sys/kernel/debug', which only root may "
			"read",
			root);
	return strbuf_fail(why, -ENOENT, "no Lustre filesystem is mounted");
}

/* Is a target's directory ("<fsname>-OST0004-osc-<id>") one of this mount? */
static bool is_of(const struct mount *m, const char *dir, enum part_of part)
{
	_cleanup_free_ char *begin = xasprintf("%s-", m->fsname);
	_cleanup_free_ char *end = xasprintf("-%s-%s", part_names[part], m->id);

	return str_prefix(dir, begin) && str_suffix(dir, end) &&
	       strlen(dir) > strlen(begin) + strlen(end);
}

static void add_file(struct lustre *s, struct mount *m, enum part_of part, const char *dir)
{
	struct stats_file *list = m->files[part];

	/* small steps: a filesystem has one client, some metadata servers, many targets */
	if (m->counts[part] % 16 == 0)
		list = xreallocarray(list, m->counts[part] + 16, sizeof(*list));
	m->files[part] = list;
	struct stats_file *f = &list[m->counts[part]++];
	*f = (struct stats_file){.name = xstrdup(dir)};
	sysfile_init(&f->file, "%s%s/%s/%s/stats", s->root, s->base, part_names[part], dir);
}

static void find_targets(struct lustre *s, struct mount *m, enum part_of part)
{
	_cleanup_name_list_ struct name_list l = {0};

	(void)name_list_read(&l, m->fsname, "%s%s/%s", s->root, s->base, part_names[part]);
	size_t known = m->counts[part];
	for (size_t i = 0; i < l.count && m->counts[part] < TARGETS_MAX; i++) {
		bool here = !is_of(m, l.names[i], part);

		for (size_t k = 0; k < known && !here; k++)
			here = !strcmp(m->files[part][k].name, l.names[i]);
		if (!here)
			add_file(s, m, part, l.names[i]);
	}
}

/* Storage may be added to a filesystem while it is mounted. */
static void look_for_targets(struct lustre *s, uint64_t now_ns)
{
	if (!sys_look_again(&s->looked_ns, now_ns))
		return;
	for (size_t i = 0; i < s->count; i++) {
		find_targets(s, &s->mounts[i], OSC);
		find_targets(s, &s->mounts[i], MDC);
	}
}

static void add_mount(struct lustre *s, const char *name)
{
	const char *dash = strrchr(name, '-');

	if (s->count == MOUNTS_MAX || !dash || dash == name || !dash[1])
		return;
	struct mount *m = &s->mounts[s->count++];
	*m = (struct mount){.name = xstrdup(name),
			    .fsname = xstrndup(name, (size_t)(dash - name)),
			    .id = xstrdup(dash + 1),
			    .here = true};
	add_file(s, m, LLITE, name);
	find_targets(s, m, OSC);
	find_targets(s, m, MDC);
}

static void free_mount(struct mount *m)
{
	for (unsigned part = 0; part < PARTS; part++) {
		for (size_t i = 0; i < m->counts[part]; i++) {
			free(m->files[part][i].name);
			sysfile_close(&m->files[part][i].file);
		}
		free(m->files[part]);
	}
	free(m->name);
	free(m->fsname);
	free(m->id);
	*m = (struct mount){0};
}

/* Adds new mounts and ends those that are gone. */
static void update_mounts(struct lustre *s, struct sample_set *set)
{
	_cleanup_name_list_ struct name_list l = {0};
	size_t kept = 0;

	(void)name_list_read(&l, "", "%s%s/llite", s->root, s->base);
	for (size_t k = 0; k < s->count; k++)
		s->mounts[k].here = false;
	for (size_t i = 0; i < l.count; i++) {
		size_t k = 0;

		while (k < s->count && strcmp(s->mounts[k].name, l.names[i]) != 0)
			k++;
		if (k < s->count)
			s->mounts[k].here = true;
		else if (!s->prefix || str_prefix(l.names[i], s->prefix))
			add_mount(s, l.names[i]);
	}
	for (size_t k = 0; k < s->count; k++) {
		struct mount m = s->mounts[k];

		if (m.here) {
			s->mounts[kept++] = m;
			continue;
		}
		sample_end(set, sample_entity(set, ENTITY_FILESYSTEM, m.name));
		free_mount(&m);
	}
	s->count = kept;
}

/* The directory that a filesystem of this name is mounted on, if there is exactly one. */
static void describe_mount_point(const struct lustre *s, const struct mount *m,
				 struct sample_set *set, uint32_t e)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *end = xasprintf(":/%s", m->fsname), *found = NULL;
	struct sysfile f;

	sysfile_init(&f, "%s/proc/self/mounts", s->root);
	int r = sysfile_whole(&f, (size_t)4 << 20, &text);
	sysfile_close(&f);
	for (char *p = r == 0 ? text.buf : NULL, *next; p && *p; p = next) {
		size_t n = strcspn(p, "\n");

		next = p[n] ? p + n + 1 : NULL;
		p[n] = 0;
		size_t device = strcspn(p, " "), place = device + (p[device] == ' ');
		size_t where = strcspn(p + place, " ");
		if (!str_prefix(p + place + where, " lustre "))
			continue;
		p[device] = 0;
		if (!str_suffix(p, end))
			continue;
		if (found)
			return;
		found = xstrndup(p + place, where);
	}
	if (found)
		sample_set_metadata(set, e, "mounted_on", found);
}

/* Takes the lines of one file into its counters. */
static int read_stats(struct lustre *s, struct stats_file *f, enum part_of part)
{
	struct lustre_stat st;

	strbuf_reset(&s->text);
	int r = sysfile_whole(&f->file, STATS_MAX, &s->text);
	if (r < 0)
		return r;
	for (const char *p = s->text.buf, *end = p + s->text.len; lustre_next_stat(&p, end, &st);)
		for (unsigned m = 0; m < STATS; m++) {
			const struct stat_row *row = &stat_rows[m];

			if (row->of != part || !proc_name_is(st.name, st.name_size, row->line) ||
			    (row->part == sum && !st.has_sum))
				continue;
			sys_grown(&f->counts[m], row->part == sum ? st.sum : st.samples);
			f->seen[m] = true;
		}
	return 0;
}

/* ---- the source ---- */

static void close_lustre(void *state)
{
	struct lustre *s = state;

	for (size_t i = 0; i < s->count; i++)
		free_mount(&s->mounts[i]);
	strbuf_release(&s->text);
	free(s);
}

/* Adds what is not read of a mount: all of it, or some of its targets. */
static void report_left_out(struct lustre *s, const char *name, struct strbuf *out)
{
	int r = sys_readable("%s%s/llite/%s/stats", s->root, s->base, name);
	const char *begin = " (left out: ";

	if (s->prefix && !str_prefix(name, s->prefix)) {
		strbuf_addf(out, " (left out: its name does not begin with '%s')", s->prefix);
		return;
	}
	if (r < 0) {
		strbuf_addf(out, " (left out: its counters cannot be read: %s)", strerror(-r));
		return;
	}
	size_t before = s->count;
	add_mount(s, name);
	if (s->count == before) {
		strbuf_addstr(out, s->count == MOUNTS_MAX ? " (left out: too many are mounted)"
							  : " (left out: not the name of a mount)");
		return;
	}
	struct mount *m = &s->mounts[before];
	for (unsigned part = OSC; part < PARTS; part++)
		for (size_t i = 0; i < m->counts[part]; i++) {
			r = read_stats(s, &m->files[part][i], part);
			if (r == 0)
				continue;
			strbuf_addf(out, "%s%s: %s", begin, m->files[part][i].name, strerror(-r));
			begin = ", ";
		}
	if (*begin == ',')
		strbuf_addstr(out, ")");
}

static int open_lustre(const struct source_context *ctx, struct sample_set *set, void **state,
		       struct strbuf *why)
{
	const char *base = NULL;
	int r = find_base(ctx->root, &base, why);

	(void)set;
	if (r < 0)
		return r;
	struct lustre *s = xcalloc(1, sizeof(*s));
	*s = (struct lustre){
		.root = ctx->root, .base = base, .prefix = ctx->option, .text = STRBUF_INIT};
	*state = s;
	return 0;
}

static void describe(void *state, struct strbuf *out)
{
	struct lustre *s = state;
	_cleanup_name_list_ struct name_list l = {0};

	(void)name_list_read(&l, "", "%s%s/llite", s->root, s->base);
	for (size_t i = 0; i < l.count; i++) {
		strbuf_addf(out, "%s%s", i ? ", " : "", l.names[i]);
		report_left_out(s, l.names[i], out);
	}
	strbuf_addf(out, " in %s%s", s->root, s->base);
}

/* Reads the files of a part; returns how many could be read. */
static size_t refresh(struct lustre *s, struct mount *mount, enum part_of part)
{
	size_t count = 0;

	for (size_t i = 0; i < mount->counts[part]; i++) {
		struct stats_file *f = &mount->files[part][i];

		if (read_stats(s, f, part) == 0) {
			f->read = true;
			count++;
		}
	}
	return count;
}

/* A target that cannot be read this time keeps what it had: the sum must not fall. */
static void put_part(const struct mount *mount, enum part_of part, struct sample_set *set)
{
	for (unsigned m = 0; m < STATS; m++) {
		uint64_t total = 0;
		bool have = false;

		if (stat_rows[m].of != part)
			continue;
		for (size_t i = 0; i < mount->counts[part]; i++) {
			const struct stats_file *f = &mount->files[part][i];

			have |= f->seen[m] || (f->read && stat_rows[m].since == OLD);
			total += f->counts[m].total;
		}
		if (have)
			sys_put(set, m, total);
	}
}

static int read_lustre(void *state, struct sample_set *set)
{
	struct lustre *s = state;

	update_mounts(s, set);
	look_for_targets(s, set->time_ns);
	for (size_t i = 0; i < s->count; i++) {
		struct mount *m = &s->mounts[i];
		uint32_t e = sample_entity(set, ENTITY_FILESYSTEM, m->name);

		if (!set->entities[e].metadata) {
			sample_set_metadata(set, e, "fsname", m->fsname);
			describe_mount_point(s, m, set, e);
		}
		if (!refresh(s, m, LLITE))
			continue;
		sample_row(set, e);
		put_part(m, LLITE, set);
		for (unsigned part = OSC; part < PARTS; part++) {
			refresh(s, m, part);
			put_part(m, part, set);
		}
	}
	return set->row_count ? 0 : -ENODATA;
}

const struct source source_lustre = {
	.name = "lustre",
	.help = "Lustre client traffic and operations of each filesystem",
	.describe = describe,
	.remedy = "sudo mount -o remount,mode=0755 /sys/kernel/debug",
	.metrics = columns,
	.metric_count = STATS,
	.every = 1,
	.open = open_lustre,
	.read = read_lustre,
	.close = close_lustre,
};
