/*
 * What the processes of a job read and wrote, for people. A sum of what is known is a sum of all
 * only where all are known: programs that cannot be entered or that were killed may lack it.
 */
#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "plot/unit_format.h"
#include "store/series.h"
#include "store/sql.h"
#include "views/job_show.h"

/* What collection itself reads and writes of an image or a thread, which is in samples, not in
 * records, is less than this. */
#define OWN_BYTES 4096

/* What a counter of the job grew by; where that was not sampled, those of its processes. */
static int64_t sampled_increase(const struct series_list *l, const char *metric)
{
	static const char *const kinds[] = {"job", "process"};

	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		double sum = -1;

		for (size_t i = 0; i < l->count; i++) {
			const struct series *s = &l->list[i];

			if (!strcmp(s->metric, metric) && !strcmp(s->entity_kind, kinds[k]) &&
			    series_adds_up(s))
				sum = sum < 0 ? s->increase : sum + s->increase;
		}
		if (sum >= 0 && sum < 9e18)
			return round_i64(sum);
	}
	return UNKNOWN;
}

static int load_sampled(struct jobshow *j, struct store *s, int64_t job)
{
	const struct series_filter f = {
		.metrics = {.word = {"process.rchar", "process.wchar"}, .count = 2}};
	struct series_list l = {0};

	int r = series_list_load(&l, s, job, &f);
	if (r >= 0) {
		j->sampled_read = sampled_increase(&l, "process.rchar");
		j->sampled_written = sampled_increase(&l, "process.wchar");
	}
	series_list_release(&l);
	return r;
}

int jobshow_load_io(struct jobshow *j, struct store *s, int64_t job)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	j->sampled_read = j->sampled_written = UNKNOWN;
	sql_add(&q, "SELECT count(*) FROM process p WHERE ");
	sql_job_range(&q, "p.id", job);
	sql_add(&q, " AND p.wchar IS NULL");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	int r = st ? stmt_step(st) : -EIO;
	if (r == 1)
		j->io_unknown = stmt_get_int(st, 0);
	return r == 1 && j->io_unknown && j->list.count ? load_sampled(j, s, job) : r;
}

int64_t jobshow_io(const struct jobshow *s, const char *name)
{
	const struct job_sum *sum = jobshow_sum(s, name);
	int64_t sampled = !strcmp(name, "rchar")   ? s->sampled_read
			  : !strcmp(name, "wchar") ? s->sampled_written
						   : UNKNOWN;

	if (!sum || sum->sum < 0)
		return UNKNOWN;
	const struct job_row *row = &s->list.rows[0];
	int64_t own = OWN_BYTES * ((row->images > 0 ? row->images : 0) +
				   (row->num_threads > 0 ? row->num_threads : 0));
	return sampled != UNKNOWN && sampled - own > sum->sum ? sampled : sum->sum;
}

void jobshow_add_io_unknown(struct strbuf *out, const struct jobshow *s)
{
	int64_t images = s->list.rows[0].images;

	if (s->io_unknown)
		strbuf_addf(out, "%snot known of %lld of %lld %s", out->len ? "; " : "",
			    (long long)s->io_unknown, (long long)images,
			    plural(images, "image", "images"));
}

static bool add(struct strbuf *out, const struct jobshow *s, const char *front, const char *name,
		const char *back, bool human)
{
	int64_t v = jobshow_io(s, name);

	if (v == UNKNOWN)
		return false;
	strbuf_addstr(out, front);
	if (human)
		text_add_bytes(out, (double)v);
	else
		strbuf_addf(out, "%lld bytes", (long long)v);
	strbuf_addstr(out, back);
	return true;
}

void jobshow_add_io(struct strbuf *out, const struct jobshow *s, bool human)
{
	_cleanup_strbuf_ struct strbuf stored = STRBUF_INIT;
	const char *least = s->io_unknown ? "at least " : "";

	if (add(out, s, least, "rchar", " read", human))
		add(out, s, " (", "read_bytes", " from storage)", human);
	_cleanup_free_ char *front = xasprintf("%s%s", out->len ? ", " : "", least);
	if (add(out, s, front, "wchar", " written", human) &&
	    jobshow_add_stored(&stored, s, " to storage", human))
		strbuf_addf(out, " (%s)", stored.buf);
	if (out->len)
		jobshow_add_io_unknown(out, s);
}
