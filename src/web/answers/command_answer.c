/* From a request to a command line, and from the end of the command to an answer. */
#include <errno.h>
#include <string.h>

#include "core/text/json_reader.h"
#include "core/text/text.h"
#include "web/routes.h"
#include "web/handlers/handlers.h"
#include "web/handlers/job_place.h"
#include "web/answers/run_command.h"

/* ---- the command line -------------------------------------------------------------------------
 */

static void add(struct command_line *l, char *word)
{
	if (l->count == COMMAND_WORDS_MAX) {
		l->overflow = true;
		free(word);
		return;
	}
	l->words[l->count++] = word;
	l->words[l->count] = NULL;
}

void command_line_add(struct command_line *l, const char *word)
{
	add(l, xstrdup(word));
}

void command_line_add_pair(struct command_line *l, const char *option, const char *value)
{
	add(l, xasprintf("%s=%s", option, value));
}

void command_line_release(struct command_line *l)
{
	while (l->count)
		free(l->words[--l->count]);
}

static void add_options(struct command_line *l, const struct web_request *q)
{
	for (size_t i = 0; i < q->param_count; i++) {
		const struct web_param *p = &q->params[i];

		if (!p->row->option)
			continue;
		if (p->row->type != PARAM_FLAG)
			command_line_add_pair(l, p->row->option, p->value);
		else if (!strcmp(p->value, "1"))
			command_line_add(l, p->row->option);
	}
}

static void add_values(struct command_line *l, const struct web_request *q, const char *name)
{
	const char *value;

	for (size_t i = 0; (value = web_param_at(q, name, i)); i++)
		command_line_add(l, value);
}

void command_line_of(struct command_line *l, const struct web_request *q, const char *command,
		     const char *job)
{
	bool options = false;

	command_line_add(l, "plimsoll");
	for (const char *p = command; *p; p += strspn(p, " ")) {
		size_t n = strcspn(p, " ");
		_cleanup_free_ char *word = xstrndup(p, n);

		p += n;
		if (!options && (*word == '{' || !strcmp(word, "--"))) {
			add_options(l, q);
			options = true;
		}
		if (*word != '{') {
			command_line_add(l, word);
		} else {
			word[n - 1] = 0;
			if (job && !strcmp(word + 1, "job"))
				command_line_add(l, job);
			else
				add_values(l, q, word + 1);
		}
	}
	if (!options)
		add_options(l, q);
}

/* ---- the answer -------------------------------------------------------------------------------
 */

/* The first error message of the command, or what it said instead, without the name of the program.
 */
static void add_message(const struct strbuf *said, struct strbuf *out)
{
	static const char mark[] = "plimsoll: error: ";
	const char *at = strstr(said->buf, mark);

	at = at ? at + strlen(mark) : said->buf;
	text_add_printable(out, at, strcspn(at, "\n"));
}

bool command_failed(struct web_answer *a, int r, struct command_end *e)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	add_message(&e->said, &text);
	if (r == -ETIMEDOUT)
		web_fail(a, 504, "ask for less, or use the command", "this took longer than %d s",
			 COMMAND_TIME_S);
	else if (r == -EFBIG)
		web_fail(a, 500,
			 "ask for a page (limit), another type (Accept), or use the command",
			 "the answer is larger than %zu MiB", COMMAND_OUTPUT_MAX >> 20);
	else if (r == -ECANCELED)
		web_fail(a, 503, NULL, "the server stops");
	else if (r == -E2BIG)
		web_fail(a, 400, NULL, "too many parameters");
	else if (r < 0)
		web_fail(a, 500, NULL, "the command ended early: %s",
			 text.len ? text.buf : strerror(-r));
	else if (e->status == 2)
		web_fail(a, 400, NULL, "%s", text.buf);
	else if (e->status == 1)
		web_fail(a, 404, NULL, "%s", text.len ? text.buf : "there is nothing");
	else if (e->status && !e->out.len)
		web_fail(a, 500, NULL, "%s", text.buf);
	else
		return false;
	return true;
}

void web_take_output(struct web_answer *a, struct command_end *e)
{
	strbuf_release(&a->body);
	a->body = e->out;
	e->out = (struct strbuf)STRBUF_INIT;
}

void web_done(struct web_answer *a, const struct command_end *e)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_bool(&j, "done", true);
	if (e->out.len)
		json_text(&j, "message", e->out.buf, strcspn(e->out.buf, "\n"));
	json_end_object(&j);
	a->not_kept = true;
	web_take_json(a, &j);
}

/* ---- the handler ------------------------------------------------------------------------------
 */

/* The rows of a JSON array. */
static uint64_t count_objects(const struct strbuf *body)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	struct json_reader j;
	uint64_t n = 0;
	int token;

	json_reader_init_text(&j, body->buf, body->len);
	if (json_reader_next(&j, &ignored) == JSON_ARRAY)
		while ((token = json_reader_next(&j, &ignored)) > JSON_DONE &&
		       token != JSON_ARRAY_END &&
		       json_reader_skip(&j, (enum json_token)token, &ignored) == 0)
			n++;
	json_reader_release(&j);
	return n;
}

/* The rows of CSV without its heading. */
static uint64_t count_lines(const struct strbuf *body)
{
	bool quoted = false;
	uint64_t n = 0;

	for (size_t i = 0; i < body->len; i++) {
		quoted ^= body->buf[i] == '"';
		n += body->buf[i] == '\n' && !quoted;
	}
	return n ? n - 1 : 0;
}

/* A page that is full may be followed by another. What has types is not read again for this. */
static void link_next_page(const struct web_request *q, struct web_answer *a)
{
	uint64_t limit = web_param_count(q, "limit", 0), at = web_param_count(q, "offset", 0);
	char next[24];

	if (!limit || !route_param(q->route, "offset") || q->type->table || at > UINT64_MAX - limit)
		return;
	if ((q->type == WEB_TYPE_JSON ? count_objects(&a->body) : count_lines(&a->body)) < limit)
		return;
	snprintf(next, sizeof(next), "%llu", (unsigned long long)(at + limit));
	web_set_next(a, q, "offset", next);
}

void web_run_command(const struct web_request *q, struct store *s, struct web_answer *a)
{
	_cleanup_command_line_ struct command_line l = {.count = 0};
	_cleanup_command_end_ struct command_end e = COMMAND_END_INIT;
	_cleanup_job_place_ struct job_place job = JOB_PLACE_INIT;

	if (web_param(q, "job") && !web_find_job(q, s, &job, a))
		return;
	command_line_of(&l, q, q->route->command, job.operand);
	bool csv = q->type->rows, json = strstr(q->route->command, "--json") != NULL;
	for (size_t i = 0; csv && i < l.count; i++)
		if (!strcmp(l.words[i], "--json"))
			memcpy(l.words[i], "--csv", sizeof("--csv"));
	int r = web_spawn(q, &l, -1, &e);
	if (command_failed(a, r, &e))
		return;
	if (!json) {
		web_done(a, &e);
		return;
	}
	a->type = q->type->header;
	web_take_output(a, &e);
	link_next_page(q, a);
}
