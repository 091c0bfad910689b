/* Module "pam": asks PAM for a name and a password; see pam.h. It runs in a process of its own for
 * each question (pam_helper.c), so that modules of PAM may wait, fork and crash. */
#include <pwd.h>
#include <security/pam_appl.h>
#include <stdlib.h>
#include <string.h>

#include "core/module.h"
#include "web/access/pam.h"

/* Newer than PAM 1.3 */
extern int pam_start_confdir(const char *service, const char *user, const struct pam_conv *how,
			     const char *directory, pam_handle_t **ret) __attribute__((weak));

/* The password for each question that hides its answer, nothing for others. */
static int converse(int n, const struct pam_message **messages, struct pam_response **ret,
		    void *user)
{
	struct pam_response *r;

	if (n <= 0 || n > PAM_MAX_NUM_MSG)
		return PAM_CONV_ERR;
	r = xcalloc((size_t)n, sizeof(*r));
	for (int i = 0; i < n; i++) {
		int style = messages[i]->msg_style;

		if (style == PAM_PROMPT_ECHO_OFF)
			r[i].resp = xstrdup(user);
		if (style != PAM_PROMPT_ECHO_ON)
			continue;
		for (int k = 0; k < i; k++)
			free(r[k].resp);
		free(r);
		return PAM_CONV_ERR;
	}
	*ret = r;
	return PAM_SUCCESS;
}

static int begin(const struct pam_question *q, const struct pam_conv *how, pam_handle_t **ret)
{
	if (!q->directory)
		return pam_start(q->service, q->name, how, ret);
	return pam_start_confdir ? pam_start_confdir(q->service, q->name, how, q->directory, ret)
				 : PAM_SYSTEM_ERR;
}

/* Broken is what does not depend on the user: nobody may learn of users by it. */
static enum pam_result meaning(int code, bool authenticated)
{
	switch (code) {
	case PAM_SUCCESS:
		return PAM_ANSWER_YES;
	case PAM_ABORT:
	case PAM_BUF_ERR:
	case PAM_MODULE_UNKNOWN:
	case PAM_OPEN_ERR:
	case PAM_SYMBOL_ERR:
		return PAM_ANSWER_BROKEN;
	default:
		return authenticated ? PAM_ANSWER_ACCOUNT : PAM_ANSWER_NO;
	}
}

/* Modules may change the name, and a directory of users may not care for its case: the name of the
 * user's jobs is that of the host. */
static bool take_name(pam_handle_t *h, char ret[VIEWER_NAME_MAX + 1])
{
	const void *item = NULL;
	const struct passwd *p;
	const char *name;

	if (pam_get_item(h, PAM_USER, &item) != PAM_SUCCESS || !item)
		return false;
	name = item;
	p = getpwnam(name);
	if (p)
		name = p->pw_name;
	if (strlen(name) > VIEWER_NAME_MAX)
		return false;
	memcpy(ret, name, strlen(name) + 1);
	return true;
}

static enum pam_result ask(const struct pam_question *q, char ret_user[VIEWER_NAME_MAX + 1])
{
	const struct pam_conv how = {converse, (void *)(uintptr_t)q->password};
	const int flags = PAM_SILENT | PAM_DISALLOW_NULL_AUTHTOK;
	pam_handle_t *h = NULL;
	bool authenticated = false;

	*ret_user = 0;
	if (begin(q, &how, &h) != PAM_SUCCESS)
		return PAM_ANSWER_BROKEN;
	int code = pam_set_item(h, PAM_TTY, SERVE_PAM_SERVICE);
	if (code == PAM_SUCCESS && *q->address)
		code = pam_set_item(h, PAM_RHOST, q->address);
	if (code == PAM_SUCCESS)
		code = pam_authenticate(h, flags);
	if (code == PAM_SUCCESS) {
		authenticated = true;
		code = pam_acct_mgmt(h, flags);
	}
	enum pam_result result = meaning(code, authenticated);
	if (result == PAM_ANSWER_YES && !take_name(h, ret_user))
		result = PAM_ANSWER_ACCOUNT;
	(void)pam_end(h, code);
	return result;
}

static const struct pam_functions functions = {ask};

PL_MODULE("pam", "libpam", &functions);
