/* plimsoll check: tests every capability; run/check.c does the work. */
#include "cmd/command.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "run/check.h"

struct check_options {
	bool json;
};

static const char *const words[] = {"Pass", "Limited", "Fail"};

static void print_json(const struct check_results *f, int worst)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	j.pretty = true;
	json_begin_object(&j, NULL);
	json_str(&j, "version", PL_VERSION);
	json_str(&j, "result", words[worst]);
	json_begin_array(&j, "checks");
	for (size_t i = 0; i < f->count; i++) {
		json_begin_object(&j, NULL);
		json_str(&j, "name", f->items[i].name);
		json_str(&j, "result", words[f->items[i].verdict]);
		json_str(&j, "detail", f->items[i].detail);
		json_str(&j, "remedy", f->items[i].remedy);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	json_write(&j, stdout);
}

/* One line per check, followed by the remedy. */
static void print_text(const struct check_results *f)
{
	static const char *const colors[] = {"\x1b[32m", "\x1b[33m", "\x1b[1;31m"};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	bool color = color_on(stdout);

	for (size_t i = 0; i < f->count; i++) {
		const struct check_result *x = &f->items[i];

		strbuf_addf(&out, "%s%-8s%s %-20s ", color ? colors[x->verdict] : "",
			    words[x->verdict], color ? "\x1b[0m" : "", x->name);
		text_add_wrapped(&out, x->detail, 30, 100);
		if (x->remedy)
			strbuf_addf(&out, "\n%30s-> %s", "", x->remedy);
		strbuf_addch(&out, '\n');
	}
	fwrite(out.buf, 1, out.len, stdout);
}

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	const struct check_options *o = ctx->options;
	struct check_results f = {0};
	int worst = CHECK_PASS;

	check_all(ctx, &f);
	for (size_t i = 0; i < f.count; i++)
		if ((int)f.items[i].verdict > worst)
			worst = (int)f.items[i].verdict;
	if (o->json)
		print_json(&f, worst);
	else
		print_text(&f);
	check_release(&f);
	return worst == CHECK_FAIL ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {ROW_JSON(struct check_options), ROWS_COMMON};

const struct command command_check = {
	.name = "check",
	.summary = "test every capability and say how to fix what is missing",
	.description =
		"Tests what Plimsoll depends on: the preload library in a short run, every configured "
		"event by counting it, process events of the kernel, control groups, the output "
		"directory, the stage command, the store and the modules. The result is Pass, Limited "
		"(works, but records less) or Fail, with the reason and the command that fixes it. The "
		"exit status is 1 if a check failed.",
	OPTIONS(struct check_options, rows),
	.run = run,
};
