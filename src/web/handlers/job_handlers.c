/* Answers about one job: its summary, its report as a page, its tables as files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "views/jobs/job_show.h"
#include "core/value.h"
#include "web/handlers/handlers.h"
#include "web/handlers/job_place.h"
#include "web/answers/run_command.h"
#include "web/server.h"

/* ---- summary ----------------------------------------------------------------------------------
 */

static int print_job(const struct jobshow *show, struct strbuf *out)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return -ENOMEM;
	int r = jobshow_print_json(show, f);
	if (fclose(f) != 0)
		r = -ENOMEM;
	if (r >= 0)
		strbuf_add(out, text, n);
	free(text);
	return r;
}

/* As the command shows it, which reads the directory. */
static void show_directory(const struct web_request *q, const struct job_place *p,
			   struct web_answer *a)
{
	_cleanup_command_line_ struct command_line l = {.count = 0};
	_cleanup_command_end_ struct command_end e = COMMAND_END_INIT;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *job = NULL;

	command_line_of(&l, q, "show --json -- {job}", p->operand);
	if (command_failed(a, web_spawn(q, &l, -1, &e), &e))
		return;
	if (value_from_json(e.out.buf, e.out.len, &job, &why) < 0) {
		web_fail(a, 500, NULL, "unexpected output of a command: %s", why.buf);
		return;
	}
	value_set(job, "running", value_bool(p->running));
	value_set(job, "stored", value_bool(false));
	if (p->running) /* until when its records go */
		value_set(job, "end", value_new(VALUE_NONE));
	value_to_json(job, &j, NULL);
	web_take_json(a, &j);
}

void web_job(const struct web_request *q, struct store *s, struct web_answer *a)
{
	struct jobshow show = {.list = JOBLIST_INIT};
	_cleanup_job_place_ struct job_place job = JOB_PLACE_INIT;

	if (!web_find_job(q, s, &job, a))
		return;
	if (job.no < 0) {
		show_directory(q, &job, a);
		return;
	}
	int r = jobshow_load(&show, s, job.no);
	if (r >= 0)
		r = print_job(&show, &a->body);
	if (r < 0)
		web_fail_store(a, s, r);
	jobshow_release(&show);
}

/* ---- the report -------------------------------------------------------------------------------
 */

/* The policy that the page itself has, from its <meta>, and who may show it in a frame. */
static char *policy_of(const struct strbuf *page)
{
	static const char mark[] = "http-equiv=\"Content-Security-Policy\" content=\"";
	const char *at = strstr(page->buf, mark);

	if (!at)
		return xstrdup("default-src 'none'; sandbox");
	at += strlen(mark);
	return xasprintf("%.*s; img-src data:; frame-ancestors 'self'", (int)strcspn(at, "\""), at);
}

void web_job_page(const struct web_request *q, struct store *s, struct web_answer *a)
{
	_cleanup_command_line_ struct command_line l = {.count = 0};
	_cleanup_command_end_ struct command_end e = COMMAND_END_INIT;
	_cleanup_job_place_ struct job_place job = JOB_PLACE_INIT;

	if (!web_find_job(q, s, &job, a))
		return;
	command_line_of(&l, q, q->route->command, job.operand);
	if (command_failed(a, web_spawn(q, &l, -1, &e), &e))
		return;
	web_take_output(a, &e);
	a->type = "text/html; charset=utf-8";
	a->policy = policy_of(&a->body);
}

/* ---- files ------------------------------------------------------------------------------------
 */

static const struct {
	const char *format, *suffix, *type;
} formats[] = {
	{"csv", "csv", "text/csv; charset=utf-8"},
	{"feather", "feather", "application/vnd.apache.arrow.file"},
	{"hdf5", "h5", "application/x-hdf5"},
	{"json", "json", "application/json"},
	{"jsonl", "jsonl", "application/x-ndjson"},
	{"orc", "orc", "application/x-orc"},
	{"parquet", "parquet", "application/vnd.apache.parquet"},
	{"pickle", "pickle", "application/octet-stream"},
	{"sqlite", "sqlite", "application/vnd.sqlite3"},
};

/* The format that was asked for, by name or else by the header Accept; csv by default. */
static size_t find_format(const struct web_request *q)
{
	const char *name = web_param(q, "format");

	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (name ? !strcmp(name, formats[i].format)
			 : strstr(q->accept, formats[i].type) != NULL)
			return i;
	return name ? ARRAY_SIZE(formats) : 0;
}

/* A name for the browser: the id of the job, what is not plain replaced. */
static char *disposition(const char *job, const char *suffix)
{
	_cleanup_free_ char *name = xstrndup(job, 100);

	for (char *p = name; *p; p++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@",
			    *p))
			*p = '_';
	return xasprintf("attachment; filename=\"%s.%s\"", name, suffix);
}

static void export_in(const struct web_request *q, const char *job, size_t format, int dir,
		      struct web_answer *a)
{
	_cleanup_command_line_ struct command_line l = {.count = 0};
	_cleanup_command_end_ struct command_end e = COMMAND_END_INIT;
	_cleanup_free_ char *file = xasprintf("export.%s", formats[format].suffix);
	_cleanup_free_ char *command = xasprintf(
		"export --output=%s%s%s -- {job}", file, web_param(q, "format") ? "" : " --format=",
		web_param(q, "format") ? "" : formats[format].format);

	command_line_of(&l, q, command, job);
	if (command_failed(a, web_spawn(q, &l, dir, &e), &e))
		return;
	int r = fs_read(dir, file, COMMAND_OUTPUT_MAX, &a->body);
	if (r < 0) {
		web_fail(a, 500, "use `plimsoll export`", "cannot send the file: %s",
			 r == -EFBIG ? "it is too large" : strerror(-r));
		return;
	}
	a->type = formats[format].type;
	a->file_name = disposition(job, formats[format].suffix);
}

void web_export(const struct web_request *q, struct store *s, struct web_answer *a)
{
	_cleanup_job_place_ struct job_place job = JOB_PLACE_INIT;
	size_t format = find_format(q);

	if (!web_find_stored_job(q, s, &job, a))
		return;
	if (format == ARRAY_SIZE(formats)) {
		web_fail(a, 400, "see plimsoll-export(1)", "there is no format '%s'",
			 web_param(q, "format"));
		return;
	}
	_cleanup_free_ char *path = web_scratch_directory();
	if (!path) {
		web_fail(a, 500, NULL, "cannot create a temporary directory: %s", strerror(errno));
		return;
	}
	_cleanup_close_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0)
		export_in(q, job.operand, format, dir, a);
	else
		web_fail(a, 500, NULL, "cannot open '%s': %s", path, strerror(errno));
	(void)fs_remove_tree(AT_FDCWD, path);
}
