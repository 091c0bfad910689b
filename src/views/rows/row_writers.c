/* The list of row writers, and what they have in common. */
#include <string.h>

#include "views/rows/row_writer.h"

#define ROW_WRITER(symbol) extern const struct row_writer row_writer_##symbol;
#include "views/rows/row_writers.def"
#undef ROW_WRITER

const struct row_writer *const row_writers[] = {
#define ROW_WRITER(symbol) &row_writer_##symbol,
#include "views/rows/row_writers.def"
#undef ROW_WRITER
	NULL,
};

const struct row_writer *row_writer_find(const char *name)
{
	for (const struct row_writer *const *s = row_writers; *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}

bool row_writer_shows(const struct metric *m)
{
	switch (m->id) {
	case METRIC_ARGV:
	case METRIC_EVENTS:
	case METRIC_COUNTERS:
	case METRIC_BOOTTIME:
	case METRIC_REALTIME:
	case METRIC_IMAGE_PID:
	case METRIC_BEGIN:
	case METRIC_BOOT_ID:
	case METRIC_EXECS:
	case METRIC_EXEC_TIMES:
	case METRIC_VERSION:
	case METRIC_TASK_DELAYACCT:
	case METRIC_PROCDEV:
	case METRIC_PIDNS:
	case METRIC_TASK:
	case METRIC_OWN_RCHAR:
	case METRIC_OWN_WCHAR:
	case METRIC_OWN_SYSCR:
	case METRIC_OWN_SYSCW:
		return false;
	default:
		return true;
	}
}
