/* Part of module "zmq": messages about peers, each logged once; see link_module.h. */
#include <string.h>

#include "transport/zmq/link_module.h"

void zmq_reports_add(struct zmq_reports *t, const char *text)
{
	for (size_t i = 0; i < t->seen_count; i++)
		if (!strcmp(t->seen[i], text))
			return;
	if (t->seen_count == REPORTS_MAX)
		return;
	strbuf_addf(&t->waiting, "%s\n", text);
	t->seen[t->seen_count++] = xstrdup(text);
}

void zmq_reports_take(struct zmq_reports *t, struct strbuf *out)
{
	strbuf_add(out, t->waiting.buf, t->waiting.len);
	strbuf_reset(&t->waiting);
}

void zmq_reports_release(struct zmq_reports *t)
{
	while (t->seen_count)
		free(t->seen[--t->seen_count]);
	strbuf_release(&t->waiting);
}
