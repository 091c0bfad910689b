/* SQLite databases: the module "sqlite_table" writes them. */
#include <errno.h>

#include "core/module.h"
#include "tables/table.h"

static const struct table_format *functions(struct strbuf *why)
{
	const struct module *m = module_load("sqlite_table", why);

	return m ? m->functions : NULL;
}

static int db_open(struct table_file **ret, const char *path, const struct table_column *columns,
		   size_t count, const struct table_options *o, struct strbuf *why)
{
	const struct table_format *f = functions(why);

	return f ? f->open(ret, path, columns, count, o, why) : -ENOTSUP;
}

static int db_write(struct table_file *f, const struct table_batch *b, struct strbuf *why)
{
	return functions(why)->write(f, b, why);
}

static int db_close(struct table_file *f, struct strbuf *why)
{
	return functions(why)->close(f, why);
}

static void db_abandon(struct table_file *f)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	functions(&why)->abandon(f);
}

const struct table_format table_sqlite = {
	.name = "sqlite",
	.suffix = ".sqlite",
	.help = "a table in an SQLite database, which is added to",
	.database = true,
	.transactions = true,
	.open = db_open,
	.write = db_write,
	.close = db_close,
	.abandon = db_abandon,
};
