/* Jobs with the same id, and naming one of them; see query.h. */
#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "store/query.h"

#define CHOICES 5
#define TO_SECONDS 19 /* 2026-11-16T10:00:00 */
#define TO_MICROSECONDS 26

struct namesake {
	int64_t no;
	char *user, *cluster;
	struct strbuf start; /* local time with microseconds; empty: unknown */
	struct strbuf utc; /* the same in UTC: an hour of local time repeats when clocks go back */
};

struct namesakes {
	struct namesake *list;
	size_t count, cap;
};

static void drop_from(struct namesakes *n, size_t kept)
{
	for (size_t i = kept; i < n->count; i++) {
		free(n->list[i].user);
		free(n->list[i].cluster);
		strbuf_release(&n->list[i].start);
		strbuf_release(&n->list[i].utc);
	}
	n->count = kept;
}

static void release(struct namesakes *n)
{
	drop_from(n, 0);
	free(n->list);
}
#define _cleanup_namesakes_ _cleanup_(release)

/* The newest first. */
static int load(struct store *s, const char *jobid, struct namesakes *n)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s,
			    "SELECT no, cluster, username, start_us FROM job WHERE jobid = $1 "
			    "ORDER BY start_us DESC, no DESC",
			    db_str(jobid));
	int r;

	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1) {
		GROW(n->list, n->count, n->cap);
		struct namesake *one = &n->list[n->count++];

		*one = (struct namesake){.no = stmt_get_int(st, 0),
					 .cluster = xstrdup(stmt_get_str(st, 1)),
					 .user = xstrdup(stmt_get_str(st, 2)),
					 .start = STRBUF_INIT,
					 .utc = STRBUF_INIT};
		if (stmt_is_null(st, 3))
			continue;
		text_add_time(&one->start, stmt_get_int(st, 3), false);
		text_add_time(&one->utc, stmt_get_int(st, 3), true);
	}
	return r;
}

/* Adds enough of the local time to distinguish it, or the complete time in UTC; false: neither is
 * enough. */
static bool add_start(const struct namesakes *n, size_t i, struct strbuf *out)
{
	const struct namesake *own = &n->list[i];
	int enough = TO_SECONDS;

	if (!own->start.len || !own->utc.len)
		return false;
	for (size_t k = 0; k < n->count; k++) {
		const struct namesake *other = &n->list[k];

		if (k == i || !other->start.len ||
		    strncmp(other->start.buf, own->start.buf, TO_SECONDS) != 0)
			continue;
		if (!strcmp(other->utc.buf, own->utc.buf))
			return false;
		if (!strncmp(other->start.buf, own->start.buf, TO_MICROSECONDS))
			enough = 0;
		else if (enough)
			enough = TO_MICROSECONDS;
	}
	if (enough)
		strbuf_addf(out, "@%.*s", enough, own->start.buf);
	else
		strbuf_addf(out, "@%s", own->utc.buf);
	return true;
}

static void add_label(const struct namesakes *n, size_t i, const char *jobid, struct strbuf *out)
{
	text_add_printable(out, jobid, strlen(jobid));
	if (!add_start(n, i, out) && *n->list[i].cluster)
		strbuf_addf(out, "@%s", n->list[i].cluster);
}

static void tell(const struct namesakes *n, const char *jobid, struct strbuf *why)
{
	for (size_t i = 0; i < n->count && i < CHOICES; i++) {
		const struct namesake *one = &n->list[i];

		strbuf_addstr(why, i ? ", " : ": ");
		add_label(n, i, jobid, why);
		if (!*one->user && !*one->cluster)
			continue;
		strbuf_addstr(why, " (");
		text_add_printable(why, one->user, strlen(one->user));
		if (*one->cluster)
			strbuf_addf(why, "%son %s", *one->user ? " " : "", one->cluster);
		strbuf_addch(why, ')');
	}
	if (n->count > CHOICES)
		strbuf_addstr(why, ", ...");
}

/* Does the text after "@" mean this one? It is a cluster, or a prefix of the time, with a Z at its
 * end in UTC. */
static bool is_meant(const struct namesake *one, const char *what)
{
	_cleanup_strbuf_ struct strbuf time = STRBUF_INIT;

	if (!*what)
		return false;
	if (!strcmp(one->cluster, what))
		return true;
	strbuf_addstr(&time, what);
	if (time.len > 10 && time.buf[10] == ' ')
		time.buf[10] = 'T';
	if (time.buf[time.len - 1] == 'Z') {
		strbuf_cut(&time, time.len - 1);
		return time.len && one->utc.len && str_prefix(one->utc.buf, time.buf);
	}
	return one->start.len && str_prefix(one->start.buf, time.buf);
}

/* Drops those that are not meant. */
static void choose(struct namesakes *n, const char *what)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->count; i++) {
		struct namesake one = n->list[i];
		bool meant = is_meant(&one, what);

		n->list[i] = n->list[kept];
		n->list[kept] = one;
		kept += meant;
	}
	drop_from(n, kept);
}

int job_find_id(struct store *s, const char *name, int64_t *ret, struct strbuf *why)
{
	_cleanup_namesakes_ struct namesakes n = {0};
	const char *at = strrchr(name, '@');
	_cleanup_free_ char *id = NULL;
	int r = load(s, name, &n);

	if (r == 0 && !n.count && at) {
		id = xstrndup(name, (size_t)(at - name));
		r = load(s, id, &n);
		choose(&n, at + 1);
	}
	if (r < 0)
		return r;
	if (n.count == 1)
		*ret = n.list[0].no;
	if (n.count < 2)
		return n.count ? 0 : -ENOENT;
	strbuf_addf(why, "several jobs have the id '%s'; use ID@START or ID@CLUSTER",
		    id ? id : name);
	tell(&n, id ? id : name, why);
	return strbuf_fail(why, -EEXIST, "; `plimsoll list %s` shows them", id ? id : name);
}

bool job_tell_namesakes(struct store *s, const char *name, struct strbuf *why)
{
	_cleanup_namesakes_ struct namesakes n = {0};
	const char *at = strrchr(name, '@');

	if (!at)
		return false;
	_cleanup_free_ char *id = xstrndup(name, (size_t)(at - name));
	if (load(s, id, &n) < 0 || !n.count)
		return false;
	strbuf_addf(why, "there is no job '%s' in '%s', only", name, s->where);
	tell(&n, id, why);
	return true;
}

int job_label(struct store *s, int64_t job, const char *jobid, struct strbuf *out)
{
	_cleanup_namesakes_ struct namesakes n = {0};
	int r = load(s, jobid, &n);

	for (size_t i = 0; r == 0 && n.count > 1 && i < n.count; i++)
		if (n.list[i].no == job) {
			add_label(&n, i, jobid, out);
			return 0;
		}
	strbuf_addstr(out, jobid);
	return r;
}
