/* What a collector remembers of received batches, checks of a batch, and answers. Private to
 * receiver*.c. */
#pragma once

#include "core/strbuf.h"
#include "transport/batch.h"
#include "transport/batch_sequence.h"
#include "transport/link.h"
#include "transport/log/commit_log.h"
#include "transport/protocol.h"

/* The checkpoint as text; it covers everything below upto in the log with this id. */
void receiver_state_text(const struct sequences *s, uint64_t log_id, uint64_t upto,
			 struct strbuf *out);
/* Parses one; false: it is damaged. upto is 0 if it is of another log: its batches are known all
 * the same. */
bool receiver_state_parse(struct sequences *s, const char *text, size_t n, uint64_t log_id,
			  uint64_t *ret_upto);
/* Loads the checkpoint in a directory and the log after it; logs problems. */
int receiver_state_load(struct sequences *s, struct commit_log *log, int dir, uint64_t *ret_upto,
			struct strbuf *why);
int receiver_state_save(int dir, const struct strbuf *text);
/* Can it be decompressed, and is its key, with these names, allowed for the host of its samples?
 * -EBADMSG: no. */
int receiver_check_batch(const void *data, size_t size, const char *names, struct strbuf *why);

/* ---- answers ----
 * They are lost if the peer is gone or does not read; it will send again. */

void receive_answer(struct link *link, const struct link_part *handle, const char *kind,
		    const struct link_part *more, size_t count);
void receive_send_ack(struct link *link, const struct link_part *handle, const char *node,
		      uint64_t boot, uint64_t number);
void receive_send_nack(struct link *link, const struct link_part *handle,
		       const struct batch_name *name, uint64_t pass, enum nack_reason reason,
		       const char *text);
