/* The way to the module "archive". */
#include "codecs/archive.h"

#include "core/module.h"

const struct archive_functions *archive_module(struct strbuf *why)
{
	const struct module *m = module_load("archive", why);

	return m ? m->functions : NULL;
}
