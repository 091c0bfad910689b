/* Shared by the files of the sender; see sender.h. */
#pragma once

#include <pthread.h>

#include "transport/batch.h"
#include "transport/batch_sequence.h"
#include "transport/byte_queue.h"
#include "transport/sender.h"

#define MS 1000000ull
#define RESEND_FIRST (3000 * MS)

/* A batch that was sent and is not yet acknowledged. */
struct outstanding {
	uint64_t log_number; /* 0: from memory */
	struct batch_name name;
	size_t size;
	bool settled;
};

struct sender {
	struct commit_log *log;
	bool own_log;
	struct link *link;
	char *node, *uri, *spool;
	pthread_t thread;
	int wake;
	unsigned window;

	struct byte_queue queue; /* waits for the disk */
	pthread_mutex_t lock;
	/* under lock: what callers and thread share */
	bool stop;
	uint64_t stop_until;
	uint64_t given, overflowed, lost_at_stop;
	struct sender_counts shown;
	uint64_t position;

	/* the thread's own */
	struct sender_counts c;
	struct delivery_problems problems;
	struct commit_log_reader *reader;
	struct sequences chain; /* of this pass: the last number sent of each (node, boot) */
	struct outstanding *ring;
	size_t head, count, bytes;
	size_t from_memory; /* of those outstanding */
	uint64_t settled;   /* number of the first log entry that is not acknowledged */
	uint64_t sent_to;   /* log number after the highest ever sent */
	uint64_t looked_to; /* log number after the highest ever read */
	uint64_t dropped_before, rescued; /* by earlier runs; acknowledged although dropped */
	uint64_t pass;
	const void *held; /* read, but not sent yet */
	size_t held_size;
	uint64_t held_number;
	bool there, ending;
	uint64_t connections;
	uint64_t heard_ns;       /* of the last answer, or of the first message since */
	uint64_t resend_ns;      /* time-out for an answer */
	uint64_t pause_until;    /* nothing is sent before */
	uint64_t not_allowed_ns; /* length of the pause while the key is not allowed */
	uint64_t disk_retry_at;
	int read_error;
};

/* Starts again with the oldest batch that is not acknowledged. */
void sender_begin_pass(struct sender *d);
/* Moves batches from memory to the spool, as far as the disk allows. */
void sender_spool(struct sender *d, uint64_t now);
void sender_send_hello(struct sender *d);
/* False: it would block, or there is nothing to send. */
bool sender_send_one(struct sender *d, uint64_t now);
/* Handles one answer of the collector; false: there is none. */
bool sender_take_answer(struct sender *d, uint64_t now);
