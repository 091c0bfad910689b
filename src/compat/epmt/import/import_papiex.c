/* Imports papiex's CSV and TSV files of a job; see struct importer in import_internal.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "compat/epmt/papiex/collate.h"
#include "compat/epmt/papiex/papiex_read.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "store/import/import_internal.h"
#include "store/ingest/ingest_accounting.h"

#define HEADER_MAX (1u << 20)
#define PIECE (256u << 10)
#define FILES_MAX 64 /* TSV files that wait for their header */

/* What is kept while the files of one job are read. */
struct papiex_import {
	char **names; /* names of the members of an archive: each may occur once */
	size_t name_count, name_cap;
	char *headers[FILES_MAX]; /* name and text of TSV headers */
	char *header_names[FILES_MAX];
	size_t header_count;
	struct waiting waiting[FILES_MAX]; /* TSV files whose header was not read yet */
	size_t waiting_count;
	bool shifted;
};

static struct papiex_import *state_of(struct import *p)
{
	if (!p->state)
		p->state = xcalloc(1, sizeof(struct papiex_import));
	return p->state;
}

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

/* A CSV file (header NULL), or a TSV file and its header. */
static int read_file(struct import *p, const struct bytes *from, const char *name,
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
	state_of(p)->shifted |= papiex_reader_shifted(reader);
	papiex_reader_free(reader);
	p->foreign_files++;
	if (!p->format)
		p->format = header ? "papiex tsv" : "papiex csv";
	return r < 0 ? import_reading_failed(p, r, name) : 0;
}

/* "HOST-papiex.tsv" belongs to "HOST-papiex-header.tsv". */
static const char *header_for(const struct papiex_import *s, const char *name)
{
	_cleanup_free_ char *stem = xstrndup(name, strlen(name) - strlen(".tsv"));
	_cleanup_free_ char *want = xasprintf("%s-header.tsv", stem);

	for (size_t i = 0; i < s->header_count; i++)
		if (!strcmp(s->header_names[i], want))
			return s->headers[i];
	return NULL;
}

static int take_header(struct import *p, const struct bytes *from, const char *name)
{
	struct papiex_import *s = state_of(p);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char piece[4096];
	ssize_t n;

	while ((n = import_read_piece(from, piece, sizeof(piece))) > 0) {
		strbuf_add(&text, piece, (size_t)n);
		if (text.len > HEADER_MAX)
			return import_fail(p, -EFBIG, name, "is too large for a header");
	}
	if (n < 0)
		return import_reading_failed(p, (int)n, name);
	if (s->header_count == FILES_MAX)
		return import_fail(p, -E2BIG, name, "more than one header file");
	s->header_names[s->header_count] = xstrdup(name);
	s->headers[s->header_count++] = strbuf_take(&text);
	return 0;
}

/* Waits for its header if that was not read yet. */
static int take_tsv(struct import *p, const struct bytes *from, const char *name)
{
	struct papiex_import *s = state_of(p);
	const char *header = header_for(s, name);

	if (header)
		return read_file(p, from, name, header);
	if (s->waiting_count == FILES_MAX)
		return import_fail(p, -E2BIG, name, "too many TSV files without a header");
	int fd = import_copy_to_scratch(p, from, name);
	if (fd < 0)
		return fd;
	s->waiting[s->waiting_count++] = (struct waiting){xstrdup(name), fd};
	return 0;
}

/* Reads the waiting files; all headers are there now. */
static int finish(struct import *p)
{
	struct papiex_import *s = state_of(p);

	for (size_t i = 0; i < s->waiting_count; i++) {
		const struct bytes from = {.fd = s->waiting[i].fd};
		const char *header = header_for(s, s->waiting[i].name);

		if (!header)
			return import_fail(p, -EBADMSG, s->waiting[i].name,
					   "has no header file beside it");
		int r = read_file(p, &from, s->waiting[i].name, header);
		if (r < 0)
			return r;
	}
	if (s->shifted)
		ingest_warn(p->in, PAPIEX_SHIFTED);
	return 0;
}

/* A member of an archive. */
static void note_name(struct papiex_import *s, const char *name)
{
	while (str_prefix(name, "./"))
		name += 2;
	GROW(s->names, s->name_count, s->name_cap);
	s->names[s->name_count++] = xstrdup(name);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Rows are stored while they are read: those of the first of two files with one name cannot be
 * undone. */
static int check_names(struct import *p, const char *path)
{
	struct papiex_import *s = state_of(p);

	if (s->name_count)
		qsort(s->names, s->name_count, sizeof(char *), compare_names);
	for (size_t i = 1; i < s->name_count; i++) {
		if (strcmp(s->names[i - 1], s->names[i]) != 0)
			continue;
		_cleanup_free_ char *text = xasprintf(
			"has '%s' twice: unpack it and submit the directory", s->names[i]);
		return import_fail(p, -EBADMSG, path, text);
	}
	return 0;
}

static int take(struct import *p, const struct bytes *from, const char *name)
{
	const char *base = path_base(name);

	if (from->member)
		note_name(state_of(p), name);
	if (papiex_is_header_name(base))
		return take_header(p, from, name);
	if (str_suffix(base, ".tsv"))
		return take_tsv(p, from, name);
	return read_file(p, from, name, NULL);
}

static void release(struct import *p)
{
	struct papiex_import *s = p->state;

	for (size_t i = 0; s && i < s->header_count; i++) {
		free(s->headers[i]);
		free(s->header_names[i]);
	}
	for (size_t i = 0; s && i < s->waiting_count; i++) {
		free(s->waiting[i].name);
		close(s->waiting[i].fd);
	}
	for (size_t i = 0; s && i < s->name_count; i++)
		free(s->names[i]);
	if (s)
		free(s->names);
	free(s);
	p->state = NULL;
}

const struct importer importer_papiex = {
	.name = "papiex",
	.is_name = papiex_is_name,
	.goes_first = papiex_is_header_name,
	.take = take,
	.end_archive = check_names,
	.finish = finish,
	.release = release,
};
