/* Functions of module "pam": names and passwords of this host, by PAM. */
#pragma once

#include <stdbool.h>

#include "store/viewer.h"

#define SERVE_PAM_SERVICE "plimsoll"

enum pam_result {
	PAM_ANSWER_NO,      /* wrong, or no such user */
	PAM_ANSWER_YES,     /* and the account may sign in */
	PAM_ANSWER_ACCOUNT, /* right, but the account is locked, expired and the like */
	PAM_ANSWER_BROKEN,  /* the service does not work */
};

struct pam_question {
	const char *service, *directory; /* of its file; NULL: the system's */
	const char *name, *password;
	const char *address; /* of the client; "": not known */
};

struct pam_functions {
	/* Takes as long as the modules of the service like. *ret_user: who it is for PAM, "" but
	 * after YES. */
	enum pam_result (*ask)(const struct pam_question *q, char ret_user[VIEWER_NAME_MAX + 1]);
};
