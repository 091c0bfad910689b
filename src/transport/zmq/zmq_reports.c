/* Part of module "zmq": what is to be said of peers, each thing once; see link_module.h. */
#include <string.h>

#include "transport/zmq/link_module.h"

void zmq_reports_add(struct told *t, const char *text)
{
	for (size_t i = 0; i < t->seen_count; i++)
		if (!strcmp(t->seen[i], text))
			return;
	if (t->seen_count == TOLD_MAX)
		return;
	strbuf_addf(&t->waiting, "%s\n", text);
	t->seen[t->seen_count++] = xstrdup(text);
}

void zmq_reports_take(struct told *t, struct strbuf *out)
{
	strbuf_add(out, t->waiting.buf, t->waiting.len);
	strbuf_reset(&t->waiting);
}

void zmq_reports_release(struct told *t)
{
	while (t->seen_count)
		free(t->seen[--t->seen_count]);
	strbuf_release(&t->waiting);
}
