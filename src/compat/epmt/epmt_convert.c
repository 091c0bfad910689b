/* Called as `epmt convert`: papiex's CSV inside an archive becomes TSV. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "codecs/archive.h"
#include "compat/epmt/epmt.h"
#include "compat/epmt/papiex/collate.h"
#include "compat/epmt/papiex/papiex.h"
#include "compat/epmt/papiex/papiex_read.h"

#define THREADS_MAX 1000000
#define HOSTS_MAX 4096

/* The TSV files of one host, in the making. */
struct host_files {
	char *host;
	struct row columns; /* the numbers that its CSV files have */
	char *events;
	struct strbuf rows;
};

struct converting {
	const struct archive_functions *a;
	struct archive_writer *out;
	struct strbuf *why;
	struct papiex_reader *reader; /* of the file at hand */
	struct host_files *hosts, *now;
	size_t host_count, host_cap;
	bool begun; /* the columns of the file at hand are known */
	/* the threads of the process that comes */
	struct row **threads;
	size_t thread_count, thread_cap;
};

static void free_threads(struct converting *c)
{
	for (size_t i = 0; i < c->thread_count; i++) {
		row_release(c->threads[i]);
		free(c->threads[i]);
	}
	c->thread_count = 0;
}

/* Copies the values that a row does not have from another. */
static void add_missing(struct row *to, const struct row *from)
{
	for (unsigned id = 0; id < METRIC_ID_END; id++) {
		const struct metric *m = row_has(from, id) ? metric_by_id(id) : NULL;

		if (!m || row_has(to, id))
			continue;
		if (m->type == TYPE_TEXT)
			row_set_text(to, id, from->text[id].buf, from->text[id].len);
		else
			row_set(to, id, from->v[id]);
	}
}

static int take_thread(void *user, const struct row *thread)
{
	struct converting *c = user;

	if (c->thread_count == THREADS_MAX)
		return -E2BIG;
	GROW(c->threads, c->thread_count, c->thread_cap);
	struct row *copy = xmalloc(sizeof(*copy));
	row_init(copy);
	add_missing(copy, thread);
	c->threads[c->thread_count++] = copy;
	return 0;
}

static bool same_columns(const struct row *a, const struct row *b)
{
	return !memcmp(a->present, b->present, sizeof(a->present));
}

/* The first process of a file. All files of a host must have the same columns. */
static int begin_file(struct converting *c, const char *events)
{
	struct host_files *h = c->now;
	struct row columns;
	int r = 0;

	row_init(&columns);
	papiex_reader_columns(c->reader, &columns);
	if (!h->events) {
		h->events = xstrdup(events ? events : "");
		memcpy(h->columns.present, columns.present, sizeof(columns.present));
	} else if (strcmp(h->events, events ? events : "") != 0 ||
		   !same_columns(&h->columns, &columns)) {
		strbuf_addf(c->why, "the files of host %s have different columns", h->host);
		r = -EBADMSG;
	}
	row_release(&columns);
	c->begun = true;
	return r;
}

static int take_process(void *user, const struct row *process, uint64_t rssmax_sum, size_t tids)
{
	struct converting *c = user;
	const char *events =
		row_has(process, METRIC_EVENTS) ? process->text[METRIC_EVENTS].buf : NULL;
	struct papiex_process p = {.process = process};
	int r = c->begun ? 0 : begin_file(c, events);

	(void)rssmax_sum, (void)tids;
	if (c->thread_count) {
		/* the writer wants the first thread's own values in the process row */
		add_missing(c->threads[0], process);
		p.process = c->threads[0];
		p.threads = (const struct row *const *)c->threads + 1;
		p.thread_count = c->thread_count - 1;
	}
	if (r == 0)
		papiex_tsv_process_like(&c->now->rows, &c->now->columns, &p, events);
	free_threads(c);
	return r;
}

static int choose_host(struct converting *c, const char *file)
{
	_cleanup_free_ char *host = papiex_host_of(file);

	for (size_t i = 0; i < c->host_count; i++)
		if (!strcmp(c->hosts[i].host, host)) {
			c->now = &c->hosts[i];
			return 0;
		}
	if (c->host_count == HOSTS_MAX)
		return -E2BIG;
	GROW(c->hosts, c->host_count, c->host_cap);
	c->now = &c->hosts[c->host_count++];
	*c->now = (struct host_files){.host = host, .rows = STRBUF_INIT};
	row_init(&c->now->columns);
	host = NULL;
	return 0;
}

static int convert_csv(struct converting *c, const struct archive_member *m)
{
	const struct papiex_receiver to = {c, take_thread, take_process};
	char piece[65536];
	ssize_t n = 0;
	int r = choose_host(c, path_base(m->name));

	if (r < 0)
		return r;
	c->begun = false;
	c->reader = papiex_reader_new(&to, NULL, 0, c->now->host, c->why);
	if (!c->reader)
		return -EBADMSG;
	papiex_reader_keep_shifted(c->reader);
	while (r == 0 && (n = m->read(m, piece, sizeof(piece))) > 0)
		r = papiex_reader_feed(c->reader, piece, (size_t)n, c->why);
	if (r == 0)
		r = n < 0 ? (int)n : papiex_reader_finish(c->reader, c->why);
	papiex_reader_free(c->reader);
	return r;
}

static int visit(void *user, const struct archive_member *m)
{
	struct converting *c = user;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *name = xasprintf("./%s", m->name);
	char piece[65536];
	ssize_t n;

	if (papiex_is_data_name(path_base(m->name)) && str_suffix(m->name, ".csv"))
		return convert_csv(c, m);
	while ((n = m->read(m, piece, sizeof(piece))) > 0)
		strbuf_add(&text, piece, (size_t)n);
	return n < 0 ? (int)n : c->a->add(c->out, name, m->mode, text.buf, text.len, -1, c->why);
}

static int write_host(struct converting *c, const struct host_files *h)
{
	_cleanup_free_ char *header_name = xasprintf("./%s-papiex-header.tsv", h->host);
	_cleanup_free_ char *rows_name = xasprintf("./%s-papiex.tsv", h->host);
	_cleanup_strbuf_ struct strbuf header = STRBUF_INIT;

	if (!h->events) /* no process at all */
		return 0;
	papiex_tsv_header_like(&header, &h->columns, h->events);
	int r = c->a->add(c->out, header_name, 0644, header.buf, header.len, -1, c->why);
	return r < 0 ? r : c->a->add(c->out, rows_name, 0644, h->rows.buf, h->rows.len, -1, c->why);
}

static int convert(struct converting *c, int from)
{
	int r = c->a->read(from, visit, c, c->why);

	if (r == 0 && !c->host_count) {
		strbuf_addstr(c->why, "there is no CSV file of papiex in it");
		r = -ENOENT;
	}
	for (size_t i = 0; r == 0 && i < c->host_count; i++)
		r = write_host(c, &c->hosts[i]);
	return r;
}

static void release(struct converting *c)
{
	free_threads(c);
	free(c->threads);
	for (size_t i = 0; i < c->host_count; i++) {
		free(c->hosts[i].host);
		free(c->hosts[i].events);
		row_release(&c->hosts[i].columns);
		strbuf_release(&c->hosts[i].rows);
	}
	free(c->hosts);
}

static int convert_file(const char *from, const char *to, struct strbuf *why)
{
	struct converting c = {.a = archive_module(why), .why = why};
	_cleanup_close_ int in = open(from, O_RDONLY | O_CLOEXEC), out = -1;
	int r = !c.a ? -ENOSYS : in < 0 ? -errno : 0;

	if (r == 0 && (out = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644)) < 0)
		r = -errno;
	if (r == 0 && !(c.out = c.a->create(out, why)))
		r = -EIO;
	if (r == 0)
		r = convert(&c, in);
	if (r == 0)
		r = c.a->finish(c.out, why);
	else if (c.out)
		c.a->abandon(c.out);
	if (r < 0 && out >= 0)
		(void)unlink(to);
	release(&c);
	return r;
}

int epmt_convert(struct context *ctx, const struct epmt *e)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	(void)ctx;
	if (e->word_count < 1 || e->word_count > 2)
		return fail_with(EXIT_FAILED,
				 "convert takes an archive, and optionally a name for the new one");
	const char *from = e->words[0];
	size_t stem = strlen(from) - (str_suffix(from, ".tgz") ? 4 : 0);
	_cleanup_free_ char *own = xasprintf("%.*s-tsv.tgz", (int)stem, from);
	const char *to = e->word_count == 2 ? e->words[1] : own;
	int r = convert_file(from, to, &why);
	if (r < 0)
		return fail_with(EXIT_FAILED, "'%s' is not converted: %s", from,
				 why.len ? why.buf : strerror(-r));
	puts(to);
	return EXIT_OK;
}
