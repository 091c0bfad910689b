/* Sequential output with a buffer; see file_writer.h. */
#include "tables/file_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"

#define PIECE ((size_t)1 << 18) /* bytes per write */

static int say(struct file_writer *o, int error, struct strbuf *why)
{
	if (error < 0)
		strbuf_addf(why, "cannot write '%s': %s", o->path, strerror(-error));
	return error;
}

int file_writer_open(struct file_writer *o, const char *path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf planted = STRBUF_INIT;

	*o = (struct file_writer)FILE_WRITER_INIT;
	o->path = xstrdup(path);
	if (!strcmp(path, "-")) {
		o->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		o->fd = o->fd < 0 ? -errno : o->fd;
	} else {
		o->fd = fs_open_output(path, O_WRONLY | O_TRUNC, 0666, &planted);
	}
	if (o->fd >= 0)
		return 0;
	int r = o->fd;
	strbuf_addstr(why, planted.buf);
	if (!planted.len)
		(void)say(o, r, why);
	o->fd = -1;
	file_writer_abandon(o);
	return r;
}

static void write_out(struct file_writer *o, const char *data, size_t n)
{
	while (n && !o->error) {
		size_t part = n > PIECE ? PIECE : n;

		o->error = fs_write_once(o->fd, data, part, -1);
		data += part;
		n -= part;
	}
}

void file_writer_add(struct file_writer *o, const void *data, size_t n)
{
	o->at += n;
	if (o->waiting.len + n < PIECE) {
		strbuf_add(&o->waiting, data, n);
		return;
	}
	write_out(o, o->waiting.buf, o->waiting.len);
	strbuf_reset(&o->waiting);
	write_out(o, data, n);
}

int file_writer_flush(struct file_writer *o, struct strbuf *why)
{
	write_out(o, o->waiting.buf, o->waiting.len);
	strbuf_reset(&o->waiting);
	return say(o, o->error, why);
}

int file_writer_close(struct file_writer *o, struct strbuf *why)
{
	int r = file_writer_flush(o, why);

	int synced = r == 0 ? fs_sync(o->fd) : 0;
	if (synced < 0)
		r = say(o, synced, why);
	int closed = close(o->fd);
	if (r == 0 && closed < 0)
		r = say(o, -errno, why);
	o->fd = -1;
	file_writer_abandon(o);
	return r;
}

void file_writer_abandon(struct file_writer *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	free(o->path);
	o->path = NULL;
	strbuf_release(&o->waiting);
}
