/* Imports the models of an EPMT database unchanged; see import_epmt.c. */
#include <errno.h>

#include "compat/epmt/import/import_epmt_internal.h"
#include "core/clock.h"

/* A model as EPMT has it, and the jobs that it was made from. */
static struct value *read_model(struct store *from, struct stmt *st)
{
	static const char *const dicts[] = {"tags", "op_tags", "computed", "info_dict"};
	_cleanup_stmt_ struct stmt *jobs =
		store_query(from,
			    "SELECT jobid FROM refmodel_job_associations WHERE refmodel_id = "
			    "$1 ORDER BY jobid",
			    db_int(stmt_get_int(st, 0)));
	struct value *model = value_new(VALUE_DICT), *list = value_new(VALUE_LIST);

	value_set(model, "id", value_int(stmt_get_int(st, 0)));
	epmt_text(model, "name", st, 1);
	value_set(model, "enabled", value_bool(stmt_get_int(st, 2) != 0));
	epmt_text(model, "created_at", st, 3);
	epmt_text(model, "updated_at", st, 4);
	for (size_t i = 0; i < ARRAY_SIZE(dicts); i++)
		value_set(model, dicts[i], epmt_json(st, (int)i + 5, NULL, NULL));
	while (stmt_step(jobs) == 1)
		value_append(list, value_str(stmt_get_str(jobs, 0)));
	value_set(model, "jobs", list);
	return model;
}

static int64_t write_model(struct store *to, const struct value *model)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	const char *name = value_get_str(model, "name");
	int64_t us = 0;
	bool timed = epmt_time(value_get_str(model, "created_at"), &us);

	value_to_json(model, &j, NULL);
	_cleanup_stmt_ struct stmt *st = store_query(
		to,
		"INSERT INTO model (name, created_us, enabled, json) VALUES ($1, "
		"$2, $3, $4) ON CONFLICT (name) DO NOTHING",
		db_str(name ? name : ""), db_int_if(timed, us),
		db_int(value_get(model, "enabled")->boolean), db_bytes(j.out.buf, j.out.len));
	int r = stmt_step(st);
	return r < 0 ? r : to->engine->changes(st);
}

int epmt_copy_models(struct store *from, struct store *to, size_t *ret, struct strbuf *why)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		from, "SELECT id, name, CASE WHEN enabled THEN 1 ELSE 0 END, CAST(created_at AS "
		      "TEXT), CAST(updated_at AS TEXT), CAST(tags AS TEXT), CAST(op_tags AS TEXT), "
		      "CAST(computed AS TEXT), CAST(info_dict AS TEXT) FROM refmodels ORDER BY id");
	int r = 0;

	if (!st)
		strbuf_addstr(why, store_error(from));
	while (r >= 0 && (r = stmt_step(st)) == 1) {
		_cleanup_value_ struct value *model = read_model(from, st);
		int64_t n = write_model(to, model);

		if (n < 0) {
			strbuf_addstr(why, store_error(to));
			r = -EIO;
		} else {
			*ret += (size_t)n;
		}
	}
	return r < 0 ? r : 0;
}
