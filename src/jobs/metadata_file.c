/* Job metadata in any container; see metadata_file.h. */
#include "jobs/metadata_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "codecs/archive.h"
#include "compat/epmt/pickle/pickle.h"

int meta_parse(const char *data, size_t n, struct value **ret, struct strbuf *why)
{
	size_t i = 0;
	int r;

	while (i < n && data[i] && strchr(" \t\r\n", data[i]))
		i++;
	/* no pickle begins with a brace that opens */
	if (i < n && data[i] == '{')
		r = value_from_json(data, n, ret, why);
	else
		r = pickle_read(data, n, ret, why);
	if (r == 0 && (*ret)->kind != VALUE_DICT) {
		strbuf_addstr(why, "holds no dictionary");
		value_free(*ret);
		*ret = NULL;
		return -EBADMSG;
	}
	return r;
}

void meta_serialise(const struct value *meta, bool pickle, struct strbuf *out)
{
	_cleanup_jsonw_ struct jsonw json = JSONW_INIT;

	if (pickle) {
		pickle_write(meta, out);
		return;
	}
	json.pretty = true;
	value_to_json(meta, &json, NULL);
	strbuf_add(out, json.out.buf, json.out.len);
	strbuf_addch(out, '\n');
}

bool meta_is_name(const char *member)
{
	return !strcmp(member, META_JSON) || !strcmp(member, META_PICKLE) ||
	       !strcmp(member, META_PICKLE_RUNNING);
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
		strbuf_addstr(why, "the archive holds neither job.json nor job_metadata");
		r = -ENOENT;
	}
	if (r == 0)
		r = meta_parse(s.text.buf, s.text.len, ret, why);
	strbuf_release(&s.text);
	return r;
}

/* A pickle begins with its protocol, or with the mark or empty dict of protocol 0 and 1. */
static bool is_metadata(const unsigned char *head, size_t n)
{
	while (n > 2 && strchr(" \t\r\n", *head) && *head) {
		head++;
		n--;
	}
	return n >= 2 && (head[0] == '{' || (head[0] == 0x80 && head[1] <= 5) || head[0] == '}' ||
			  (head[0] == '(' && head[1] == 'd'));
}

int meta_from_file(int fd, struct value **ret, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	unsigned char head[64];
	char buf[65536];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	if (n < 0) {
		strbuf_addstr(why, strerror(errno));
		return -errno;
	}
	if (!is_metadata(head, (size_t)n))
		return from_archive(fd, ret, why);
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		if (text.len + (size_t)n > META_FILE_MAX) {
			strbuf_addf(why, "is larger than %u bytes", META_FILE_MAX);
			return -EFBIG;
		}
		strbuf_add(&text, buf, (size_t)n);
	}
	if (n < 0)
		return -errno;
	return meta_parse(text.buf, text.len, ret, why);
}
