/* The driver that the library calls for its files; see hdf5_module.h. */
#include <string.h>

#include "tables/hdf5/hdf5_module.h"

#define METADATA ((size_t)16 << 20)
#define METADATA_SMALL ((size_t)1 << 20)

/* The library copies the driver's part of an access list as bytes. */
struct access {
	struct driver_file *file;
};

static H5FD_t *driver_open(const char *name PL_UNUSED, unsigned flags PL_UNUSED, hid_t fapl,
			   haddr_t maxaddr PL_UNUSED)
{
	const struct access *a = H5Pget_driver_info(fapl);

	if (!a)
		return NULL;
	memset(&a->file->pub, 0, sizeof(a->file->pub));
	a->file->eoa = 0;
	return &a->file->pub;
}

static herr_t driver_close(H5FD_t *file PL_UNUSED)
{
	return 0;
}

static herr_t driver_query(const H5FD_t *file PL_UNUSED, unsigned long *flags)
{
	*flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA |
		 H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA |
		 H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
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
	const struct driver_file *f = (const struct driver_file *)file;

	return f->write && f->eoa > f->size ? f->eoa : f->size;
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type PL_UNUSED, hid_t dxpl PL_UNUSED,
			  haddr_t addr, size_t size, void *buffer)
{
	struct driver_file *f = (struct driver_file *)file;

	return f->read(f, addr, size, buffer);
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t dxpl PL_UNUSED, haddr_t addr,
			   size_t size, const void *buffer)
{
	struct driver_file *f = (struct driver_file *)file;

	return f->write ? f->write(f, addr, size, buffer, type == H5FD_MEM_DRAW) : -1;
}

static const H5FD_class_t driver = {
#if H5_VERSION_GE(1, 13, 0)
	.version = H5FD_CLASS_VERSION,
	.value = H5FD_CLASS_VERSION == 1 ? 700 : 0,
#endif
	.name = "plimsoll",
	.maxaddr = INT64_MAX,
	.fc_degree = H5F_CLOSE_STRONG,
	.fapl_size = sizeof(struct access),
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

/* A fixed size, never adjusted to the apparent use. */
static void size_cache(H5AC_cache_config_t *cache, size_t size)
{
	cache->set_initial_size = true;
	cache->initial_size = cache->min_size = cache->max_size = size;
	cache->incr_mode = H5C_incr__off;
	cache->flash_incr_mode = H5C_flash_incr__off;
	cache->decr_mode = H5C_decr__off;
}

hid_t driver_access(struct driver_file *f)
{
	static hid_t id = -1;
	const struct access a = {f};
	hid_t fapl = H5Pcreate(H5P_FILE_ACCESS);

	if (id < 0)
		id = H5FDregister(&driver);
	if (id < 0 || fapl < 0 || H5Pset_driver(fapl, id, &a) < 0)
		return -1;
	H5Pset_fclose_degree(fapl, H5F_CLOSE_STRONG);
	H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
	if (H5Pget_mdc_config(fapl, &cache) >= 0) {
		size_cache(&cache, METADATA);
		H5Pset_mdc_config(fapl, &cache);
	}
	return fapl;
}

void hdf5_size_cache(hid_t file, bool small)
{
	H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};

	if (H5Fget_mdc_config(file, &cache) < 0)
		return;
	size_cache(&cache, small ? METADATA_SMALL : METADATA);
	(void)H5Fset_mdc_config(file, &cache);
}
