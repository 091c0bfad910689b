/* `epmt check`: what was looked at, and Pass or Fail behind a tab. */
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "compat/epmt/epmt.h"
#include "core/files/fs.h"
#include "core/module.h"
#include "core/text/secrets.h"
#include "sources/counters/events.h"

static bool line(bool ok, const char *fmt, ...) PL_PRINTF(2, 3);
static bool line(bool ok, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\t%s\n", ok ? "Pass" : "Fail");
	return ok;
}

static long paranoid_level(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (fs_read(AT_FDCWD, "/proc/sys/kernel/perf_event_paranoid", 64, &text) < 0)
		return 4;
	return strtol(text.buf, NULL, 10);
}

int epmt_check(struct context *ctx, const struct epmt *e)
{
	_cleanup_free_ char *root = install_root(),
			    *prefix = config_path(&ctx->config, SETTING_PREFIX);
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, problems = STRBUF_INIT;
	const char *options = config_get(&ctx->config, SETTING_EVENTS);
	const char *url = config_get(&ctx->config, SETTING_DB);
	long paranoid = paranoid_level();
	bool ok = true;

	(void)e;
	events_resolve_list(options, &out, &problems);
	struct check_essentials found = check_essentials(ctx);
	_cleanup_free_ char *own = store_default_path();
	_cleanup_free_ char *shown = secrets_shown(*url ? url : own ? own : "");
	_cleanup_free_ char *library = preload_library();
	ok &= line(found.store, "settings.db_params = {'url': '%s', 'echo': False}", shown);
	ok &= line(access(library, R_OK) == 0, "settings.install_prefix = %s/", root);
	ok &= line(found.output, "settings.epmt_output_prefix = %s", prefix);
	ok &= line(paranoid <= 2, "/proc/sys/kernel/perf_event_paranoid =  %ld", paranoid);
	ok &= line(!problems.len, "settings.papiex_options = %s", options);
	ok &= line(found.stage, "epmt stage functionality");
	ok &= line(found.run, "epmt run functionality");
	return ok ? EXIT_OK : EXIT_FAILED;
}
