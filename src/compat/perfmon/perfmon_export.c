/* perfmon -e: its JSON files as tables in the requested formats. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "compat/perfmon/perfmon.h"
#include "compat/perfmon/perfmon_tables.h"

const char *const perfmon_formats[] = {"csv", "hdf5", "parquet", "pickle", "feather", "orc", NULL};

int perfmon_export(const struct perfmon *p, int data, const char *dir, const char *id)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct table_format *formats[ARRAY_SIZE(p->formats)];
	struct perfmon_tables t = {.dir = dir, .job = id, .formats = formats};

	/* the file size limit is an error like a full disk */
	for (size_t i = 0; perfmon_formats[i]; i++)
		if (p->formats[i])
			formats[t.format_count++] = table_format_by_name(perfmon_formats[i]);
	_cleanup_close_ int from = openat(data, "metrics", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	t.metrics = from;
	int r = from < 0 ? -errno : perfmon_tables_write(&t, &why);
	warn_lines(why.buf, NULL);
	if (r < 0)
		log_error("not all exports of job %s are in '%s': %s", id, dir, strerror(-r));
	else
		log_info("%d %s in '%s'", r, plural(r, "export is", "exports are"), dir);
	return r < 0 ? r : 0;
}
