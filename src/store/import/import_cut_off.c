/*
 * Jobs that were cut off: by a signal to their runs, or with their runs. A killed `run` leaves a
 * job that nobody stopped; if none of its runs is alive, it is stored as it is, and ends with the
 * last record.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/files/fs.h"
#include "store/import/import_internal.h"

static int64_t newest_us(int dir, int depth)
{
	_cleanup_list_ DIR *d = fs_open_list(dir, ".");
	int64_t newest = 0;

	for (const struct dirent *e; d && (e = readdir(d));) {
		struct stat st;

		if (e->d_name[0] == '.' ||
		    fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		int64_t us = (int64_t)st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;
		if (S_ISDIR(st.st_mode)) {
			_cleanup_close_ int below =
				openat(dirfd(d), e->d_name,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			us = below >= 0 && depth < 2 ? newest_us(below, depth + 1) : 0;
		}
		newest = us > newest ? us : newest;
	}
	return newest;
}

bool import_was_cut_off(const struct job_directory *j, struct value *meta, const struct value *runs)
{
	if ((!value_get(meta, "started_by_run") && !value_get(meta, "started_by_monitor")) ||
	    !runs->list.count)
		return false;
	for (size_t i = 0; i < runs->list.count; i++)
		if (!run_is_over(runs->list.items[i]))
			return false;
	int64_t last = newest_us(j->fd, 0);
	if (last)
		value_set(meta, "stop_us", value_int(last));
	return last > 0;
}

void import_take_cut_off(struct import *p, const struct value *metadata)
{
	struct value *cut = value_get(metadata, "cut_off");

	if (!p->metadata)
		p->metadata = value_new(VALUE_DICT);
	if (value_get(p->metadata, "cut_off") || (cut && cut->kind != VALUE_DICT))
		return;
	if (cut) {
		value_set(p->metadata, "cut_off", value_ref(cut));
	} else if ((value_get(metadata, "command") || value_get(metadata, "watched")) &&
		   value_get(metadata, "start_us") && !value_get(metadata, "end_us") &&
		   !p->o->running && !p->o->meta) {
		cut = value_new(VALUE_DICT);
		value_set(cut, "killed", value_bool(true));
		if (!value_get(metadata, "command"))
			value_set(cut, "monitor", value_bool(true));
		value_set(p->metadata, "cut_off", cut);
	}
}

/* The command of a run: the first process that it started. */
static const struct process *command_of(const struct accounting *b, int64_t pid)
{
	const struct process *first = NULL;

	for (size_t i = 0; i < b->process_count; i++) {
		const struct process *one = &b->processes[i];
		uint32_t parent = one->started_by ? one->started_by : one->ppid;

		if (parent == pid && !one->merged && (!first || one->begin_ns < first->begin_ns))
			first = one;
	}
	return first;
}

/* The status that the run would have noted; -1: unknown. */
static int exitcode_of(const struct accounting *b, const struct value *metadata)
{
	const struct value *code = value_get(metadata, "exitcode"),
			   *pid = value_get(metadata, "pid");

	if (code && code->kind == VALUE_INT)
		return (int)code->integer;
	const struct process *p =
		pid && pid->kind == VALUE_INT ? command_of(b, pid->integer) : NULL;
	if (!p || p->running || p->status < 0)
		return -1;
	return WIFSIGNALED(p->status) ? 128 + WTERMSIG(p->status) : WEXITSTATUS(p->status);
}

void import_find_exit(struct import *p)
{
	struct value *cut = value_get(p->metadata, "cut_off");
	int all = 0;

	if (!value_get(cut, "killed") || p->meta.has_exitcode || !p->runs || !p->own)
		return;
	for (size_t i = 0; i < p->runs->list.count; i++) {
		const struct value *metadata = p->runs->list.items[i];
		int code =
			value_get(metadata, "command") ? exitcode_of(&p->accounting, metadata) : 0;

		if (code < 0)
			return;
		all = all ? all : code;
	}
	value_set(cut, "end_known", value_bool(true));
	value_set(p->own, "exitcode", value_int(all));
	p->meta.has_exitcode = true;
	p->meta.exitcode = all;
}
