/*
 * Times as text; see times.h. Views write hundreds of thousands of them, for which localtime_r()
 * and strftime() are too slow: the offset of the zone is looked up once a day.
 */
#include "core/text/times.h"

#include <string.h>
#include <time.h>

#define DAY 86400
#define YEAR_1 (INT64_C(-62135596800) * 1000000)
#define YEAR_10000 (INT64_C(253402214400) * 1000000) /* less one day, for any zone */

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

/* Most days have one offset: it is cached for the days last seen. On the few days when clocks
 * change it is looked up each time. */
static long local_offset(int64_t seconds)
{
	static _Thread_local struct {
		bool known, changes;
		int64_t day;
		long offset, zone;
	} days[16];
	int64_t day = floor_div(seconds, DAY);
	typeof(days[0]) *d = &days[day & 15];

	/* a change of TZ has its effect, too */
	if (!d->known || d->day != day || d->zone != timezone * 2 + daylight) {
		d->known = true;
		d->day = day;
		d->offset = offset_at(day * DAY);
		d->changes = d->offset != offset_at(day * DAY + DAY - 1);
		d->zone = timezone * 2 + daylight;
	}
	return d->changes ? offset_at(seconds) : d->offset;
}

static void put_two(char *to, unsigned v)
{
	to[0] = (char)('0' + v / 10 % 10);
	to[1] = (char)('0' + v % 10);
}

/* By eras of 400 years that begin in March. */
void text_put_date(char to[10], int64_t day)
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

/* "2026-11-15T04:05:06" of seconds that include the offset. */
static void put_seconds(char to[19], int64_t local, char between)
{
	int64_t day = floor_div(local, DAY);
	unsigned second = (unsigned)(local - day * DAY);

	text_put_date(to, day);
	to[10] = between;
	put_two(to + 11, second / 3600);
	put_two(to + 14, second / 60 % 60);
	put_two(to + 17, second % 60);
	to[13] = to[16] = ':';
}

bool text_time_valid(int64_t us)
{
	return us > YEAR_1 && us < YEAR_10000;
}

void text_add_local_time(struct strbuf *out, int64_t us)
{
	char text[19];
	int64_t seconds = floor_div(us, 1000000);

	if (!text_time_valid(us))
		return;
	put_seconds(text, seconds + local_offset(seconds), ' ');
	strbuf_add(out, text, sizeof(text));
}

void text_add_time(struct strbuf *out, int64_t us, bool utc)
{
	char text[32];
	int64_t seconds = floor_div(us, 1000000);

	if (!text_time_valid(us))
		return;
	long offset = utc ? 0 : local_offset(seconds), minutes = offset / 60;
	put_seconds(text, seconds + offset, 'T');
	text[19] = '.';
	unsigned fraction = (unsigned)(us - seconds * 1000000);
	put_two(text + 20, fraction / 10000);
	put_two(text + 22, fraction / 100 % 100);
	put_two(text + 24, fraction % 100);
	text[26] = utc ? 'Z' : minutes < 0 ? '-' : '+';
	minutes = minutes < 0 ? -minutes : minutes;
	put_two(text + 27, (unsigned)(minutes / 60));
	text[29] = ':';
	put_two(text + 30, (unsigned)(minutes % 60));
	strbuf_add(out, text, utc ? 27 : sizeof(text));
}
