/* Values on their way out; see output.h. */
#include "views/output.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include "core/text/text.h"

const char *const ended_words[] = {"exit", "signal", "exec", "running", "unknown"};
const char *const source_words[] = {"preload", "reaped", "taskstats", "cn_proc"};

int64_t stmt_get_optional(struct stmt *st, int i)
{
	return stmt_is_null(st, i) ? UNKNOWN : stmt_get_int(st, i);
}

/* ---- numbers -------------------------------------------------------------------------------- */

void add_count(struct strbuf *out, int64_t v, bool human)
{
	if (v == UNKNOWN)
		return;
	if (human)
		text_add_count(out, v);
	else
		text_add_i64(out, v);
}

void add_processes(struct strbuf *out, int64_t processes, int64_t images, bool human)
{
	add_count(out, processes, human);
	if (images == processes)
		return;
	strbuf_addstr(out, " (");
	add_counted(out, images, "image)", "images)", human);
}

void add_counted(struct strbuf *out, int64_t v, const char *one, const char *many, bool human)
{
	if (v == UNKNOWN)
		return;
	add_count(out, v, human);
	strbuf_addf(out, " %s", v == 1 ? one : many);
}

void add_peak(struct strbuf *out, int64_t peak, bool human)
{
	if (peak == UNKNOWN)
		return;
	strbuf_addstr(out, ", at most ");
	add_count(out, peak, human);
	strbuf_addstr(out, " at once");
}

void add_threads(struct strbuf *out, int64_t threads, int64_t peak, bool human)
{
	add_counted(out, threads, "thread", "threads", human);
	add_peak(out, peak, human);
}

int64_t stmt_get_threads(struct stmt *st, int i)
{
	int64_t v = stmt_get_optional(st, i);

	return v == 0 ? UNKNOWN : v;
}

void add_us(struct strbuf *out, int64_t us, bool human)
{
	if (us == UNKNOWN)
		return;
	if (human)
		text_add_duration(out, (double)us / 1e6);
	else
		text_add_i64(out, us);
}

void add_kib(struct strbuf *out, int64_t kib, bool human)
{
	if (kib == UNKNOWN)
		return;
	if (human)
		text_add_bytes(out, (double)kib * 1024);
	else
		text_add_i64(out, kib);
}

void add_bytes(struct strbuf *out, int64_t bytes, bool human)
{
	if (bytes == UNKNOWN)
		return;
	if (human)
		text_add_bytes(out, (double)bytes);
	else
		strbuf_addf(out, "%lld bytes", (long long)bytes);
}

void add_metric(struct strbuf *out, const struct metric *m, int64_t v, bool human)
{
	if (v == UNKNOWN)
		return;
	switch (human && m ? m->unit : UNIT_NONE) {
	case UNIT_MICROSECONDS:
		text_add_duration(out, (double)v / 1e6);
		break;
	case UNIT_NANOSECONDS:
		text_add_duration(out, (double)v / 1e9);
		break;
	case UNIT_KIBIBYTES:
		text_add_bytes(out, (double)v * 1024);
		break;
	case UNIT_BYTES:
		text_add_bytes(out, (double)v);
		break;
	default:
		add_count(out, v, human);
	}
}

/* ---- times ---------------------------------------------------------------------------------- */

void add_local_time_ms(struct strbuf *out, int64_t us)
{
	size_t before = out->len;

	text_add_local_time(out, us);
	if (out->len > before)
		strbuf_addf(out, ".%03d", (int)(((us % 1000000) + 1000000) % 1000000 / 1000));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

void json_strs(struct json_writer *j, const char *key, char *const *list, size_t count)
{
	json_begin_array(j, key);
	for (size_t i = 0; i < count; i++)
		json_str(j, NULL, list[i]);
	json_end_array(j);
}

void json_number(struct json_writer *j, const char *key, int64_t v)
{
	if (v == UNKNOWN)
		json_none(j, key);
	else
		json_i64(j, key, v);
}

void json_known(struct json_writer *j, const char *key, int64_t v)
{
	if (v != UNKNOWN)
		json_i64(j, key, v);
}

void json_time(struct json_writer *j, const char *key, int64_t us)
{
	if (!text_time_valid(us)) {
		json_none(j, key);
		return;
	}
	json_text(j, key, "", 0);
	strbuf_cut(&j->out, j->out.len - 1);
	text_add_time(&j->out, us, false);
	strbuf_addch(&j->out, '"');
}

/* ---- terminals ------------------------------------------------------------------------------ */

size_t terminal_width(FILE *f)
{
	struct winsize w;

	if (!isatty(fileno(f)))
		return 0;
	return ioctl(fileno(f), TIOCGWINSZ, &w) == 0 && w.ws_col >= 20 ? w.ws_col : 80;
}

size_t fitting(const char *s, size_t n, size_t columns)
{
	size_t at = 0, used = 0;

	while (at < n) {
		size_t length = utf8_sequence(s + at, n - at);

		length = length ? length : 1;
		size_t width = text_width(s + at, length);
		if (used + width > columns)
			break;
		used += width;
		at += length;
	}
	return at;
}
