/* papiex's CSV and TSV files of a job; see import_internal.h. */
#include <errno.h>
#include <string.h>

#include "compat/epmt/papiex/collate.h"
#include "compat/epmt/papiex/papiex_read.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "store/import/import_internal.h"
#include "store/ingest/ingest_accounting.h"

#define HEADER_MAX (1u << 20)
#define PIECE (256u << 10)

static int take_thread(void *user, const struct row *thread)
{
	struct import *p = user;

	return ingest_thread(p->in, thread);
}

static int take_process(void *user, const struct row *process, uint64_t rssmax_sum, size_t tids)
{
	struct import *p = user;
	struct ingest_state state = {
		.ended = row_get(process, METRIC_EXITSIGNAL, 0) ? ENDED_SIGNAL : ENDED_EXIT,
		.source = BY_PRELOAD,
	};

	return ingest_process(p->in, process, state, rssmax_sum, tids);
}

int import_read_papiex(struct import *p, const struct bytes *from, const char *name,
		       const char *header)
{
	const struct papiex_receiver to = {p, take_thread, take_process};
	_cleanup_free_ char *host = papiex_host_of(path_base(name));
	_cleanup_free_ char *piece = xmalloc(PIECE);
	ssize_t n = 0;
	int r = 0;

	struct papiex_reader *reader =
		papiex_reader_new(&to, header, header ? strlen(header) : 0, host, p->why);
	if (!reader)
		return import_fail(p, -EBADMSG, name, NULL);
	while (r == 0 && (n = import_read_piece(from, piece, PIECE)) > 0)
		r = papiex_reader_feed(reader, piece, (size_t)n, p->why);
	if (r == 0 && n < 0)
		r = (int)n;
	if (r == 0)
		r = papiex_reader_finish(reader, p->why);
	p->shifted |= papiex_reader_shifted(reader);
	papiex_reader_free(reader);
	p->papiex_files++;
	if (!p->format)
		p->format = header ? "papiex tsv" : "papiex csv";
	return r < 0 ? import_reading_failed(p, r, name) : 0;
}

/* "HOST-papiex.tsv" belongs to "HOST-papiex-header.tsv". */
static const char *header_for(const struct import *p, const char *name)
{
	_cleanup_free_ char *stem = xstrndup(name, strlen(name) - strlen(".tsv"));
	_cleanup_free_ char *want = xasprintf("%s-header.tsv", stem);

	for (size_t i = 0; i < p->header_count; i++)
		if (!strcmp(p->header_names[i], want))
			return p->headers[i];
	return NULL;
}

int import_take_header(struct import *p, const struct bytes *from, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char piece[4096];
	ssize_t n;

	while ((n = import_read_piece(from, piece, sizeof(piece))) > 0) {
		strbuf_add(&text, piece, (size_t)n);
		if (text.len > HEADER_MAX)
			return import_fail(p, -EFBIG, name, "is larger than a header can be");
	}
	if (n < 0)
		return import_reading_failed(p, (int)n, name);
	if (p->header_count == FILES_MAX)
		return import_fail(p, -E2BIG, name, "one header file too many");
	p->header_names[p->header_count] = xstrdup(name);
	p->headers[p->header_count++] = strbuf_take(&text);
	return 0;
}

int import_take_tsv(struct import *p, const struct bytes *from, const char *name)
{
	const char *header = header_for(p, name);

	if (header)
		return import_read_papiex(p, from, name, header);
	if (p->waiting_count == FILES_MAX)
		return import_fail(p, -E2BIG, name, "too many TSV files without a header");
	int fd = import_copy_to_scratch(p, from, name);
	if (fd < 0)
		return fd;
	p->waiting[p->waiting_count++] = (struct waiting){xstrdup(name), fd};
	return 0;
}

int import_take_waiting(struct import *p)
{
	for (size_t i = 0; i < p->waiting_count; i++) {
		const struct bytes from = {.fd = p->waiting[i].fd};
		const char *header = header_for(p, p->waiting[i].name);

		if (!header)
			return import_fail(p, -EBADMSG, p->waiting[i].name,
					   "has no header file beside it");
		int r = import_read_papiex(p, &from, p->waiting[i].name, header);
		if (r < 0)
			return r;
	}
	return 0;
}

void import_note_papiex(struct import *p, const char *name)
{
	while (str_prefix(name, "./"))
		name += 2;
	GROW(p->papiex_names, p->papiex_name_count, p->papiex_name_cap);
	p->papiex_names[p->papiex_name_count++] = xstrdup(name);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Rows are stored as they are read: those of the first cannot be taken back. */
int import_check_papiex(struct import *p, const char *path)
{
	if (p->papiex_name_count)
		qsort(p->papiex_names, p->papiex_name_count, sizeof(char *), compare_names);
	for (size_t i = 1; i < p->papiex_name_count; i++) {
		if (strcmp(p->papiex_names[i - 1], p->papiex_names[i]) != 0)
			continue;
		_cleanup_free_ char *text = xasprintf(
			"has '%s' twice: unpack it and submit the directory", p->papiex_names[i]);
		return import_fail(p, -EBADMSG, path, text);
	}
	return 0;
}
