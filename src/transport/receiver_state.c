/*
 * The checkpoint: a text with the last number and the owner of each (node, boot), and a checksum in
 * its last line. Together with the log after it this is exactly what was acknowledged: a batch is
 * either below the point of the checkpoint, or in the log.
 *
 * If entries of the log are missing (a power cut between writing and syncing may lose any of them),
 * nobody knows whose they were: a batch after such a hole says nothing about those before it. It is
 * recorded by itself ("+" in the checkpoint), and the others are accepted when they are sent again.
 */
#include "transport/receiver_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/crc32c.h"
#include "core/files/fs.h"
#include "core/log.h"
#include "transport/batch.h"
#include "transport/keyring.h"

#define FILE_NAME "received"
#define FILE_MAX ((size_t)128 << 20)
#define FIRST_LINE "plimsoll received 1\n"

void receiver_state_text(const struct sequences *s, uint64_t log_id, uint64_t upto,
			 struct strbuf *out)
{
	size_t begin = out->len;

	strbuf_addstr(out, FIRST_LINE);
	strbuf_addf(out, "log %016" PRIx64 " upto %" PRIu64 "\n", log_id, upto);
	for (size_t i = 0; i < s->count; i++)
		if (s->list[i].durable)
			strbuf_addf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
				    s->list[i].node, s->list[i].boot, s->list[i].durable,
				    s->list[i].owner);
	for (size_t i = 0; i < s->count; i++)
		for (size_t k = 0; k < s->list[i].beyond_count; k++)
			if (s->list[i].beyond[k] > s->list[i].durable)
				strbuf_addf(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " +\n",
					    s->list[i].node, s->list[i].boot, s->list[i].beyond[k],
					    s->list[i].owner);
	strbuf_addf(out, "check %08" PRIx32 "\n", crc32c(0, out->buf + begin, out->len - begin));
}

static bool next_number(const char **p, const char *end, int base, uint64_t *ret)
{
	char *stop;

	if (*p >= end || **p < '0')
		return false;
	errno = 0;
	*ret = strtoull(*p, &stop, base);
	if (errno || stop == *p || stop >= end)
		return false;
	*p = stop;
	return true;
}

static bool take_line(struct sequences *s, const char *p, const char *end)
{
	const char *blank = memchr(p, ' ', (size_t)(end - p));
	uint64_t boot, number, owner = 0;
	char node[256];

	if (!blank || !batch_node_is_good(p, (size_t)(blank - p)))
		return false;
	memcpy(node, p, (size_t)(blank - p));
	node[blank - p] = 0;
	p = blank + 1;
	if (!next_number(&p, end, 10, &boot) || *p++ != ' ' || !next_number(&p, end, 10, &number))
		return false;
	/* older files have no owner */
	if (end - p > 2 && p[1] >= '0' && p[1] <= '9' && (p++, !next_number(&p, end, 10, &owner)))
		return false;
	bool beyond = end - p == 3 && !memcmp(p, " +\n", 3);
	if (*p != '\n' && !beyond)
		return false;
	struct sequence *q = sequence_of(s, node, boot);
	q->owner = owner;
	if (beyond)
		sequence_add_beyond(q, number);
	else if (number > q->last)
		q->last = q->durable = number;
	return true;
}

bool receiver_state_parse(struct sequences *s, const char *text, size_t n, uint64_t log_id,
			  uint64_t *ret_upto)
{
	static const char check[] = "check ";
	const char *p = text + strlen(FIRST_LINE), *end = text + n - 15;
	uint64_t id, upto, sum;

	if (n < strlen(FIRST_LINE) + 15 || !str_prefix(text, FIRST_LINE) ||
	    strncmp(end, check, strlen(check)) != 0)
		return false;
	const char *at = end + strlen(check);
	if (!next_number(&at, text + n, 16, &sum) || at != text + n - 1 ||
	    sum != crc32c(0, text, (size_t)(end - text)))
		return false;
	if (strncmp(p, "log ", 4) != 0)
		return false;
	p += 4;
	if (!next_number(&p, end, 16, &id) || strncmp(p, " upto ", 6) != 0)
		return false;
	p += 6;
	if (!next_number(&p, end, 10, &upto) || *p++ != '\n')
		return false;
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));

		if (!eol || !take_line(s, p, eol + 1))
			return false;
		p = eol + 1;
	}
	*ret_upto = id == log_id ? upto : 0;
	return true;
}

int receiver_state_save(int dir, const struct strbuf *text)
{
	return fs_replace_durable(dir, FILE_NAME, text->buf, text->len, 0600);
}

/* Reads the log from a number on. */
static int read_log(struct sequences *s, struct commit_log *log, uint64_t from)
{
	struct commit_log_reader *r = commit_log_read_from(log, from);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t number, expected = commit_log_first(log);
	struct batch_name name;
	bool hole = false;
	const void *p;
	size_t n;
	int got;

	if (expected < from)
		expected = from;
	while ((got = commit_log_reader_next(r, &p, &n, &number)) > 0) {
		hole = hole || number != expected;
		expected = number + 1;
		if (batch_peek(p, n, &name, &why) < 0)
			continue;
		struct sequence *q = sequence_of(s, name.node, name.boot);

		if (name.number <= q->last)
			continue;
		if (hole && name.number != q->last + 1)
			sequence_add_beyond(q, name.number);
		else
			q->last = q->durable = name.number;
	}
	commit_log_reader_close(r);
	return got;
}

int receiver_state_load(struct sequences *s, struct commit_log *log, int dir, uint64_t *ret_upto,
			struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t upto = 0;
	int r = fs_read(dir, FILE_NAME, FILE_MAX, &text);

	if (r < 0 && r != -ENOENT)
		return strbuf_fail(why, r, "cannot read the checkpoint: %s", strerror(-r));
	if (r == 0 && !receiver_state_parse(s, text.buf, text.len, commit_log_id(log), &upto)) {
		log_warn("the checkpoint '" FILE_NAME "' is damaged: batches that were received "
			 "long ago may be stored twice");
		sequences_clear(s);
	}
	*ret_upto = upto;
	r = read_log(s, log, upto);
	if (r < 0)
		strbuf_addf(why, "cannot read the log: %s", strerror(-r));
	return r;
}

int receiver_check_batch(const void *data, size_t size, const char *names, struct strbuf *why)
{
	char host[256];
	int e = batch_host(data, size, host, why);

	if (e < 0 || keyring_names_match(names, host))
		return e;
	return strbuf_fail(why, -EBADMSG, "its key is not allowed for the samples of node '%s'",
			   host);
}

/* ---- answers ---- */

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

	pl_put_u64(words, boot);
	pl_put_u64(words + 8, number);
	receive_answer(link, handle, KIND_ACK,
		       (struct link_part[]){{words, sizeof(words)}, {node, strlen(node)}}, 2);
}

void receive_send_nack(struct link *link, const struct link_part *handle,
		       const struct batch_name *name, uint64_t pass, enum nack_reason reason,
		       const char *text)
{
	unsigned char words[32];

	pl_put_u64(words, name->boot);
	pl_put_u64(words + 8, name->number);
	pl_put_u64(words + 16, pass);
	pl_put_u64(words + 24, reason);
	receive_answer(link, handle, KIND_NACK,
		       (struct link_part[]){{words, sizeof(words)},
					    {name->node, strlen(name->node)},
					    {text, strlen(text)}},
		       3);
}
