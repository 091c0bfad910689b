/* Module "http": requests by libcurl, compressed by zlib. */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "core/files/fs.h"
#include "core/module.h"
#include "core/text/secrets.h"
#include "sinks/http.h"

#define TIMEOUT_MS 30000l
#define USER_FILE_MAX 4096
#define HEADERS_MAX 262144

struct http {
	CURL *curl;
	char *url, *shown; /* shown: without the password */
	char error[CURL_ERROR_SIZE];
	struct strbuf packed;
	struct http_reply *reply; /* of the request under way */
	size_t header_bytes;
	bool too_long;
};

/* ---- opening -------------------------------------------------------------------------------- */

/* The first line of the file is user:password, which others must not read. */
static int set_user(struct http *h, const char *path, struct strbuf *why)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char text[USER_FILE_MAX];
	struct stat st;
	ssize_t n = fd < 0 || fstat(fd, &st) < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		return strbuf_fail(why, -EINVAL, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_mode & 077) {
		explicit_bzero(text, sizeof(text));
		return strbuf_fail(
			why, -EINVAL,
			"'%s' is readable by others; chmod 600 it and change the password", path);
	}
	text[n] = 0;
	text[strcspn(text, "\r\n")] = 0;
	if (!strchr(text, ':'))
		return strbuf_fail(why, -EINVAL, "%s: the first line must be user:password", path);
	curl_easy_setopt(h->curl, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
	curl_easy_setopt(h->curl, CURLOPT_USERPWD, text);
	explicit_bzero(text, sizeof(text));
	return 0;
}

static void close_http(struct http *h)
{
	if (!h)
		return;
	if (h->curl)
		curl_easy_cleanup(h->curl);
	strbuf_release(&h->packed);
	free(h->url);
	free(h->shown);
	free(h);
}

static size_t take_body(char *p, size_t size, size_t count, void *user)
{
	struct http *h = user;
	size_t n = size * count;

	if (n > HTTP_REPLY_MAX - h->reply->body.len) {
		h->too_long = true;
		return 0;
	}
	strbuf_add(&h->reply->body, p, n);
	return n;
}

static size_t take_header(char *p, size_t size, size_t count, void *user)
{
	static const char name[] = "retry-after:";
	struct http *h = user;
	size_t n = size * count;

	/* libcurl keeps all headers in memory */
	h->header_bytes += n;
	if (h->header_bytes > HEADERS_MAX) {
		h->too_long = true;
		return 0;
	}
	if (n > sizeof(name) && !strncasecmp(p, name, sizeof(name) - 1)) {
		uint64_t v = 0;

		for (size_t i = sizeof(name) - 1; i < n; i++)
			if (p[i] >= '0' && p[i] <= '9' && v < 100000)
				v = v * 10 + (uint64_t)(p[i] - '0');
			else if (v || p[i] != ' ')
				break;
		h->reply->retry_after_s = v;
	}
	return n;
}

static int open_http(struct http **ret, const struct http_options *o, struct strbuf *why)
{
	_cleanup_free_ char *shown = secrets_shown(o->url);

	if (!str_prefix(o->url, "http://") && !str_prefix(o->url, "https://"))
		return strbuf_fail(
			why, -EINVAL,
			"invalid server address '%s'; use http://HOST:PORT or https://HOST:PORT",
			shown);
	struct http *h = xcalloc(1, sizeof(*h));
	h->packed = (struct strbuf)STRBUF_INIT;
	h->url = xstrdup(o->url);
	h->shown = xstrdup(shown);
	for (size_t n = strlen(h->url); n && h->url[n - 1] == '/'; n--)
		h->url[n - 1] = 0;
	h->curl = curl_easy_init();
	if (!h->curl) {
		close_http(h);
		return -ENOMEM;
	}
	curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, h->error);
	curl_easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1l);
	curl_easy_setopt(h->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(h->curl, CURLOPT_FOLLOWLOCATION, 0l);
	curl_easy_setopt(h->curl, CURLOPT_TIMEOUT_MS, o->timeout_ms ? o->timeout_ms : TIMEOUT_MS);
	curl_easy_setopt(h->curl, CURLOPT_CONNECTTIMEOUT_MS, 5000l);
	curl_easy_setopt(h->curl, CURLOPT_ACCEPT_ENCODING, "");
	curl_easy_setopt(h->curl, CURLOPT_USERAGENT, "plimsoll");
	curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, take_body);
	curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, h);
	curl_easy_setopt(h->curl, CURLOPT_HEADERFUNCTION, take_header);
	curl_easy_setopt(h->curl, CURLOPT_HEADERDATA, h);
	if (o->no_check_certificates) {
		curl_easy_setopt(h->curl, CURLOPT_SSL_VERIFYPEER, 0l);
		curl_easy_setopt(h->curl, CURLOPT_SSL_VERIFYHOST, 0l);
	}
	int r = o->user_file ? set_user(h, o->user_file, why) : 0;
	if (r < 0) {
		close_http(h);
		return r;
	}
	*ret = h;
	return 0;
}

/* ---- requests ------------------------------------------------------------------------------- */

static int pack(struct http *h, const void *p, size_t n)
{
	z_stream z = {0};

	/* 15 + 16: with a gzip header */
	if (deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	strbuf_reset(&h->packed);
	strbuf_grow(&h->packed, deflateBound(&z, n));
	z.next_in = (Bytef *)p;
	z.avail_in = (uInt)n;
	z.next_out = (Bytef *)h->packed.buf;
	z.avail_out = (uInt)deflateBound(&z, n);
	int r = deflate(&z, Z_FINISH);
	h->packed.len = z.total_out;
	deflateEnd(&z);
	return r == Z_STREAM_END ? 0 : -EIO;
}

static struct curl_slist *add_header(struct curl_slist *list, const char *name, const char *value)
{
	_cleanup_free_ char *line = value ? xasprintf("%s: %s", name, value) : NULL;

	return line ? curl_slist_append(list, line) : list;
}

static int perform(struct http *h, const struct http_request *r, struct strbuf *why)
{
	CURLcode e = curl_easy_perform(h->curl);

	if (h->too_long)
		return strbuf_fail(why, -EMSGSIZE, "%s%s: the reply is too long", h->shown,
				   r->path);
	if (e != CURLE_OK) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		strbuf_addstr(&text, h->error[0] ? h->error : curl_easy_strerror(e));
		secrets_hide(&text, h->url);
		strbuf_addf(why, "%s: %s", h->shown, text.buf);
		return e == CURLE_URL_MALFORMAT || e == CURLE_PEER_FAILED_VERIFICATION ? -EINVAL
										       : -EAGAIN;
	}
	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &h->reply->status);
	return 0;
}

static int send_http(struct http *h, const struct http_request *r, struct http_reply *reply,
		     struct strbuf *why)
{
	_cleanup_free_ char *url = xasprintf("%s%s", h->url, r->path);
	struct curl_slist *headers = NULL;
	const void *body = r->body;
	size_t size = r->size;

	strbuf_reset(&reply->body);
	reply->status = 0;
	reply->url = h->url;
	reply->retry_after_s = 0;
	h->reply = reply;
	h->too_long = false;
	h->header_bytes = 0;
	h->error[0] = 0;
	if (r->pack && size && size < UINT32_MAX && pack(h, body, size) == 0) {
		body = h->packed.buf;
		size = h->packed.len;
		headers = add_header(headers, "Content-Encoding", "gzip");
	}
	headers = add_header(headers, "Content-Type", r->type);
	headers = add_header(headers, "Content-Encoding", r->encoding);
	headers = curl_slist_append(headers, "Expect:"); /* avoids a round trip for large bodies */
	if (r->header)
		headers = curl_slist_append(headers, r->header);
	curl_easy_setopt(h->curl, CURLOPT_URL, url);
	curl_easy_setopt(h->curl, CURLOPT_NOBODY, (long)!strcmp(r->method, "HEAD"));
	if (r->type) {
		curl_easy_setopt(h->curl, CURLOPT_POST, 1l);
		curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, body ? body : "");
		curl_easy_setopt(h->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	} else if (strcmp(r->method, "HEAD") != 0) {
		curl_easy_setopt(h->curl, CURLOPT_HTTPGET, 1l);
	}
	curl_easy_setopt(h->curl, CURLOPT_CUSTOMREQUEST,
			 strcmp(r->method, "HEAD") != 0 ? r->method : NULL);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, headers);
	int e = perform(h, r, why);
	curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(headers);
	h->reply = NULL;
	return e;
}

static const struct http_functions functions = {
	.open = open_http,
	.close = close_http,
	.send = send_http,
};

PL_MODULE("http", "libcurl", &functions);
