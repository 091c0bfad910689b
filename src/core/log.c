/* One line per message on stderr. */
#include "core/log.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "core/strbuf.h"
#include "core/text.h"

/* Set once, before anything else happens. */
static const char *log_name = "plimsoll";
static enum log_level log_limit = LOG_WARN;
static bool epmt_form;

void log_init(const char *name, enum log_level level)
{
	log_name = name;
	log_limit = level;
}

enum log_level log_level(void)
{
	return log_limit;
}

void log_use_epmt_form(void)
{
	epmt_form = true;
}

static void say(enum log_level level, const char *fmt, va_list ap)
{
	static const char *const words[] = {"error: ", "warning: ", "", "debug: "};
	static const char *const epmt[] = {"ERROR", "WARNING", "INFO", "DEBUG"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, line = STRBUF_INIT;
	int saved = errno;

	if (level > log_limit)
		return;
	strbuf_vaddf(&text, fmt, ap);
	if (epmt_form)
		strbuf_addf(&line, "%s:epmt_cmds:", epmt[level]);
	else
		strbuf_addf(&line, "%s: %s", log_name, words[level]);
	text_add_printable(&line, text.buf, text.len);
	strbuf_addch(&line, '\n');
	/* one write: lines of several processes on one stderr stay whole */
	(void)!write(STDERR_FILENO, line.buf, line.len);
	errno = saved;
}

#define SAY(name, level)                \
	void name(const char *fmt, ...) \
	{                               \
		va_list ap;             \
		va_start(ap, fmt);      \
		say(level, fmt, ap);    \
		va_end(ap);             \
	}

SAY(log_error, LOG_ERROR)
SAY(log_warn, LOG_WARN)
SAY(log_info, LOG_INFO)
SAY(log_debug, LOG_DEBUG)

bool color_on(FILE *stream)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(fileno(stream)) && !(no && *no) && term && strcmp(term, "dumb") != 0;
}
