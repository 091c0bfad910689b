/* Processes that ask PAM; see pam_helper.h. */
#include "web/access/pam_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "core/files/fs.h"
#include "core/module.h"

/* What is sent; the answer goes to a pipe that is sent with it. */
struct question {
	char name[VIEWER_NAME_MAX + 1];
	char password[PAM_PASSWORD_MAX + 1];
	char address[64];
};

struct answer {
	enum pam_result result;
	char user[VIEWER_NAME_MAX + 1];
};

struct helper {
	const struct pam_functions *functions;
	const char *service, *directory;
	int fd;
};

/* ---- the helper -------------------------------------------------------------------------------
 */

static _Noreturn void answer(const struct helper *h, const struct question *q, int out)
{
	struct answer a = {.result = PAM_ANSWER_BROKEN};
	const struct pam_question asked = {.service = h->service,
					   .directory = h->directory,
					   .name = q->name,
					   .password = q->password,
					   .address = q->address};
	sigset_t none;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGCHLD, SIG_DFL); /* modules wait for their helpers */
	(void)signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)alarm(PAM_TIME_S);
	a.result = h->functions->ask(&asked, a.user);
	ssize_t n = write(out, &a, sizeof(a));
	_exit(n == sizeof(a) ? 0 : 1);
}

/* One question; false at the end of the server. *ret_out: where the answer goes, or -1. */
static bool receive(int fd, struct question *q, int *ret_out)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = {q, sizeof(*q)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	ssize_t n;

	*ret_out = -1;
	while ((n = recvmsg(fd, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	if (n <= 0)
		return false;
	const struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_out, CMSG_DATA(c), sizeof(int));
	return n == sizeof(*q);
}

static _Noreturn void help(const struct helper *h)
{
	struct question q;
	int out;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)prctl(PR_SET_NAME, "plimsoll-pam");
	(void)signal(SIGCHLD, SIG_IGN); /* nobody waits for those who answer */
	while (receive(h->fd, &q, &out)) {
		if (out >= 0 && fork() == 0)
			answer(h, &q, out);
		explicit_bzero(&q, sizeof(q));
		close_fd(&out);
	}
	_exit(0);
}

/* ---- starting it ------------------------------------------------------------------------------
 */

static bool is_service(const char *name)
{
	return *name && *name != '.' && *name != '-' && strlen(name) < 64 &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789._-") == strlen(name);
}

/* PAM would take the service "other" instead, which may let in more than anybody meant. */
static bool has_service(const char *name, const char *directory)
{
	const char *const places[] = {directory ? directory : "/etc/pam.d",
				      directory ? directory : "/usr/lib/pam.d"};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_free_ char *path = xasprintf("%s/%s", places[i], name);

		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

int pam_helper_start(struct pam_helper *h, const char *service, const char *directory,
		     struct strbuf *why)
{
	int fds[2];

	if (!is_service(service))
		return strbuf_fail(why, -EINVAL,
				   "'%s' is not a name of a PAM service; use lower-case letters, "
				   "digits and ._-",
				   service);
	const struct module *m = module_load("pam", why);
	if (!m)
		return -ENOSYS;
	if (!has_service(service, directory))
		return strbuf_fail(why, -ENOENT,
				   "there is no PAM service '%s': make the file %s/%s; "
				   "docs/access.md has an example",
				   service, directory ? directory : "/etc/pam.d", service);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -errno;
	pid_t server = getpid(), pid = fork();
	if (pid == 0) {
		close(fds[0]);
		const struct helper helper = {m->functions, service, directory, fds[1]};
		if (getppid() == server)
			help(&helper);
		_exit(1);
	}
	int r = pid < 0 ? -errno : 0;
	close(fds[1]);
	if (r < 0) {
		close(fds[0]);
		return r;
	}
	*h = (struct pam_helper){.pid = pid, .fd = fds[0]};
	return 0;
}

void pam_helper_stop(struct pam_helper *h)
{
	if (!h->pid)
		return;
	close(h->fd);
	(void)kill(h->pid, SIGKILL); /* and with it those who answer */
	while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
		;
	h->pid = 0;
}

/* ---- asking -----------------------------------------------------------------------------------
 */

static int send_question(int fd, struct question *q, int out)
{
	union {
		char buf[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {.buf = {0}};
	struct iovec part = {q, sizeof(*q)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = &control,
			   .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &out, sizeof(int));
	return sendmsg(fd, &m, MSG_NOSIGNAL) == sizeof(*q) ? 0 : -EIO;
}

static int receive_answer(int fd, struct answer *a)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (poll(&p, 1, (PAM_TIME_S + 1) * 1000) <= 0 || read(fd, a, sizeof(*a)) != sizeof(*a))
		return -EIO;
	a->user[VIEWER_NAME_MAX] = 0;
	return 0;
}

int pam_helper_ask(const struct pam_helper *h, const char *name, const char *password,
		   const char *address, enum pam_result *ret, char ret_user[VIEWER_NAME_MAX + 1])
{
	struct question q = {.name = {0}};
	struct answer a = {.result = PAM_ANSWER_BROKEN};
	int fds[2];

	*ret_user = 0;
	if (strlen(name) >= sizeof(q.name) || strlen(password) >= sizeof(q.password)) {
		*ret = PAM_ANSWER_NO;
		return 0;
	}
	if (pipe2(fds, O_CLOEXEC) < 0)
		return -EIO;
	snprintf(q.name, sizeof(q.name), "%s", name);
	snprintf(q.password, sizeof(q.password), "%s", password);
	snprintf(q.address, sizeof(q.address), "%s", address);
	int r = send_question(h->fd, &q, fds[1]);
	explicit_bzero(&q, sizeof(q));
	close(fds[1]);
	if (r == 0)
		r = receive_answer(fds[0], &a);
	close(fds[0]);
	*ret = a.result;
	memcpy(ret_user, a.user, sizeof(a.user));
	if (*ret == PAM_ANSWER_YES && !viewer_name_valid(ret_user))
		*ret = PAM_ANSWER_ACCOUNT; /* no job can be of that name */
	return r;
}
