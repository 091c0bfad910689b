/*
 * Hardware and metadata: any JSON as nested lists of names and values. Hosts with the same hardware
 * are described once. Sizes are limited; the JSON of the page is complete.
 */
#include <string.h>

#include "core/text/text.h"
#include "core/value.h"
#include "report/html/html_text.h"
#include "report/html/report_html.h"

#define TEXT_MAX 1000           /* bytes of one value */
#define SECTION_MAX (96 * 1024) /* bytes of a section */
#define DEPTH_MAX 8
#define HOSTS_SHOWN 12

static bool full(struct page *p, size_t begin)
{
	return p->out.len - begin > SECTION_MAX;
}

static bool is_simple(const struct value *v)
{
	return v->kind != VALUE_DICT && v->kind != VALUE_LIST && v->kind != VALUE_TUPLE;
}

static void add_name(struct page *p, const struct value *key)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	value_to_text(key, &text);
	if (p->own_names) { /* "memory_bytes" is "memory", with the unit behind the number */
		if (str_suffix(text.buf, "_bytes"))
			strbuf_cut(&text, text.len - strlen("_bytes"));
		else if (str_suffix(text.buf, "_kib"))
			strbuf_cut(&text, text.len - strlen("_kib"));
		for (size_t i = 0; i < text.len; i++)
			if (text.buf[i] == '_')
				text.buf[i] = ' ';
	}
	html_cut(&p->out, text.buf, text.len, 120);
}

static void add_simple(struct page *p, const struct value *key, const struct value *v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	const char *name = p->own_names && key && key->kind == VALUE_STR ? key->str.data : "";
	bool bytes = str_suffix(name, "_bytes"), kib = str_suffix(name, "_kib");

	if (v->kind == VALUE_INT && (bytes || kib)) {
		text_add_bytes(&text, (double)v->integer * (kib ? 1024 : 1));
	} else if (v->kind == VALUE_BOOL) {
		strbuf_addstr(&text, v->boolean ? "yes" : "no");
	} else if (v->kind == VALUE_NONE) {
		strbuf_addstr(&text, "\u2013");
	} else {
		value_to_text(v, &text);
	}
	html_cut(&p->out, text.buf, text.len, TEXT_MAX);
}

static void add_value(struct page *p, const struct value *key, const struct value *v, size_t begin,
		      int depth);

static void add_dict(struct page *p, const struct value *v, size_t begin, int depth)
{
	strbuf_addf(&p->out, "<dl class=\"values%s\">", depth ? " inner" : "");
	for (size_t i = 0; i < value_pairs(v); i++) {
		if (full(p, begin)) {
			strbuf_addf(&p->out, "<div><dt>\u2026</dt><dd>%zu more</dd></div>",
				    value_pairs(v) - i);
			break;
		}
		strbuf_addstr(&p->out, "<div><dt>");
		add_name(p, value_key(v, i));
		strbuf_addstr(&p->out, "</dt><dd>");
		add_value(p, value_key(v, i), value_at(v, i), begin, depth + 1);
		strbuf_addstr(&p->out, "</dd></div>");
	}
	strbuf_addstr(&p->out, "</dl>");
}

/* One line: "level 1, type Data, 32 KiB". */
static bool add_flat(struct page *p, const struct value *v)
{
	for (size_t i = 0; v->kind == VALUE_DICT && i < value_pairs(v); i++)
		if (!is_simple(value_at(v, i)))
			return false;
	if (v->kind != VALUE_DICT || value_pairs(v) > 12)
		return false;
	for (size_t i = 0; i < value_pairs(v); i++) {
		strbuf_addstr(&p->out, i ? ", <span class=\"dim\">" : "<span class=\"dim\">");
		add_name(p, value_key(v, i));
		strbuf_addstr(&p->out, "</span> ");
		add_simple(p, value_key(v, i), value_at(v, i));
	}
	return true;
}

static void add_list(struct page *p, const struct value *v, size_t begin, int depth)
{
	bool simple = true;

	for (size_t i = 0; i < v->list.count; i++)
		simple = simple && is_simple(v->list.items[i]);
	if (!simple)
		strbuf_addstr(&p->out, "<ul>");
	for (size_t i = 0; i < v->list.count; i++) {
		if (full(p, begin)) {
			strbuf_addf(&p->out, "%s\u2026 %zu more", simple ? ", " : "<li>",
				    v->list.count - i);
			break;
		}
		strbuf_addstr(&p->out, !simple ? "<li>" : i ? ", " : "");
		if (simple)
			add_simple(p, NULL, v->list.items[i]);
		else if (!add_flat(p, v->list.items[i]))
			add_value(p, NULL, v->list.items[i], begin, depth + 1);
		strbuf_addstr(&p->out, simple ? "" : "</li>");
	}
	if (!simple)
		strbuf_addstr(&p->out, "</ul>");
}

static void add_value(struct page *p, const struct value *key, const struct value *v, size_t begin,
		      int depth)
{
	if (is_simple(v)) {
		add_simple(p, key, v);
	} else if (depth >= DEPTH_MAX) {
		strbuf_addstr(&p->out, "\u2026");
	} else if (v->kind == VALUE_DICT) {
		if (!depth || !add_flat(p, v))
			add_dict(p, v, begin, depth);
	} else {
		add_list(p, v, begin, depth);
	}
}

/* NULL: none, or not an object. */
static struct value *parse(const char *json)
{
	struct value *v = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (!json || value_from_json(json, strlen(json), &v, &why) < 0)
		return NULL;
	if (v->kind == VALUE_DICT)
		return v;
	value_free(v);
	return NULL;
}

/* ---- hardware ------------------------------------------------------------------------------- */

static char *as_json(const struct value *v)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	value_to_json(v, &j, NULL);
	return strbuf_take(&j.out);
}

static void add_host_names(struct page *p, const struct value *all, const size_t *same,
			   size_t first)
{
	size_t n = 0;

	strbuf_addstr(&p->out, "<h3>");
	for (size_t i = first; i < value_pairs(all); i++) {
		if (same[i] != first)
			continue;
		if (n < HOSTS_SHOWN) {
			strbuf_addstr(&p->out, n ? ", " : "");
			add_name(p, value_key(all, i));
		}
		n++;
	}
	if (n > HOSTS_SHOWN)
		strbuf_addf(&p->out, " and %zu more", n - HOSTS_SHOWN);
	if (n > 1)
		strbuf_addf(&p->out, " <span class=\"dim\">(%zu equal hosts)</span>", n);
	strbuf_addstr(&p->out, "</h3>");
}

void page_hardware(struct page *p)
{
	_cleanup_value_ struct value *all = parse(p->r->hardware);
	size_t begin = p->out.len, n = all ? value_pairs(all) : 0, kinds = 0;
	_cleanup_free_ char **texts = xcalloc(n + 1, sizeof(*texts));
	_cleanup_free_ size_t *same = xcalloc(n + 1, sizeof(*same));

	for (size_t i = 0; i < n; i++) {
		texts[i] = as_json(value_at(all, i));
		same[i] = i;
		for (size_t k = 0; k < i && k < 64; k++) /* kinds of hosts are few */
			if (same[k] == k && !strcmp(texts[k], texts[i])) {
				same[i] = k;
				break;
			}
	}
	for (size_t i = 0; i < n; i++) {
		if (same[i] != i)
			continue;
		if (full(p, begin) || kinds == 32) {
			strbuf_addstr(&p->out, "<p class=\"dim\">More hosts are not shown.</p>");
			break;
		}
		kinds++;
		add_host_names(p, all, same, i);
		p->own_names = true;
		add_value(p, NULL, value_at(all, i), begin, 0);
		p->own_names = false;
	}
	for (size_t i = 0; i < n; i++)
		free(texts[i]);
}

/* ---- metadata ------------------------------------------------------------------------------- */

static void add_entry(struct page *p, const char *text, size_t n, bool json, size_t begin)
{
	_cleanup_strbuf_ struct strbuf list = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;

	if (!text)
		return;
	strbuf_addch(&list, '['); /* a document is a list or an object */
	strbuf_add(&list, text, n);
	strbuf_addch(&list, ']');
	if (json && value_from_json(list.buf, list.len, &v, &why) == 0 && v->list.count == 1)
		add_value(p, NULL, v->list.items[0], begin, 1);
	else
		html_cut(&p->out, text, n, TEXT_MAX);
}

/* json: the values are JSON, as in annotations. */
static void add_entries(struct page *p, const char *title, const struct job_entries *e, bool json,
			size_t begin)
{
	const struct joblist *l = &p->r->show.list;

	if (!e->count)
		return;
	strbuf_addf(&p->out, "<h3>%s</h3><dl class=\"values\">", title);
	for (uint32_t i = e->first; i < e->first + e->count; i++) {
		const struct job_entry *t = &l->entries[i];

		if (full(p, begin)) {
			strbuf_addf(&p->out, "<div><dt>\u2026</dt><dd>%u more</dd></div>",
				    e->first + e->count - i);
			break;
		}
		strbuf_addstr(&p->out, "<div><dt>");
		html_cut(&p->out, joblist_text(l, t->key), t->key_size, 120);
		strbuf_addstr(&p->out, "</dt><dd>");
		add_entry(p, joblist_text(l, t->value), t->value_size, json, begin);
		strbuf_addstr(&p->out, "</dd></div>");
	}
	strbuf_addstr(&p->out, "</dl>");
}

void page_metadata(struct page *p)
{
	_cleanup_value_ struct value *all = parse(p->r->metadata);
	size_t begin = p->out.len;

	add_entries(p, "Tags", &p->r->show.list.rows[0].tags, false, begin);
	add_entries(p, "Annotations", &p->r->show.list.rows[0].annotations, true, begin);
	if (!all || !value_pairs(all))
		return;
	strbuf_addstr(&p->out, "<details><summary>All metadata</summary>");
	add_value(p, NULL, all, begin, 0);
	strbuf_addstr(&p->out, "</details>");
}
