/* What a collector answers to nodes; docs/delivery.md has the protocol. */
#include <string.h>

#include "transport/receiver_state.h"

/* A peer that is gone or does not read gets none; it will ask again. */
void receive_answer(struct link *link, const struct link_part *handle, const char *kind,
		    const struct link_part *more, size_t count)
{
	struct link_part parts[LINK_PARTS_MAX] = {
		*handle, {PROTOCOL_NAME, strlen(PROTOCOL_NAME)}, {kind, strlen(kind)}};

	memcpy(parts + 3, more, count * sizeof(*more));
	(void)link_send(link, parts, 3 + count);
}

void receive_send_ack(struct link *link, const struct link_part *handle, const char *node,
		      uint64_t boot, uint64_t number)
{
	unsigned char words[16];

	put_word(words, boot);
	put_word(words + 8, number);
	receive_answer(link, handle, KIND_ACK,
		       (struct link_part[]){{words, sizeof(words)}, {node, strlen(node)}}, 2);
}

void receive_send_nack(struct link *link, const struct link_part *handle,
		       const struct batch_name *name, uint64_t pass, enum nack_reason reason,
		       const char *text)
{
	unsigned char words[32];

	put_word(words, name->boot);
	put_word(words + 8, name->number);
	put_word(words + 16, pass);
	put_word(words + 24, reason);
	receive_answer(link, handle, KIND_NACK,
		       (struct link_part[]){{words, sizeof(words)},
					    {name->node, strlen(name->node)},
					    {text, strlen(text)}},
		       3);
}
