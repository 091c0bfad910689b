/* What a collector remembers of the batches that it has taken, and what it looks for in one;
 * private to receive*.c. */
#ifndef PL_TRANSPORT_RECEIVER_STATE_H
#define PL_TRANSPORT_RECEIVER_STATE_H

#include "core/strbuf.h"
#include "transport/batch.h"
#include "transport/batch_sequence.h"
#include "transport/link.h"
#include "transport/log/commit_log.h"
#include "transport/protocol.h"

/* The checkpoint as text: everything below upto in the log with this id is in it. */
void receiver_state_text(const struct sequences *s, uint64_t log_id, uint64_t upto,
			 struct strbuf *out);
/* Takes one in. False when it is damaged. upto is 0 when it is of another log: what was taken is
 * known all the same. */
bool receiver_state_parse(struct sequences *s, const char *text, size_t n, uint64_t log_id,
			  uint64_t *ret_upto);
/* From the checkpoint in a directory and the log behind it; says when something is amiss. */
int receiver_state_load(struct sequences *s, struct commit_log *log, int dir, uint64_t *ret_upto,
			struct strbuf *why);
int receiver_state_save(int dir, const struct strbuf *text);
/* Can it be unpacked, and may its sender, with these names for its key, speak for the host inside?
 * What is made of it goes by that one. -EBADMSG: no. */
int receiver_check_batch(const void *data, size_t size, const char *names, struct strbuf *why);

/* ---- answers: a peer that is gone or does not read gets none; it will ask again ---- */

void receive_answer(struct link *link, const struct link_part *handle, const char *kind,
		    const struct link_part *more, size_t count);
void receive_send_ack(struct link *link, const struct link_part *handle, const char *node,
		      uint64_t boot, uint64_t number);
void receive_send_nack(struct link *link, const struct link_part *handle,
		       const struct batch_name *name, uint64_t pass, enum nack_reason reason,
		       const char *text);

#endif
