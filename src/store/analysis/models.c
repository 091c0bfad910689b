/* Reference models in the store; see models.h. */
#include "store/analysis/models.h"

#include "core/clock.h"

void model_release(struct model *m)
{
	free(m->name);
	value_free(m->json);
	*m = (struct model){0};
}

/* From a row of name, enabled, json. */
static int take_row(struct model *m, struct stmt *st, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	size_t n;
	const char *name = stmt_get_str(st, 0);

	m->name = xstrdup(name);
	m->enabled = stmt_get_int(st, 1) != 0;
	const char *text = stmt_get_text(st, 2, &n);
	if (!text || value_from_json(text, n, &m->json, &reason) < 0 ||
	    m->json->kind != VALUE_DICT) {
		value_free(m->json);
		m->json = NULL;
		return strbuf_fail(why, -EBADMSG,
				   "model '%s' is damaged (%s); delete it with `plimsoll model "
				   "delete` and create it again",
				   name, reason.len ? reason.buf : "not an object");
	}
	m->version = value_get_int(m->json, "version");
	if (m->version > MODEL_VERSION) {
		value_free(m->json);
		m->json = NULL;
		return strbuf_fail(why, -EPROTO,
				   "model '%s' was written by a newer version of plimsoll (format "
				   "%lld, this one reads up to %d); update plimsoll",
				   name, (long long)m->version, MODEL_VERSION);
	}
	return 0;
}

static void add_names(struct store *s, struct strbuf *why)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT name FROM model ORDER BY name LIMIT 8");
	size_t n = 0;

	while (stmt_step(st) == 1)
		strbuf_addf(why, "%s'%s'", n++ ? ", " : "; there are ", stmt_get_str(st, 0));
	if (!n)
		strbuf_addstr(why, "; there are none yet: create one with `plimsoll model create`");
}

int model_load(struct model *m, struct store *s, const char *name, struct strbuf *why)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT name, enabled, json FROM model WHERE name = $1", db_str(name));
	int r = stmt_step(st);

	if (r < 0)
		return strbuf_fail(why, -EIO, "%s", store_error(s));
	if (r == 0) {
		strbuf_addf(why, "no model is named '%s'", name);
		add_names(s, why);
		return -ENOENT;
	}
	return take_row(m, st, why);
}

int models_each(struct store *s, int (*each)(void *user, const struct model *m, const char *why),
		void *user)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT name, enabled, json FROM model ORDER BY name");
	int r;

	while ((r = stmt_step(st)) == 1) {
		_cleanup_model_ struct model m = {0};
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

		(void)take_row(&m, st, &why);
		r = each(user, &m, why.buf);
		if (r < 0)
			return r;
	}
	return r;
}

int model_write(struct store *s, const char *name, const struct value *json, bool replace)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	const struct value *enabled = value_get(json, "enabled");

	value_to_json(json, &j, NULL);
	int64_t on = enabled && enabled->kind == VALUE_BOOL && enabled->boolean;
	_cleanup_stmt_ struct stmt *st =
		replace ? store_query(s, "UPDATE model SET enabled = $1, json = $2 WHERE name = $3",
				      db_int(on), db_bytes(j.out.buf, j.out.len), db_str(name))
			: store_query(s,
				      "INSERT INTO model (name, created_us, enabled, json) VALUES "
				      "($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING",
				      db_str(name), db_int(clock_realtime_us()), db_int(on),
				      db_bytes(j.out.buf, j.out.len));
	int r = stmt_step(st);
	if (r < 0)
		return r;
	return s->engine->changes(st) ? 0 : replace ? -ENOENT : -EEXIST;
}

int model_set_enabled(struct store *s, const char *name, bool enabled, struct strbuf *why)
{
	_cleanup_model_ struct model m = {0};
	int r = store_begin(s);

	if (r == 0)
		r = model_load(&m, s, name, why);
	if (r == 0) {
		value_set(m.json, "enabled", value_bool(enabled));
		r = model_write(s, name, m.json, true);
	}
	return store_end(s, r);
}

int model_delete(struct store *s, const char *name)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "DELETE FROM model WHERE name = $1", db_str(name));
	int r = stmt_step(st);

	return r < 0 ? r : s->engine->changes(st) ? 0 : -ENOENT;
}

static int call_for_old(struct store *s, int64_t before_us,
			void (*each)(void *user, const char *name, int64_t created_us), void *user)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT name, created_us FROM model WHERE created_us < $1 ORDER BY name",
		db_int(before_us));
	int r, n = 0;

	for (; (r = stmt_step(st)) == 1; n++)
		each(user, stmt_get_str(st, 0), stmt_get_int(st, 1));
	return r < 0 ? r : n;
}

int models_retire(struct store *s, int64_t before_us, bool dry,
		  void (*each)(void *user, const char *name, int64_t created_us), void *user)
{
	int n = 0, r = store_begin(s);

	if (r == 0)
		r = n = call_for_old(s, before_us, each, user);
	if (r > 0 && !dry) {
		_cleanup_stmt_ struct stmt *st = store_query(
			s, "DELETE FROM model WHERE created_us < $1", db_int(before_us));

		r = stmt_step(st);
	}
	r = store_end(s, r < 0 ? r : 0);
	return r < 0 ? r : n;
}
