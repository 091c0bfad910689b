/* What is still running of a job; see job_directory.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/system/process_stat.h"
#include "core/text/text.h"
#include "jobs/job_directory.h"

#define SLACK_US 2000000 /* from the start of a process until it writes metadata */
#define NAMES_MAX 5

/* ---- runs ----------------------------------------------------------------------------------- */

/* Is the process that wrote these metadata alive? Its pid may have been reused. */
static bool is_alive(pid_t pid, int64_t metadata_us)
{
	struct process_stat stat;

	if (kill(pid, 0) < 0 && errno == ESRCH)
		return false;
	if (!process_stat_read("", pid, &stat))
		return true;
	int64_t boot_us = clock_realtime_us() - (int64_t)(clock_boottime_ns() / 1000);
	return boot_us + (int64_t)(stat.st.f[STAT_STARTTIME] * PL_TICK_US) <=
	       metadata_us + SLACK_US;
}

/* The pid of a run on this host that has not recorded its end; 0 otherwise. */
static pid_t open_here(const struct value *metadata)
{
	const struct value *pid = value_get(metadata, "pid"),
			   *start = value_get(metadata, "start_us");
	/* a monitor's host may have another name in the job */
	const char *own = value_get_str(metadata, "hostname");
	const char *where = own ? own : value_get_str(metadata, "host");
	char host[65], boot[9];

	this_host(host, sizeof(host), boot);
	if (value_get(metadata, "end_us") || !where || strcmp(where, host) != 0 || !pid ||
	    pid->kind != VALUE_INT || pid->integer <= 0 || pid->integer > INT32_MAX || !start ||
	    start->kind != VALUE_INT)
		return 0;
	return (pid_t)pid->integer;
}

bool run_is_alive(const struct value *metadata)
{
	pid_t pid = open_here(metadata);

	return pid && is_alive(pid, value_get(metadata, "start_us")->integer);
}

bool run_is_over(const struct value *metadata)
{
	return value_get(metadata, "end_us") || (open_here(metadata) && !run_is_alive(metadata));
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Is it this process or an ancestor? */
static bool called_us(pid_t pid)
{
	struct process_stat stat;

	for (pid_t at = getpid(); at > 1;) {
		if (at == pid)
			return true;
		if (!process_stat_read("", at, &stat))
			break;
		at = (pid_t)stat.st.f[STAT_PPID];
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

static size_t count_processes(const struct job_directory *j, bool callers, struct strbuf *names)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct accounting b;
	size_t n = 0;

	accounting_init(&b);
	(void)job_directory_add_records(j, &b, &why); /* as far as they can be read */
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

size_t job_directory_running(const struct job_directory *j, bool callers, struct strbuf *names)
{
	_cleanup_value_ struct value *runs = job_directory_runs(j);
	size_t n = count_processes(j, callers, names);

	for (size_t i = 0; i < runs->list.count; i++) {
		const struct value *metadata = runs->list.items[i];

		if (!run_is_alive(metadata) || (!callers && called_us(open_here(metadata))))
			continue;
		add_name(names, ++n,
			 value_get(metadata, "interval_ns") ? "plimsoll monitor" : "plimsoll run",
			 open_here(metadata));
	}
	return n;
}

int job_directory_collect_ended(const struct job_directory *j, struct strbuf *why)
{
	return j->local && !job_directory_running(j, true, NULL) ? job_directory_collect(j, why)
								 : 0;
}

static void weigh(int dir, struct job_directory_weight *sum)
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
			} else if (str_suffix(name, ".rec") || str_suffix(name, ".smp") ||
				   str_suffix(name, ".mark")) {
				sum->bytes += (uint64_t)st.st_size;
				sum->files++;
			} else if (str_suffix(name, ".json") && name[0] != '.') {
				int64_t ns = st.st_mtim.tv_sec * 1000000000LL + st.st_mtim.tv_nsec;

				sum->changed_ns = ns > sum->changed_ns ? ns : sum->changed_ns;
			}
		}
		free(list[i]);
	}
	free(list);
}

bool job_directory_weight_differs(const struct job_directory_weight *a,
				  const struct job_directory_weight *b)
{
	return a->bytes != b->bytes || a->files != b->files || a->changed_ns != b->changed_ns;
}

struct job_directory_weight job_directory_weigh(const struct job_directory *j)
{
	struct job_directory_weight sum = {0};

	weigh(j->fd, &sum);
	return sum;
}
