/* Filters: the first byte says whether the rest is one of jobs or of processes. What can be read
 * must be a statement that the engine accepts. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "store/filter/filter.h"

/* An empty store in memory, made once. */
static struct store *store(void)
{
	static struct store *s;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (!s)
		REQUIRE(store_open(&s, ":memory:", STORE_WRITE, &why) == 0);
	return s;
}

static void ask(struct filter *f)
{
	_cleanup_sql_ struct sql q = SQL_INIT, of = SQL_INIT;
	bool processes = f->scope == FILTER_PROCESSES;

	sql_put(&q,
		processes ? "SELECT p.id FROM process p WHERE p.id > ? AND "
			  : "SELECT j.no FROM job j WHERE j.no > ? AND ",
		db_int(0));
	if (processes)
		filter_add_processes(&q, f, store()->engine);
	else
		filter_add_jobs(&q, f, store()->engine);
	REQUIRE(q.count <= 4 * FILTER_VALUES_MAX + 8 * FILTER_TESTS_MAX + FILTER_BYTES_MAX);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, store());
	REQUIRE(st && stmt_step(st) == 0);
	if (!processes)
		return;
	sql_add(&of, "SELECT j.no FROM job j WHERE ");
	filter_add_jobs_of(&of, f, store()->engine);
	_cleanup_stmt_ struct stmt *jobs = sql_prepare(&of, store());
	REQUIRE(jobs && stmt_step(jobs) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (!size)
		return 0;
	_cleanup_filter_ struct filter *f =
		filter_new(data[0] == 'p' ? FILTER_PROCESSES : FILTER_JOBS);
	/* filters are strings: they end at the first NUL */
	_cleanup_free_ char *text = xstrndup((const char *)data + 1, size - 1);
	int r = filter_parse(f, text, &why);
	REQUIRE(r == 0 ? !why.len : r == -EINVAL && why.len && filter_is_empty(f));
	REQUIRE(f->tests <= FILTER_TESTS_MAX && f->values <= FILTER_VALUES_MAX);
	if (r == 0)
		ask(f);
	return 0;
}
