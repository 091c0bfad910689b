/* JSON, an object a line; see table_json.c. */
#include "tables/text_values.h"

static int jsonl_open(struct table_file **ret, const char *path, const struct table_column *columns,
		      size_t count, const struct table_options *o, struct strbuf *why)
{
	return table_json_open(ret, path, columns, count, o, true, why);
}

const struct table_format table_jsonl = {
	.name = "jsonl",
	.suffix = ".jsonl",
	.help = "JSON, an object a line",
	.text = true,
	.open = jsonl_open,
	.write = table_json_write,
	.close = table_json_close,
	.abandon = table_json_abandon,
};
