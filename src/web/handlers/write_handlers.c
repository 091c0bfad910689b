/*
 * Changes: tags and annotations of a job in one transaction, models and alerts by their commands.
 * They are refused without --write, see dispatch.c.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "jobs/metadata.h"
#include "store/job_admin.h"
#include "web/http/body.h"
#include "web/handlers/handlers.h"
#include "web/handlers/job_place.h"
#include "web/answers/run_command.h"
#include "web/server.h"

#define WAIT_MS 10000

/* ---- the body ---------------------------------------------------------------------------------
 */

struct value *web_body(const struct web_request *q, struct web_answer *a)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *v = NULL;

	if (!q->body_size)
		return value_new(VALUE_DICT);
	if (value_from_json(q->body, q->body_size, &v, &why) < 0) {
		web_fail(a, 400, NULL, "the body is not JSON: %s", why.buf);
		return NULL;
	}
	if (v->kind == VALUE_DICT)
		return v;
	value_free(v);
	web_fail(a, 400, NULL, "the body must be a JSON object");
	return NULL;
}

const char *web_body_text(const struct value *body, const char *key, struct web_answer *a,
			  bool *ret_ok)
{
	const struct value *v = value_get(body, key);

	if (!v || v->kind == VALUE_NONE)
		return NULL;
	if (v->kind == VALUE_STR && strlen(v->str.data) == v->str.size)
		return v->str.data;
	web_fail(a, 400, NULL, "'%s' must be a text", key);
	*ret_ok = false;
	return NULL;
}

/* ---- tags and annotations ---------------------------------------------------------------------
 */

static struct value *entries_of(const struct web_request *q, const char *key, bool texts,
				struct web_answer *a)
{
	_cleanup_value_ struct value *body = web_body(q, a);
	struct value *v = body ? value_get(body, key) : NULL;

	if (!body)
		return NULL;
	if (!v || v->kind != VALUE_DICT) {
		web_fail(a, 400, NULL, "the body must have an object \"%s\"", key);
		return NULL;
	}
	for (size_t i = 0; i < value_pairs(v); i++) {
		if (!value_key(v, i)->str.size) {
			web_fail(a, 400, NULL, "a name is empty");
			return NULL;
		}
		if (texts && (value_at(v, i)->kind != VALUE_STR || !value_at(v, i)->str.size)) {
			web_fail(a, 400, NULL, "the value of '%s' must be a text that is not empty",
				 value_key(v, i)->str.data);
			return NULL;
		}
	}
	return value_ref(v);
}

/* Opens the store that the worker reads, for one change. It must exist. */
static struct store *open_to_write(struct web_server *w, struct web_answer *a)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct store *s = NULL;
	struct stat st;
	int r = w->store_file && stat(w->store_file, &st) < 0
			? strbuf_fail(&why, -errno, "cannot open '%s': %s", w->store_file,
				      strerror(errno))
			: store_open_within(&s, w->store_url, STORE_WRITE, WAIT_MS, &why);

	if (r == 0)
		return s;
	web_fail(a, 503, "try again", "%s", why.buf);
	a->retry_s = 2;
	return NULL;
}

bool web_may_change(const struct web_request *q, struct store *s, int64_t job, struct web_answer *a)
{
	const struct viewer *v = &q->viewer->who;
	int64_t one = 0;

	if (!viewer_is_narrow(v))
		return true;
	int r = store_number_of(s, "SELECT count(*) FROM job j WHERE j.no = $1 AND j.username = $2",
				&one, db_int(job), db_str(v->user));
	if (r == 0 && one)
		return true;
	if (r < 0)
		web_fail_store(a, s, r);
	else
		web_fail(a, 403, NULL, "the job belongs to somebody else of the project");
	return false;
}

static void change(const struct web_request *q, struct store *reader, struct web_answer *a,
		   const char *key, bool texts,
		   int (*write)(struct store *, int64_t, const struct value *, bool))
{
	_cleanup_value_ struct value *entries = entries_of(q, key, texts, a);
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_job_place_ struct job_place job = JOB_PLACE_INIT;

	if (!entries || !web_find_stored_job(q, reader, &job, a) ||
	    !web_may_change(q, reader, job.no, a))
		return;
	_cleanup_store_ struct store *s = open_to_write(q->server, a);
	if (!s)
		return;
	size_t masked = notes_mask(entries);
	int r = write(s, job.no, entries, true);
	if (r == 0)
		r = store_check_moved(s);
	if (r < 0) {
		web_fail_store(a, s, r);
		return;
	}
	json_begin_object(&j, NULL);
	json_bool(&j, "done", true);
	json_u64(&j, "masked", masked);
	json_end_object(&j);
	web_take_json(a, &j);
}

void web_put_tags(const struct web_request *q, struct store *s, struct web_answer *a)
{
	change(q, s, a, "tags", true, store_tag);
}

void web_put_annotations(const struct web_request *q, struct store *s, struct web_answer *a)
{
	change(q, s, a, "annotations", false, store_annotate);
}

/* ---- models and alerts ------------------------------------------------------------------------
 */

/* An operand of a command: no option, no path. */
static bool is_operand(const struct value *v)
{
	return v->kind == VALUE_STR && v->str.size && strlen(v->str.data) == v->str.size &&
	       v->str.data[0] != '-' && !strchr(v->str.data, '/');
}

/* A text or a list of texts of the body: each as "option=text", or as an operand. */
static bool add_texts(struct command_line *l, const struct value *body, const char *key,
		      const char *option, struct web_answer *a)
{
	const struct value *v = value_get(body, key);
	size_t count = !v || v->kind == VALUE_NONE ? 0 : v->kind == VALUE_LIST ? v->list.count : 1;

	for (size_t i = 0; i < count; i++) {
		const struct value *one = v->kind == VALUE_LIST ? v->list.items[i] : v;
		bool text = one->kind == VALUE_STR && strlen(one->str.data) == one->str.size;

		if (option ? !text : !is_operand(one)) {
			web_fail(a, 400, NULL, "'%s' has a value that cannot be used here", key);
			return false;
		}
		if (option)
			command_line_add_pair(l, option, one->str.data);
		else
			command_line_add(l, one->str.data);
	}
	return true;
}

static void run_change(const struct web_request *q, const struct command_line *l,
		       struct web_answer *a)
{
	_cleanup_command_end_ struct command_end e = COMMAND_END_INIT;
	int r = web_spawn(q, l, -1, &e);

	if (!command_failed(a, r, &e))
		web_done(a, &e);
}

void web_create_model(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	_cleanup_command_line_ struct command_line l = {.count = 0};
	_cleanup_value_ struct value *body = web_body(q, a);

	if (!body)
		return;
	const struct value *ops = value_get(body, "ops"), *name = value_get(body, "name");
	if (!name) {
		web_fail(a, 400, NULL, "a model needs a \"name\"");
		return;
	}
	command_line_add(&l, "plimsoll");
	command_line_add(&l, "model");
	if (ops && ops->kind == VALUE_BOOL && ops->boolean)
		command_line_add(&l, "--ops");
	if (!add_texts(&l, body, "where", "--where", a) ||
	    !add_texts(&l, body, "tags", "--tag", a) ||
	    !add_texts(&l, body, "features", "--features", a) ||
	    !add_texts(&l, body, "methods", "--methods", a))
		return;
	command_line_add(&l, "--");
	command_line_add(&l, "create");
	if (add_texts(&l, body, "name", NULL, a) && add_texts(&l, body, "jobs", NULL, a))
		run_change(q, &l, a);
}

/* The command of the route, then operands and options of the body. */
static void run_with_body(const struct web_request *q, struct web_answer *a, const char *job,
			  const char *option_key, const char *option, const char *operand_key)
{
	_cleanup_command_line_ struct command_line l = {.count = 0};
	_cleanup_value_ struct value *body = web_body(q, a);
	_cleanup_free_ char *command = NULL;
	bool ok = body != NULL;
	const char *text = ok && option ? web_body_text(body, option_key, a, &ok) : NULL;

	if (!ok)
		return;
	command_line_of(&l, q, q->route->command, job);
	if (text) { /* in front of "--" */
		size_t i = 0;

		command_line_add_pair(&l, option, text);
		while (strcmp(l.words[i], "--") != 0)
			i++;
		char *last = l.words[l.count - 1];
		memmove(l.words + i + 1, l.words + i, (l.count - 1 - i) * sizeof(*l.words));
		l.words[i] = last;
	}
	if (!operand_key || add_texts(&l, body, operand_key, NULL, a))
		run_change(q, &l, a);
}

void web_train_model(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	run_with_body(q, a, NULL, NULL, NULL, "jobs");
}

void web_model_features(const struct web_request *q, struct store *s PL_UNUSED,
			struct web_answer *a)
{
	run_with_body(q, a, NULL, "features", "--features", NULL);
}

void web_acknowledge(const struct web_request *q, struct store *s, struct web_answer *a)
{
	_cleanup_job_place_ struct job_place job = JOB_PLACE_INIT;

	if (web_find_stored_job(q, s, &job, a))
		run_with_body(q, a, job.operand, "note", "--note", NULL);
}
