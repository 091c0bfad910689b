/* Links to one job; see share.h. */
#include "web/access/share.h"

#include <string.h>

#include "core/clock.h"
#include "web/http/body.h"
#include "web/handlers/handlers.h"
#include "web/handlers/job_place.h"
#include "web/server.h"
#include "web/http/target.h"

#define SECOND_NS ((uint64_t)1000000000)

int share_open(struct shares *s, int64_t job, unsigned hours, char ret[ACCESS_TOKEN_SIZE])
{
	int r = access_make_token(ret);

	if (r < 0)
		return r;
	pthread_mutex_lock(&s->lock);
	struct share *best = &s->list[0];
	for (size_t i = 0; i < SHARES_MAX; i++)
		if (s->list[i].until_ns < best->until_ns)
			best = &s->list[i];
	best->job = job;
	best->until_ns = clock_boottime_ns() + hours * 3600 * SECOND_NS;
	memcpy(best->token, ret, ACCESS_TOKEN_SIZE);
	pthread_mutex_unlock(&s->lock);
	return 0;
}

bool share_find(struct shares *s, const char *token, int64_t *ret_job, unsigned *ret_left_s)
{
	uint64_t now = clock_boottime_ns();
	bool found = false;

	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < SHARES_MAX; i++)
		if (access_same(s->list[i].token, token) && s->list[i].until_ns > now) {
			*ret_job = s->list[i].job;
			*ret_left_s = (unsigned)((s->list[i].until_ns - now) / SECOND_NS);
			found = true;
		}
	pthread_mutex_unlock(&s->lock);
	return found;
}

void share_cookie_name(const struct web_server *w, char ret[SHARE_COOKIE_SIZE])
{
	snprintf(ret, SHARE_COOKIE_SIZE, "%s_share", w->cookie);
}

/* ---- the route --------------------------------------------------------------------------------
 */

static bool take_hours(const struct value *body, unsigned *ret, struct web_answer *a)
{
	const struct value *v = value_get(body, "hours");

	*ret = SHARE_HOURS;
	if (!v || v->kind == VALUE_NONE)
		return true;
	if (v->kind != VALUE_INT || v->integer < 1 || v->integer > SHARE_HOURS_MAX) {
		web_fail(a, 400, NULL, "'hours' must be 1 to %d", SHARE_HOURS_MAX);
		return false;
	}
	*ret = (unsigned)v->integer;
	return true;
}

void web_share(const struct web_request *q, struct store *s, struct web_answer *a)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf link = STRBUF_INIT;
	_cleanup_job_place_ struct job_place job = JOB_PLACE_INIT;
	_cleanup_value_ struct value *body = web_body(q, a);
	struct web_server *w = q->server;
	char token[ACCESS_TOKEN_SIZE];
	unsigned hours;

	if (!body || !take_hours(body, &hours, a) || !web_find_stored_job(q, s, &job, a) ||
	    !web_may_change(q, s, job.no, a))
		return;
	if (w->socket || share_open(&w->shares, job.no, hours, token) < 0) {
		web_fail(a, 404, NULL, "there are no links to this server");
		return;
	}
	if (w->options->behind_proxy && w->options->server_name)
		strbuf_addf(&link, "https://%s%s/job/", w->options->server_name,
			    w->options->base_path);
	else
		strbuf_addf(&link, "%sjob/", w->address);
	target_add_encoded(job.operand, &link);
	strbuf_addf(&link, "?share=%s", token);
	web_note(w, q->viewer->user, q->address, "share", job.operand);
	json_begin_object(&j, NULL);
	json_text(&j, "link", link.buf, link.len);
	json_u64(&j, "hours", hours);
	json_end_object(&j);
	a->not_kept = true;
	web_take_json(a, &j);
}
