/* The store as workers open it, and how a change of it is noticed without opening it. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "core/hash_map.h"
#include "web/server.h"

#define WAIT_MS 5000
/* Files change their time with the ticks of the kernel, so two changes shortly after each other may
 * look like one. */
#define SETTLED_NS ((int64_t)40000000)
#define SECOND_NS 1000000000

static bool add_file(const char *path, bool needed, uint64_t *hash, int64_t now_ns)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return !needed;
	int64_t changed = (int64_t)st.st_mtim.tv_sec * SECOND_NS + st.st_mtim.tv_nsec;
	const uint64_t parts[] = {st.st_dev, st.st_ino, (uint64_t)st.st_size, (uint64_t)changed};
	*hash = hash_more(*hash, parts, sizeof(parts));
	return now_ns - changed > SETTLED_NS || now_ns < changed;
}

bool web_store_version(const struct web_server *w, uint64_t *ret)
{
	char log[4200];
	struct timespec now;
	uint64_t hash = 0;

	/* a server: an answer is good for a second, or until somebody changes something here */
	if (!w->store_file) {
		const uint64_t parts[] = {clock_boottime_ns() / SECOND_NS,
					  __atomic_load_n(&w->changes, __ATOMIC_ACQUIRE)};
		*ret = hash_more(hash, parts, sizeof(parts));
		return true;
	}
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	int64_t now_ns = (int64_t)now.tv_sec * SECOND_NS + now.tv_nsec;
	snprintf(log, sizeof(log), "%s-wal", w->store_file);
	bool settled = add_file(w->store_file, true, &hash, now_ns);
	settled = add_file(log, false, &hash, now_ns) && settled;
	*ret = hash;
	return settled;
}

/* "-2d", but not the date 2026-01-31: a number behind a minus that is not within a word. */
static bool has_time_before(const char *text)
{
	for (const char *p = strchr(text, '-'); p; p = strchr(p + 1, '-'))
		if (p[1] && strchr(".0123456789", p[1]) &&
		    (p == text || !isalnum((unsigned char)p[-1])))
			return true;
	return false;
}

bool web_depends_on_time(const struct web_request *q)
{
	for (size_t i = 0; i < q->param_count; i++) {
		const char *value = q->params[i].value;

		/* a job runs until nothing comes any more */
		if (!strcmp(q->params[i].row->name, "status") || strstr(value, "status") ||
		    strstr(value, "now") || has_time_before(value))
			return true;
	}
	return false;
}

int web_open_store(struct web_server *w, struct store **ret, struct strbuf *why)
{
	if (!w->store_url)
		return strbuf_fail(why, -ENOENT,
				   "no store: neither --db nor PLIMSOLL_DB nor HOME is set");
	int r = store_open_within(ret, w->store_url, STORE_READ, WAIT_MS, why);
	if (r == 0)
		(*ret)->config = w->config;
	return r;
}

int web_open_store_as(struct web_server *w, const struct web_viewer *v, struct store **ret,
		      struct strbuf *why)
{
	int r = web_open_store(w, ret, why);

	if (r < 0 || !*v->text)
		return r;
	r = store_view_as(*ret, &v->who);
	if (r < 0) {
		strbuf_addstr(why, store_error(*ret));
		store_close(*ret);
		*ret = NULL;
	}
	return r;
}
