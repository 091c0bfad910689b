/* plimsoll hardware: what this host, or a recorded tree of one, is made of. */
#include <string.h>

#include "cmd/command.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "jobs/hardware.h"

struct hardware_options {
	bool json;
	const char *root;
};

/* A name without what only programs need: "size_bytes" is "size". */
static void add_key(struct strbuf *out, const struct value *key)
{
	size_t n = key->str.size;
	const char *s = key->str.data;

	if (str_suffix(s, "_bytes"))
		n -= strlen("_bytes");
	else if (str_suffix(s, "_mbit"))
		n -= strlen("_mbit");
	else if (str_suffix(s, "_hz"))
		n -= strlen("_hz");
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

static void add_text(struct strbuf *out, const struct value *facts)
{
	for (size_t i = 0; i < value_pairs(facts); i++) {
		const struct value *key = value_key(facts, i), *v = value_at(facts, i);
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

static int run(struct context *ctx, int argc, char **argv)
{
	const struct hardware_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	(void)argv;
	if (argc)
		return usage_error("hardware", "hardware takes no argument");
	_cleanup_value_ struct value *facts = hardware_facts(o->root);
	if (!value_pairs(facts)) {
		log_error("there is neither %s/proc nor %s/sys to read", o->root, o->root);
		return EXIT_FAILED;
	}
	if (o->json) {
		j.pretty = true;
		value_to_json(facts, &j, NULL);
		return jsonw_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	}
	add_text(&text, facts);
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
	.arguments = "",
	.description =
		"Prints processor, caches, NUMA nodes, memory, network and InfiniBand adapters, disks and "
		"GPUs, with kernel and system. All is read from /proc, /sys and os-release; what they do "
		"not tell is left out. The microarchitecture is named as archspec names it.",
	.examples = "  plimsoll hardware\n"
		    "  plimsoll hardware --json | jq -r .cpu.microarchitecture\n",
	.options = rows,
	.defaults = &(const struct hardware_options){.root = ""},
	.options_size = sizeof(struct hardware_options),
	.run = run,
};
