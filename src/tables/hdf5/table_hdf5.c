/* HDF5 files: the module "hdf5" writes them; see hdf5_table.c. */
#include <errno.h>

#include "tables/hdf5/hdf5_file.h"
#include "tables/table.h"

static int file_open(struct table_file **ret, const char *path, const struct table_column *columns,
		     size_t count, const struct table_options *o, struct strbuf *why)
{
	const struct hdf5_functions *h = hdf5_module(why);

	return h ? h->frames->open(ret, path, columns, count, o, why) : -ENOTSUP;
}

static int file_write(struct table_file *f, const struct table_batch *b, struct strbuf *why)
{
	return hdf5_module(why)->frames->write(f, b, why);
}

static int file_close(struct table_file *f, struct strbuf *why)
{
	return hdf5_module(why)->frames->close(f, why);
}

static void file_abandon(struct table_file *f)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	hdf5_module(&why)->frames->abandon(f);
}

const struct table_format table_hdf5 = {
	.name = "hdf5",
	.suffix = ".h5",
	.help = "tables for pandas.read_hdf, PyTables and h5py, in a file that is added to",
	.database = true,
	.hints = true,
	.open = file_open,
	.write = file_write,
	.close = file_close,
	.abandon = file_abandon,
};
