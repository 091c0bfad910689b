/* The list of protocols; see node_protocol.h. */
#include "node/node_protocol.h"

#include <string.h>

#include "node/node_internal.h"
#include "sources/source.h"

#define NODE_PROTOCOL(symbol, ...) extern const struct node_protocol node_protocol_##symbol;
#include "node/node_protocols.def"
#undef NODE_PROTOCOL

const struct node_protocol *const node_protocols[] = {
#define NODE_PROTOCOL(symbol, ...) &node_protocol_##symbol,
#include "node/node_protocols.def"
#undef NODE_PROTOCOL
	NULL,
};
_Static_assert(ARRAY_SIZE(node_protocols) <= NODE_PROTOCOLS_MAX + 1,
	       "too many protocols for node_settings.wires");

const struct node_protocol *node_protocol_find(const char *name)
{
	for (size_t i = 0; node_protocols[i]; i++)
		if (!strcmp(node_protocols[i]->name, name))
			return node_protocols[i];
	return NULL;
}

const struct node_protocol *node_only_protocol(const struct node_settings *s)
{
	const struct node_protocol *only = NULL;

	for (size_t i = 0; node_protocols[i]; i++) {
		if (!s->wires[i].address)
			continue;
		if (only)
			return NULL;
		only = node_protocols[i];
	}
	return s->connect || s->output || s->prometheus ? NULL : only;
}

void node_count_events(const struct node_settings *s, const char *events, struct strbuf *out)
{
	static const char counters[] = "job_counters";
	_cleanup_strbuf_ struct strbuf now = STRBUF_INIT;
	struct name_list l = {0};

	node_sources_text(s, &now);
	(void)node_list_parse(&l, now.buf); /* as many as there were */
	for (size_t i = 0; i < l.count; i++)
		if (!str_prefix(l.names[i], counters) ||
		    !strchr("=@", l.names[i][strlen(counters)]))
			node_list_append(out, l.names[i]);
	name_list_release(&l);
	for (const struct source *const *p = sources; *p && !s->source_count; p++)
		if ((*p)->open && node_samples(s, (*p)->name))
			node_list_append(out, (*p)->name);
	_cleanup_free_ char *word = xasprintf("%s=%s", counters, events);
	node_list_append(out, word);
}
