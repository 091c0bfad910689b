/* Time axes of the page: where ticks are and what is written below them, in local time. */
#include <string.h>
#include <time.h>

#include "report/html/report_html.h"

#define SECOND INT64_C(1000000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* Distances between ticks that people count in. */
static const int64_t steps[] = {
	SECOND,  2 * SECOND, 5 * SECOND, 10 * SECOND, 15 * SECOND, 30 * SECOND,
	MINUTE,  2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE,
	HOUR,    2 * HOUR,   3 * HOUR,   6 * HOUR,    12 * HOUR,   DAY,
	2 * DAY, 7 * DAY,    14 * DAY,   30 * DAY,    90 * DAY,    365 * DAY,
};

static int64_t offset_at(int64_t us)
{
	time_t t = (time_t)(us / SECOND);
	struct tm tm;

	return localtime_r(&t, &tm) ? tm.tm_gmtoff : 0;
}

static int64_t step_for(int64_t span, int most)
{
	int64_t step = 1;

	for (int i = 0; step < SECOND; i++) { /* 1, 2, 5, 10 ... us */
		if (span / step <= most)
			return step;
		step = i % 3 == 1 ? step / 2 * 5 : step * 2;
	}
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
		if (span / steps[i] <= most)
			return steps[i];
	return span / most;
}

/* Times of damaged records may be anything: no difference of them is taken as integers. */
double page_place(const struct page *p, int64_t time)
{
	double x = ((double)time - (double)p->begin) / (double)(p->end - p->begin);

	return x < 0 ? 0 : x > 1 ? 1 : x;
}

struct ticks {
	int64_t first, step;
	int count;
};

static struct ticks ticks_of(const struct page *p, int most)
{
	int64_t span = p->end - p->begin;

	if (span <= 0)
		return (struct ticks){.count = 0};
	/* days in front of the hours take room, and so do fractions of a second */
	int64_t step = step_for(span, span > DAY && span < 3 * DAY ? most * 3 / 4 : most);
	if (step < SECOND)
		step = step_for(span, most * 3 / 5);
	int64_t behind = (p->begin + offset_at(p->begin) * SECOND) % step;
	int64_t first = p->begin + (behind > 0 ? step - behind : -behind);

	return (struct ticks){first, step, first > p->end ? 0 : (int)((p->end - first) / step) + 1};
}

static void add_label(struct strbuf *out, int64_t us, int64_t step, bool days)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	add_local_time(&text, us); /* "2026-11-15 04:05:06" */
	if (text.len < 19)
		return;
	size_t from = days || step >= DAY ? 5 : 11, to = step >= DAY      ? 10
							 : step >= MINUTE ? 16
									  : 19;
	strbuf_add(out, text.buf + from, to - from);
	if (step < SECOND) {
		int digits = 6;

		for (int64_t s = step; s % 10 == 0 && digits > 1; s /= 10)
			digits--;
		_cleanup_free_ char *fraction = xasprintf("%06lld", (long long)(us % SECOND));
		strbuf_addch(out, '.');
		strbuf_add(out, fraction, (size_t)digits);
	}
}

void page_time_labels(struct page *p, int most)
{
	struct ticks ticks = ticks_of(p, most);
	int64_t span = p->end - p->begin;
	bool days = span > DAY, wide = most > 5 || ticks.step < MINUTE || days;

	strbuf_addstr(&p->out, "<svg class=\"xs\" aria-hidden=\"true\">");
	for (int i = 0; i < ticks.count; i++) {
		int64_t t = ticks.first + i * ticks.step;
		double x = (double)(t - p->begin) * 100 / (double)span;

		strbuf_addf(&p->out, "<text x=\"%.2f%%\" y=\"14\" class=\"%s%s\">", x,
			    x < 4    ? "l"
			    : x > 96 ? "r"
				     : "m",
			    i % 2 && wide ? " o" : "");
		add_label(&p->out, t, ticks.step, days);
		strbuf_addstr(&p->out, "</text>");
	}
	strbuf_addstr(&p->out, "</svg>");
}

void page_time_grid(struct page *p, int most, int height)
{
	struct ticks ticks = ticks_of(p, most);
	double span = (double)(p->end - p->begin);

	for (int i = 0; i < ticks.count; i++)
		strbuf_addf(&p->out, "M%.1f 0v%d",
			    (double)(ticks.first + i * ticks.step - p->begin) * 1000 / span,
			    height);
}

void page_zone(struct page *p)
{
	int64_t a = offset_at(p->begin), b = offset_at(p->end);
	int64_t low = p->begin, high = p->end;

	strbuf_addf(&p->out, "%lld", (long long)a);
	if (a == b)
		return;
	while (high - low > SECOND) {
		int64_t middle = low + (high - low) / 2;

		if (offset_at(middle) == a)
			low = middle;
		else
			high = middle;
	}
	high -= high % SECOND;
	strbuf_addf(&p->out, ",%lld,%lld", (long long)high, (long long)b);
}
