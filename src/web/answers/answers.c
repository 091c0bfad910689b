/* What handlers get and give; see web.h. */
#include <errno.h>
#include <string.h>

#include "web/routes.h"
#include "web/server.h"

const char *web_param_at(const struct web_request *q, const char *name, size_t i)
{
	for (size_t p = 0; p < q->param_count; p++)
		if (!strcmp(q->params[p].row->name, name) && !i--)
			return q->params[p].value;
	return NULL;
}

const char *web_param(const struct web_request *q, const char *name)
{
	return web_param_at(q, name, 0);
}

uint64_t web_param_count(const struct web_request *q, const char *name, uint64_t fallback)
{
	const char *value = web_param(q, name);
	uint64_t n = fallback;

	if (value)
		(void)parse_u64(value, &n);
	return n;
}

bool web_param_flag(const struct web_request *q, const char *name)
{
	const char *value = web_param(q, name);

	return value && !strcmp(value, "1");
}

void web_answer_release(struct web_answer *a)
{
	strbuf_release(&a->body);
	free(a->file_name);
	free(a->policy);
	free(a->location);
	free(a->cookie);
	free(a->link);
	*a = (struct web_answer)WEB_ANSWER_INIT;
}

/* The path of the request: its pattern, with values in place of names. */
static void add_path(const struct web_request *q, struct strbuf *out)
{
	for (const char *p = q->route->pattern; *p;) {
		size_t n = strcspn(p, "{");

		strbuf_add(out, p, n);
		p += n;
		if (!*p)
			return;
		n = strcspn(p, "}");
		_cleanup_free_ char *name = xstrndup(p + 1, n - 1);
		const char *value = web_param(q, name);

		target_add_encoded(value ? value : "", out);
		p += n + 1;
	}
}

void web_set_next(struct web_answer *a, const struct web_request *q, const char *param,
		  const char *value)
{
	_cleanup_strbuf_ struct strbuf link = STRBUF_INIT;

	strbuf_addf(&link, "<%s", q->server->options->base_path);
	add_path(q, &link);
	strbuf_addf(&link, "?%s=", param);
	target_add_encoded(value, &link);
	for (size_t i = 0; i < q->param_count; i++) {
		const struct web_param *p = &q->params[i];

		if (!strcmp(p->row->name, param) || route_has_in_path(q->route, p->row->name))
			continue;
		strbuf_addf(&link, "&%s=", p->row->name);
		target_add_encoded(p->value, &link);
	}
	strbuf_addstr(&link, ">; rel=\"next\"");
	free(a->link);
	a->link = strbuf_take(&link);
}

void web_take_json(struct web_answer *a, struct json_writer *j)
{
	strbuf_addch(&j->out, '\n');
	strbuf_release(&a->body);
	a->body = j->out;
	j->out = (struct strbuf)STRBUF_INIT;
}

void web_fail(struct web_answer *a, unsigned status, const char *remedy, const char *fmt, ...)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	json_begin_object(&j, NULL);
	json_text(&j, "error", text.buf, text.len);
	if (remedy)
		json_str(&j, "remedy", remedy);
	json_end_object(&j);
	web_answer_release(a);
	a->status = status;
	a->not_kept = true;
	web_take_json(a, &j);
}

void web_fail_store(struct web_answer *a, struct store *s, int error)
{
	const char *text = s ? store_error(s) : strerror(-error);

	switch (-error) {
	case ENOENT:
		web_fail(a, 404, NULL, "%s", text);
		break;
	case EINVAL:
	case E2BIG:
		web_fail(a, 400, NULL, "%s", text);
		break;
	case EPERM:
		web_fail(a, 403, NULL, "%s", text);
		break;
	case ETIMEDOUT:
		web_fail(a, 504, "narrow the filter", "%s", text);
		break;
	default:
		web_fail(a, 503, "the server tries again with the next request", "%s", text);
		a->retry_s = 2;
	}
}
