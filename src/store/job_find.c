/* Finding jobs by a word; see query.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/text/text.h"
#include "jobs/job_directory.h"
#include "jobs/metadata_file.h"
#include "store/query.h"

static int find_by(struct store *s, const char *sql, const char *name, int64_t *ret)
{
	_cleanup_stmt_ struct stmt *st =
		name ? store_query(s, sql, db_str(name)) : stmt_prepare(s, sql);
	int found = 0, r;

	if (!st)
		return -EIO;
	while (found < 2 && (r = stmt_step(st)) == 1) {
		*ret = stmt_get_int(st, 0);
		found++;
	}
	return found == 2 ? -EEXIST : found ? 0 : r < 0 ? r : -ENOENT;
}

/* "4_1", a task of an array, by the metadata of the batch system; the newest one. */
static int find_array_task(struct store *s, const char *name, int64_t *ret)
{
	const char *task = strchr(name, '_');
	size_t digits = strspn(name, "0123456789");

	if (!task || !digits || name + digits != task || !task[1] ||
	    task[1 + strspn(task + 1, "0123456789")])
		return -ENOENT;
	_cleanup_free_ char *want = xasprintf("\"array_job\":\"%.*s\",\"array_task\":\"%s\"",
					      (int)digits, name, task + 1);
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT job, json FROM job_meta ORDER BY job DESC");
	int r = st ? 1 : -EIO;
	while (r > 0 && (r = stmt_step(st)) == 1) {
		size_t n;
		const char *text = stmt_get_text(st, 1, &n);

		if (text && memmem(text, n, want, strlen(want))) {
			*ret = stmt_get_int(st, 0);
			return 0;
		}
	}
	return r < 0 ? r : -ENOENT;
}

/* How many jobs are listed if a word is ambiguous. */
#define CHOICES 5

static void tell_choices(struct store *s, const char *sql, const char *name, struct strbuf *why)
{
	_cleanup_stmt_ struct stmt *st = store_query(s, sql, db_str(name));
	int n = 0;

	if (!st)
		return;
	while (stmt_step(st) == 1 && ++n <= CHOICES) {
		strbuf_addstr(why, n > 1 ? ", " : ": ");
		text_add_printable(why, stmt_get_str(st, 1), strlen(stmt_get_str(st, 1)));
		if (!stmt_is_null(st, 2)) {
			strbuf_addstr(why, " (");
			text_add_time(why, stmt_get_int(st, 2), true);
			strbuf_addch(why, ')');
		}
	}
	if (n > CHOICES)
		strbuf_addstr(why, ", ...");
}

#define WITH_BEGINNING "FROM job j WHERE substr(j.jobid, 1, length($1)) = $1 "
#define WITH_NAME "FROM job j WHERE j.jobname = $1 "
#define CHOICE "SELECT j.no, j.jobid, j.start_us "
#define NEWEST "ORDER BY j.start_us DESC, j.no DESC LIMIT 6"

static int open_below(const char *dir, const char *name)
{
	_cleanup_free_ char *at = xasprintf("%s/%s", dir, name);

	return open(at, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* Opens the metadata at a path: in a directory, or an archive by its name. */
static int open_metadata(const char *path)
{
	struct stat st;
	int fd = -1;

	if (!*path || stat(path, &st) < 0)
		return -1;
	for (const struct job_layout *const *l = job_layouts; *l && S_ISDIR(st.st_mode); l++) {
		if (fd < 0)
			fd = open_below(path, (*l)->metadata);
		if (fd < 0 && (*l)->metadata_running)
			fd = open_below(path, (*l)->metadata_running);
	}
	if (S_ISREG(st.st_mode) && (strstr(path, ".tar") || str_suffix(path, ".tgz")))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd;
}

/* By a directory or an archive, with the id from its metadata. */
static int find_at(struct store *s, const char *path, int64_t *ret)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_close_ int fd = open_metadata(path);
	_cleanup_value_ struct value *meta = NULL;

	if (s->narrow || fd < 0 || meta_from_file(fd, &meta, &why) < 0)
		return -ENOENT;
	const char *id = metadata_text(meta, KEY_ID);
	return id ? find_by(s, "SELECT j.no FROM job j WHERE j.jobid = $1", id, ret) : -ENOENT;
}

/* Explains why there is no such job: it may not be stored yet. */
static void tell_none(const struct store *s, const char *name, struct strbuf *why)
{
	_cleanup_close_ int fd = s->narrow ? -1 : open_metadata(name);
	_cleanup_free_ char *lies =
		s->config && !s->narrow ? job_directory_find(s->config, name) : NULL;

	if (!strcmp(name, "last"))
		strbuf_addf(why, "there is no job in '%s' yet; `plimsoll run` records one",
			    s->where);
	else if (lies && fd < 0)
		strbuf_addf(why,
			    "job '%s' is not in the store '%s': it is in '%s' and not yet "
			    "submitted; run `plimsoll submit %s`",
			    name, s->where, lies, lies);
	else if (fd >= 0)
		strbuf_addf(
			why,
			"'%s' is not in the store '%s', which this command reads; run `plimsoll "
			"submit %s` first",
			name, s->where, name);
	else
		strbuf_addf(why, "there is no job '%s' in '%s'; %s", name, s->where,
			    *name == '-' ? "options stand before `--`"
					 : "`plimsoll list` shows them");
}

/* Several jobs have the name, or an id with this prefix. */
static void tell_several(struct store *s, const char *name, bool named, struct strbuf *why)
{
	strbuf_addf(why,
		    named ? "several jobs have the name '%s'; use the id of one"
			  : "several jobs begin with '%s'",
		    name);
	tell_choices(s, named ? CHOICE WITH_NAME NEWEST : CHOICE WITH_BEGINNING NEWEST, name, why);
	strbuf_addf(why, "; `plimsoll list --%s '%s%s'` shows them", named ? "name" : "id", name,
		    named ? "" : "*");
}

/* By id, "last", or name. -EEXIST: several have the id, explained in *why, or the name, not
 * explained. */
static int find_whole(struct store *s, const char *name, int64_t *ret, struct strbuf *why)
{
	int r = job_find_id(s, name, ret, why);

	if (r == -ENOENT && !strcmp(name, "last"))
		return find_by(s,
			       "SELECT j.no FROM job j ORDER BY j.ingested_us DESC, j.no DESC "
			       "LIMIT 1",
			       NULL, ret);
	if (r == -ENOENT && *name)
		return find_by(s, "SELECT j.no " WITH_NAME "ORDER BY j.no LIMIT 2", name, ret);
	return r;
}

int job_find(struct store *s, const char *name, int64_t *ret, struct strbuf *why)
{
	int r = find_whole(s, name, ret, why);
	bool named = r == -EEXIST;

	if (named && why->len)
		return r;
	if (r == -ENOENT && *name && strcmp(name, "last") != 0) {
		r = find_array_task(s, name, ret);
		if (r == -ENOENT)
			r = find_by(s, "SELECT j.no " WITH_BEGINNING "ORDER BY j.no LIMIT 2", name,
				    ret);
		if (r == -ENOENT)
			r = find_at(s, name, ret);
	}
	if (r == -ENOENT && job_tell_namesakes(s, name, why))
		return r;
	if (r == -ENOENT)
		tell_none(s, name, why);
	else if (r == -EEXIST)
		tell_several(s, name, named, why);
	else if (r < 0)
		strbuf_addstr(why, store_error(s));
	return r;
}

char *job_id_of(struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT j.jobid FROM job j WHERE j.no = $1", db_int(job));

	return st && stmt_step(st) == 1 ? xstrdup(stmt_get_str(st, 0)) : NULL;
}

int job_find_whole(struct store *s, const char *name, int64_t *ret, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf other = STRBUF_INIT;
	int r = find_whole(s, name, ret, why);
	int64_t job;

	if (r == -ENOENT && job_find(s, name, &job, &other) == 0) {
		_cleanup_free_ char *id = job_id_of(s, job);

		strbuf_addf(why,
			    "there is no job '%s' in '%s'; this command needs the complete id, ",
			    name, s->where);
		if (id)
			text_add_printable(why, id, strlen(id));
	} else if (r == -ENOENT) {
		strbuf_addstr(why, other.buf);
	} else if (r == -EEXIST && !why->len) {
		tell_several(s, name, true, why);
	} else if (r < 0 && !why->len) {
		strbuf_addstr(why, store_error(s));
	}
	return r;
}

static void add_id(struct job_ids *l, const char *id)
{
	GROW(l->v, l->count, l->cap);
	l->v[l->count++] = xstrdup(id);
}

/* Jobs by name, or one found in another way. */
static int add_others(struct job_ids *l, struct store *s, const char *word, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	_cleanup_stmt_ struct stmt *st = store_query(s, "SELECT j.jobid " WITH_NAME, db_str(word));
	size_t before = l->count;
	int64_t job;
	int r = st ? 0 : -EIO;

	while (st && (r = stmt_step(st)) == 1)
		add_id(l, stmt_get_str(st, 0));
	if (r < 0 || l->count > before)
		return r;
	r = job_find(s, word, &job, &reason);
	_cleanup_free_ char *id = r == 0 ? job_id_of(s, job) : NULL;
	if (id)
		add_id(l, id);
	if (!id && !why->len)
		strbuf_addstr(why, reason.buf);
	return id ? 0 : r == -EEXIST || r == -ENOENT ? -ENOENT : -EIO;
}

int job_ids_find(struct job_ids *l, struct store *s, char *const *words, size_t count,
		 struct strbuf *why)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT j.jobid FROM job j WHERE j.jobid = $1");
	bool missing = false;
	int r = st ? 0 : -EIO;

	for (size_t i = 0; i < count && r >= 0; i++) {
		stmt_str(st, 1, words[i]);
		r = stmt_step(st);
		if (r == 1)
			add_id(l, words[i]);
		stmt_reset(st);
		if (r == 0)
			r = add_others(l, s, words[i], why);
		missing = missing || r == -ENOENT;
		r = r == -ENOENT ? 0 : r;
	}
	return r < 0 ? r : missing ? -ENOENT : 0;
}

void job_ids_release(struct job_ids *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->v[i]);
	free(l->v);
}

const char *job_missing(struct store *s, char *const *ids, size_t count, int *ret_error)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT j.no FROM job j WHERE j.jobid = $1");
	int r = st ? 1 : -EIO;

	*ret_error = 0;
	for (size_t i = 0; i < count && r > 0; i++) {
		stmt_str(st, 1, ids[i]);
		r = stmt_step(st);
		stmt_reset(st);
		if (r == 0)
			return ids[i];
	}
	*ret_error = r < 0 ? r : 0;
	return NULL;
}
