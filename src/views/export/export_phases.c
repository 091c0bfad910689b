/* The table of phases; see export_tables.h. Names and hosts are texts of the job's strings. */
#include <errno.h>
#include <string.h>

#include "store/query.h"
#include "views/export/export_internal.h"

int table_phases_open(struct table_source *f)
{
	return store_number_of(f->store, "SELECT count(*) FROM phase WHERE id BETWEEN $1 AND $2",
			       &f->total, db_int(store_key(f->job, 0)),
			       db_int(store_key(f->job, UINT32_MAX)));
}

static int begin(struct table_source *f)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	for (size_t i = 0; i < table_phase_plan_count; i++) {
		const struct plan_column *p = &table_phase_plan[i];

		sql_add(&q, i ? ", " : "SELECT ");
		sql_add(&q, p->from == PLAN_STRING
				    ? (!strcmp(p->name, "name") ? "n.bytes" : "h.bytes")
			    : p->sql ? p->sql
				     : "NULL");
	}
	sql_add(&q, " FROM phase p LEFT JOIN string n ON n.id = ");
	sql_int(&q, store_key(f->job, 0));
	sql_add(&q, " + p.name LEFT JOIN string h ON h.id = ");
	sql_int(&q, store_key(f->job, 0));
	sql_add(&q, " + p.host WHERE ");
	sql_job_range(&q, "p.id", f->job);
	sql_add(&q, " ORDER BY p.id");
	f->phases = sql_prepare(&q, f->store);
	f->loaded = false;
	return f->phases ? 0 : -EIO;
}

static void put(struct table_source *f, size_t c)
{
	const struct plan_column *p = &table_phase_plan[c];
	struct table_builder *b = &f->build;
	struct stmt *st = f->phases;
	size_t n;

	if (p->from == PLAN_JOB) {
		table_builder_int(b, c, f->job);
	} else if (p->from == PLAN_JOBID) {
		table_builder_text(b, c, f->jobid, strlen(f->jobid));
	} else if (stmt_is_null(st, (int)c)) {
		table_builder_absent(b, c);
	} else if (p->from == PLAN_STRING) {
		const char *s = stmt_get_text(st, (int)c, &n);

		table_builder_text(b, c, s ? s : "", s ? n : 0);
	} else if (p->from == PLAN_WORD) {
		uint64_t number = (uint64_t)stmt_get_int(st, (int)c);
		const char *word = p->words[number < p->word_count ? number : p->word_count - 1];

		table_builder_text(b, c, word, strlen(word));
	} else if (p->from == PLAN_REAL) {
		table_builder_real(b, c, (double)stmt_get_int(st, (int)c) / 1000);
	} else { /* times are nanoseconds here */
		table_builder_int(b, c, stmt_get_int(st, (int)c));
	}
}

int table_phases_fill(struct table_source *f)
{
	int r = f->phases || f->loaded ? 0 : begin(f);

	while (r >= 0 && !f->loaded && !table_builder_full(&f->build)) {
		r = stmt_step(f->phases);
		f->loaded = r != 1;
		for (size_t c = 0; r == 1 && c < table_phase_plan_count; c++)
			put(f, c);
		if (r == 1)
			table_builder_row(&f->build);
	}
	return r < 0 ? r : 0;
}
