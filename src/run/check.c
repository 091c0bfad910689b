/* See check.h. */
#include "run/check.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context/current_job.h"
#include "core/files/fs.h"
#include "core/module.h"
#include "core/system/spawn.h"
#include "jobs/discovery/cgroup_jobs.h"
#include "run/run.h"
#include "run/supervisor.h"
#include "sources/counters/events.h"
#include "sources/source.h"
#include "store/import/databases.h"

static void note(struct check_results *f, const char *name, enum check_verdict v,
		 const char *remedy, const char *fmt, ...) PL_PRINTF(5, 6);
static void note(struct check_results *f, const char *name, enum check_verdict v,
		 const char *remedy, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	GROW(f->items, f->count, f->cap);
	f->items[f->count++] = (struct check_result){xstrdup(name), strbuf_take(&text),
						     remedy ? xstrdup(remedy) : NULL, v};
}

void check_release(struct check_results *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->items[i].name);
		free(f->items[i].detail);
		free(f->items[i].remedy);
	}
	free(f->items);
}

/* ---- sources ------------------------------------------------------------------------------- */

/* A run works without any of them, but records less. */
static void check_sources(struct check_results *f)
{
	struct source_context ctx = {.root = ""};

	for (const struct source *const *s = sources; *s; s++) {
		struct source_report report = SOURCE_REPORT_INIT;
		int r = source_probe(*s, &ctx, &report);

		/* absent devices are not a limitation */
		if (r != -ENOENT || !(*s)->open || (*s)->needs_job)
			note(f, (*s)->name, r == 0 ? CHECK_PASS : CHECK_LIMITED, report.remedy,
			     "%s", report.detail.buf);
		strbuf_release(&report.detail);
	}
}

/* What jobs on this host lack because of the configuration of their batch system. */
static void check_jobs(struct check_results *f)
{
	_cleanup_strbuf_ struct strbuf lines = STRBUF_INIT, why = STRBUF_INIT;
	const struct cgroup_jobs_options o = {.root = ""};
	struct cgroup_jobs *jobs;

	if (cgroup_jobs_open(&jobs, &o, &why) < 0)
		return;
	(void)cgroup_jobs_update(jobs);
	if (cgroup_jobs_count(jobs))
		cgroup_jobs_shortcomings(jobs, &lines);
	cgroup_jobs_close(jobs);
	for (char *p = lines.buf, *end; *p; p = end + 1) {
		end = p + strcspn(p, "\n");
		*end = 0;
		/* "memory: jobs of OAR have no memory group: set ..." */
		char *what = strstr(p, ": "), *remedy = what ? strstr(what + 2, ": ") : NULL;
		if (remedy)
			*remedy = 0;
		note(f, "groups of jobs", CHECK_LIMITED, remedy ? remedy + 2 : NULL, "%s", p);
	}
}

static void check_events(struct context *ctx, struct check_results *f)
{
	const char *list = config_get(&ctx->config, SETTING_EVENTS);
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, problems = STRBUF_INIT;

	if (!*list) {
		note(f, "events", CHECK_PASS, NULL, "none configured");
		return;
	}
	events_resolve_list(list, &out, &problems);
	for (const char *p = out.buf; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
		note(f, "events", CHECK_PASS, NULL, "%.*s can be counted", (int)strcspn(p, "=,"),
		     p);
	for (const char *p = problems.buf; *p; p += strcspn(p, "\n") + 1)
		note(f, "events", CHECK_FAIL, "plimsoll events", "%.*s", (int)strcspn(p, "\n"), p);
}

/* ---- the installation ----------------------------------------------------------------------- */

static void check_modules(struct check_results *f)
{
	for (const struct module_row *m = module_table; m->name; m++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_free_ char *name = xasprintf("module %s", m->name);
		const struct module *found = module_load(m->name, &why);

		if (found)
			note(f, name, CHECK_PASS, NULL, "%s, with %s", m->help, found->library);
		else
			note(f, name, CHECK_LIMITED, "make install", "%s", why.buf);
	}
}

static void check_output(struct context *ctx, struct check_results *f)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	_cleanup_free_ char *prefix = config_path(&ctx->config, SETTING_PREFIX);

	int r = job_directory_open(&j, &ctx->config, job_layout(ctx), "check-output", true, &why);
	if (r < 0) {
		note(f, "output directory", CHECK_FAIL, "plimsoll config prefix", "%s", why.buf);
		return;
	}
	note(f, "output directory", j.local ? CHECK_LIMITED : CHECK_PASS, NULL, "%s%s", prefix,
	     j.local ? " is on a network filesystem: records stay on the local disk until the end of the run"
		     : "");
	(void)fs_remove_tree(AT_FDCWD, j.path);
}

/* ---- the store ------------------------------------------------------------------------------ */

/* Is it reachable, with the right tables, and writable? */
static void check_open_store(struct check_results *f, struct store *s)
{
	_cleanup_strbuf_ struct strbuf version = STRBUF_INIT;
	const struct database *foreign;
	int have = 0;

	s->engine->version(s, &version);
	if (schema_current(s, &have) < 0)
		note(f, "store", CHECK_FAIL, "plimsoll db check", "%s", store_error(s));
	else if (!have && (foreign = database_of(s)))
		note(f, "store", CHECK_FAIL, "plimsoll db import URL --db STORE",
		     "%s is a database of %s, not a store; its jobs can be imported", s->where,
		     foreign->tool);
	else if (have > schema_newest())
		note(f, "store", CHECK_FAIL, "install a newer plimsoll",
		     "%s has schema %d, this program supports only %d", s->where, have,
		     schema_newest());
	else if (have < schema_newest())
		note(f, "store", CHECK_LIMITED, "plimsoll db migrate",
		     "%s has schema %d, this program needs %d", s->where, have, schema_newest());
	else if (store_begin(s) < 0)
		note(f, "store", CHECK_LIMITED, "plimsoll config db", "cannot write to it: %s",
		     store_error(s));
	else
		note(f, "store", CHECK_PASS, NULL, "%s, schema %d, %s", s->where, have,
		     version.buf);
	store_rollback(s);
}

static void check_store(struct context *ctx, struct check_results *f)
{
	const char *url = config_get(&ctx->config, SETTING_DB);
	_cleanup_free_ char *own = store_default_path();
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;

	if (!*url && !own) {
		note(f, "store", CHECK_FAIL, "export PLIMSOLL_DB=PATH",
		     "neither PLIMSOLL_DB nor HOME is set");
		return;
	}
	const char *place = *url ? url : own;
	bool file = str_prefix(place, "sqlite:") || !strstr(place, "://");
	int r = store_open(&s, place, STORE_MANAGE, &why);
	if (r == -ENOENT && s == NULL && file)
		note(f, "store", CHECK_PASS, NULL, "%s, will be created by the first job", place);
	else if (r < 0)
		note(f, "store", CHECK_FAIL, "plimsoll config db", "%s", why.buf);
	else
		check_open_store(f, s);
}

static bool stage_command_found(struct context *ctx)
{
	const char *command = config_get(&ctx->config, SETTING_STAGE_COMMAND);
	_cleanup_free_ char *word = xstrndup(command, strcspn(command, " "));
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;

	return strchr(word, '/') ? access(word, X_OK) == 0 : *word && spawn_find("", word, &path);
}

static void check_stage(struct context *ctx, struct check_results *f)
{
	_cleanup_free_ char *dest = config_path(&ctx->config, SETTING_STAGE_DEST);
	const char *command = config_get(&ctx->config, SETTING_STAGE_COMMAND);

	if (!stage_command_found(ctx))
		note(f, "stage", CHECK_FAIL, "plimsoll config stage_command",
		     "command '%s' not found", command);
	else if (access(dest, W_OK) < 0)
		note(f, "stage", CHECK_LIMITED, "plimsoll config stage_dest",
		     "destination '%s': %s", dest, strerror(errno));
	else
		note(f, "stage", CHECK_PASS, NULL, "%s to %s", command, dest);
}

/* ---- a real run ----------------------------------------------------------------------------- */

/* Runs /bin/true with the library in a temporary directory: does it record itself? */
static int short_run(struct context *ctx, struct accounting_sums *sums, struct strbuf *why)
{
	char dir[] = "/tmp/plimsoll-check-XXXXXX";
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;
	struct run_file file = RUN_FILE_INIT;
	struct supervise_result res = {0};
	static char *const argv[] = {(char *)"/bin/true", NULL};
	struct accounting b;

	if (!mkdtemp(dir))
		return strbuf_fail(why, -errno, "cannot create '%s': %s", dir, strerror(errno));
	accounting_init(&b);
	int r = job_directory_open_path(&j, &ctx->config, dir, "check", true, why);
	if (r == 0)
		r = run_file_make(&file, &j, NULL, ".rec", why);
	if (r == 0) {
		char **env = recording_environment(ctx, &j, &file, &problems);
		struct supervise_options so = {
			.argv = argv, .envp = env, .records = file.fd, .drain_ns = 100000000};

		supervise(&so, &res);
		free_strings(env);
		r = res.error ? -res.error : job_directory_add_records(&j, &b, why);
		supervise_result_release(&res);
	}
	if (r == 0)
		r = accounting_load(&b, why);
	accounting_sum(&b, sums);
	accounting_release(&b);
	run_file_release(&file);
	(void)fs_remove_tree(AT_FDCWD, dir);
	return r;
}

static bool check_run(struct context *ctx, struct check_results *f)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *library = preload_library();
	struct accounting_sums s = {0};

	if (access(library, R_OK) < 0) {
		note(f, "preload library", CHECK_FAIL, "make install", "'%s': %s", library,
		     strerror(errno));
		return false;
	}
	note(f, "preload library", CHECK_PASS, NULL, "%s", library);
	int r = short_run(ctx, &s, &why);
	bool ok = r == 0 && s.processes == 1 && s.by_preload == 1 && !s.no_end && s.exited == 1;
	if (ok)
		note(f, "short run", CHECK_PASS, NULL, "/bin/true was recorded from start to end");
	else
		note(f, "short run", CHECK_FAIL, "plimsoll run -v -- /bin/true",
		     "/bin/true was not recorded: %s",
		     why.len ? why.buf
		     : r < 0 ? strerror(-r)
			     : "the library wrote no record");
	return ok;
}

/* ---- all of them ---------------------------------------------------------------------------- */

void check_all(struct context *ctx, struct check_results *f)
{
	check_run(ctx, f);
	check_events(ctx, f);
	check_sources(f);
	check_jobs(f);
	check_output(ctx, f);
	check_stage(ctx, f);
	check_store(ctx, f);
	check_modules(f);
}

static bool last_passed(const struct check_results *f)
{
	return f->items[f->count - 1].verdict != CHECK_FAIL;
}

struct check_essentials check_essentials(struct context *ctx)
{
	struct check_essentials e;
	struct check_results f = {0};

	check_store(ctx, &f);
	e.store = last_passed(&f);
	check_output(ctx, &f);
	e.output = last_passed(&f);
	e.stage = stage_command_found(ctx);
	e.run = check_run(ctx, &f);
	for (size_t i = 0; i < f.count; i++)
		if (f.items[i].verdict == CHECK_FAIL)
			log_error("%s: %s", f.items[i].name, f.items[i].detail);
	check_release(&f);
	return e;
}
