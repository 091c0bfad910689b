/*
 * Stand-ins for servers, in Python beside the scripts' tests: started as a child that says its port
 * and ends when its input does, so that it never outlives the test; asked by HTTP what came.
 */
#pragma once

#include "unit.h"

#include <jansson.h>
#include <signal.h>
#include <sys/wait.h>

#include "sinks/http.h"

struct fake_server {
	pid_t pid;
	int input;
	char port[16], url[64];
};

/* arguments: behind the name of the script; ends with NULL. */
static inline void fake_start(struct fake_server *s, const char *script,
			      const char *const *arguments)
{
	const char *source = getenv("PL_SOURCE");
	_cleanup_free_ char *path = xasprintf("%s/tests/cli/%s", source ? source : "..", script);
	const char *argv[16] = {"python3", path};
	int in[2], out[2];
	size_t n = 2, at = 0;
	ssize_t r;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	for (; arguments && *arguments; arguments++)
		argv[n++] = *arguments;
	s->pid = fork();
	assert_true(s->pid >= 0);
	if (!s->pid) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execvp("python3", (char **)argv);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	s->input = in[1];
	while (at + 1 < sizeof(s->port) &&
	       (r = read(out[0], s->port + at, sizeof(s->port) - 1 - at)) > 0) {
		at += (size_t)r;
		if (memchr(s->port, '\n', at))
			break;
	}
	close(out[0]);
	s->port[at] = 0;
	s->port[strcspn(s->port, "\n")] = 0;
	if (!*s->port)
		fail_msg("%s did not start", path);
	snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%s", s->port);
}

static inline void fake_stop(struct fake_server *s)
{
	close(s->input);
	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
}

/* A request of the test itself; what was answered, to be freed by json_decref(). */
static inline json_t *fake_ask(const struct fake_server *s, const char *method, const char *path,
			       const char *body)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct http_functions *f = http_module(&why);
	const struct http_options o = {.url = s->url};
	const struct http_request r = {.method = method,
				       .path = path,
				       .type = body ? "application/json" : NULL,
				       .body = body,
				       .size = body ? strlen(body) : 0};
	struct http_reply reply = HTTP_REPLY_INIT;
	struct http *h = NULL;

	if (!f || f->open(&h, &o, &why) < 0 || f->send(h, &r, &reply, &why) < 0)
		fail_msg("%s %s: %s", method, path, why.buf);
	assert_int_equal(reply.status, 200);
	json_t *answer = json_loadb(reply.body.buf, reply.body.len, 0, NULL);
	f->close(h);
	strbuf_release(&reply.body);
	return answer;
}

#define fake_faults(s, text) json_decref(fake_ask(s, "PUT", "/_faults", text))

static inline json_t *fake_state(const struct fake_server *s)
{
	json_t *state = fake_ask(s, "GET", "/_state", NULL);
	const json_t *list = json_object_get(state, "complaints");

	assert_non_null(state);
	if (json_array_size(list))
		fail_msg("%s", json_string_value(json_array_get(list, 0)));
	return state;
}

static inline long long fake_count(const json_t *state, const char *name)
{
	return json_integer_value(json_object_get(json_object_get(state, "counts"), name));
}
