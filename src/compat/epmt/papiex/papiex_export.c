/* papiex's files at the end of a run, where EPMT's name or papiex's own variables ask for them. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "compat/epmt/epmt.h"
#include "compat/epmt/papiex/papiex_files.h"
#include "core/files/fs.h"
#include "run/run.h"

static void environment(const struct context *ctx, const struct jobdir *j,
			void (*add)(void *user, const char *name, const char *value), void *user)
{
	if (job_layout(ctx) != &job_layout_epmt || !j->path)
		return;
	_cleanup_free_ char *output = xasprintf("%s/", j->path);
	add(user, "PAPIEX_OUTPUT", output);
	add(user, "PAPIEX_OPTIONS", config_get(&ctx->config, SETTING_EVENTS));
}

static int write_files(struct context *ctx, const struct jobdir *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *options = getenv("PAPIEX_OPTIONS"), *output = getenv("PAPIEX_OUTPUT");
	bool own = job_layout(ctx) == &job_layout_epmt;
	_cleanup_close_ int dir = -1;
	struct accounting b;

	if (!own && !options && !output)
		return 0;
	if (own)
		options = config_get(&ctx->config, SETTING_EVENTS);
	accounting_init(&b);
	b.keep_threads = true;
	int r = jobdir_add_records(j, &b, &why);
	if (r == 0)
		r = accounting_load(&b, &why);
	if (r == 0) {
		accounting_find_running(&b);
		dir = !own && output && *output ? fs_open_named(output, false, &why) : dup(j->fd);
		r = dir < 0 ? dir : papiex_write_files(&b, dir, papiex_form_of(options), &why);
	}
	accounting_release(&b);
	if (r < 0)
		log_error("cannot make papiex files: %s", why.len ? why.buf : strerror(-r));
	else
		log_info("%d %s written as papiex files", r, plural(r, "process", "processes"));
	return r < 0 ? r : 0;
}

const struct exporter exporter_papiex = {
	.name = "papiex",
	.variable_prefix = "PAPIEX",
	.events = "PAPIEX_OPTIONS",
	.environment = environment,
	.write = write_files,
};
