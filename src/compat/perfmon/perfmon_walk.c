/* See perfmon_walk.h. */
#include "compat/perfmon/perfmon_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

static int walk_array(struct perfmon_walk *w, struct json_reader *j, void *column,
		      struct strbuf *why)
{
	int t, e = 0;

	while (e == 0 && (t = json_reader_next(j, why)) != JSON_ARRAY_END) {
		if (t < 0)
			return t;
		w->value(w->user, column, j, (enum json_token)t);
		e = json_reader_skip(j, (enum json_token)t, why);
	}
	return e;
}

/* The members of a host (group NULL), or of a group. */
static int walk_members(struct perfmon_walk *w, struct json_reader *j, const char *group,
			struct strbuf *why)
{
	int t, e = 0;

	while (e == 0 && (t = json_reader_next(j, why)) != JSON_OBJECT_END) {
		if (t < 0)
			return t;
		_cleanup_free_ char *key = xstrdup(j->text.buf);
		/* the processes of the job */
		bool words =
			!group && (!strcmp(key, "child_proc_md") || !strcmp(key, "parent_proc_md"));

		t = json_reader_next(j, why);
		void *column = t == JSON_ARRAY && !words ? w->column(w->user, group, key) : NULL;
		if (t < 0)
			e = t;
		else if (column)
			e = walk_array(w, j, column, why);
		else if (t == JSON_OBJECT && !group && !words)
			e = walk_members(w, j, key, why);
		else
			e = json_reader_skip(j, (enum json_token)t, why);
	}
	return e;
}

static int walk_file(struct perfmon_walk *w, struct json_reader *j, struct strbuf *why)
{
	int t = json_reader_next(j, why), e = 0;

	if (t >= 0 && t != JSON_OBJECT) {
		strbuf_addf(why, "line %u: not a JSON object", j->line);
		return -EBADMSG;
	}
	while (t >= 0 && e == 0 && (t = json_reader_next(j, why)) == JSON_KEY) {
		_cleanup_free_ char *key = xstrdup(j->text.buf);

		t = json_reader_next(j, why);
		if (t == JSON_NUMBER && w->ret_period_s && !strcmp(key, "sampling_frequency")) {
			*w->ret_period_s = j->real;
		} else if (t == JSON_OBJECT) {
			w->begin(w->user, key);
			e = walk_members(w, j, NULL, why);
			e = e < 0 ? e : w->end(w->user, key);
		} else if (t >= 0) {
			e = json_reader_skip(j, (enum json_token)t, why);
		}
	}
	if (t >= 0 && e == 0)
		t = json_reader_next(j, why); /* nothing may follow */
	return t < 0 ? t : e;
}

int perfmon_walk(struct perfmon_walk *w, int dir, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	_cleanup_close_ int fd = openat(dir, perfmon_file_names[w->file],
					O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int r = fd < 0 ? -errno : 0;
	struct json_reader j;
	struct stat st;

	if (r == 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)))
		r = -EINVAL;
	if (r == 0) {
		json_reader_init(&j, fd);
		r = walk_file(w, &j, &reason);
		json_reader_release(&j);
	}
	if (r < 0 && r != -ENOENT)
		strbuf_addf(why, "'%s': %s", perfmon_file_names[w->file],
			    reason.len ? reason.buf : strerror(-r));
	return r;
}
