/* Links: opening one, and asking the running server for another; see browser.h. */
#include "web/access/browser.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "context/context.h"
#include "core/system/spawn.h"
#include "core/text/json_reader.h"
#include "web/access/access.h"
#include "web/http/target.h"

void browser_open(const char *address)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	char *const argv[] = {(char *)(uintptr_t) "xdg-open", (char *)(uintptr_t)address, NULL};
	pid_t pid;

	if (!spawn_find("", "xdg-open", &path) ||
	    posix_spawn(&pid, path.buf, NULL, NULL, argv, environ) != 0)
		log_warn("cannot start a browser (xdg-open); open the link yourself");
}

/* ---- asking the running server ----------------------------------------------------------------
 */

/* Connects to "http://127.0.0.1:8420/x/". */
static int connect_to(const char *address, const char **ret_host, size_t *ret_host_size)
{
	struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	const char *host = address + strlen("http://");
	size_t n = strcspn(host, "/");
	_cleanup_free_ char *place = xstrndup(host, n);
	const char *colon = strrchr(place, ':');
	uint64_t port;

	if (!str_prefix(address, "http://") || !colon || parse_u64(colon + 1, &port) < 0)
		return -EINVAL;
	v4.sin_port = v6.sin6_port = htons((uint16_t)port);
	bool six = place[0] == '[';
	_cleanup_close_ int fd = socket(six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int r = fd < 0 ? -1
		: six  ? connect(fd, (struct sockaddr *)&v6, sizeof(v6))
		       : connect(fd, (struct sockaddr *)&v4, sizeof(v4));
	if (r < 0)
		return -errno;
	*ret_host = host;
	*ret_host_size = n;
	r = fd;
	fd = -1;
	return r;
}

/* The status of the answer to one request below the address, or a negative error. */
static int ask(const char *address, const char *method, const char *path, const char *token,
	       struct strbuf *answer)
{
	const struct timeval limit = {.tv_sec = 5};
	const char *host = NULL;
	size_t host_size = 0;
	char buf[4096];
	ssize_t n;
	_cleanup_close_ int fd = connect_to(address, &host, &host_size);

	if (fd < 0)
		return fd;
	_cleanup_free_ char *request =
		xasprintf("%s %s%s HTTP/1.1\r\nHost: %.*s\r\nAuthorization: Bearer %s\r\n"
			  "Content-Length: 0\r\nConnection: close\r\n\r\n",
			  method, host + host_size, path, (int)host_size, host, token);
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
		return -EIO;
	while (answer->len < 65536 && (n = recv(fd, buf, sizeof(buf), 0)) > 0)
		strbuf_add(answer, buf, (size_t)n);
	if (!str_prefix(answer->buf, "HTTP/1.1 "))
		return -EPROTO;
	return (int)strtol(answer->buf + strlen("HTTP/1.1 "), NULL, 10);
}

static int no_answer(const char *address, int error)
{
	return fail_with(EXIT_FAILED,
			 "the server at %s does not answer (%s); start `plimsoll serve`", address,
			 strerror(error));
}

int serve_print_page(const char *job)
{
	_cleanup_strbuf_ struct strbuf address = STRBUF_INIT, why = STRBUF_INIT, path = STRBUF_INIT,
				       answer = STRBUF_INIT;
	char token[ACCESS_TOKEN_SIZE];

	if (access_read_file(token, &address, &why) < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	if (str_prefix(address.buf, "unix:"))
		return fail_with(EXIT_FAILED,
				 "your server has no addresses of pages; it listens on %s",
				 address.buf);
	strbuf_addstr(&path, "api/v1/jobs/");
	target_add_encoded(job, &path);
	/* with TLS it cannot be asked from here */
	int r = str_prefix(address.buf, "http:") ? ask(address.buf, "GET", path.buf, token, &answer)
						 : 200;
	if (r < 0)
		return no_answer(address.buf, -r);
	if (r == 404)
		return fail_with(
			EXIT_FAILED,
			"the server at %s shows another store, without this job; end it and "
			"start `plimsoll serve --db STORE`",
			address.buf);
	printf("%sjob/%s\n", address.buf, path.buf + strlen("api/v1/jobs/"));
	return EXIT_OK;
}

/* ---- a new link -------------------------------------------------------------------------------
 */

/* The value of "link" in the body. */
static char *link_of(const struct strbuf *answer)
{
	const char *body = strstr(answer->buf, "\r\n\r\n"), *at;

	if (!body || !(at = strstr(body, "\"link\":\"")))
		return NULL;
	at += strlen("\"link\":\"");
	return xstrndup(at, strcspn(at, "\""));
}

static int no_link(const char *address)
{
	return fail_with(
		EXIT_FAILED,
		"the server at %s gives no link: if it has users, sign in at %slogin; or else "
		"start it again",
		address, address);
}

int serve_link(void)
{
	_cleanup_strbuf_ struct strbuf address = STRBUF_INIT, why = STRBUF_INIT,
				       answer = STRBUF_INIT;
	char token[ACCESS_TOKEN_SIZE];

	if (access_read_file(token, &address, &why) < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	if (str_prefix(address.buf, "unix:")) {
		printf("%s\n", address.buf);
		return EXIT_OK;
	}
	if (str_prefix(address.buf, "https:"))
		return no_link(address.buf);
	int r = ask(address.buf, "POST", "api/v1/link", token, &answer);
	if (r < 0)
		return no_answer(address.buf, -r);
	_cleanup_free_ char *link = r == 200 ? link_of(&answer) : NULL;
	if (!link)
		return no_link(address.buf);
	printf("%s\n", link);
	return EXIT_OK;
}
