/* The way to the module "hdf5". */
#include "formats/colmet_hdf5.h"

#include "core/module.h"

const struct hdf5_functions *hdf5_module(struct strbuf *why)
{
	const struct module *m = module_load("hdf5", why);

	return m ? m->functions : NULL;
}
