/* plimsoll hardware: describes the hardware of this host, or of a recorded tree. */
#include <string.h>

#include "cmd/command.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "jobs/hardware/hardware.h"

struct hardware_options {
	bool json;
	const char *root;
};

/* The key without its unit: "size_bytes" becomes "size". */
static void add_key(struct strbuf *out, const struct value *key)
{
	size_t n = key->str.size;
	const char *s = key->str.data;

	static const char *const units[] = {"_bytes", "_mbit", "_hz"};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (str_suffix(s, units[i]))
			n -= strlen(units[i]);
	for (size_t i = 0; i < n; i++)
		strbuf_addch(out, s[i] == '_' ? ' ' : s[i]);
}

static void add_plain(struct strbuf *out, const char *key, const struct value *v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (v->kind == VALUE_INT && str_suffix(key, "_bytes"))
		text_add_bytes(&text, (double)v->integer);
	else if (v->kind == VALUE_INT && str_suffix(key, "_mbit"))
		strbuf_addf(&text, "%lld Mbit/s", (long long)v->integer);
	else if (v->kind == VALUE_INT && str_suffix(key, "_hz"))
		strbuf_addf(&text, "%.4g GHz", (double)v->integer * 1e-9);
	else if (v->kind == VALUE_BOOL)
		strbuf_addstr(&text, v->boolean ? "yes" : "no");
	else
		value_to_text(v, &text);
	text_add_printable(out, text.buf, text.len);
}

static bool is_plain(const struct value *v)
{
	return v->kind != VALUE_DICT && v->kind != VALUE_LIST;
}

/* "name eth0, type ethernet, speed 1000 Mbit/s", lists in parentheses. */
static void add_line(struct strbuf *out, const struct value *dict)
{
	for (size_t i = 0; i < value_pairs(dict); i++) {
		const struct value *key = value_key(dict, i), *v = value_at(dict, i);

		strbuf_addstr(out, i ? ", " : "");
		add_key(out, key);
		strbuf_addch(out, ' ');
		if (v->kind == VALUE_LIST) {
			for (size_t k = 0; k < v->list.count; k++) {
				strbuf_addstr(out, k ? ", (" : "(");
				add_line(out, v->list.items[k]);
				strbuf_addch(out, ')');
			}
		} else {
			add_plain(out, key->str.data, v);
		}
	}
}

static void add_text(struct strbuf *out, const struct value *metadata)
{
	for (size_t i = 0; i < value_pairs(metadata); i++) {
		const struct value *key = value_key(metadata, i), *v = value_at(metadata, i);
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		add_key(&name, key);
		if (is_plain(v)) {
			strbuf_addf(out, "%-18s ", name.buf);
			add_plain(out, key->str.data, v);
			strbuf_addch(out, '\n');
			continue;
		}
		strbuf_addf(out, "%s\n", name.buf);
		for (size_t k = 0; v->kind == VALUE_LIST && k < v->list.count; k++) {
			strbuf_addstr(out, "  ");
			add_line(out, v->list.items[k]);
			strbuf_addch(out, '\n');
		}
		for (size_t k = 0; v->kind == VALUE_DICT && k < value_pairs(v); k++) {
			strbuf_reset(&name);
			add_key(&name, value_key(v, k));
			strbuf_addf(out, "  %-16s ", name.buf);
			add_plain(out, value_key(v, k)->str.data, value_at(v, k));
			strbuf_addch(out, '\n');
		}
	}
}

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	const struct hardware_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	_cleanup_value_ struct value *metadata = hardware_metadata(o->root);
	if (!value_pairs(metadata))
		return fail_with(EXIT_FAILED, "cannot read %s/proc and %s/sys", o->root, o->root);
	if (o->json) {
		j.pretty = true;
		value_to_json(metadata, &j, NULL);
		return json_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	}
	add_text(&text, metadata);
	fwrite(text.buf, 1, text.len, stdout);
	return EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "root", "DIR", "describe a recorded tree instead of this machine",
	 AT(struct hardware_options, root)},
	ROW_JSON(struct hardware_options),
	ROW_END,
};

const struct command command_hardware = {
	.name = "hardware",
	.summary = "describe the hardware of this host",
	.description =
		"Prints the processor, caches, NUMA nodes, memory, network and InfiniBand adapters, "
		"disks, GPUs, the kernel and the operating system, as read from /proc, /sys and "
		"os-release. Unknown values are omitted. The name of the microarchitecture is that of "
		"archspec.",
	.examples = "  plimsoll hardware\n"
		    "  plimsoll hardware --json | jq -r .cpu.microarchitecture\n",
	OPTIONS(struct hardware_options, rows),
	.defaults = &(const struct hardware_options){.root = ""},
	.run = run,
};
