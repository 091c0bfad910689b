/*
 * Signing in and out with --auth users and pam. The page is a plain form; it and its cookie have
 * the same random value, which another site cannot know. A wrong password, an unknown user and one
 * that is locked out get the same answer after the same work.
 */
#include <errno.h>
#include <string.h>

#include "core/log.h"
#include "web/handlers/handlers.h"
#include "web/server.h"
#include "web/http/target.h"
#include "web/http/plain_page.h"

#define HTML "text/html; charset=utf-8"

static bool is_on(const struct web_request *q, struct web_answer *a)
{
	if (web_has_passwords(q->server->options))
		return true;
	web_fail(a, 404, NULL, "this server has no passwords");
	return false;
}

static char *form_cookie(const struct web_server *w)
{
	return xasprintf("%s_form", w->cookie);
}

static const char *secure(const struct web_server *w)
{
	return w->encrypted ? "; Secure" : "";
}

/* ---- the page ---------------------------------------------------------------------------------
 */

static void page(const struct web_request *q, unsigned status, const char *said,
		 struct web_answer *a)
{
	_cleanup_free_ char *name = form_cookie(q->server);
	const char *base = q->server->options->base_path;
	char value[ACCESS_TOKEN_SIZE];

	if (access_make_token(value) < 0) {
		web_fail(a, 500, NULL, "the system gives no random numbers");
		return;
	}
	web_answer_release(a);
	a->status = status;
	a->type = HTML;
	a->not_kept = true;
	a->cookie = xasprintf("%s=%s; Path=%s/; Max-Age=3600; HttpOnly; SameSite=Strict%s", name,
			      value, base, secure(q->server));
	plain_page_begin(&a->body, base, "Sign in");
	if (*said)
		strbuf_addf(&a->body, "<p class=\"finding severe\" role=\"alert\">%s</p>\n", said);
	strbuf_addf(&a->body,
		    "<form method=\"post\" action=\"%s/login\">\n"
		    "<input type=\"hidden\" name=\"form\" value=\"%s\">\n"
		    "<label>User <input name=\"name\" autocomplete=\"username\" required "
		    "autofocus></label>\n"
		    "<label>Password <input name=\"password\" type=\"password\" "
		    "autocomplete=\"current-password\" required></label>\n"
		    "<button class=\"main\">Sign in</button>\n</form>\n",
		    base, value);
	plain_page_end(&a->body);
}

void web_login_page(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	if (is_on(q, a))
		page(q, 200, "", a);
}

/* ---- signing in -------------------------------------------------------------------------------
 */

/* One text for all reasons, so that nobody finds out which names and passwords are right. */
static const char *wrong(const struct web_server *w)
{
	return w->options->auth == AUTH_PAM
		       ? "The name or the password is wrong, or this account may not sign in: it is "
			 "locked or expired, or its password must be changed first."
		       : "The name or the password is wrong.";
}

/* The fields of the form, which has the encoding of a query string. */
static bool take_form(const struct web_request *q, struct target *t)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, ignored = STRBUF_INIT;

	strbuf_addstr(&text, "/?");
	strbuf_add(&text, q->body, q->body_size);
	bool ok = strlen(text.buf) == text.len && target_parse(t, text.buf, "", &ignored) == 0;
	explicit_bzero(text.buf, text.len);
	return ok;
}

/* Is it the form of our page? */
static bool is_our_form(const struct web_request *q, const char *value)
{
	_cleanup_free_ char *name = form_cookie(q->server);
	char cookie[ACCESS_TOKEN_SIZE];

	return (!*q->site || !strcmp(q->site, "same-origin")) && value &&
	       access_cookie(q->cookies, name, cookie) && access_same(cookie, value);
}

/* What a name and a password are worth. */
struct verdict {
	bool ok, known;
	bool failed;         /* nobody can say */
	const char *details; /* for the log; NULL: none */
	char user[VIEWER_NAME_MAX + 1];
};

/* The same work for all: an unknown user has a hash that nothing matches. */
static void check_stored(struct web_server *w, const char *name, const char *password,
			 struct verdict *v)
{
	_cleanup_strbuf_ struct strbuf hash = STRBUF_INIT;
	struct viewer ignored;
	int found = web_users_find(&w->users, name, &ignored, &hash);
	bool usable = found == 1 && hash.len;
	bool same = w->passwords->matches(password, usable ? hash.buf : w->no_hash.buf);

	v->known = found != 0;
	v->ok = usable && same;
	snprintf(v->user, sizeof(v->user), "%s", name);
}

/* Also for those whom the store locks out, so that they get their answer as late as others. */
static void check_pam(struct web_server *w, const char *name, const char *password,
		      const char *address, struct verdict *v)
{
	struct viewer ignored;
	enum pam_result said = PAM_ANSWER_NO;

	v->known = web_users_find(&w->users, name, &ignored, NULL) != 0;
	if (!viewer_name_valid(name) || !*password)
		return;
	int r = pam_helper_ask(&w->pam, name, password, address, &said, v->user);
	v->failed = r < 0 || said == PAM_ANSWER_BROKEN;
	if (v->failed)
		log_warn("PAM gives no answer; the messages of the system may say why");
	if (said == PAM_ANSWER_ACCOUNT)
		v->details = "account";
	v->known = v->known || said == PAM_ANSWER_ACCOUNT || said == PAM_ANSWER_YES;
	v->ok = !v->failed && said == PAM_ANSWER_YES &&
		web_users_find(&w->users, v->user, &ignored, NULL) >= 0;
}

static void open_session(const struct web_request *q, const char *name, struct web_answer *a)
{
	struct web_server *w = q->server;
	char token[ACCESS_TOKEN_SIZE];

	if (access_open(&w->access, name, token) < 0) {
		web_fail(a, 500, NULL, "the system gives no random numbers");
		return;
	}
	a->status = 303;
	a->type = "text/plain; charset=utf-8";
	a->location = xasprintf("%s/", w->options->base_path);
	a->cookie = xasprintf("%s=%s; Path=%s/; Max-Age=%llu; HttpOnly; SameSite=Strict%s",
			      w->cookie, token, w->options->base_path,
			      (unsigned long long)ACCESS_LOGIN_S, secure(w));
}

static void sign_in(const struct web_request *q, const char *name, const char *password,
		    struct web_answer *a)
{
	struct web_server *w = q->server;
	unsigned wait = throttle_begin(&w->throttle, name, q->address);
	struct verdict v = {.ok = false};

	if (wait) {
		page(q, 429, "Too many wrong passwords: wait a few minutes.", a);
		a->retry_s = wait;
		return;
	}
	if (w->options->auth == AUTH_PAM)
		check_pam(w, name, password, q->address, &v);
	else
		check_stored(w, name, password, &v);
	if (v.ok) {
		throttle_forgive(&w->throttle, name, q->address);
		web_note(w, v.user, q->address, "login", NULL);
		open_session(q, v.user, a);
		return;
	}
	/* what is no name may be a password that was typed in the wrong field */
	web_note(w, v.known ? name : NULL, q->address, "login refused", v.details);
	if (v.failed)
		page(q, 503, "Passwords cannot be checked at the moment.", a);
	else
		page(q, 401, wrong(w), a);
}

void web_login(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	struct target t = {0};

	if (!is_on(q, a))
		return;
	a->not_kept = true;
	bool ok = take_form(q, &t);
	const char *name = ok ? target_value(&t, "name") : NULL;
	const char *password = ok ? target_value(&t, "password") : NULL;
	if (!ok || !is_our_form(q, target_value(&t, "form")))
		page(q, 403, "This page was too old: try again.", a);
	else if (!name || !password || strlen(name) > VIEWER_NAME_MAX ||
		 strlen(password) > PASSWORD_BYTES_MAX)
		page(q, 401, wrong(q->server), a);
	else
		sign_in(q, name, password, a);
	if (password)
		explicit_bzero((char *)(uintptr_t)password, strlen(password));
	target_release(&t);
}

void web_logout(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	const struct web_server *w = q->server;

	access_close(&q->server->access, q->cookies, w->cookie);
	web_note(q->server, q->viewer->user, q->address, "logout", NULL);
	a->not_kept = true;
	a->cookie = xasprintf("%s=; Path=%s/; Max-Age=0; HttpOnly; SameSite=Strict%s", w->cookie,
			      w->options->base_path, secure(w));
	strbuf_addstr(&a->body, "{\"done\":true}\n");
}
