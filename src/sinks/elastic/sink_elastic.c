/*
 * Sink elastic: documents for Elasticsearch or OpenSearch by the bulk API. The id of a document
 * follows from its place in the log, and documents are created, never replaced: one that is sent
 * again exists already (409), so that each is stored once.
 *
 * Documents are buffered until the server has them. Entries that come again are recognised by their
 * number. If a request was taken in part, only the rest is sent again. Documents that the server
 * will never take are counted, and the reason is logged once per index.
 */
#include "sinks/elastic/sink_elastic.h"

#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "core/value.h"

#define BODY_MAX ((size_t)4 << 20)
#define BODY_MIN ((size_t)64 << 10)
#define HELD_MAX ((size_t)16 << 20)
#define BULK_PATH "/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason"

/* ---- opening -------------------------------------------------------------------------------- */

static void close_elastic(void *state)
{
	struct elastic *e = state;

	for (size_t i = 0; i < e->index_count; i++) {
		for (size_t k = 0; k < e->indices[i].field_count; k++)
			free(e->indices[i].fields[k].name);
		free(e->indices[i].fields);
		quota_release(&e->indices[i].names);
		free(e->indices[i].source);
		free(e->indices[i].name);
	}
	sink_server_close(&e->server);
	row_mappers_free(e->mappers);
	strbuf_release(&e->held);
	strbuf_release(&e->why);
	free(e->indices);
	quota_release(&e->names);
	sink_refusals_release(&e->refusals);
	free(e->items);
	free(e->prefix);
	free(e);
}

/* Index names begin with a letter or digit, and few characters are allowed. */
static bool is_prefix(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_-.");

	return !s[n] && n <= 100 && !strchr("_-.", *s);
}

static int open_elastic(const struct sink_options *o, void **state, uint64_t *position,
			struct strbuf *why)
{
	const char *prefix = o->prefix ? o->prefix : "plimsoll_";

	if (!is_prefix(prefix))
		return strbuf_fail(
			why, -EINVAL,
			"invalid prefix '%s' of indices: use lower-case letters, digits, _, - and "
			".",
			prefix);
	struct elastic *e = xcalloc(1, sizeof(*e));
	e->held = (struct strbuf)STRBUF_INIT;
	e->why = (struct strbuf)STRBUF_INIT;
	e->prefix = xstrdup(prefix);
	e->layout = o->layout;
	e->body_max = BODY_MAX;
	e->refusals = sink_refusals("elastic", o);
	e->mappers = row_mappers_new();
	int r = sink_server_open(&e->server, o, o->target, why);
	if (r == 0)
		r = sink_server_expect(&e->server, "/", "", "Elasticsearch", why);
	*position = 0;
	return sink_opened(e, r, close_elastic, state);
}

/* ---- sending -------------------------------------------------------------------------------- */

enum verdict { TAKEN, LATER, NEVER };

/* False: it cannot be kept aside, so it must wait. */
static bool give_up(struct elastic *e, const struct elastic_item *item, long status,
		    const struct value *error)
{
	struct elastic_index *x = &e->indices[item->index];
	const char *type = value_get_str(error, "type");
	const char *reason = value_get_str(error, "reason");
	_cleanup_free_ char *text =
		xasprintf("a document of %s: status %ld: %s: %.100s", x->name, status,
			  type ? type : "no type", reason ? reason : "no reason");

	if (sink_tell(&e->refusals, item->entry, text, &e->why) < 0)
		return false;
	e->refused++;
	if (!x->refused)
		log_warn("elastic: documents of %s are refused, the rest goes on: status %ld: %s: "
			 "%.300s",
			 x->name, status, type ? type : "no type", reason ? reason : "no reason");
	x->refused = true;
	return true;
}

/* What somebody can mend at the server: an index that is closed or gone, limits that are reached.
 */
static bool can_be_mended(long status, const struct value *error)
{
	static const char *const types[] = {"index_not_found_exception", "index_closed_exception",
					    "validation_exception", "alias_exception"};
	const char *type = value_get_str(error, "type");
	const char *reason = value_get_str(error, "reason");

	if (status == 404)
		return true;
	for (size_t i = 0; type && i < ARRAY_SIZE(types); i++)
		if (!strcmp(type, types[i]))
			return true;
	return status == 400 && reason && strstr(reason, "Limit of total fields");
}

/* What became of one document. */
static enum verdict judge(struct elastic *e, const struct elastic_item *item,
			  const struct value *answer)
{
	const struct value *create = value_get(answer, "create");
	const struct value *number = value_get(create, "status");
	long status = number && number->kind == VALUE_INT ? (long)number->integer : 0;
	const struct value *error = value_get(create, "error");
	const char *type = value_get_str(error, "type");

	if (status / 100 == 2)
		return TAKEN;
	if (status == 409) {
		e->repeated++;
		return TAKEN;
	}
	if (!status || http_is_passing(status) || status == 401 || status == 403 ||
	    can_be_mended(status, error)) {
		if (!e->why.len)
			strbuf_addf(&e->why, "some documents were not taken: status %ld %.200s",
				    status, type ? type : "");
		return LATER;
	}
	return give_up(e, item, status, error) ? NEVER : LATER;
}

/* The answer to a request with these documents: those to be sent again are marked with their size,
 * others have none afterwards. False: it is no answer to this. */
static bool read_answer(struct elastic *e, size_t from, size_t to)
{
	const struct strbuf *body = &e->server.reply.body;
	_cleanup_value_ struct value *answer = NULL;
	(void)value_from_json(body->buf, body->len, &answer, NULL);
	const struct value *items = value_get(answer, "items"),
			   *errors = value_get(answer, "errors");
	bool good = errors && errors->kind == VALUE_BOOL && items && items->kind == VALUE_LIST &&
		    items->list.count == to - from;

	for (size_t i = from; good && i < to; i++)
		if (!errors->boolean ||
		    judge(e, &e->items[i], items->list.items[i - from]) != LATER)
			e->items[i].size = 0;
	return good;
}

/* One request with documents from here on; *to: the first that was not in it. */
static int send_some(struct elastic *e, size_t from, size_t *to, struct strbuf *why)
{
	size_t begin = e->items[from].at, end = begin + e->items[from].size;

	for (*to = from + 1; *to < e->item_count; ++*to) {
		if (end + e->items[*to].size - begin > e->body_max)
			break;
		end += e->items[*to].size;
	}
	const struct http_request bulk = {.method = "POST",
					  .path = BULK_PATH,
					  .type = "application/x-ndjson",
					  .body = e->held.buf + begin,
					  .size = end - begin,
					  .pack = true};
	int r = sink_server_send(&e->server, &bulk, why);
	if (r < 0)
		return r;
	long status = e->server.reply.status;
	if (status == 413 && *to > from + 1) {
		/* less at a time, from now on */
		e->body_max = e->body_max / 2 < BODY_MIN ? BODY_MIN : e->body_max / 2;
		if (end - begin <= e->body_max)
			e->body_max = (end - begin) / 2;
		*to = from;
		return 0;
	}
	if (status == 413) {
		if (give_up(e, &e->items[from], status, NULL))
			e->items[from].size = 0;
		return 0;
	}
	if (status == 200 && read_answer(e, from, *to))
		return 0;
	strbuf_addstr(why, "the bulk request was not answered as it should: ");
	http_add_reason(why, &e->server.reply);
	/* a path or a proxy that is wrong is mended some day; what cannot be read never is */
	return status == 400 ? -EBADMSG : -EAGAIN;
}

/* Moves what is still to be sent to the front. */
static void keep_rest(struct elastic *e)
{
	size_t count = 0, at = 0;

	for (size_t i = 0; i < e->item_count; i++) {
		struct elastic_item item = e->items[i];

		if (!item.size)
			continue;
		memmove(e->held.buf + at, e->held.buf + item.at, item.size);
		item.at = at;
		at += item.size;
		e->items[count++] = item;
	}
	e->item_count = count;
	strbuf_cut(&e->held, at);
}

static int send_all(struct elastic *e, struct strbuf *why)
{
	int r = e->item_count ? elastic_put_templates(e, why) : 0;

	strbuf_reset(&e->why);
	for (size_t from = 0, to; r == 0 && from < e->item_count; from = to)
		r = send_some(e, from, &to, why);
	keep_rest(e);
	if (r == 0 && e->item_count)
		r = strbuf_fail(why, -EAGAIN, "%s", e->why.buf);
	return r;
}

/* ---- the sink ------------------------------------------------------------------------------- */

static int add_batch(void *state, uint64_t number, const struct batch_name *name,
		     struct sample_file *f, struct strbuf *why)
{
	struct elastic *e = state;

	if (number > e->have) {
		e->entry = number;
		elastic_add(e, name, f);
		e->have = number;
	}
	return sink_entry_end(&e->refusals, number, e->held.len, HELD_MAX, why);
}

static int commit(void *state, uint64_t number, struct strbuf *why)
{
	struct elastic *e = state;
	int r = send_all(e, why);

	if (r == 0)
		r = sink_tell_names(&e->refusals, why);
	if (r < 0 && r != -EAGAIN) {
		/* the entries come again one by one, to find the bad one */
		e->item_count = 0;
		strbuf_reset(&e->held);
		e->have = e->refusals.judged = e->committed;
		e->refusals.cut = 0;
	}
	if (r == 0)
		e->committed = number;
	return r;
}

const struct sink sink_elastic = {
	.name = "elastic",
	.target = "URL",
	.help = "Elasticsearch or OpenSearch, with one index per source and day",
	.open = open_elastic,
	.batch = add_batch,
	.commit = commit,
	.close = close_elastic,
	.commit_entries = 4096,
	.commit_ns = 2000000000,
};
