/*
 * Mounted GPFS filesystems, from mmpmon: one line per filesystem, with pairs of key and value.
 * There is no file to read, so a command runs at each reading, in its own thread. mmpmon serves
 * root only.
 */
#include "sources/filesystem/gpfs.h"

#include <errno.h>
#include <string.h>

#include "core/system/spawn.h"
#include "sources/source.h"
#include "sources/sysfile.h"

#define MMPMON "/usr/lpp/mmfs/bin/mmpmon"
#define TIMEOUT_MS 5000
#define OUTPUT_MAX ((size_t)256 << 10)
#define FILESYSTEMS_MAX 256

static const struct sample_metric columns[GPFS_COUNTS] = {METRICS_OF_GPFS(METRIC_COLUMN)};

struct filesystem {
	char *name; /* "cluster:filesystem" */
	struct unwrap counts[GPFS_COUNTS];
	bool here;
};

struct gpfs {
	char *program;
	pid_t stuck;
	struct filesystem list[FILESYSTEMS_MAX];
	size_t count;
};

/* ---- parsing ---- */

static void copy_word(char *to, size_t room, const struct words *word)
{
	size_t size = (size_t)(word->end - word->p);

	size = size < room - 1 ? size : room - 1;
	memcpy(to, word->p, size);
	to[size] = 0;
	sys_clean(to);
}

static void take_pair(struct gpfs_stat *st, const struct words *key, struct words *value)
{
#define KEY(symbol, column, key) [symbol] = (key),
	static const char *const keys[GPFS_COUNTS] = {METRICS_OF_GPFS(KEY)};
	uint64_t number;

	if (word_is(key, "_cl_"))
		copy_word(st->cluster, sizeof(st->cluster), value);
	else if (word_is(key, "_fs_"))
		copy_word(st->filesystem, sizeof(st->filesystem), value);
	else if (word_is(key, "_d_"))
		copy_word(st->disks, sizeof(st->disks), value);
	if (!number_next(value, &number))
		return;
	if (word_is(key, "_rc_"))
		st->rc = number;
	for (unsigned i = 0; i < GPFS_COUNTS; i++)
		if (word_is(key, keys[i])) {
			st->counts[i] = number;
			st->present |= 1u << i;
		}
}

bool gpfs_next_stat(const char **p, const char *end, struct gpfs_stat *ret)
{
	struct words line, key, value;

	while (sys_line(p, end, &line)) {
		if (line.end > line.p && line.end[-1] == '\r')
			line.end--;
		if (!word_next(&line, &key) || !word_is(&key, "_fs_io_s_"))
			continue;
		*ret = (struct gpfs_stat){.rc = UINT64_MAX};
		while (word_next(&line, &key) && word_next(&line, &value))
			take_pair(ret, &key, &value);
		return true;
	}
	return false;
}

/* ---- the source ---- */

/* The program, or why it cannot be run. A recorded tree is data: its program runs only on request.
 */
static int find_program(const struct source_context *ctx, char **ret, struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("%s" MMPMON, ctx->root);
	bool run = ctx->option && !strcmp(ctx->option, "run");

	if (access(path, F_OK) < 0)
		return strbuf_fail(why, -ENOENT, "no GPFS here: '%s' does not exist", path);
	if (access(path, X_OK) < 0)
		return strbuf_fail(why, -EACCES, "cannot run '%s': %s", path, strerror(errno));
	if (*ctx->root && !run)
		return strbuf_fail(
			why, -EPERM,
			"'%s' belongs to a recorded tree and is not run; gpfs=run runs it", path);
	if (!*ctx->root && !run && geteuid() != 0)
		return strbuf_fail(why, -EPERM, "'%s' serves root only", path);
	*ret = xstrdup(path);
	return 0;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_free_ char *program = NULL;
	int r = find_program(ctx, &program, &report->detail);

	if (r == 0)
		strbuf_addf(&report->detail, "measured by '%s -p'", program);
	else if (r == -EACCES || (r == -EPERM && !*ctx->root))
		report->remedy = "sudo plimsoll monitor";
	return r;
}

static int open_gpfs(const struct source_context *ctx, struct sample_set *set, void **state,
		     struct strbuf *why)
{
	char *program = NULL;
	int r = find_program(ctx, &program, why);

	(void)set;
	if (r < 0)
		return r;
	struct gpfs *s = xcalloc(1, sizeof(*s));
	s->program = program;
	*state = s;
	return 0;
}

static struct filesystem *find_filesystem(struct gpfs *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->list[i].name, name))
			return &s->list[i];
	if (s->count == FILESYSTEMS_MAX)
		return NULL;
	s->list[s->count] = (struct filesystem){.name = xstrdup(name)};
	return &s->list[s->count++];
}

static void put_stat(struct gpfs *s, const struct gpfs_stat *st, struct sample_set *set)
{
	_cleanup_free_ char *name =
		xasprintf("%s%s%s", st->cluster, *st->cluster ? ":" : "", st->filesystem);
	struct filesystem *f = find_filesystem(s, name);

	if (!f || f->here) /* too many, or the same line twice */
		return;
	f->here = true;
	uint32_t e = sample_entity(set, ENTITY_FILESYSTEM, name);
	sample_set_metadata(set, e, "filesystem", st->filesystem);
	sample_set_metadata(set, e, "cluster", *st->cluster ? st->cluster : NULL);
	sample_set_metadata(set, e, "disks", *st->disks ? st->disks : NULL);
	sample_row(set, e);
	for (unsigned i = 0; i < GPFS_COUNTS; i++)
		if (st->present >> i & 1)
			sys_put(set, i, sys_grown(&f->counts[i], st->counts[i]));
}

static int read_gpfs(void *state, struct sample_set *set)
{
	struct gpfs *s = state;
	const char *argv[] = {"mmpmon", "-p", NULL};
	struct spawn c = {s->program, argv, "fs_io_s\n", TIMEOUT_MS, OUTPUT_MAX};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
	struct gpfs_stat st;

	int r = spawn_run(&c, &s->stuck, &out);
	if (r != 0) {
		spawn_explain(&c, r, &out, &why);
		sample_absent(set, SAMPLE_METRICS_MAX, "%s", why.buf);
		return r < 0 ? r : -EIO;
	}
	for (size_t i = 0; i < s->count; i++)
		s->list[i].here = false;
	for (const char *p = out.buf, *end = p + out.len; gpfs_next_stat(&p, end, &st);)
		if (st.rc == 0 && *st.filesystem && st.present)
			put_stat(s, &st, set);
	if (set->row_count)
		return 0;
	sample_absent(set, SAMPLE_METRICS_MAX, "'%s' reports no mounted filesystem", s->program);
	return -ENODATA;
}

static void close_gpfs(void *state)
{
	struct gpfs *s = state;

	for (size_t i = 0; i < s->count; i++)
		free(s->list[i].name);
	free(s->program);
	free(s);
}

const struct source source_gpfs = {
	.name = "gpfs",
	.help = "GPFS client traffic of each filesystem",
	.probe = probe,
	.metrics = columns,
	.metric_count = GPFS_COUNTS,
	.every = 2,
	.slow = true,
	.open = open_gpfs,
	.read = read_gpfs,
	.close = close_gpfs,
};
