/*
 * Module "hdf5": a collector's files, by libhdf5; see hdf5_file.h. The library is not thread-safe
 * everywhere, so a mutex lets one call at a time into it.
 */
#include <errno.h>
#include <pthread.h>

#include "core/module.h"
#include "core/text/text.h"
#include "tables/hdf5/hdf5_module.h"

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* Error messages are switched off per thread. The library must not load plugins for a file, nor
 * write anything when the program exits. */
static int enter(void)
{
	static bool ready;

	pthread_mutex_lock(&mutex);
	if (!ready) {
		H5dont_atexit();
		H5open();
		H5PLset_loading_state(0);
		ready = true;
	}
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
	H5Eclear2(H5E_DEFAULT);
	return 0;
}

static void leave(const int *entered PL_UNUSED)
{
	pthread_mutex_unlock(&mutex);
}

/* Holds the mutex to the end of the function. */
#define ENTER _cleanup_(leave) PL_UNUSED int entered = enter()

static herr_t take_reason(unsigned n, const H5E_error2_t *e, void *user)
{
	struct strbuf *why = user;

	if (n == 0 && e->desc)
		text_add_printable(why, e->desc, strlen(e->desc) < 200 ? strlen(e->desc) : 200);
	return 0;
}

/* Must be called before the next call of the library, which clears the message. */
void hdf5_reason(struct strbuf *why)
{
	size_t before = why->len;

	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, why);
	if (why->len == before)
		strbuf_addstr(why, "the HDF5 library gives no reason");
	H5Eclear2(H5E_DEFAULT);
}

static void version(struct strbuf *out)
{
	unsigned major = 0, minor = 0, release = 0;

	ENTER;
	H5get_libversion(&major, &minor, &release);
	strbuf_addf(out, "HDF5 %u.%u.%u", major, minor, release);
}

/* ---- the functions, one at a time ---- */

static int enter_open(const char *path, struct hdf5_file **ret, struct strbuf *why)
{
	ENTER;
	return hdf5_open(path, ret, why);
}

static void enter_close(struct hdf5_file *f)
{
	ENTER;
	hdf5_close(f);
}

static int enter_tables(struct hdf5_file *f, const char *job, hdf5_table_visitor visit, void *user,
			struct strbuf *why)
{
	ENTER;
	return hdf5_tables(f, job, visit, user, why);
}

static int enter_some_rows(struct hdf5_file *f, const char *job, const char *table,
			   const char *const *columns, size_t count, uint64_t first, uint64_t rows,
			   hdf5_row_visitor visit, void *user, struct strbuf *why)
{
	ENTER;
	return hdf5_read_rows(f, job, table, columns, count, first, rows, visit, user, why);
}

static int enter_rows(struct hdf5_file *f, const char *job, const char *table,
		      const char *const *columns, size_t count, hdf5_row_visitor visit, void *user,
		      struct strbuf *why)
{
	return enter_some_rows(f, job, table, columns, count, 0, UINT64_MAX, visit, user, why);
}

static int enter_create(const struct hdf5_writer_options *o, struct hdf5_writer **ret,
			struct strbuf *why)
{
	ENTER;
	return hdf5_create(o, ret, why);
}

static struct hdf5_schema *enter_schema(struct hdf5_writer *w, const struct hdf5_column *columns,
					size_t count, const char *note)
{
	ENTER;
	return hdf5_add_schema(w, columns, count, note);
}

static int enter_commit(struct hdf5_writer *w, uint64_t position, struct strbuf *why)
{
	ENTER;
	return hdf5_commit(w, position, why);
}

static int enter_finish(struct hdf5_writer *w)
{
	ENTER;
	return hdf5_finish(w);
}

static int enter_table_open(struct table_file *t, const char *path, const struct table_options *o,
			    struct strbuf *why)
{
	ENTER;
	return hdf5_pandas_open(t, path, o, why);
}

static int enter_table_write(struct table_file *t, const struct table_batch *b, struct strbuf *why)
{
	ENTER;
	return hdf5_pandas_write(t, b, why);
}

static int enter_table_end(struct table_file *t, struct strbuf *why)
{
	ENTER;
	return hdf5_pandas_end(t, why);
}

static void enter_table_release(struct table_file *t)
{
	ENTER;
	hdf5_pandas_release(t);
}

static const struct table_format tables_format = {
	.name = "hdf5",
	.own_codecs = true,
	.size = sizeof(struct pandas_file),
	.open = enter_table_open,
	.write = enter_table_write,
	.end = enter_table_end,
	.release = enter_table_release,
};

static const struct hdf5_functions functions = {
	.version = version,
	.open = enter_open,
	.close = enter_close,
	.tables = enter_tables,
	.rows = enter_rows,
	.some_rows = enter_some_rows,
	.recover = hdf5_recover,
	.create = enter_create,
	.schema = enter_schema,
	.table = hdf5_add_table,
	.add = hdf5_add_row,
	.held = hdf5_held,
	.size = hdf5_size,
	.begin = hdf5_begin,
	.position = hdf5_position,
	.is_gone = hdf5_is_gone,
	.commit = enter_commit,
	.finish = enter_finish,
	.tables_format = &tables_format,
};

PL_MODULE("hdf5", "HDF5", &functions);
