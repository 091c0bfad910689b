/* Messages; see log.h. */
#include "core/log.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/strbuf.h"
#include "core/text/text.h"

/* Set once at the start. */
static const char *log_name = "plimsoll";
static enum log_level log_limit = LOG_WARN;
static const char *python_logger; /* not NULL: the format of Python's logging */
static const struct log_words *other_words;
static log_writer *writer; /* not NULL: gets all messages */
static int copy_file = -1;

static const char *const capitals[] = {"ERROR", "WARNING", "INFO", "DEBUG"};

void log_init(const char *name, enum log_level level)
{
	log_name = name;
	log_limit = level;
}

enum log_level log_level(void)
{
	return log_limit;
}

void log_use_python_form(const char *logger, const struct log_words *words)
{
	python_logger = logger;
	other_words = words;
}

static void put_words(struct strbuf *text, const struct log_words *words)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const char *end = text->buf + text->len;

	for (const char *p = text->buf; p < end;) {
		const struct log_words *w = words;

		while (w->ours && !str_prefix(p, w->ours))
			w++;
		if (w->ours)
			strbuf_addstr(&out, w->theirs);
		else
			strbuf_addch(&out, *p);
		p += w->ours ? strlen(w->ours) : 1;
	}
	strbuf_reset(text);
	strbuf_add(text, out.buf, out.len);
}

void log_copy_to(int fd)
{
	copy_file = fd;
}

void log_use_writer(log_writer *w)
{
	writer = w;
}

/* The reader of stderr may be gone, which must not end the program. */
static void write_line(int fd, const struct strbuf *line)
{
	sigset_t broken, old, pending;

	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	sigpending(&pending);
	pthread_sigmask(SIG_BLOCK, &broken, &old);
	if (write(fd, line->buf, line->len) < 0 && errno == EPIPE &&
	    !sigismember(&pending, SIGPIPE))
		(void)sigtimedwait(&broken, NULL, &(const struct timespec){0});
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void log_at(enum log_level level, const char *file, const char *function, int number,
	    const char *fmt, ...)
{
	static const char *const words[] = {"error: ", "warning: ", "", "debug: "};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
	int saved = errno;
	va_list ap;

	if (level > log_limit)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	if (writer)
		writer(level, file, function, number, &text);
	if (python_logger) {
		put_words(&text, other_words);
		strbuf_addf(&line, "%s:%s:", capitals[level], python_logger);
	} else {
		strbuf_addf(&line, "%s: %s", log_name, words[level]);
	}
	text_add_printable(&line, text.buf, text.len);
	strbuf_addch(&line, '\n');
	if (copy_file >= 0)
		write_line(copy_file, &line);
	/* one write: lines of several processes on one stderr stay whole */
	if (!writer || level == LOG_ERROR)
		write_line(STDERR_FILENO, &line);
	errno = saved;
}

bool color_on(FILE *stream)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(stream)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}
