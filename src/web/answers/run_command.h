/*
 * Runs a command of this program for an answer: `plimsoll tree --json -- JOB`. Without a shell, in
 * a process group of its own and an empty directory, with limits on time, memory and output. What
 * the client sent is only ever a value behind "--option=", or an operand that does not begin with
 * "-".
 */
#pragma once

#include "web/web.h"

#define COMMAND_WORDS_MAX 256
#define COMMAND_TIME_S 30
#define COMMAND_OUTPUT_MAX ((size_t)64 << 20)

/* The words of a command line. */
struct command_line {
	char *words[COMMAND_WORDS_MAX + 1]; /* ends with NULL */
	size_t count;
	bool overflow;
};
void command_line_add(struct command_line *l, const char *word);
void command_line_add_pair(struct command_line *l, const char *option, const char *value);
void command_line_release(struct command_line *l);
#define _cleanup_command_line_ _cleanup_(command_line_release)

/*
 * The words of a route's command and of the parameters of the request. "{job}" stands for the
 * values of that parameter; parameters with an option are put in front of the first of those or
 * "--". job: what "{job}" is replaced with.
 */
void command_line_of(struct command_line *l, const struct web_request *q, const char *command,
		     const char *job);

struct command_end {
	int status;         /* exit status; -1: it did not end by itself */
	struct strbuf out;  /* standard output */
	struct strbuf said; /* standard error */
};
#define COMMAND_END_INIT                                \
	{                                               \
		.out = STRBUF_INIT, .said = STRBUF_INIT \
	}
void command_end_release(struct command_end *e);
#define _cleanup_command_end_ _cleanup_(command_end_release)

/* Runs it for the viewer of the request. 0, or -ETIMEDOUT, -EFBIG (too much output), -EINTR (a
 * signal ended it), -ECANCELED (the server stops) or another negative errno. dir: where it runs;
 * -1: in an empty directory. */
int web_spawn(const struct web_request *q, const struct command_line *l, int dir,
	      struct command_end *ret);
/* A new directory for temporary files, its path freed by the caller; NULL with errno. */
char *web_scratch_directory(void);
/* Makes the answer an error if the command failed; true: it did. */
bool command_failed(struct web_answer *a, int r, struct command_end *e);

/* The output becomes the answer. */
void web_take_output(struct web_answer *a, struct command_end *e);
/* The answer to a change: {"done": true, "message": what the command printed}. */
void web_done(struct web_answer *a, const struct command_end *e);
