/* Requests to configure a node; see node_request.h. */
#include "node/node_request.h"

#include <errno.h>
#include <string.h>

void node_request_release(struct node_request *r)
{
	value_free(r->value);
	*r = (struct node_request){0};
}

static bool take_text(const struct value *v, const char *key, const char **ret, struct strbuf *why)
{
	const struct value *one = value_get(v, key);

	if (!one)
		return true;
	*ret = one->kind == VALUE_STR && strlen(one->str.data) == one->str.size ? one->str.data
										: NULL;
	if (!*ret)
		strbuf_addf(why, "%s is not a text", key);
	return *ret != NULL;
}

static bool is_request(const struct value *v)
{
	const struct value *version = value_get(v, "configure");

	return version && version->kind == VALUE_INT && version->integer == 1;
}

int node_request_read(struct node_request *ret, const void *p, size_t n, struct strbuf *why)
{
	*ret = (struct node_request){0};
	if (n > NODE_REQUEST_MAX || value_from_json(p, n, &ret->value, why) < 0 ||
	    !is_request(ret->value)) {
		node_request_release(ret);
		strbuf_reset(why);
		return strbuf_fail(why, -EBADMSG, "not a request to configure a node");
	}
	if (take_text(ret->value, "period", &ret->change.period, why) &&
	    take_text(ret->value, "metrics", &ret->change.metrics, why) &&
	    take_text(ret->value, "sources", &ret->change.sources, why))
		return 0;
	node_request_release(ret);
	return -EINVAL;
}

void node_request_write(const struct node_change *c, struct strbuf *out)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_i64(&j, "configure", 1);
	if (c->period)
		json_str(&j, "period", c->period);
	if (c->metrics)
		json_str(&j, "metrics", c->metrics);
	if (c->sources)
		json_str(&j, "sources", c->sources);
	json_end_object(&j);
	strbuf_add(out, j.out.buf, j.out.len);
}
