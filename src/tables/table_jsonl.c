/* JSON, an object a line; see table_json.c. */
#include "tables/text_values.h"

static int jsonl_open(struct frame_file **ret, const char *path, const struct frame_column *columns,
		      size_t count, const struct frame_options *o, struct strbuf *why)
{
	return frame_json_open(ret, path, columns, count, o, true, why);
}

const struct frame_format frame_jsonl = {
	.name = "jsonl",
	.suffix = ".jsonl",
	.help = "JSON, an object a line",
	.text = true,
	.open = jsonl_open,
	.write = frame_json_write,
	.close = frame_json_close,
	.abandon = frame_json_abandon,
};
