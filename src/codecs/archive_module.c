/* Module "archive": tar files by libarchive; see archive.h. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "codecs/archive.h"
#include "core/module.h"
#include "core/text/text.h"

struct reading {
	struct archive *a;
	uint64_t bytes, limit;
	struct strbuf *why;
};

/* libarchive has no message for a truncated file. */
static const char *error_of(struct archive *a)
{
	const char *text = archive_error_string(a);

	return text ? text : "the file is truncated or damaged";
}

static void free_reader(struct archive **a)
{
	if (*a)
		archive_read_free(*a);
}

static int fail(struct strbuf *why, int error, const char *fmt, ...) PL_PRINTF(3, 4);
static int fail(struct strbuf *why, int error, const char *fmt, ...)
{
	va_list ap;

	if (why && !why->len) {
		va_start(ap, fmt);
		strbuf_vaddf(why, fmt, ap);
		va_end(ap);
	}
	return -error;
}

static ssize_t read_member(const struct archive_member *m, void *buf, size_t n)
{
	struct reading *r = m->state;
	la_ssize_t got = archive_read_data(r->a, buf, n);

	if (got < 0)
		return fail(r->why, EBADMSG, "%s", error_of(r->a));
	r->bytes += (uint64_t)got;
	if (r->bytes > r->limit)
		return fail(r->why, E2BIG, "decompresses to more than %d times its size; refused",
			    ARCHIVE_RATIO_MAX);
	return got;
}

/* A relative path that stays inside: no "..", nothing absolute. */
static const char *safe_name(const char *name)
{
	while (name[0] == '.' && name[1] == '/')
		name += 2 + strspn(name + 2, "/");
	if (!*name || name[0] == '/')
		return NULL;
	for (const char *p = name; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL)
		if (p[0] == '.' && p[1] == '.' && (!p[2] || p[2] == '/'))
			return NULL;
	return name;
}

static int visit_entry(struct reading *r, struct archive_entry *e, archive_visitor visit,
		       void *user)
{
	_cleanup_strbuf_ struct strbuf shown = STRBUF_INIT;
	const char *path = archive_entry_pathname(e);

	if (!path)
		return fail(r->why, EBADMSG, "a member without a name");
	text_add_printable(&shown, path, strlen(path) < 200 ? strlen(path) : 200);
	if (archive_entry_hardlink(e) || archive_entry_filetype(e) == AE_IFLNK)
		return fail(r->why, EPERM, "member '%s' is a link; refused", shown.buf);
	if (archive_entry_filetype(e) == AE_IFDIR)
		return 0;
	if (archive_entry_filetype(e) != AE_IFREG)
		return fail(r->why, EPERM, "member '%s' is not a regular file; refused", shown.buf);
	const char *name = safe_name(path);
	if (!name)
		return fail(r->why, EPERM, "member '%s' points outside the archive; refused",
			    shown.buf);
	struct archive_member m = {name, (uint64_t)archive_entry_size(e), archive_entry_perm(e),
				   read_member, r};
	return visit(user, &m);
}

static int read_archive(int fd, archive_visitor visit, void *user, struct strbuf *why)
{
	_cleanup_(free_reader) struct archive *a = archive_read_new();
	struct reading r = {.a = a, .why = why};
	struct archive_entry *e;
	struct stat st;
	unsigned members = 0;

	if (!a)
		return -ENOMEM;
	if (fstat(fd, &st) < 0)
		return -errno;
	r.limit = (uint64_t)st.st_size * ARCHIVE_RATIO_MAX + (1 << 20);
	if (r.limit > ARCHIVE_BYTES_MAX)
		r.limit = ARCHIVE_BYTES_MAX;
	archive_read_support_filter_gzip(a);
	archive_read_support_filter_bzip2(a);
	archive_read_support_filter_xz(a);
	archive_read_support_filter_zstd(a);
	archive_read_support_format_tar(a);
	archive_read_support_format_gnutar(a);
	if (archive_read_open_fd(a, fd, 65536) != ARCHIVE_OK)
		return fail(why, EBADMSG, "not a tar archive: %s", error_of(a));
	for (;;) {
		int got = archive_read_next_header(a, &e);

		if (got == ARCHIVE_EOF)
			return 0;
		if (got < ARCHIVE_WARN)
			return fail(why, EBADMSG, "damaged: %s", error_of(a));
		if (++members > ARCHIVE_MEMBERS_MAX)
			return fail(why, E2BIG, "more than %d members; refused",
				    ARCHIVE_MEMBERS_MAX);
		int v = visit_entry(&r, e, visit, user);
		if (v < 0)
			return v;
	}
}

/* ---- writing -------------------------------------------------------------------------------- */

struct archive_writer {
	struct archive *a;
};

static struct archive_writer *create_archive(int fd, struct strbuf *why)
{
	struct archive *a = archive_write_new();

	if (!a)
		return NULL;
	archive_write_add_filter_gzip(a);
	archive_write_set_format_pax_restricted(a);
	if (archive_write_open_fd(a, fd) != ARCHIVE_OK) {
		fail(why, EIO, "cannot write archive: %s", error_of(a));
		archive_write_free(a);
		return NULL;
	}
	struct archive_writer *w = xcalloc(1, sizeof(*w));
	w->a = a;
	return w;
}

static int put(struct archive_writer *w, const void *data, size_t n, struct strbuf *why)
{
	la_ssize_t put_n = archive_write_data(w->a, data, n);

	if (put_n < 0 || (size_t)put_n != n)
		return fail(why, archive_errno(w->a) > 0 ? archive_errno(w->a) : EIO,
			    "cannot write archive: %s", error_of(w->a));
	return 0;
}

static int put_file(struct archive_writer *w, int fd, uint64_t size, struct strbuf *why)
{
	char buf[65536];

	while (size) {
		ssize_t n = read(fd, buf, size < sizeof(buf) ? (size_t)size : sizeof(buf));

		if (n <= 0)
			return fail(why, n < 0 ? errno : EIO, "a file shrank while being read");
		int r = put(w, buf, (size_t)n, why);
		if (r < 0)
			return r;
		size -= (uint64_t)n;
	}
	return 0;
}

static int add_member(struct archive_writer *w, const char *name, mode_t mode, const void *data,
		      uint64_t size, int fd, struct strbuf *why)
{
	struct archive_entry *e = archive_entry_new();

	archive_entry_set_pathname(e, name);
	archive_entry_set_size(e, (la_int64_t)size);
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, mode);
	archive_entry_set_mtime(e, time(NULL), 0);
	int got = archive_write_header(w->a, e);
	archive_entry_free(e);
	if (got != ARCHIVE_OK)
		return fail(why, EIO, "cannot write archive: %s", error_of(w->a));
	return data ? put(w, data, (size_t)size, why) : put_file(w, fd, size, why);
}

static void abandon_archive(struct archive_writer *w)
{
	if (w) {
		archive_write_fail(w->a);
		archive_write_free(w->a);
		free(w);
	}
}

static int finish_archive(struct archive_writer *w, struct strbuf *why)
{
	if (archive_write_close(w->a) != ARCHIVE_OK) {
		fail(why, EIO, "cannot write archive: %s", error_of(w->a));
		abandon_archive(w);
		return -EIO;
	}
	archive_write_free(w->a);
	free(w);
	return 0;
}

static void show_version(struct strbuf *out)
{
	strbuf_addstr(out, archive_version_string());
}

static const struct archive_functions functions = {
	.read = read_archive,
	.create = create_archive,
	.add = add_member,
	.finish = finish_archive,
	.abandon = abandon_archive,
	.version = show_version,
};

PL_MODULE("archive", "libarchive", &functions);
