/*
 * Module "hdf5": a collector's files by libhdf5; see hdf5_file.h. The library is not made
 * for several threads everywhere: one call at a time goes into it.
 */
#include <errno.h>
#include <pthread.h>

#include "core/module.h"
#include "core/text/text.h"
#include "tables/hdf5/hdf5_module.h"

static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

/* Quiet is a thread's own matter. Nothing is loaded for the sake of a file, and nothing written
 * when the program ends. */
static void enter(void)
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
}

static void leave(void)
{
	pthread_mutex_unlock(&mutex);
}

static herr_t take_reason(unsigned n, const H5E_error2_t *e, void *user)
{
	struct strbuf *why = user;

	if (n == 0 && e->desc)
		text_add_printable(why, e->desc, strlen(e->desc) < 200 ? strlen(e->desc) : 200);
	return 0;
}

/* To be asked for before the library is called again: that forgets it. */
void hdf5_reason(struct strbuf *why)
{
	size_t before = why->len;

	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_reason, why);
	if (why->len == before)
		strbuf_addstr(why, "the HDF5 library does not say why");
	H5Eclear2(H5E_DEFAULT);
}

static void version(struct strbuf *out)
{
	unsigned major = 0, minor = 0, release = 0;

	enter();
	H5get_libversion(&major, &minor, &release);
	leave();
	strbuf_addf(out, "HDF5 %u.%u.%u", major, minor, release);
}

/* ---- the functions, one at a time ----------------------------------------------------------- */

static int enter_open(const char *path, struct hdf5_file **ret, struct strbuf *why)
{
	enter();
	int r = hdf5_open(path, ret, why);
	leave();
	return r;
}

static void enter_close(struct hdf5_file *f)
{
	enter();
	hdf5_close(f);
	leave();
}

static int enter_tables(struct hdf5_file *f, const char *job, hdf5_table_visitor visit, void *user,
			struct strbuf *why)
{
	enter();
	int r = hdf5_tables(f, job, visit, user, why);
	leave();
	return r;
}

static int enter_some_rows(struct hdf5_file *f, const char *job, const char *table,
			   const char *const *columns, size_t count, uint64_t first, uint64_t rows,
			   hdf5_row_visitor visit, void *user, struct strbuf *why)
{
	enter();
	int r = hdf5_read_rows(f, job, table, columns, count, first, rows, visit, user, why);
	leave();
	return r;
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
	enter();
	int r = hdf5_create(o, ret, why);
	leave();
	return r;
}

static struct hdf5_schema *enter_schema(struct hdf5_writer *w, const struct hdf5_column *columns,
					size_t count, const char *note)
{
	enter();
	struct hdf5_schema *s = hdf5_add_schema(w, columns, count, note);
	leave();
	return s;
}

static int enter_commit(struct hdf5_writer *w, uint64_t position, struct strbuf *why)
{
	enter();
	int r = hdf5_commit(w, position, why);
	leave();
	return r;
}

static int enter_finish(struct hdf5_writer *w)
{
	enter();
	int r = hdf5_finish(w);
	leave();
	return r;
}

static int enter_frame_open(struct table_file **ret, const char *path,
			    const struct table_column *columns, size_t count,
			    const struct table_options *o, struct strbuf *why)
{
	enter();
	int r = hdf5_table_file_open(ret, path, columns, count, o, why);
	leave();
	return r;
}

static int enter_frame_write(struct table_file *f, const struct table_batch *b, struct strbuf *why)
{
	enter();
	int r = hdf5_table_file_write(f, b, why);
	leave();
	return r;
}

static int enter_frame_close(struct table_file *f, struct strbuf *why)
{
	enter();
	int r = hdf5_table_file_close(f, why);
	leave();
	return r;
}

static void enter_frame_abandon(struct table_file *f)
{
	enter();
	hdf5_table_file_abandon(f);
	leave();
}

static const struct table_format frames = {
	.name = "hdf5",
	.open = enter_frame_open,
	.write = enter_frame_write,
	.close = enter_frame_close,
	.abandon = enter_frame_abandon,
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
	.frames = &frames,
};

__attribute__((visibility("default"))) const struct module plimsoll_module = {
	.build = PL_BUILD_ID,
	.name = "hdf5",
	.library = "HDF5",
	.functions = &functions,
};
