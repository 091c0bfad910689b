/*
 * Sinks csv and jsonl: every row as a line of one file, once. A commit appends lines, syncs them,
 * and then notes the size of the file and the position of the log in FILE.position. The note is
 * beside the file, so that restoring the log from a backup does not bring an old note along. What
 * follows the noted size is from an unfinished commit and is cut off. If the file was moved away or
 * truncated (logrotate), or on HUP, a new one is begun.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/log.h"
#include "sinks/sink_lines.h"

#define NOTE ".position"
#define HELD_MAX ((size_t)4 << 20)

/* The file at the last commit. */
struct note {
	uint64_t position; /* the last entry in it; 0: none */
	uint64_t size, inode, device;
	uint64_t log; /* id of the log that the position belongs to */
};

struct lines {
	char *path, *note_name;
	bool csv;
	int fd, dir; /* dir: where the file is */
	uint64_t log;
	struct note note;
	struct strbuf out; /* lines not yet committed */
	uint64_t have;     /* the last entry in it */
};

/* ---- the file and its note ------------------------------------------------------------------ */

static void shut(struct lines *l)
{
	close_fd(&l->fd);
	l->fd = -1;
}

/* Opens the directory of the file. */
static int open_directory(struct lines *l, struct strbuf *why)
{
	const char *name = path_base(l->path);
	_cleanup_free_ char *dir =
		name == l->path ? xstrdup(".") : xstrndup(l->path, (size_t)(name - l->path));
	int r = fs_make_parents(l->path, 0755, why);

	if (r == 0) {
		close_fd(&l->dir);
		r = l->dir = fs_open_named(dir, false, why);
	}
	return r < 0 ? r : 0;
}

static int read_note(struct lines *l, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct note n;
	int r = fs_read(l->dir, l->note_name, 256, &text);

	if (r == -ENOENT)
		return 0;
	if (r == 0 &&
	    sscanf(text.buf,
		   "position %" SCNu64 " size %" SCNu64 " file %" SCNu64 ":%" SCNu64 " of %" SCNx64,
		   &n.position, &n.size, &n.device, &n.inode, &n.log) == 5) {
		if (n.log != l->log) /* numbers of another log */
			n.position = 0;
		l->note = n;
		return 0;
	}
	strbuf_addf(why, "cannot read the note '%s" NOTE "': %s", l->path,
		    strerror(r < 0 ? -r : EBADMSG));
	return r < 0 ? r : -EINVAL;
}

static int write_note(struct lines *l, const struct note *n, struct strbuf *why)
{
	char text[160];
	int size = snprintf(text, sizeof(text),
			    "position %" PRIu64 " size %" PRIu64 " file %" PRIu64 ":%" PRIu64
			    " of %" PRIx64 "\n",
			    n->position, n->size, n->device, n->inode, n->log);
	int r = fs_replace_durable(l->dir, l->note_name, text, (size_t)size, 0600);

	if (r < 0)
		strbuf_addf(why, "cannot write the note '%s" NOTE "': %s", l->path, strerror(-r));
	else
		l->note = *n;
	return r;
}

/* Continues after the last commit; a file that others replaced or truncated is left as it is. */
static int take_up(struct lines *l, struct strbuf *why)
{
	struct note n = l->note;
	struct stat st;
	int r = fstat(l->fd, &st) < 0 ? -errno : 0;

	if (r == 0 && !S_ISREG(st.st_mode))
		return strbuf_fail(why, -EINVAL, "'%s' is not a regular file", l->path);
	bool same = n.inode == st.st_ino && n.device == st.st_dev;
	if (r == 0 && same && n.size < (uint64_t)st.st_size)
		r = ftruncate(l->fd, (off_t)n.size) < 0 ? -errno : 0;
	else
		n.size = (uint64_t)st.st_size;
	n.inode = st.st_ino;
	n.device = st.st_dev;
	n.log = l->log;
	if (r < 0)
		strbuf_addf(why, "cannot continue '%s': %s", l->path, strerror(-r));
	return r < 0 ? r : write_note(l, &n, why);
}

static int open_file(struct lines *l, struct strbuf *why)
{
	int r = open_directory(l, why);

	if (r < 0)
		return r;
	l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0640);
	if (l->fd < 0)
		return strbuf_fail(why, -errno, "cannot open '%s': %s", l->path, strerror(errno));
	if (flock(l->fd, LOCK_EX | LOCK_NB) < 0)
		r = strbuf_fail(why, -EAGAIN, "another process writes to '%s'", l->path);
	if (r == 0)
		r = fs_sync_parent(l->path);
	if (r == 0)
		r = take_up(l, why);
	if (r < 0)
		shut(l);
	return r;
}

static bool is_gone(const struct lines *l)
{
	struct stat st;

	return stat(l->path, &st) < 0 || st.st_ino != l->note.inode || st.st_dev != l->note.device;
}

/* Uncommitted lines are in memory, and go to the file that has the path now. It was open before, so
 * any error may pass. */
static int ready(struct lines *l, struct strbuf *why)
{
	if (l->fd >= 0 && is_gone(l))
		shut(l);
	return l->fd >= 0 || open_file(l, why) == 0 ? 0 : -EAGAIN;
}

/* ---- the sink ------------------------------------------------------------------------------- */

static void close_lines(void *state)
{
	struct lines *l = state;

	/* the rest is of a failed commit */
	if (l->fd >= 0 && ftruncate(l->fd, (off_t)l->note.size) < 0)
		log_debug("cannot truncate '%s': %s", l->path, strerror(errno));
	shut(l);
	close_fd(&l->dir);
	strbuf_release(&l->out);
	free(l->path);
	free(l->note_name);
	free(l);
}

static int open_lines(const struct sink_options *o, bool csv, void **state, uint64_t *position,
		      struct strbuf *why)
{
	if (strlen(o->target) > PATH_MAX - 64)
		return strbuf_fail(why, -EINVAL, "the path of the file is too long");
	struct lines *l = xcalloc(1, sizeof(*l));
	*l = (struct lines){.path = xstrdup(o->target),
			    .note_name = xasprintf("%s" NOTE, path_base(o->target)),
			    .csv = csv,
			    .fd = -1,
			    .dir = -1,
			    .log = o->log,
			    .out = STRBUF_INIT};
	int r = open_directory(l, why);
	if (r == 0)
		r = read_note(l, why);
	if (r == 0)
		r = open_file(l, why);
	l->have = l->note.position;
	*position = l->have ? l->have + 1 : 0;
	return sink_opened(l, r, close_lines, state);
}

static int open_csv(const struct sink_options *o, void **state, uint64_t *position,
		    struct strbuf *why)
{
	return open_lines(o, true, state, position, why);
}

static int open_jsonl(const struct sink_options *o, void **state, uint64_t *position,
		      struct strbuf *why)
{
	return open_lines(o, false, state, position, why);
}

static int add_batch(void *state, uint64_t number, const struct batch_name *name PL_UNUSED,
		     struct sample_file *f, struct strbuf *why PL_UNUSED)
{
	struct lines *l = state;
	int event;

	if (number <= l->have) /* delivered again */
		return l->out.len >= HELD_MAX;
	while ((event = sample_file_next(f)) > 0)
		for (size_t i = 0; event == SAMPLE_READING && i < f->reading.row_count; i++)
			if (l->csv)
				sink_csv_row(&l->out, f, i, true);
			else
				sink_json_row(&l->out, f, i);
	l->have = number;
	return l->out.len >= HELD_MAX;
}

/* Appends all buffered lines at the noted size, with a header in a new file. */
static int write_lines(struct lines *l, uint64_t *ret_size, struct strbuf *why)
{
	const char *head = l->csv && !l->note.size ? SINK_CSV_HEAD : "";
	size_t n = strlen(head);
	off_t at = (off_t)l->note.size;
	int r = n ? fs_write_once(l->fd, head, n, at) : 0;

	if (r == 0 && l->out.len)
		r = fs_write_once(l->fd, l->out.buf, l->out.len, at + (off_t)n);
	if (r == 0)
		r = fs_sync(l->fd);
	if (r < 0)
		strbuf_addf(why, "cannot write to '%s': %s", l->path, strerror(-r));
	*ret_size = l->note.size + n + l->out.len;
	return r < 0 ? -EAGAIN : 0;
}

static int commit(void *state, uint64_t number, struct strbuf *why)
{
	struct lines *l = state;
	int r = ready(l, why);
	struct note n = l->note;

	n.position = l->have > number ? l->have : number;
	if (r == 0)
		r = write_lines(l, &n.size, why);
	/* if the file was moved away meanwhile, the lines are in it, and the note is about it */
	if (r == 0 && write_note(l, &n, why) < 0)
		r = -EAGAIN;
	if (r < 0)
		return r;
	l->have = n.position;
	strbuf_reset(&l->out);
	return 0;
}

static int number_again(void *state, uint64_t next, struct strbuf *why)
{
	struct lines *l = state;
	struct note n = l->note;

	n.position = next - 1;
	if (write_note(l, &n, why) < 0)
		return -EAGAIN;
	strbuf_reset(&l->out);
	l->have = n.position;
	return 0;
}

static int reopen(void *state, struct strbuf *why)
{
	struct lines *l = state;
	int r = l->out.len ? commit(l, l->have, why) : 0;

	if (r == 0)
		shut(l);
	return r < 0 ? r : ready(l, why);
}

const struct sink sink_csv = {
	.name = "csv",
	.target = "FILE",
	.help = "a CSV file with one line per row, as stdout:csv prints",
	.open = open_csv,
	.batch = add_batch,
	.commit = commit,
	.number_again = number_again,
	.reopen = reopen,
	.close = close_lines,
};

const struct sink sink_jsonl = {
	.name = "jsonl",
	.target = "FILE",
	.help = "a file with one JSON line per row, as stdout:jsonl prints",
	.open = open_jsonl,
	.batch = add_batch,
	.commit = commit,
	.number_again = number_again,
	.reopen = reopen,
	.close = close_lines,
};
