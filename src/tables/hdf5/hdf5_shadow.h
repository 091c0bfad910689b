/* What the parts of the driver below the library share; see hdf5_module.h and hdf5_shadow.c. */
#ifndef PL_TABLES_HDF5_HDF5_SHADOW_H
#define PL_TABLES_HDF5_HDF5_SHADOW_H

#include "tables/hdf5/hdf5_module.h"
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#define PAGE 4096u

struct page {
	uint64_t index;
	uint64_t changed; /* blocks that differ from the file */
	struct page *next;
	unsigned char data[PAGE];
};

struct shadow {
	H5FD_t pub; /* the library's; first */
	int fd;
	struct file_identity id;
	haddr_t eoa;
	uint64_t base; /* end of the last commit */
	uint64_t size; /* of the file now */
	uint64_t sent; /* up to here it is on its way to the disk */
	struct page **table;
	size_t table_size, count, fresh; /* pages */
	struct page *unused;
	bool discarded;
	enum { GATHERING, APPENDED, NOTED } phase; /* how far the commit under way is */
	struct strbuf pieces;
};

/* ---- hdf5_shadow.c ---- */

/* What the library wrote last. Negative: the file cannot be read. */
int shadow_read(struct shadow *s, uint64_t addr, size_t size, void *buffer);
/* rows: it is no metadata. Fails only where the file cannot be read. */
int shadow_write(struct shadow *s, uint64_t addr, size_t size, const void *buffer, bool rows);

#endif
