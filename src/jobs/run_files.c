/* Record and sample files of a job: creates, finds and moves them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "jobs/job_directory.h"
#include "jobs/metadata_file.h"

void run_file_release(struct run_file *r)
{
	close_fd(&r->fd);
	close_fd(&r->dir);
	free(r->run);
	free(r->path);
	*r = (struct run_file)RUN_FILE_INIT;
}

/* Opens the local directory for record files and creates its levels below the local prefix. */
static int open_local(const char *path, const char *host_dir, struct strbuf *why)
{
	_cleanup_free_ char *copy = xstrdup(path);
	char *id = strrchr(copy, '/');

	*id++ = 0;
	char *spool = strrchr(copy, '/');
	*spool++ = 0;
	char *name = strrchr(copy, '/');
	*name++ = 0;
	const char *levels[] = {spool, id, host_dir};
	int fd = fs_open_private(*copy ? copy : "/", name, true, why);
	for (size_t i = 0; fd >= 0 && i < ARRAY_SIZE(levels); i++) {
		int next = fs_open_subdir(fd, levels[i], true, why);

		close(fd);
		fd = next;
	}
	return fd;
}

bool own_pid_namespace(uint64_t *ret_device, uint64_t *ret_number)
{
	struct stat proc, ns;

	if (stat("/proc/self/stat", &proc) < 0 || stat("/proc/self/ns/pid", &ns) < 0)
		return false;
	*ret_device = proc.st_dev;
	*ret_number = ns.st_ino;
	return true;
}

static int write_preamble(int fd, const char *host)
{
	struct record_writer w = RECORD_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t device, ns;

	record_writer_add_schema(&w);
	record_writer_begin(&w);
	record_writer_u64(&w, METRIC_BOOTTIME, clock_boottime_ns());
	record_writer_u64(&w, METRIC_REALTIME, (uint64_t)clock_realtime_us());
	record_writer_text(&w, METRIC_HOSTNAME, host, strlen(host));
	record_writer_text(&w, METRIC_VERSION, PL_VERSION, strlen(PL_VERSION));
	if (own_pid_namespace(&device, &ns)) {
		record_writer_u64(&w, METRIC_PROCDEV, device);
		record_writer_u64(&w, METRIC_PIDNS, ns);
	}
	if (fs_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", 64, &text) == 0 && text.len > 1)
		record_writer_text(&w, METRIC_BOOT_ID, text.buf, text.len - 1);
	strbuf_reset(&text);
	if (fs_read(AT_FDCWD, "/proc/sys/kernel/task_delayacct", 16, &text) == 0)
		record_writer_u64(&w, METRIC_TASK_DELAYACCT, text.buf[0] == '1');
	record_writer_add(&w, PL_HOST, 0);
	int r = record_writer_flush(&w, fd);
	record_writer_release(&w);
	return r;
}

int run_file_make(struct run_file *r, const struct job_directory *j, const char *host,
		  const char *suffix, struct strbuf *why)
{
	const int flags = O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	bool records = !strcmp(suffix, ".rec");
	char name[65], boot[9];
	_cleanup_close_ int local = -1;

	*r = (struct run_file)RUN_FILE_INIT;
	this_host(name, sizeof(name), boot);
	_cleanup_free_ char *host_dir = xasprintf("%s.%s", host ? host : name, boot);
	r->dir = fs_open_subdir(j->records, host_dir, true, why);
	if (r->dir < 0)
		return r->dir;
	if (records && j->local && (local = open_local(j->local, host_dir, why)) < 0)
		return local;
	int dir = local >= 0 ? local : r->dir;
	_cleanup_free_ char *dir_path = fs_path_of(dir);
	r->run = xasprintf("%llx-%d", (unsigned long long)clock_realtime_us(), (int)getpid());
	_cleanup_free_ char *file = xasprintf("%s%s", r->run, suffix);
	r->path = xasprintf("%s/%s", dir_path ? dir_path : j->path, file);
	r->fd = openat(dir, file, (records ? O_WRONLY : O_RDWR) | flags, 0600);
	int e = r->fd < 0 ? -errno : records ? write_preamble(r->fd, name) : 0;
	if (e < 0)
		strbuf_addf(why, "cannot %s '%s': %s", r->fd < 0 ? "create" : "write to", r->path,
			    strerror(-e));
	return e;
}

int run_file_write_metadata(const struct run_file *r, const struct value *metadata)
{
	_cleanup_json_ struct json_writer json = JSON_WRITER_INIT;
	_cleanup_free_ char *name = xasprintf("%s.json", r->run);

	json.pretty = true;
	value_to_json(metadata, &json, NULL);
	strbuf_addch(&json.out, '\n');
	return fs_replace(r->dir, name, json.out.buf, json.out.len, 0600);
}

/* ---- finding -------------------------------------------------------------------------------- */

typedef int (*file_visitor)(void *user, int dir, const char *name, const char *host_dir);

/* A directory of the job that cannot be opened is an error: the job would be incomplete. why may be
 * NULL. -ESTALE has another meaning for our callers. */
static int closed_part(int dir, const char *name, int error, struct strbuf *why)
{
	_cleanup_free_ char *path = fs_path_of(dir);

	if (why)
		strbuf_addf(why,
			    "cannot open directory '%s%s%s', a part of the job: %s; make it "
			    "readable (chmod u+rx), or move it away to continue without it",
			    path ? path : "", path ? "/" : "", name, strerror(error));
	return error == ESTALE ? -EIO : -error;
}

/* Calls back for each file with the suffix in a directory, sorted by name. */
static int visit_dir(int fd, const char *suffix, const char *host_dir, file_visitor visit,
		     void *user, struct strbuf *why)
{
	struct dirent **list = NULL;
	int n = scandirat(fd, ".", &list, NULL, alphasort), r = 0;

	if (n < 0)
		return closed_part(fd, ".", errno, why);
	for (int i = 0; i < n; i++) {
		if (r == 0 && list[i]->d_name[0] != '.' && str_suffix(list[i]->d_name, suffix))
			r = visit(user, fd, list[i]->d_name, host_dir);
		free(list[i]);
	}
	free(list);
	return r;
}

/* The same for the directory and each <host>.<boot> in it. why may be NULL. */
static int visit_tree(int fd, const char *suffix, file_visitor visit, void *user,
		      struct strbuf *why)
{
	struct dirent **list = NULL;
	int n = scandirat(fd, ".", &list, NULL, alphasort);
	int r = n < 0 ? closed_part(fd, ".", errno, why)
		      : visit_dir(fd, suffix, NULL, visit, user, why);
	int closed = 0; /* the others are still visited */

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		if (r == 0 && name[0] != '.') {
			int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

			if (sub >= 0) {
				r = visit_dir(sub, suffix, name, visit, user, why);
				close(sub);
			} else if (errno != ENOTDIR && errno != ELOOP && errno != ENOENT) {
				int e = closed_part(fd, name, errno, closed ? NULL : why);

				closed = closed ? closed : e;
			}
		}
		free(list[i]);
	}
	free(list);
	return r ? r : closed;
}

/* The same for all places where a job may have files. */
static int visit_all(const struct job_directory *j, const char *suffix, file_visitor visit,
		     void *user, struct strbuf *why)
{
	int r = visit_tree(j->records, suffix, visit, user, why);

	/* hosts without `run` write beside the other tool's files */
	if (r == 0 && j->records != j->fd)
		r = visit_dir(j->fd, suffix, NULL, visit, user, why);
	if (r == 0 && j->local) {
		_cleanup_close_ int local = open(j->local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (local >= 0)
			r = visit_tree(local, suffix, visit, user, why);
		else if (errno != ENOENT)
			r = closed_part(AT_FDCWD, j->local, errno, why);
	}
	return r;
}

/* Opens a file for its visitor; *ret_shown is its name in messages. */
static int open_found(int dir, const char *name, const char *host_dir, char **ret_shown,
		      struct strbuf *why)
{
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	int e = errno;

	*ret_shown = host_dir ? xasprintf("%s/%s", host_dir, name) : xstrdup(name);
	if (fd >= 0)
		return fd;
	if (why)
		strbuf_addf(why, "cannot open '%s': %s", *ret_shown, strerror(e));
	return e == ESTALE ? -EIO : -e;
}

struct adding {
	struct accounting *b;
	struct strbuf *why;
};

static int add_file(void *user, int dir, const char *name, const char *host_dir)
{
	struct adding *a = user;
	_cleanup_free_ char *shown = NULL;
	int fd = open_found(dir, name, host_dir, &shown, a->why);

	return fd < 0 ? fd : accounting_add(a->b, fd, shown, host_dir);
}

int job_directory_add_records(const struct job_directory *j, struct accounting *b,
			      struct strbuf *why)
{
	struct adding a = {b, why};

	return visit_all(j, ".rec", add_file, &a, why);
}

struct visiting {
	job_directory_visitor visit;
	void *user;
	struct strbuf *why;
};

static int visit_file(void *user, int dir, const char *name, const char *host_dir)
{
	const struct visiting *v = user;
	_cleanup_free_ char *shown = NULL;
	int fd = open_found(dir, name, host_dir, &shown, v->why);

	return fd < 0 ? fd : v->visit(v->user, fd, shown);
}

int job_directory_visit_samples(const struct job_directory *j, enum job_directory_part part,
				job_directory_visitor visit, void *user, struct strbuf *why)
{
	struct visiting v = {visit, user, why};

	return part == JOB_DIRECTORY_ALL ? visit_all(j, ".smp", visit_file, &v, why)
					 : visit_tree(j->records, ".smp", visit_file, &v, why);
}

int job_directory_visit_marks(const struct job_directory *j, job_directory_visitor visit,
			      void *user, struct strbuf *why)
{
	struct visiting v = {visit, user, why};

	return visit_all(j, ".mark", visit_file, &v, why);
}

static int add_metadata(void *user, int dir, const char *name, const char *host_dir)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	struct value *metadata = NULL;

	/* files are complete even if a run was killed while it wrote */
	if (host_dir && fs_read(dir, name, META_FILE_MAX, &text) == 0 &&
	    value_from_json(text.buf, text.len, &metadata, &why) == 0)
		value_append(user, metadata);
	return 0;
}

struct value *job_directory_runs(const struct job_directory *j)
{
	struct value *runs = value_new(VALUE_LIST);

	(void)visit_tree(j->records, ".json", add_metadata, runs, NULL);
	return runs;
}

int runs_exitcode(const struct value *runs)
{
	int all = 0;

	for (size_t i = 0; i < runs->list.count; i++) {
		const struct value *code = value_get(runs->list.items[i], "exitcode");

		if (!code || code->kind != VALUE_INT)
			all = -1;
		else if (code->integer)
			return (int)code->integer;
	}
	return all;
}

/* 1: a run has not ended. */
static int note_open_run(void *user, int dir, const char *name, const char *host_dir)
{
	_cleanup_free_ char *file = xasprintf("%.*s.json", (int)(strlen(name) - 4), name);
	_cleanup_value_ struct value *one = value_new(VALUE_LIST);
	size_t *count = user;

	(*count)++;
	(void)add_metadata(one, dir, file, host_dir);
	return one->list.count && run_is_over(one->list.items[0]) ? 0 : 1;
}

bool job_directory_all_ended(const struct job_directory *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct accounting_sums sums = {0};
	struct accounting b;
	size_t count = 0;

	if (visit_all(j, ".rec", note_open_run, &count, NULL) != 0 || !count)
		return false;
	accounting_init(&b);
	int r = job_directory_add_records(j, &b, &why);
	if (r == 0)
		r = accounting_load(&b, &why);
	accounting_find_running(&b);
	accounting_sum(&b, &sums);
	accounting_release(&b);
	return r == 0 && !sums.running;
}

static int note_time(void *user, int dir, const char *name, const char *host_dir)
{
	int64_t *last = user;
	struct stat st;

	(void)host_dir;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		int64_t us = st.st_mtim.tv_sec * 1000000 + st.st_mtim.tv_nsec / 1000;

		*last = us > *last ? us : *last;
	}
	return 0;
}

int64_t job_directory_last_written_us(const struct job_directory *j)
{
	static const char *const suffixes[] = {".rec", ".smp", ".mark", ".json"};
	int64_t last = 0;

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		(void)visit_all(j, suffixes[i], note_time, &last, NULL);
	return last;
}

/* ---- moving --------------------------------------------------------------------------------- */

static int move_file(void *user, int dir, const char *name, const char *host_dir)
{
	const struct job_directory *j = user;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *aside = xasprintf(".%s.part", name);
	_cleanup_close_ int from = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int target =
		fs_open_subdir(j->records, host_dir ? host_dir : "unknown.00000000", true, &why);

	if (from < 0 || target < 0)
		return from < 0 ? -errno : target;
	_cleanup_close_ int to =
		openat(target, aside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	int r = fs_copy(from, to);
	if (r == 0)
		r = fs_sync(to);
	/* what was appended meanwhile */
	if (r == 0)
		r = fs_copy(from, to);
	if (r == 0)
		r = fs_sync(to);
	if (r == 0 && renameat(target, aside, target, name) < 0)
		r = -errno;
	if (r == 0)
		r = fs_sync_dir(target);
	else
		(void)unlinkat(target, aside, 0);
	if (r == 0)
		(void)unlinkat(dir, name, 0);
	return r;
}

/* Removes empty directories; new files stay for the next time. */
static void remove_empty(int fd)
{
	struct dirent **list = NULL;
	int n = scandirat(fd, ".", &list, NULL, NULL);

	for (int i = 0; i < n; i++) {
		if (list[i]->d_name[0] != '.')
			(void)unlinkat(fd, list[i]->d_name, AT_REMOVEDIR);
		free(list[i]);
	}
	free(list);
}

int job_directory_collect(const struct job_directory *j, struct strbuf *why)
{
	if (!j->local)
		return 0;
	_cleanup_close_ int local = open(j->local, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (local < 0)
		return errno == ENOENT ? 0 : -errno;
	int r = visit_tree(local, ".rec", move_file, (void *)j, NULL);
	if (r == 0)
		r = visit_tree(local, ".smp", move_file, (void *)j, NULL);
	if (r == 0)
		r = visit_tree(local, ".mark", move_file, (void *)j, NULL);
	if (r < 0)
		return strbuf_fail(why, r,
				   "cannot move records from '%s' to '%s': %s; they remain there",
				   j->local, j->path, strerror(-r));
	remove_empty(local);
	(void)rmdir(j->local);
	return 0;
}
