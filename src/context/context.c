/* See context.h. */
#include "context/context.h"

#include <stdarg.h>
#include <string.h>

int usage_error(const char *command, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	if (!strstr(text.buf, "; ")) /* one piece of advice is enough */
		strbuf_addf(&text, "; see `plimsoll help%s%s`", command ? " " : "",
			    command ? command : "");
	log_error("%s", text.buf);
	return EXIT_USAGE;
}

void warn_lines(const char *lines, struct value *list)
{
	while (*lines) {
		size_t n = strcspn(lines, "\n");

		log_warn("%.*s", (int)n, lines);
		if (list)
			value_append(list, value_strn(lines, n));
		lines += n + (lines[n] == '\n');
	}
}
