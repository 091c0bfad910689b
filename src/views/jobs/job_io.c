/* What the processes of a job read and wrote, for people. Static and killed programs may have no
 * figures: then sums are lower bounds. */
#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "views/output.h"
#include "store/series.h"
#include "store/sql.h"
#include "views/jobs/job_show.h"

/* Upper bound of what the collection itself reads and writes per image and thread: samples include
 * it, records do not. */
#define OWN_BYTES 4096

/* The increase of a counter of the job; where that was not sampled, of its processes. */
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
	int r = stmt_step(st);
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
		strbuf_addf(out, "%sunknown for %lld of %lld %s", out->len ? "; " : "",
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
	add_bytes(out, v, human);
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
