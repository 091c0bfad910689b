/* Reads the images of a job in one pass; see image_reader.h. */
#include "store/analysis/image_reader.h"

#include <errno.h>

#include "records/accounting.h"
#include "store/ingest/ingest.h"
#include "store/sql.h"

enum { C_ID, C_TAGS, C_EXENAME, C_STATE, C_PID, C_START, C_DURATION, C_METRICS };

int image_reader_open(struct image_reader *r, struct store *s, int64_t job,
		      const enum metric_id *ids, size_t count, const bool *want, bool tree)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	*r = (struct image_reader){.store = s, .job = job, .metric_count = count, .tree = tree};
	if (count > IMAGE_METRICS_MAX)
		return -EINVAL;
	sql_add(&q, "SELECT p.id, p.tags, p.exename, p.state, p.pid, p.start, p.duration");
	r->tree_column = C_METRICS;
	for (size_t i = 0; i < count; i++) {
		r->image.metrics[i] = IMAGE_UNKNOWN;
		if (want && !want[i])
			continue;
		r->column[i] = r->tree_column++;
		sql_add(&q, ", p.");
		sql_add(&q, metric_by_id(ids[i])->name);
	}
	sql_add(&q, tree ? ", t.parent, t.last - t.first FROM process p JOIN tree t ON t.id = p.id"
			 : " FROM process p");
	sql_add(&q, " WHERE ");
	sql_job_range(&q, "p.id", job);
	sql_add(&q, " ORDER BY p.id");
	r->rows = sql_prepare(&q, s);
	r->strings = r->rows ? stmt_prepare(s, "SELECT bytes FROM string WHERE id = $1") : NULL;
	return r->strings ? 0 : -EIO;
}

static int64_t number_or_unknown(struct stmt *st, int i)
{
	return stmt_is_null(st, i) ? IMAGE_UNKNOWN : stmt_get_int(st, i);
}

int image_reader_next(struct image_reader *r)
{
	struct stmt *st = r->rows;
	struct stored_image *m = &r->image;
	int found = stmt_step(st);

	if (found != 1)
		return found;
	m->number = (uint32_t)(stmt_get_int(st, C_ID) & UINT32_MAX);
	m->tags = (uint32_t)stmt_get_int(st, C_TAGS);
	m->exename = (uint32_t)stmt_get_int(st, C_EXENAME);
	m->executes = ingest_state_unpack(stmt_get_int(st, C_STATE)).ended == ENDED_EXEC;
	m->pid = number_or_unknown(st, C_PID);
	m->start = number_or_unknown(st, C_START);
	m->duration = number_or_unknown(st, C_DURATION);
	for (size_t i = 0; i < r->metric_count; i++)
		if (r->column[i])
			m->metrics[i] = number_or_unknown(st, r->column[i]);
	if (r->tree) {
		m->parent = (uint32_t)stmt_get_int(st, r->tree_column);
		m->descendants = (uint32_t)stmt_get_int(st, r->tree_column + 1);
	}
	return 1;
}

const char *image_reader_text(struct image_reader *r, uint32_t number, size_t *ret_size)
{
	stmt_reset(r->strings);
	stmt_bind(r->strings, db_int(store_key(r->job, number)));
	return stmt_step(r->strings) == 1 ? stmt_get_text(r->strings, 0, ret_size) : NULL;
}

void image_reader_close(struct image_reader *r)
{
	stmt_finish_ptr(&r->rows);
	stmt_finish_ptr(&r->strings);
	*r = (struct image_reader){0};
}
