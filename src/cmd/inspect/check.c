/*
 * plimsoll check: a doctor. Each capability is really tried; what is limited or fails gets its
 * reason and the one command that would mend it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "core/files/fs.h"
#include "core/module.h"
#include "core/text/json_writer.h"
#include "core/text/secrets.h"
#include "core/text/text.h"
#include "jobs/discovery/cgroup_jobs.h"
#include "run/supervisor.h"
#include "sources/counters/events.h"
#include "sources/source.h"
#include "store/import/databases.h"

enum verdict { PASS, LIMITED, FAIL };

struct finding {
	char *name, *detail, *remedy;
	enum verdict verdict;
};

struct findings {
	struct finding *items;
	size_t count, cap;
};

static void note(struct findings *f, const char *name, enum verdict v, const char *remedy,
		 const char *fmt, ...) PL_PRINTF(5, 6);
static void note(struct findings *f, const char *name, enum verdict v, const char *remedy,
		 const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	GROW(f->items, f->count, f->cap);
	f->items[f->count++] = (struct finding){xstrdup(name), strbuf_take(&text),
						remedy ? xstrdup(remedy) : NULL, v};
}

static void release(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->items[i].name);
		free(f->items[i].detail);
		free(f->items[i].remedy);
	}
	free(f->items);
}

/* ---- sources ------------------------------------------------------------------------------- */

/* A run works without any of them, with less. */
static void check_sources(struct findings *f)
{
	struct source_context ctx = {.root = ""};

	for (const struct source *const *s = sources; *s; s++) {
		struct source_report report = SOURCE_REPORT_INIT;
		int r = source_probe(*s, &ctx, &report);

		/* devices that are not here lack nothing */
		if (r != -ENOENT || !(*s)->open || (*s)->needs_job)
			note(f, (*s)->name, r == 0 ? PASS : LIMITED, report.remedy, "%s",
			     report.detail.buf);
		strbuf_release(&report.detail);
	}
}

/* What the jobs that are here lack, by what their batch system leaves out. */
static void check_jobs(struct findings *f)
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
		note(f, "groups of jobs", LIMITED, remedy ? remedy + 2 : NULL, "%s", p);
	}
}

static void check_events(struct context *ctx, struct findings *f)
{
	const char *list = config_get(&ctx->config, SETTING_EVENTS);
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, problems = STRBUF_INIT;

	if (!*list) {
		note(f, "events", PASS, NULL, "none are configured");
		return;
	}
	events_resolve_list(list, &out, &problems);
	for (const char *p = out.buf; *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
		note(f, "events", PASS, NULL, "%.*s is counted", (int)strcspn(p, "=,"), p);
	for (const char *p = problems.buf; *p; p += strcspn(p, "\n") + 1)
		note(f, "events", FAIL, "plimsoll events", "%.*s", (int)strcspn(p, "\n"), p);
}

/* ---- the installation ----------------------------------------------------------------------- */

static void check_modules(struct findings *f)
{
	for (const struct module_row *m = module_table; m->name; m++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_free_ char *name = xasprintf("module %s", m->name);
		const struct module *found = module_load(m->name, &why);

		if (found)
			note(f, name, PASS, NULL, "%s, by %s", m->help, found->library);
		else
			note(f, name, LIMITED, "make install", "%s", why.buf);
	}
}

static void check_output(struct context *ctx, struct findings *f)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	_cleanup_free_ char *prefix = config_path(&ctx->config, SETTING_PREFIX);

	int r = jobdir_open(&j, &ctx->config, job_layout(ctx), "check-output", true, &why);
	if (r < 0) {
		note(f, "output directory", FAIL, "plimsoll config prefix", "%s", why.buf);
		return;
	}
	note(f, "output directory", j.local ? LIMITED : PASS, NULL, "%s%s", prefix,
	     j.local ? " is on a network filesystem: records are kept on the local disk until the end"
		     : "");
	(void)fs_remove_tree(AT_FDCWD, j.path);
}

/* ---- the store ------------------------------------------------------------------------------ */

/* Reachable, the right tables, and may we write? */
static void check_open_store(struct findings *f, struct store *s)
{
	_cleanup_strbuf_ struct strbuf version = STRBUF_INIT;
	const struct database *foreign;
	int have = 0;

	s->engine->version(s, &version);
	if (schema_current(s, &have) < 0)
		note(f, "store", FAIL, "plimsoll db check", "%s", store_error(s));
	else if (!have && (foreign = database_of(s)))
		note(f, "store", FAIL, "plimsoll db import URL --db STORE",
		     "%s is a database of %s, not a store; its jobs can be imported", s->where,
		     foreign->tool);
	else if (have > schema_newest())
		note(f, "store", FAIL, "install a newer plimsoll",
		     "%s has schema %d, this program knows %d", s->where, have, schema_newest());
	else if (have < schema_newest())
		note(f, "store", LIMITED, "plimsoll db migrate",
		     "%s has schema %d, this program wants %d", s->where, have, schema_newest());
	else if (store_begin(s) < 0)
		note(f, "store", LIMITED, "plimsoll config db", "cannot be written to: %s",
		     store_error(s));
	else
		note(f, "store", PASS, NULL, "%s, schema %d, by %s", s->where, have, version.buf);
	store_rollback(s);
}

static void check_store(struct context *ctx, struct findings *f)
{
	const char *url = config_get(&ctx->config, SETTING_DB);
	_cleanup_free_ char *own = store_default_path();
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;

	if (!*url && !own) {
		note(f, "store", FAIL, "export PLIMSOLL_DB=PATH", "neither it nor HOME is set");
		return;
	}
	const char *place = *url ? url : own;
	bool file = str_prefix(place, "sqlite:") || !strstr(place, "://");
	int r = store_open(&s, place, STORE_MANAGE, &why);
	if (r == -ENOENT && s == NULL && file)
		note(f, "store", PASS, NULL, "%s, made by the first job", place);
	else if (r < 0)
		note(f, "store", FAIL, "plimsoll config db", "%s", why.buf);
	else
		check_open_store(f, s);
}

static bool stage_command_found(struct context *ctx)
{
	const char *command = config_get(&ctx->config, SETTING_STAGE_COMMAND);
	_cleanup_free_ char *word = xstrndup(command, strcspn(command, " "));
	_cleanup_free_ char *script = xasprintf("command -v %s >/dev/null 2>&1", word);

	/* a name, not a shell command: anything else in it is refused */
	if (!*word ||
	    strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+") !=
		    strlen(word))
		return false;
	return system(script) == 0;
}

static void check_stage(struct context *ctx, struct findings *f)
{
	_cleanup_free_ char *dest = config_path(&ctx->config, SETTING_STAGE_DEST);
	const char *command = config_get(&ctx->config, SETTING_STAGE_COMMAND);

	if (!stage_command_found(ctx))
		note(f, "stage", FAIL, "plimsoll config stage_command", "command '%s' is not found",
		     command);
	else if (access(dest, W_OK) < 0)
		note(f, "stage", LIMITED, "plimsoll config stage_dest", "destination '%s': %s",
		     dest, strerror(errno));
	else
		note(f, "stage", PASS, NULL, "%s to %s", command, dest);
}

/* ---- a real run ----------------------------------------------------------------------------- */

/* Runs /bin/true under the library in a directory of its own: did it record itself? */
static int short_run(struct context *ctx, struct accounting_sums *sums, struct strbuf *why)
{
	char dir[] = "/tmp/plimsoll-check-XXXXXX";
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;
	struct runfile file = RUNFILE_INIT;
	struct supervise_result res = {0};
	static char *const argv[] = {(char *)"/bin/true", NULL};
	struct accounting b;

	if (!mkdtemp(dir)) {
		strbuf_addf(why, "cannot make '%s': %s", dir, strerror(errno));
		return -errno;
	}
	accounting_init(&b);
	int r = jobdir_open_path(&j, &ctx->config, dir, "check", true, why);
	if (r == 0)
		r = runfile_create(&file, &j, why);
	if (r == 0) {
		char **env = recording_environment(ctx, &j, &file, &problems);
		struct supervise_options so = {
			.argv = argv, .envp = env, .records = file.fd, .drain_ns = 100000000};

		supervise(&so, &res);
		free_strings(env);
		r = res.error ? -res.error : jobdir_add_records(&j, &b, why);
		supervise_result_release(&res);
	}
	if (r == 0)
		r = accounting_load(&b, why);
	accounting_sum(&b, sums);
	accounting_release(&b);
	runfile_release(&file);
	(void)fs_remove_tree(AT_FDCWD, dir);
	return r;
}

static bool check_run(struct context *ctx, struct findings *f)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *library = preload_library();
	struct accounting_sums s = {0};

	if (access(library, R_OK) < 0) {
		note(f, "preload library", FAIL, "make install", "'%s': %s", library,
		     strerror(errno));
		return false;
	}
	note(f, "preload library", PASS, NULL, "%s", library);
	int r = short_run(ctx, &s, &why);
	bool ok = r == 0 && s.processes == 1 && s.by_preload == 1 && !s.no_end && s.exited == 1;
	if (ok)
		note(f, "short run", PASS, NULL, "/bin/true was recorded from start to end");
	else
		note(f, "short run", FAIL, "plimsoll run -v -- /bin/true",
		     "/bin/true was not recorded: %s",
		     why.len ? why.buf
		     : r < 0 ? strerror(-r)
			     : "the library did not write");
	return ok;
}

/* ---- output --------------------------------------------------------------------------------- */

static const char *const words[] = {"Pass", "Limited", "Fail"};

static void print_json(const struct findings *f, int worst)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	j.pretty = true;
	jsonw_begin_object(&j, NULL);
	jsonw_str(&j, "version", PL_VERSION);
	jsonw_str(&j, "result", words[worst]);
	jsonw_begin_array(&j, "checks");
	for (size_t i = 0; i < f->count; i++) {
		jsonw_begin_object(&j, NULL);
		jsonw_str(&j, "name", f->items[i].name);
		jsonw_str(&j, "result", words[f->items[i].verdict]);
		jsonw_str(&j, "detail", f->items[i].detail);
		jsonw_str(&j, "remedy", f->items[i].remedy);
		jsonw_end_object(&j);
	}
	jsonw_end_array(&j);
	jsonw_end_object(&j);
	jsonw_write(&j, stdout);
}

/* A line for each, and below it how to mend what is not as it could be. */
static void print_text(const struct findings *f)
{
	static const char *const colors[] = {"\x1b[32m", "\x1b[33m", "\x1b[1;31m"};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	bool color = color_on(stdout);

	for (size_t i = 0; i < f->count; i++) {
		const struct finding *x = &f->items[i];

		strbuf_addf(&out, "%s%-8s%s %-20s ", color ? colors[x->verdict] : "",
			    words[x->verdict], color ? "\x1b[0m" : "", x->name);
		text_add_wrapped(&out, x->detail, 30, 100);
		if (x->remedy)
			strbuf_addf(&out, "\n%30s-> %s", "", x->remedy);
		strbuf_addch(&out, '\n');
	}
	fwrite(out.buf, 1, out.len, stdout);
}

int do_check(struct context *ctx, bool json)
{
	struct findings f = {0};
	int worst = PASS;

	check_run(ctx, &f);
	check_events(ctx, &f);
	check_sources(&f);
	check_jobs(&f);
	check_output(ctx, &f);
	check_stage(ctx, &f);
	check_store(ctx, &f);
	check_modules(&f);
	for (size_t i = 0; i < f.count; i++)
		if ((int)f.items[i].verdict > worst)
			worst = (int)f.items[i].verdict;
	if (json)
		print_json(&f, worst);
	else
		print_text(&f);
	release(&f);
	return worst == FAIL ? EXIT_FAILED : EXIT_OK;
}

/* Is what was noted last as it must be? */
static bool last_passed(const struct findings *f)
{
	return f->items[f->count - 1].verdict != FAIL;
}

struct check_essentials check_essentials(struct context *ctx)
{
	struct check_essentials e;
	struct findings f = {0};

	check_store(ctx, &f);
	e.store = last_passed(&f);
	check_output(ctx, &f);
	e.output = last_passed(&f);
	e.stage = stage_command_found(ctx);
	e.run = check_run(ctx, &f);
	for (size_t i = 0; i < f.count; i++)
		if (f.items[i].verdict == FAIL)
			log_error("%s: %s", f.items[i].name, f.items[i].detail);
	release(&f);
	return e;
}

struct check_options {
	bool json;
};

static int run(struct context *ctx, int argc, char **argv)
{
	const struct check_options *o = ctx->options;

	(void)argv;
	if (argc)
		return usage_error("check", "check takes no argument");
	return do_check(ctx, o->json);
}

static const struct option_row rows[] = {ROW_JSON(struct check_options), ROW_VERBOSE, ROW_QUIET,
					 ROW_END};

const struct command command_check = {
	.name = "check",
	.summary = "try every capability and say how to mend what is missing",
	.arguments = "",
	.description =
		"Tries what Plimsoll relies on: the preload library in a real short run, every configured event by "
		"a real count, the kernel's process events, control groups, the output directory, the stage "
		"command and the modules. Each is Pass, Limited (works with less) or Fail, with the reason and the "
		"command that would mend it. The exit status is 1 when one failed.",
	.options = rows,
	.options_size = sizeof(struct check_options),
	.run = run,
};
