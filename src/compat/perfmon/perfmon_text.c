/* Small files of `perfmon`: the word that ends monitoring, and its configuration as YAML. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "compat/perfmon/perfmon.h"
#include "core/files/fs.h"
#include "core/text/text.h"

/* ---- .ipc-<job id> -------------------------------------------------------------------------- */

/* A file that contained FINISHED for longer than this when we start is from an earlier run. Hosts
 * of one job begin within less, and those that are there already have read it by then. */
#define STALE_S 10

static int write_word(const char *path, const char *word, int flags)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | flags, 0666);

	if (fd < 0)
		return -errno;
	return write(fd, word, strlen(word)) < 0 ? -errno : 0;
}

/* The first word of the file; -EINVAL if it is another kind of file. */
static int read_word(const char *path, char word[16])
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r = fs_read(AT_FDCWD, path, 4096, &text);

	if (r < 0)
		return r;
	size_t n = strcspn(text.buf, " \t\r\n");
	if (n >= 16)
		return -EINVAL;
	memcpy(word, text.buf, n);
	word[n] = 0;
	return 0;
}

int perfmon_ipc_begin(const char *path)
{
	struct stat st;
	char word[16];
	int r = write_word(path, "INPROGRESS\n", O_CREAT | O_EXCL);

	if (r != -EEXIST)
		return r;
	r = read_word(path, word);
	if (r < 0)
		return r;
	if (!strcmp(word, "FINISHED") && stat(path, &st) == 0 &&
	    st.st_mtime + STALE_S < time(NULL)) {
		log_info("'%s' belongs to an earlier run of perfmon and is reset", path);
		return write_word(path, "INPROGRESS\n", O_TRUNC);
	}
	return 0;
}

void perfmon_ipc_end(const char *path)
{
	char word[16];

	if (read_word(path, word) == 0 &&
	    (!strcmp(word, "FINISHED") || !strcmp(word, "INPROGRESS")))
		(void)unlink(path);
}

/* ---- YAML ----------------------------------------------------------------------------------- */

/* JSON strings are YAML strings, except for characters that YAML does not print or treats as line
 * breaks. */
static void add_text(struct strbuf *out, const char *s, size_t n)
{
	_cleanup_strbuf_ struct strbuf json = STRBUF_INIT;

	text_add_json(&json, s, n);
	strbuf_addch(out, '"');
	for (size_t i = 0; i < json.len; i++) {
		const unsigned char *p = (const unsigned char *)json.buf + i;

		if (p[0] == 0x7f) {
			strbuf_addstr(out, "\\x7F");
		} else if (p[0] == 0xc2 && p[1] < 0xa0) {
			strbuf_addf(out, "\\x%02X", p[1]);
			i++;
		} else if (p[0] == 0xe2 && p[1] == 0x80 && (p[2] == 0xa8 || p[2] == 0xa9)) {
			strbuf_addf(out, "\\u20%02X", p[2] - 0x80);
			i += 2;
		} else if (p[0] == 0xef && p[1] == 0xbf && p[2] >= 0xbe) {
			strbuf_addf(out, "\\uFF%02X", p[2] + 0x40);
			i += 2;
		} else {
			strbuf_addch(out, (char)p[0]);
		}
	}
	strbuf_addch(out, '"');
}

static void add_value(struct strbuf *out, const struct value *v)
{
	switch (v->kind) {
	case VALUE_BOOL:
		strbuf_addstr(out, v->boolean ? "true" : "false");
		break;
	case VALUE_INT:
		strbuf_addf(out, "%lld", (long long)v->integer);
		break;
	case VALUE_STR:
		add_text(out, v->str.data, v->str.size);
		break;
	case VALUE_LIST:
		strbuf_addch(out, '[');
		for (size_t i = 0; i < v->list.count; i++) {
			if (i)
				strbuf_addstr(out, ", ");
			add_value(out, v->list.items[i]);
		}
		strbuf_addch(out, ']');
		break;
	default:
		strbuf_addstr(out, "null");
		break;
	}
}

void perfmon_yaml(const struct value *dict, struct strbuf *out)
{
	for (size_t i = 0; i < value_pairs(dict); i++) {
		strbuf_addf(out, "%s: ", value_key(dict, i)->str.data);
		add_value(out, value_at(dict, i));
		strbuf_addch(out, '\n');
	}
}
