#include "web/http/plain_page.h"

void plain_page_begin(struct strbuf *out, const char *base, const char *title)
{
	static const char *const sheets[] = {"colors", "base", "report", "app", "plain"};

	strbuf_addf(out,
		    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"color-scheme\" content=\"light dark\">\n"
		    "<title>%s \u2013 Plimsoll</title>\n"
		    "<link rel=\"icon\" href=\"%s/ui/icon.svg\" type=\"image/svg+xml\">\n",
		    title, base);
	for (size_t i = 0; i < sizeof(sheets) / sizeof(*sheets); i++)
		strbuf_addf(out, "<link rel=\"stylesheet\" href=\"%s/ui/%s.css\">\n", base,
			    sheets[i]);
	strbuf_addf(out,
		    "</head>\n<body class=\"app plain\">\n<main>\n<p class=\"brand\">Plimsoll</p>\n"
		    "<section>\n<h1>%s</h1>\n",
		    title);
}

void plain_page_end(struct strbuf *out)
{
	strbuf_addstr(out, "</section>\n</main>\n</body>\n</html>\n");
}
