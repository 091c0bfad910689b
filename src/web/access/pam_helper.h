/*
 * Asks PAM in other processes. The helper is forked before the server has threads, and forks for
 * each question: whatever modules of PAM do, wait or crash, it is no matter of the server.
 */
#pragma once

#include <sys/types.h>

#include "web/access/pam.h"

#define PAM_TIME_S 60 /* of a question */
#define PAM_PASSWORD_MAX 511

struct pam_helper {
	pid_t pid; /* 0: none */
	int fd;
};

/* directory NULL: the system's. -ENOSYS, -EINVAL, -ENOENT with the reason. */
int pam_helper_start(struct pam_helper *h, const char *service, const char *directory,
		     struct strbuf *why);
void pam_helper_stop(struct pam_helper *h);
/* Waits for the answer. -EIO: there is none. */
int pam_helper_ask(const struct pam_helper *h, const char *name, const char *password,
		   const char *address, enum pam_result *ret, char ret_user[VIEWER_NAME_MAX + 1]);
