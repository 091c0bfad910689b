/* What of a job is still at work; see job_directory.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/procparse.h"
#include "core/text/text.h"
#include "jobs/job_directory.h"

#define SLACK_US 2000000 /* between the start of a process and the facts that it writes */
#define NAMES_MAX 5

static bool read_stat(pid_t pid, struct proc_stat *st)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	*st = (struct proc_stat){0};
	return fs_read(AT_FDCWD, path, 4096, &text) == 0 &&
	       clock_parse_stat(text.buf, text.len, st) && st->last >= STAT_STARTTIME;
}

/* ---- runs -------------------------------------------------------------------------------------
 */

/* Is the process that wrote these facts alive? Another may have its pid by now. */
static bool is_alive(pid_t pid, int64_t facts_us)
{
	struct proc_stat st;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return false;
	if (!read_stat(pid, &st))
		return true;
	int64_t boot_us = clock_realtime_us() - (int64_t)(clock_boottime_ns() / 1000);
	return boot_us + (int64_t)(st.f[STAT_STARTTIME] * PL_TICK_US) <= facts_us + SLACK_US;
}

/* Its pid, where it is one of this host and has not written its end; 0 else. */
static pid_t open_here(const struct value *facts)
{
	const struct value *pid = value_get(facts, "pid"), *start = value_get(facts, "start_us");
	const char *where = value_get_str(facts, "host");
	char host[65], boot[9];

	this_host(host, sizeof(host), boot);
	if (value_get(facts, "end_us") || !where || strcmp(where, host) != 0 || !pid ||
	    pid->kind != VALUE_INT || pid->integer <= 0 || pid->integer > INT32_MAX || !start ||
	    start->kind != VALUE_INT)
		return 0;
	return (pid_t)pid->integer;
}

bool run_is_alive(const struct value *facts)
{
	pid_t pid = open_here(facts);

	return pid && is_alive(pid, value_get(facts, "start_us")->integer);
}

bool run_is_over(const struct value *facts)
{
	return value_get(facts, "end_us") || (open_here(facts) && !run_is_alive(facts));
}

/* ---- all --------------------------------------------------------------------------------------
 */

/* This process, and whose child it is. */
static bool called_us(pid_t pid)
{
	struct proc_stat st;

	for (pid_t at = getpid(); at > 1;) {
		if (at == pid)
			return true;
		if (!read_stat(at, &st))
			break;
		at = (pid_t)st.f[STAT_PPID];
	}
	return false;
}

static void add_name(struct strbuf *names, size_t n, const char *name, pid_t pid)
{
	if (!names || n > NAMES_MAX)
		return;
	strbuf_addstr(names, n > 1 ? ", " : "");
	if (n == NAMES_MAX) {
		strbuf_addstr(names, "...");
		return;
	}
	text_add_printable(names, name, strlen(name));
	strbuf_addf(names, " (pid %d)", (int)pid);
}

static const char *name_of(const struct accounting *b, const struct process *p)
{
	const struct image *last = p->last != NO_INDEX ? &b->images[p->last] : NULL;
	uint32_t name = !last ? NO_INDEX : last->name != NO_NAME ? last->name : last->exe;

	return name == NO_INDEX ? "?" : path_base(b->exes[name]);
}

static size_t count_processes(const struct jobdir *j, bool callers, struct strbuf *names)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct accounting b;
	size_t n = 0;

	accounting_init(&b);
	(void)jobdir_add_records(j, &b, &why); /* of those that can be read */
	if (accounting_load(&b, &why) == 0)
		accounting_find_running(&b);
	for (size_t i = 0; i < b.process_count; i++) {
		const struct process *p = &b.processes[i];

		if (p->merged || !p->running || (!callers && called_us(process_pid(p))))
			continue;
		add_name(names, ++n, name_of(&b, p), process_pid(p));
	}
	accounting_release(&b);
	return n;
}

size_t jobdir_running(const struct jobdir *j, bool callers, struct strbuf *names)
{
	_cleanup_value_ struct value *runs = jobdir_runs(j);
	size_t n = count_processes(j, callers, names);

	for (size_t i = 0; i < runs->list.count; i++) {
		const struct value *facts = runs->list.items[i];

		if (!run_is_alive(facts) || (!callers && called_us(open_here(facts))))
			continue;
		add_name(names, ++n,
			 value_get(facts, "command") ? "plimsoll run" : "plimsoll monitor",
			 open_here(facts));
	}
	return n;
}

int jobdir_collect_ended(const struct jobdir *j, struct strbuf *why)
{
	return j->local && !jobdir_running(j, true, NULL) ? jobdir_collect(j, why) : 0;
}

static void weigh(int dir, struct jobdir_weight *sum)
{
	struct dirent **list = NULL;
	int n = scandirat(dir, ".", &list, NULL, NULL);

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;
		struct stat st;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
		    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			if (S_ISDIR(st.st_mode)) {
				_cleanup_close_ int sub = openat(
					dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

				if (sub >= 0)
					weigh(sub, sum);
			} else if (str_suffix(name, ".rec") || str_suffix(name, ".smp")) {
				sum->bytes += (uint64_t)st.st_size;
				sum->files++;
			}
		}
		free(list[i]);
	}
	free(list);
}

struct jobdir_weight jobdir_weigh(const struct jobdir *j)
{
	struct jobdir_weight sum = {0};

	weigh(j->fd, &sum);
	return sum;
}
