/*
 * Mounted GPFS file systems, as mmpmon tells them: one line a file system, words in pairs of key
 * and value. There is no file to read, so a command runs at each reading, in a thread of its own.
 * mmpmon answers root only.
 */
#include "sources/filesystem/gpfs.h"

#include <errno.h>
#include <string.h>

#include "core/system/procparse.h"
#include "core/system/spawn.h"
#include "sources/source.h"
#include "sources/sysfile.h"

#define MMPMON "/usr/lpp/mmfs/bin/mmpmon"
#define TIMEOUT_MS 5000
#define OUTPUT_MAX ((size_t)256 << 10)
#define FILESYSTEMS_MAX 256

static const struct sample_metric metrics_of_gpfs[GPFS_COUNTS] = {
	[GPFS_BYTES_READ] = {"read_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "bytes read"},
	[GPFS_BYTES_WRITTEN] = {"write_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0,
				"bytes written"},
	[GPFS_OPENS] = {"open", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "files opened"},
	[GPFS_CLOSES] = {"close", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "files closed"},
	[GPFS_READS] = {"reads", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "calls that read"},
	[GPFS_WRITES] = {"writes", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "calls that wrote"},
	[GPFS_READDIRS] = {"readdir", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "directories read"},
	[GPFS_INODE_UPDATES] = {"inode_updates", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
				"inodes written"},
};

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

/* ---- parsing
 * -------------------------------------------------------------------------------------
 */

/* The next word of a line; false at its end. */
static bool next_word(const char **p, const char *end, const char **word, size_t *size)
{
	while (*p < end && (**p == ' ' || **p == '\t' || **p == '\r'))
		(*p)++;
	*word = *p;
	while (*p < end && **p != ' ' && **p != '\t' && **p != '\r')
		(*p)++;
	*size = (size_t)(*p - *word);
	return *size > 0;
}

static bool word_number(const char *word, size_t size, uint64_t *ret)
{
	char copy[24];

	if (size >= sizeof(copy))
		return false;
	memcpy(copy, word, size);
	copy[size] = 0;
	return parse_u64(copy, ret) == 0;
}

static void copy_word(char *to, size_t room, const char *word, size_t size)
{
	size = size < room - 1 ? size : room - 1;
	memcpy(to, word, size);
	to[size] = 0;
	sys_clean(to);
}

static void take_pair(struct gpfs_stat *st, const char *key, size_t key_size, const char *value,
		      size_t size)
{
	static const char *const keys[GPFS_COUNTS] = {"_br_",  "_bw_", "_oc_",  "_cc_",
						      "_rdc_", "_wc_", "_dir_", "_iu_"};

	if (proc_name_is(key, key_size, "_cl_"))
		copy_word(st->cluster, sizeof(st->cluster), value, size);
	else if (proc_name_is(key, key_size, "_fs_"))
		copy_word(st->filesystem, sizeof(st->filesystem), value, size);
	else if (proc_name_is(key, key_size, "_d_"))
		copy_word(st->disks, sizeof(st->disks), value, size);
	else if (proc_name_is(key, key_size, "_rc_") && !word_number(value, size, &st->rc))
		st->rc = UINT64_MAX;
	for (unsigned i = 0; i < GPFS_COUNTS; i++)
		if (proc_name_is(key, key_size, keys[i]) &&
		    word_number(value, size, &st->counts[i]))
			st->present |= 1u << i;
}

static bool parse_line(const char *p, const char *end, struct gpfs_stat *ret)
{
	const char *key, *value;
	size_t key_size, size;

	if (!next_word(&p, end, &key, &key_size) || !proc_name_is(key, key_size, "_fs_io_s_"))
		return false;
	*ret = (struct gpfs_stat){.rc = UINT64_MAX};
	while (next_word(&p, end, &key, &key_size) && next_word(&p, end, &value, &size))
		take_pair(ret, key, key_size, value, size);
	return true;
}

bool gpfs_next_stat(const char **p, const char *end, struct gpfs_stat *ret)
{
	while (*p < end) {
		const char *line = *p, *newline = memchr(line, '\n', (size_t)(end - line));
		const char *stop = newline ? newline : end;

		*p = newline ? newline + 1 : end;
		if (parse_line(line, stop, ret))
			return true;
	}
	return false;
}

/* ---- the source
 * ----------------------------------------------------------------------------------
 */

/* The program, or why it cannot be run. What lies in a recorded tree is data: it runs only when
 * that was asked for. */
static int find_program(const struct source_context *ctx, char **ret, struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("%s" MMPMON, ctx->root);
	bool run = ctx->option && !strcmp(ctx->option, "run");

	if (access(path, F_OK) < 0) {
		strbuf_addf(why, "no GPFS here: there is no '%s'", path);
		return -ENOENT;
	}
	if (access(path, X_OK) < 0) {
		strbuf_addf(why, "cannot run '%s': %s", path, strerror(errno));
		return -EACCES;
	}
	if (*ctx->root && !run) {
		strbuf_addf(why, "'%s' is a part of a recorded tree and not run; gpfs=run does",
			    path);
		return -EPERM;
	}
	if (!*ctx->root && !run && geteuid() != 0) {
		strbuf_addf(why, "'%s' answers root only", path);
		return -EPERM;
	}
	*ret = xstrdup(path);
	return 0;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_free_ char *program = NULL;
	int r = find_program(ctx, &program, &report->detail);

	if (r == 0)
		strbuf_addf(&report->detail, "asked by '%s -p'", program);
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
	sample_fact(set, e, "filesystem", st->filesystem);
	sample_fact(set, e, "cluster", *st->cluster ? st->cluster : NULL);
	sample_fact(set, e, "disks", *st->disks ? st->disks : NULL);
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
	sample_absent(set, SAMPLE_METRICS_MAX, "'%s' tells of no mounted file system", s->program);
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
	.metrics = metrics_of_gpfs,
	.metric_count = GPFS_COUNTS,
	.every = 2,
	.slow = true,
	.open = open_gpfs,
	.read = read_gpfs,
	.close = close_gpfs,
};
