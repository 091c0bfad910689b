/* Metadata files; see metadata_file.h. */
#include "jobs/metadata_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "codecs/archive.h"
#include "jobs/job_layout.h"

/* ---- our format ----------------------------------------------------------------------------- */

static bool is_json(const unsigned char *head, size_t n)
{
	(void)n;
	return head[0] == '{';
}

static void write_json(const struct value *meta, struct strbuf *out)
{
	_cleanup_json_ struct json_writer json = JSON_WRITER_INIT;

	json.pretty = true;
	value_to_json(meta, &json, NULL);
	strbuf_add(out, json.out.buf, json.out.len);
	strbuf_addch(out, '\n');
}

const struct metadata_format metadata_format_json = {
	.name = "JSON",
	.recognises = is_json,
	.read = value_from_json,
	.write = write_json,
};

/* ---- any format ---------------------------------------------------------------------------- */

/* NULL: no format starts like this. */
static const struct metadata_format *format_of(const unsigned char *head, size_t n)
{
	while (n > 1 && strchr(" \t\r\n", *head) && *head) {
		head++;
		n--;
	}
	for (const struct metadata_format *const *f = metadata_formats; *f && n; f++)
		if ((*f)->recognises(head, n))
			return *f;
	return NULL;
}

int meta_parse(const char *data, size_t n, struct value **ret, struct strbuf *why)
{
	const struct metadata_format *f = format_of((const unsigned char *)data, n);

	for (const struct metadata_format *const *last = metadata_formats; !f; last++)
		f = last[1] ? NULL : *last;
	int r = f->read(data, n, ret, why);
	if (r == 0 && (*ret)->kind != VALUE_DICT) {
		strbuf_addstr(why, "does not contain a dictionary");
		value_free(*ret);
		*ret = NULL;
		return -EBADMSG;
	}
	return r;
}

bool meta_is_name(const char *member)
{
	return job_layout_of_file(member) != NULL;
}

static int read_member(const struct archive_member *m, struct strbuf *out)
{
	char buf[65536];
	ssize_t n;

	if (m->size > META_FILE_MAX)
		return -EFBIG;
	while ((n = m->read(m, buf, sizeof(buf))) > 0) {
		if (out->len + (size_t)n > META_FILE_MAX)
			return -EFBIG;
		strbuf_add(out, buf, (size_t)n);
	}
	return (int)n;
}

struct search {
	struct strbuf text;
	bool found;
};

static int look_at(void *user, const struct archive_member *m)
{
	struct search *s = user;

	if (s->found || !meta_is_name(path_base(m->name)))
		return 0;
	s->found = true;
	return read_member(m, &s->text);
}

static int from_archive(int fd, struct value **ret, struct strbuf *why)
{
	const struct archive_functions *a = archive_module(why);
	struct search s = {.text = STRBUF_INIT};

	if (!a)
		return -ENOSYS;
	int r = a->read(fd, look_at, &s, why);
	if (r == 0 && !s.found) {
		_cleanup_free_ char *names = metadata_names();

		strbuf_addf(why, "the archive contains no job metadata (%s)", names);
		r = -ENOENT;
	}
	if (r == 0)
		r = meta_parse(s.text.buf, s.text.len, ret, why);
	strbuf_release(&s.text);
	return r;
}

int meta_from_file(int fd, struct value **ret, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	unsigned char head[64];
	char buf[65536];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	if (n < 0)
		return strbuf_fail(why, -errno, "%s", strerror(errno));
	if (!format_of(head, (size_t)n))
		return from_archive(fd, ret, why);
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		if (text.len + (size_t)n > META_FILE_MAX)
			return strbuf_fail(why, -EFBIG, "is larger than %u bytes", META_FILE_MAX);
		strbuf_add(&text, buf, (size_t)n);
	}
	if (n < 0)
		return -errno;
	return meta_parse(text.buf, text.len, ret, why);
}
