/* HDF5 files, written by the module "hdf5"; see hdf5_table.c. */
#include "tables/hdf5/hdf5_file.h"
#include "tables/table.h"

static const struct table_format *load(struct strbuf *why)
{
	const struct hdf5_functions *h = hdf5_module(why);

	return h ? h->tables_format : NULL;
}

const struct table_format table_hdf5 = {
	.name = "hdf5",
	.suffix = ".h5",
	.help = "tables for pandas.read_hdf, PyTables and h5py; other tables in the file stay",
	.database = true,
	.hints = true,
	.load = load,
};
