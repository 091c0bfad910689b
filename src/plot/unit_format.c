/* Numbers and times on their way out; see unit_format.h. */
#include "plot/unit_format.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "core/text/text.h"

#define DAY 86400

int64_t stmt_get_optional(struct stmt *st, int i)
{
	return stmt_is_null(st, i) ? UNKNOWN : stmt_get_int(st, i);
}

/* ---- numbers -------------------------------------------------------------------------------- */

void add_number(struct strbuf *out, int64_t v)
{
	char digits[20];
	size_t n = sizeof(digits);
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

	do
		digits[--n] = (char)('0' + u % 10);
	while (u /= 10);
	if (v < 0)
		strbuf_addch(out, '-');
	strbuf_add(out, digits + n, sizeof(digits) - n);
}

void add_count(struct strbuf *out, int64_t v, bool human)
{
	size_t begin = out->len + (v < 0);
	_cleanup_strbuf_ struct strbuf plain = STRBUF_INIT;

	if (v == UNKNOWN)
		return;
	add_number(out, v);
	if (!human)
		return;
	strbuf_add(&plain, out->buf + begin, out->len - begin);
	strbuf_cut(out, begin);
	for (size_t i = 0; i < plain.len; i++) {
		if (i && (plain.len - i) % 3 == 0)
			strbuf_addch(out, ',');
		strbuf_addch(out, plain.buf[i]);
	}
}

void add_processes(struct strbuf *out, int64_t processes, int64_t images, bool human)
{
	add_count(out, processes, human);
	if (images == processes)
		return;
	strbuf_addstr(out, " (");
	add_count(out, images, human);
	strbuf_addstr(out, plural(images, " image)", " images)"));
}

void add_counted(struct strbuf *out, int64_t v, const char *one, const char *many, bool human)
{
	if (v == UNKNOWN)
		return;
	add_count(out, v, human);
	strbuf_addf(out, " %s", v == 1 ? one : many);
}

void add_threads(struct strbuf *out, int64_t threads, int64_t peak, bool human)
{
	add_counted(out, threads, "thread", "threads", human);
	if (peak == UNKNOWN)
		return;
	strbuf_addstr(out, ", at most ");
	add_count(out, peak, human);
	strbuf_addstr(out, " at once");
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
		add_number(out, us);
}

void add_kib(struct strbuf *out, int64_t kib, bool human)
{
	if (kib == UNKNOWN)
		return;
	if (human)
		text_add_bytes(out, (double)kib * 1024);
	else
		add_number(out, kib);
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

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static long offset_at(int64_t seconds)
{
	time_t t = (time_t)seconds;
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

/* The zone's offset is the same for most days from their begin to their end: it is looked up once a
 * day for the days last seen, and each time on the few days when it moves. */
static long local_offset(int64_t seconds)
{
	static _Thread_local struct {
		bool known, moves;
		int64_t day;
		long offset;
	} days[16];
	int64_t day = floor_div(seconds, DAY);
	typeof(days[0]) *d = &days[day & 15];

	if (!d->known || d->day != day) {
		d->known = true;
		d->day = day;
		d->offset = offset_at(day * DAY);
		d->moves = d->offset != offset_at(day * DAY + DAY - 1);
	}
	return d->moves ? offset_at(seconds) : d->offset;
}

static void put_two(char *to, unsigned v)
{
	to[0] = (char)('0' + v / 10 % 10);
	to[1] = (char)('0' + v % 10);
}

/* Gregorian date of a day since 1970, by 400-year eras that begin in March. */
static void put_date(char to[10], int64_t day)
{
	int64_t z = day + 719468, era = floor_div(z, 146097), doe = z - era * 146097;
	int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	int64_t month = mp < 10 ? mp + 3 : mp - 9;

	unsigned year = (unsigned)(yoe + era * 400 + (month <= 2));
	put_two(to, year / 100);
	put_two(to + 2, year % 100);
	to[4] = to[7] = '-';
	put_two(to + 5, (unsigned)month);
	put_two(to + 8, (unsigned)(doy - (153 * mp + 2) / 5 + 1));
}

/* "2026-11-15T04:05:06" with any sign between; the offset that was used. */
static long put_local(char to[19], int64_t seconds, char between)
{
	long offset = local_offset(seconds);
	int64_t local = seconds + offset, day = floor_div(local, DAY);
	unsigned second = (unsigned)(local - day * DAY);

	put_date(to, day);
	to[10] = between;
	put_two(to + 11, second / 3600);
	put_two(to + 14, second / 60 % 60);
	put_two(to + 17, second % 60);
	to[13] = to[16] = ':';
	return offset;
}

/* Four digits for the year are enough for 0000 to 9999; anything else is not a time. */
static bool writable(int64_t us)
{
	return us != UNKNOWN && us > -62135596800LL * 1000000 && us < 253402214400LL * 1000000;
}

void add_local_time(struct strbuf *out, int64_t us)
{
	char text[19];

	if (!writable(us))
		return;
	put_local(text, floor_div(us, 1000000), ' ');
	strbuf_add(out, text, sizeof(text));
}

void add_local_time_ms(struct strbuf *out, int64_t us)
{
	size_t before = out->len;

	add_local_time(out, us);
	if (out->len > before)
		strbuf_addf(out, ".%03d", (int)(((us % 1000000) + 1000000) % 1000000 / 1000));
}

void add_iso_time(struct strbuf *out, int64_t us)
{
	char text[32];
	int64_t seconds = floor_div(us, 1000000);

	if (!writable(us))
		return;
	long offset = put_local(text, seconds, 'T'), minutes = offset / 60;
	text[19] = '.';
	unsigned fraction = (unsigned)(us - seconds * 1000000);
	put_two(text + 20, fraction / 10000);
	put_two(text + 22, fraction / 100 % 100);
	put_two(text + 24, fraction % 100);
	text[26] = minutes < 0 ? '-' : '+';
	minutes = minutes < 0 ? -minutes : minutes;
	put_two(text + 27, (unsigned)(minutes / 60));
	text[29] = ':';
	put_two(text + 30, (unsigned)(minutes % 60));
	strbuf_add(out, text, sizeof(text));
}

/* ---- JSON ----------------------------------------------------------------------------------- */

void json_number(struct jsonw *j, const char *key, int64_t v)
{
	if (v == UNKNOWN)
		jsonw_null(j, key);
	else
		jsonw_i64(j, key, v);
}

void json_time(struct jsonw *j, const char *key, int64_t us)
{
	if (!writable(us)) {
		jsonw_null(j, key);
		return;
	}
	jsonw_text(j, key, "", 0);
	strbuf_cut(&j->out, j->out.len - 1);
	add_iso_time(&j->out, us);
	strbuf_addch(&j->out, '"');
}

void json_raw(struct jsonw *j, const char *key, const char *text, size_t n)
{
	jsonw_null(j, key);
	if (!n)
		return;
	strbuf_cut(&j->out, j->out.len - strlen("null"));
	strbuf_add(&j->out, text, n);
}

void json_rows_begin(struct json_rows *r, FILE *f)
{
	*r = (struct json_rows){.j = JSONW_INIT, .f = f};
	fputc('[', f);
}

void json_rows_next(struct json_rows *r)
{
	fputs(r->any ? ",\n" : "\n", r->f);
	fwrite(r->j.out.buf, 1, r->j.out.len, r->f);
	strbuf_reset(&r->j.out);
	r->j.first[0] = true;
	r->any = true;
}

int json_rows_end(struct json_rows *r)
{
	fputs(r->any ? "\n]\n" : "]\n", r->f);
	jsonw_release(&r->j);
	return output_error(r->f);
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

int output_error(FILE *f)
{
	errno = 0;
	if (fflush(f) == 0 && !ferror(f))
		return 0;
	return errno ? -errno : -EIO;
}
