/*
 * A child process parses files from strangers: it has the file, a socket and no rights
 * (core/system/sandbox.h). A file that crashes the library or takes it over gets no further than
 * that. The child's messages are not trusted either: lengths are bounded, and names, types and row
 * numbers are checked again by the receiver.
 *
 * A request is { what, size } and names; the answer is any number of { what, size } with a table or
 * some rows, and one END with the result and an error message.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/system/sandbox.h"
#include "core/system/socket_message.h"
#include "core/text/text.h"
#include "tables/hdf5/hdf5_module.h"

#define MEMORY ((uint64_t)1 << 30)
#define CPU_S 120            /* plus one per MiB of the file */
#define FLUSH (64u << 10)    /* bytes of rows that are sent at once */
#define BODY_MAX (64u << 20) /* of a message */
#define TEXT_MAX 4096
#define NO_TEXT UINT32_MAX
#define CHILD_FILE 3
#define CHILD_SOCKET 4

enum what { ASK_TABLES = 1, ASK_ROWS, SEND_TABLE, SEND_ROWS, SEND_END };

struct message {
	uint32_t what, size;
};

struct hdf5_file {
	char *path;
	uint64_t size;
	pid_t pid;
	int socket;
	bool busy; /* a visit is in progress */
	bool gone; /* the child has ended */
	struct strbuf body;
};

/* ---- messages ---- */

static bool send_message(int fd, enum what what, const struct strbuf *body)
{
	const struct message m = {what, (uint32_t)body->len};

	return body->len <= BODY_MAX && send_all(fd, &m, sizeof(m)) &&
	       send_all(fd, body->buf, body->len);
}

static bool receive_message(int fd, struct message *m, struct strbuf *body)
{
	strbuf_reset(body);
	if (!receive_all(fd, m, sizeof(*m)) || m->size > BODY_MAX)
		return false;
	strbuf_grow(body, m->size);
	if (!receive_all(fd, body->buf, m->size))
		return false;
	body->len = m->size;
	body->buf[m->size] = 0;
	return true;
}

static void put(struct strbuf *body, const void *data, size_t n)
{
	strbuf_add(body, data, n);
}

static void put_u32(struct strbuf *body, uint32_t n)
{
	put(body, &n, sizeof(n));
}

static void put_u64(struct strbuf *body, uint64_t n)
{
	put(body, &n, sizeof(n));
}

/* With its NUL; NULL and "" differ. */
static void put_text(struct strbuf *body, const char *s)
{
	put_u32(body, s ? (uint32_t)strlen(s) + 1 : 0);
	if (s)
		put(body, s, strlen(s) + 1);
}

/* The rest of a body; after one failure everything fails. */
struct body {
	const char *p, *end;
	bool bad;
};

static struct body read_body(const struct strbuf *b)
{
	return (struct body){b->buf, b->buf + b->len, false};
}

static const char *take(struct body *b, size_t n)
{
	const char *p = b->p;

	if (b->bad || n > (size_t)(b->end - b->p)) {
		b->bad = true;
		return NULL;
	}
	b->p += n;
	return p;
}

static uint64_t take_number(struct body *b, size_t size)
{
	const char *p = take(b, size);
	uint64_t n = 0;

	if (p)
		memcpy(&n, p, size);
	return n;
}
#define take_u32(b) ((uint32_t)take_number(b, sizeof(uint32_t)))
#define take_u64(b) take_number(b, sizeof(uint64_t))

static const char *take_text(struct body *b, size_t max)
{
	uint32_t size = take_u32(b);
	const char *p = size && size <= max + 1 ? take(b, size) : NULL;

	if (size && (!p || strnlen(p, size) != size - 1))
		b->bad = true;
	return b->bad ? NULL : p;
}

/* ---- the child ---- */

struct sending {
	struct strbuf body;
	size_t columns;
	bool lost; /* the parent is gone */
};

static int send_table(void *user, const struct hdf5_table *t)
{
	struct sending *out = user;

	strbuf_reset(&out->body);
	put_text(&out->body, t->job);
	put_text(&out->body, t->name);
	put_text(&out->body, t->note);
	put_u64(&out->body, t->rows);
	put_u32(&out->body, (uint32_t)t->column_count);
	for (size_t i = 0; i < t->column_count; i++) {
		put_text(&out->body, t->columns[i].name);
		put_u32(&out->body, t->columns[i].type);
		put_u32(&out->body, t->columns[i].size);
	}
	out->lost |= !send_message(CHILD_SOCKET, SEND_TABLE, &out->body);
	return out->lost ? -EPIPE : 0;
}

static int send_rows(struct sending *out)
{
	if (out->body.len)
		out->lost |= !send_message(CHILD_SOCKET, SEND_ROWS, &out->body);
	strbuf_reset(&out->body);
	return out->lost ? -EPIPE : 0;
}

static int send_row(void *user, uint64_t row, const struct hdf5_value *values)
{
	struct sending *out = user;

	put_u64(&out->body, row);
	for (size_t i = 0; i < out->columns; i++) {
		const struct hdf5_value *v = &values[i];

		put_u32(&out->body, v->present);
		put(&out->body, &v->i, sizeof(v->i));
		put(&out->body, &v->d, sizeof(v->d));
		put_u32(&out->body, v->s ? (uint32_t)v->n : NO_TEXT);
		if (v->s)
			put(&out->body, v->s, v->n);
	}
	return out->body.len >= FLUSH ? send_rows(out) : 0;
}

static bool send_end(struct sending *out, int result, const struct strbuf *why)
{
	struct strbuf *b = &out->body;

	strbuf_reset(b);
	put_u32(b, (uint32_t)-result);
	strbuf_add(b, why->buf, why->len < TEXT_MAX ? why->len : TEXT_MAX);
	return !out->lost && send_message(CHILD_SOCKET, SEND_END, b);
}

static int answer_rows(struct hdf5_input *in, struct body *b, struct sending *out,
		       struct strbuf *why)
{
	const char *job = take_text(b, BODY_MAX), *table = take_text(b, BODY_MAX);
	uint64_t first = take_u64(b), rows = take_u64(b);
	uint32_t count = take_u32(b);

	if (b->bad || !job || !table)
		return -EPROTO;
	_cleanup_free_ const char **columns = xcalloc((size_t)count + 1, sizeof(*columns));
	for (uint32_t i = 0; i < count; i++)
		if (!(columns[i] = take_text(b, BODY_MAX)))
			return -EPROTO;
	out->columns = count;
	strbuf_reset(&out->body);
	int r = hdf5_input_rows(in, job, table, columns, count, first, rows, send_row, out, why);
	int sent = send_rows(out);
	return r < 0 ? r : sent;
}

/* Answers requests until the parent closes the socket. */
static void serve(struct hdf5_input *in)
{
	_cleanup_strbuf_ struct strbuf question = STRBUF_INIT, why = STRBUF_INIT;
	struct sending out = {.body = STRBUF_INIT};
	struct message m;
	int r = 0;

	while (send_end(&out, r, &why) && receive_message(CHILD_SOCKET, &m, &question)) {
		struct body b = read_body(&question);

		strbuf_reset(&why);
		if (m.what == ASK_TABLES)
			r = hdf5_input_tables(in, take_text(&b, BODY_MAX), send_table, &out, &why);
		else
			r = answer_rows(in, &b, &out, &why);
	}
}

static void be_child(int file, int socket, const char *path, uint64_t size)
{
	const int keep[] = {[CHILD_FILE - 3] = file, [CHILD_SOCKET - 3] = socket};
	const struct sandbox_limits limits = {MEMORY, CPU_S + (unsigned)(size >> 20)};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct sending out = {.body = STRBUF_INIT};
	struct hdf5_input *in;
	int r = sandbox_enter(keep, ARRAY_SIZE(keep), &limits);

	/* the descriptors may not be in place then */
	if (r < 0)
		_exit(SANDBOX_FAILED);
	r = hdf5_input_open(CHILD_FILE, path, &in, &why);
	if (r < 0)
		(void)send_end(&out, r, &why);
	else
		serve(in);
	_exit(0);
}

/* ---- the parent ---- */

/* Reports how the child ended. */
static int reader_died(struct hdf5_file *f, struct strbuf *why)
{
	int status = 0;

	f->gone = true;
	close_fd(&f->socket);
	f->socket = -1;
	/* after nonsense it is still alive */
	if (f->pid > 0)
		(void)kill(f->pid, SIGKILL);
	while (f->pid > 0 && waitpid(f->pid, &status, 0) < 0 && errno == EINTR)
		;
	f->pid = 0;
	sandbox_say_reader_died(f->path, "HDF5", status, why);
	return -EBADMSG;
}

static int take_end(struct hdf5_file *f, struct strbuf *why)
{
	struct body b = read_body(&f->body);
	uint32_t result = take_u32(&b);

	if (b.bad || result > 4095)
		return reader_died(f, why);
	if (result)
		text_add_printable(why, b.p, strnlen(b.p, (size_t)(b.end - b.p)));
	return -(int)result;
}

/* Takes a table; false: a file of this size cannot have it. */
static bool take_table(const struct hdf5_file *f, struct body *b, struct hdf5_table *t,
		       struct hdf5_column *columns)
{
	uint64_t row_size = 0;

	t->job = take_text(b, HDF5_JOB_MAX);
	t->name = take_text(b, HDF5_NAME_MAX);
	t->note = take_text(b, HDF5_NOTE_MAX);
	t->rows = take_u64(b);
	t->column_count = take_u32(b);
	t->columns = columns;
	if (b->bad || !t->job || !t->name || t->column_count > HDF5_COLUMNS_MAX)
		return false;
	for (size_t i = 0; i < t->column_count; i++) {
		columns[i].name = take_text(b, BODY_MAX);
		columns[i].type = take_u32(b);
		columns[i].size = take_u32(b);
		row_size += columns[i].size;
		if (b->bad || !columns[i].name || columns[i].type < HDF5_I64 ||
		    columns[i].type > HDF5_OTHER || row_size > HDF5_ROW_MAX)
			return false;
	}
	return row_size && t->rows <= (f->size * HDF5_RATIO + HDF5_PIECE) / row_size;
}

/* The visitor, and its result. */
struct visit {
	hdf5_table_visitor table;
	hdf5_row_visitor row;
	void *user;
	struct hdf5_column *columns;
	struct hdf5_value *values;
	size_t count;
	int result; /* once it is negative, the rest is skipped */
};

static bool visit_table(struct hdf5_file *f, struct visit *v)
{
	struct body b = read_body(&f->body);
	struct hdf5_table t = {0};

	if (!v->table || !take_table(f, &b, &t, v->columns))
		return false;
	if (v->result >= 0)
		v->result = v->table(v->user, &t);
	return true;
}

static bool visit_rows(struct hdf5_file *f, struct visit *v)
{
	struct body b = read_body(&f->body);

	if (!v->row)
		return false;
	while (b.p < b.end) {
		uint64_t row = take_u64(&b);

		for (size_t i = 0; i < v->count; i++) {
			struct hdf5_value *value = &v->values[i];
			uint64_t bits;

			*value = (struct hdf5_value){.present = take_u32(&b) != 0};
			value->i = (int64_t)take_u64(&b);
			bits = take_u64(&b);
			memcpy(&value->d, &bits, sizeof(bits));
			uint32_t n = take_u32(&b);
			if (n != NO_TEXT) {
				value->s = take(&b, n);
				value->n = n;
			}
		}
		if (b.bad)
			return false;
		if (v->result >= 0)
			v->result = v->row(v->user, row, v->values);
	}
	return true;
}

/* Sends one request and receives the whole answer. */
static int ask(struct hdf5_file *f, enum what what, const struct strbuf *question, struct visit *v,
	       struct strbuf *why)
{
	struct message m;
	bool ok;

	if (f->busy || f->gone) {
		strbuf_addf(why, f->gone ? "'%s': the reader died" : "'%s' is being read already",
			    f->path);
		return f->gone ? -EBADMSG : -EBUSY;
	}
	f->busy = true;
	ok = send_message(f->socket, what, question);
	while (ok && (ok = receive_message(f->socket, &m, &f->body)) && m.what != SEND_END)
		ok = m.what == SEND_TABLE  ? visit_table(f, v)
		     : m.what == SEND_ROWS ? visit_rows(f, v)
					   : false;
	f->busy = false;
	int r = ok ? take_end(f, why) : reader_died(f, why);
	return v->result < 0 ? v->result : r;
}

int hdf5_tables(struct hdf5_file *f, const char *job, hdf5_table_visitor visit, void *user,
		struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf question = STRBUF_INIT;
	_cleanup_free_ struct hdf5_column *columns = xcalloc(HDF5_COLUMNS_MAX, sizeof(*columns));
	struct visit v = {.table = visit, .user = user, .columns = columns};

	put_text(&question, job);
	return ask(f, ASK_TABLES, &question, &v, why);
}

int hdf5_read_rows(struct hdf5_file *f, const char *job, const char *table,
		   const char *const *columns, size_t count, uint64_t first, uint64_t rows,
		   hdf5_row_visitor visit, void *user, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf question = STRBUF_INIT;
	_cleanup_free_ struct hdf5_value *values = xcalloc(count ? count : 1, sizeof(*values));
	struct visit v = {.row = visit, .user = user, .values = values, .count = count};

	put_text(&question, job);
	put_text(&question, table);
	put_u64(&question, first);
	put_u64(&question, rows);
	put_u32(&question, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		put_text(&question, columns[i]);
	return ask(f, ASK_ROWS, &question, &v, why);
}

/* ---- opening ---- */

static int start_reader(struct hdf5_file *f, int fd, struct strbuf *why)
{
	struct message m;
	int pair[2];

	int r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ? -errno : 0;
	if (r == 0 && (f->pid = fork()) < 0) {
		r = -errno;
		close(pair[0]);
		close(pair[1]);
	}
	if (r < 0)
		return strbuf_fail(why, r, "cannot start a process to read '%s': %s", f->path,
				   strerror(-r));
	if (f->pid == 0) {
		close(pair[0]);
		be_child(fd, pair[1], f->path, f->size);
	}
	close(pair[1]);
	f->socket = pair[0];
	if (!receive_message(f->socket, &m, &f->body) || m.what != SEND_END)
		return reader_died(f, why);
	return take_end(f, why);
}

int hdf5_open(const char *path, struct hdf5_file **ret, struct strbuf *why)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct hdf5_file *f = xcalloc(1, sizeof(*f));
	struct stat st;
	int r = 0;

	f->path = xstrdup(path);
	f->socket = -1;
	f->body = (struct strbuf)STRBUF_INIT;
	if (fd < 0 || fstat(fd, &st) < 0) {
		r = -errno;
		strbuf_addf(why, "'%s': %s", path, strerror(-r));
	} else if (!S_ISREG(st.st_mode)) {
		r = strbuf_fail(why, -EINVAL, "'%s' is not a regular file", path);
	} else {
		f->size = (uint64_t)st.st_size;
		r = start_reader(f, fd, why);
	}
	if (r < 0) {
		hdf5_close(f);
		return r;
	}
	*ret = f;
	return 0;
}

void hdf5_close(struct hdf5_file *f)
{
	if (!f)
		return;
	/* this ends it */
	close_fd(&f->socket);
	while (f->pid > 0 && waitpid(f->pid, NULL, 0) < 0 && errno == EINTR)
		;
	strbuf_release(&f->body);
	free(f->path);
	free(f);
}

static int ignore_table(void *user PL_UNUSED, const struct hdf5_table *t PL_UNUSED)
{
	return 0;
}

int hdf5_probe(const char *path, bool whole, struct strbuf *why)
{
	struct hdf5_file *f;
	int r = hdf5_open(path, &f, why);

	if (r < 0)
		return r;
	if (whole)
		r = hdf5_tables(f, NULL, ignore_table, NULL, why);
	hdf5_close(f);
	return r;
}
