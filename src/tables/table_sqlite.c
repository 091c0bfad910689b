/* SQLite databases, written by the module "sqlite_table". */
#include "core/module.h"
#include "tables/table.h"

static const struct table_format *load(struct strbuf *why)
{
	const struct module *m = module_load("sqlite_table", why);

	return m ? m->functions : NULL;
}

const struct table_format table_sqlite = {
	.name = "sqlite",
	.suffix = ".sqlite",
	.help = "a table in an SQLite database; other tables in it stay",
	.database = true,
	.transactions = true,
	.load = load,
};
