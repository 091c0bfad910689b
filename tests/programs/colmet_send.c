/*
 * Sends one message with a record of every backend of colmet's to an address, as `node --wire
 * colmet` does, or writes it to a file: colmet_send URI|FILE. Value i of a backend is 1000 * i + 7,
 * of those with a sign the last one is not known.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "compat/colmet/colmet.h"
#include "transport/link.h"

static void add_record(struct strbuf *out, const struct row_table *b)
{
	_cleanup_free_ struct fixed_row *r = xcalloc(1, sizeof(*r));

	r->table = b;
	r->job = b->per_job ? 1000 : 0;
	r->time_s = 1794709883;
	snprintf(r->host, sizeof(r->host), "node-1");
	for (size_t i = 0; i < b->metric_count; i++)
		if (b->fields[i].type == ROW_F32)
			r->values[i].f = 0.25f * (float)i;
		else
			r->values[i].i = 1000 * (int64_t)i + 7;
	if (b->fields[b->metric_count - 1].type == ROW_I64)
		r->values[b->metric_count - 1].i = -1;
	if (b->metric_count < b->field_count)
		snprintf(r->involved, sizeof(r->involved), "[1000, 1001]");
	colmet_pack(r, out);
}

int main(int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf message = STRBUF_INIT, why = STRBUF_INIT;
	struct link *l;

	if (argc != 2)
		return 2;
	for (const struct row_table *b = colmet_backends; b->name; b++)
		add_record(&message, b);
	if (!strstr(argv[1], "://")) {
		int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		return fd < 0 || write(fd, message.buf, message.len) != (ssize_t)message.len;
	}
	const struct link_options o = {.kind = LINK_PUSH, .uri = argv[1], .linger_ms = 30000};
	if (link_open(&l, &o, &why) < 0) {
		fprintf(stderr, "%s\n", why.buf);
		return 1;
	}
	const struct link_part part = {message.buf, message.len};
	int r;
	for (unsigned i = 0; (r = link_send(l, &part, 1)) == -EAGAIN && i < 3000; i++)
		usleep(10000);
	link_close(l);
	return r < 0;
}
