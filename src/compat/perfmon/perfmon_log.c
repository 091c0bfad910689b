/* perfmon's log format: "2026-11-15 04:05:06 | INFO | n1 | monitor:find_job | 90 | text". */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compat/perfmon/perfmon.h"
#include "core/text/text.h"

static int log_file = -1;
static char *log_host;

/* One write to a file that is open for appending: lines of several hosts do not mix if the
 * filesystem permits. */
static void write_line(enum log_level level, const char *file, const char *function, int number,
		       const struct strbuf *text)
{
	static const char *const words[] = {"ERROR", "WARNING", "INFO", "DEBUG"};
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;
	const char *module = path_base(file);
	time_t now = time(NULL);
	char stamp[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &tm);
	strbuf_addf(&line, "%s | %s | %s | %.*s:%s | %d | ", stamp, words[level], log_host,
		    (int)strcspn(module, "."), module, function, number);
	text_add_printable(&line, text->buf, text->len);
	strbuf_addch(&line, '\n');
	(void)!write(log_file, line.buf, line.len);
}

void perfmon_log_to(int fd, const char *host)
{
	log_file = fd;
	free(log_host);
	log_host = xstrdup(host);
	log_use_writer(write_line);
}
