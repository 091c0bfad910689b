/* A driver below the library for a file that somebody else has opened: the library itself opens
 * files by their names, which a child without rights cannot. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tables/hdf5/hdf5_module.h"

struct driver_file {
	H5FD_t pub;
	int fd;
	haddr_t eoa, size;
};

static H5FD_t *driver_open(const char *name PL_UNUSED, unsigned flags PL_UNUSED, hid_t fapl,
			   haddr_t maxaddr PL_UNUSED)
{
	const int *fd = H5Pget_driver_info(fapl);
	off_t size = fd ? lseek(*fd, 0, SEEK_END) : -1;

	if (size < 0)
		return NULL;
	struct driver_file *f = xcalloc(1, sizeof(*f));
	f->fd = *fd;
	f->size = (haddr_t)size;
	return &f->pub;
}

static herr_t driver_close(H5FD_t *file)
{
	free(file);
	return 0;
}

static herr_t driver_query(const H5FD_t *file PL_UNUSED, unsigned long *flags)
{
	*flags = H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE;
	return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *file, H5FD_mem_t type PL_UNUSED)
{
	return ((const struct driver_file *)file)->eoa;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type PL_UNUSED, haddr_t addr)
{
	((struct driver_file *)file)->eoa = addr;
	return 0;
}

static haddr_t driver_get_eof(const H5FD_t *file, H5FD_mem_t type PL_UNUSED)
{
	return ((const struct driver_file *)file)->size;
}

/* What is behind the end is 0, as it is for the library's own driver. */
static herr_t driver_read(H5FD_t *file, H5FD_mem_t type PL_UNUSED, hid_t dxpl PL_UNUSED,
			  haddr_t addr, size_t size, void *buffer)
{
	const struct driver_file *f = (const struct driver_file *)file;
	unsigned char *to = buffer;

	if (addr > (haddr_t)INT64_MAX - size)
		return -1;
	while (size) {
		ssize_t got = pread(f->fd, to, size, (off_t)addr);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (got == 0) {
			memset(to, 0, size);
			return 0;
		}
		to += got;
		addr += (haddr_t)got;
		size -= (size_t)got;
	}
	return 0;
}

static herr_t driver_write(H5FD_t *file PL_UNUSED, H5FD_mem_t type PL_UNUSED, hid_t dxpl PL_UNUSED,
			   haddr_t addr PL_UNUSED, size_t size PL_UNUSED,
			   const void *buffer PL_UNUSED)
{
	return -1;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = H5FD_CLASS_VERSION == 1 ? 701 : 0,
#endif
	.name = "plimsoll_read",
	.maxaddr = INT64_MAX,
	.fc_degree = H5F_CLOSE_STRONG,
	.fapl_size = sizeof(int),
	.open = driver_open,
	.close = driver_close,
	.query = driver_query,
	.get_eoa = driver_get_eoa,
	.set_eoa = driver_set_eoa,
	.get_eof = driver_get_eof,
	.read = driver_read,
	.write = driver_write,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

hid_t hdf5_input_access(int fd)
{
	hid_t id = H5FDregister(&driver), fapl = H5Pcreate(H5P_FILE_ACCESS);

	if (id >= 0 && fapl >= 0)
		H5Pset_driver(fapl, id, &fd);
	H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
	return fapl;
}
