/* Settings of the node daemon; see node_settings.h. */
#include "node/node_settings.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "node/node_protocol.h"
#include "sources/source.h"

/* ---- lists ---- */

/* Words are separated by blanks; a backslash makes a blank part of a word. */
int node_list_parse(struct name_list *ret, const char *text)
{
	size_t cap = 0;

	*ret = (struct name_list){0};
	for (const char *p = text + strspn(text, " \t\n"); *p; p += strspn(p, " \t\n")) {
		_cleanup_strbuf_ struct strbuf word = STRBUF_INIT;

		for (; *p && !strchr(" \t\n", *p); p++) {
			if (*p == '\\' && p[1] && strchr(" \t", p[1]))
				p++;
			strbuf_addch(&word, *p);
		}
		if (ret->count == NODE_LIST_MAX) {
			name_list_release(ret);
			return -E2BIG;
		}
		GROW(ret->names, ret->count, cap);
		ret->names[ret->count++] = strbuf_take(&word);
	}
	return 0;
}

void node_list_append(struct strbuf *out, const char *word)
{
	if (out->len)
		strbuf_addch(out, ' ');
	for (const char *p = word; *p; p++) {
		if (strchr(" \t", *p))
			strbuf_addch(out, '\\');
		strbuf_addch(out, *p);
	}
}

void node_list_add(struct config *c, enum setting_id id, const char *word, const char *origin)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	/* the first flag replaces the value of the files */
	if (str_prefix(c->origin[id], "flag"))
		strbuf_addstr(&text, config_get(c, id));
	node_list_append(&text, word);
	config_set(c, id, text.buf, origin);
}

/* ---- single values ---- */

static char *text_of(const struct config *c, enum setting_id id)
{
	const char *v = config_get(c, id);

	return *v ? xstrdup(v) : NULL;
}

static int read_time(const struct config *c, enum setting_id id, void *ret, struct strbuf *why)
{
	const char *v = config_get(c, id);
	uint64_t ns;

	if (parse_duration_ns(v, &ns) < 0 || ns < NODE_PERIOD_MIN_NS || ns > NODE_PERIOD_MAX_NS)
		return config_bad_value(c, id, "a time from 10ms to 1d, such as 500ms or 5s", why);
	*(uint64_t *)ret = ns;
	return 0;
}

static int read_flag(const struct config *c, enum setting_id id, void *ret, struct strbuf *why)
{
	const char *v = config_get(c, id);
	bool yes = !strcmp(v, "yes") || !strcmp(v, "true") || !strcmp(v, "1");

	if (!yes && *v && strcmp(v, "no") != 0 && strcmp(v, "false") != 0 && strcmp(v, "0") != 0)
		return config_bad_value(c, id, "yes or no", why);
	*(bool *)ret = yes;
	return 0;
}

static int read_size(const struct config *c, enum setting_id id, void *ret, struct strbuf *why)
{
	const char *v = config_get(c, id);
	uint64_t size;

	if (parse_size(v, &size) < 0 || size < 65536)
		return config_bad_value(c, id, "a size of 64K or more, such as 256M or 2G", why);
	*(uint64_t *)ret = size;
	return 0;
}

static int read_share(const struct config *c, enum setting_id id, void *ret, struct strbuf *why)
{
	const char *v = config_get(c, id);
	char *end;
	double share = strtod(v, &end);

	if (*end == '%') {
		share /= 100;
		end++;
	}
	if (end == v || *end || !(share >= 0 && share <= 1))
		return config_bad_value(c, id, "a share of one CPU such as 5%, 0 for any", why);
	*(double *)ret = share;
	return 0;
}

static int read_list(const struct config *c, enum setting_id id, void *ret, struct strbuf *why)
{
	if (node_list_parse(ret, config_get(c, id)) == 0)
		return 0;
	return strbuf_fail(why, -EINVAL, "%s has more than %d words", settings[id].name,
			   NODE_LIST_MAX);
}

/* ---- sources ---- */

int node_source_parse(struct sampler_source *ret, const char *text, struct strbuf *why)
{
	const char *at = strrchr(text, '@');
	_cleanup_free_ char *name = xstrndup(text, strcspn(text, "=@"));
	const struct source *s = source_find(name);
	uint64_t ns = 0;

	if (!s || !s->open) {
		strbuf_addf(why, "there is no sampled source '%s'", name);
		sources_add_near(name, why);
		return -EINVAL;
	}
	/* an option may contain @, too: only a time behind the last one is a period */
	if (at && (parse_duration_ns(at + 1, &ns) < 0 || ns < NODE_PERIOD_MIN_NS ||
		   ns > NODE_PERIOD_MAX_NS))
		return strbuf_fail(why, -EINVAL, "invalid period '%s' of %s; write for example 30s",
				   at + 1, name);
	*ret = (struct sampler_source){
		.name = at ? xstrndup(text, (size_t)(at - text)) : xstrdup(text), .period_ns = ns};
	return 0;
}

static int read_sources(struct node_settings *s, const struct config *c, struct strbuf *why)
{
	struct name_list l;
	int r = read_list(c, SETTING_NODE_SOURCES, &l, why);

	for (size_t i = 0; r == 0 && i < l.count; i++) {
		if (s->source_count == NODE_SOURCES_MAX) {
			strbuf_addf(why, "more than %d sources are named", NODE_SOURCES_MAX);
			r = -EINVAL;
			break;
		}
		r = node_source_parse(&s->sources[s->source_count], l.names[i], why);
		s->source_count += r == 0;
	}
	name_list_release(&l);
	return r;
}

void node_sources_text(const struct node_settings *s, struct strbuf *out)
{
	for (size_t i = 0; i < s->source_count; i++) {
		node_list_append(out, s->sources[i].name);
		if (s->sources[i].period_ns)
			strbuf_addf(out, "@%llums",
				    (unsigned long long)(s->sources[i].period_ns / 1000000));
	}
}

/* ---- all ---- */

static char *host_name(const struct config *c)
{
	char host[256] = "";
	char *name = text_of(c, SETTING_NODE_NAME);

	if (name)
		return name;
	if (gethostname(host, sizeof(host) - 1) < 0 || !host[0])
		return xstrdup("localhost");
	return xstrdup(host);
}

/* Does a rule match any metric? A source that knows its metrics only when it is open is matched by
 * its name. */
static bool matches_any(const struct metric_filter_rule *r)
{
	const struct metric_filter one = {.rules = (struct metric_filter_rule *)r, .count = 1};

	if (metric_filter_has(&one, "sampler", sampler_metrics, sampler_metric_count))
		return true;
	for (const struct source *const *p = sources; *p; p++) {
		if (!(*p)->open)
			continue;
		if ((*p)->metrics
			    ? metric_filter_has(&one, (*p)->name, (*p)->metrics, (*p)->metric_count)
			    : str_prefix(r->pattern, (*p)->name) &&
				      r->pattern[strlen((*p)->name)] == '.')
			return true;
	}
	return false;
}

/* Adds "; did you mean process.rss" with similar metrics. */
static void add_near(const char *word, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf near = STRBUF_INIT;

	sources_near_metrics(word, 3, &near);
	if (near.len)
		strbuf_addf(why, "; did you mean %s?", near.buf);
	else
		strbuf_addstr(why, "; `plimsoll sources` lists them");
}

int sampled_metrics_parse(struct metric_filter *ret, const char *text, struct strbuf *why)
{
	int r = metric_filter_parse(ret, text, why);

	for (size_t i = 0; r == 0 && i < ret->count; i++) {
		if (matches_any(&ret->rules[i]))
			continue;
		strbuf_addf(why, "there is no metric '%s'", ret->rules[i].pattern);
		add_near(ret->rules[i].pattern, why);
		r = -EINVAL;
	}
	return r;
}

/* ---- is anything sent? ---- */

struct selection {
	const struct node_settings *s;
	const char *source;
};

static bool is_selected(void *user, const char *name)
{
	const struct selection *k = user;
	const struct sample_metric one = {.name = name};

	return metric_filter_has(&k->s->metrics, k->source, &one, 1);
}

/* Is any of these metrics selected, and can it be sent? */
static bool leaves(const struct node_settings *s, const char *source,
		   const struct sample_metric *list, size_t count)
{
	const struct node_protocol *only = node_only_protocol(s);
	struct selection k = {s, source};

	return only ? only->leaves(source, list, count, is_selected, &k)
		    : metric_filter_has(&s->metrics, source, list, count);
}

/* The metrics of a source that counts events are its events; only the source knows its defaults. */
static bool events_leave(const struct node_settings *s, const struct source *source,
			 const char *events)
{
	_cleanup_free_ char *own = xstrdup(events ? events : "");
	char *rest = own;

	for (char *word; (word = strsep(&rest, ", \t\n"));) {
		const struct sample_metric one = {.name = word};

		if (*word && leaves(s, source->name, &one, 1))
			return true;
	}
	for (size_t i = 0; !*own && i < s->metrics.count; i++)
		if (!s->metrics.rules[i].whole ||
		    str_prefix(s->metrics.rules[i].pattern, source->name))
			return true;
	return !*own && !s->metrics.count;
}

static bool source_leaves(const struct node_settings *s, const char *text)
{
	_cleanup_free_ char *name = xstrndup(text, strcspn(text, "="));
	const struct source *source = source_find(name);

	if (!source)
		return false;
	if (source->metrics)
		return leaves(s, name, source->metrics, source->metric_count);
	return events_leave(s, source, text[strlen(name)] ? text + strlen(name) + 1 : NULL);
}

/* Is the source of metrics under a protocol's own names sampled? */
static bool names_leave(const struct node_settings *s)
{
	for (size_t p = 0; node_protocols[p]; p++) {
		if (!s->wires[p].names)
			continue;
		if (!s->source_count)
			return true;
		for (size_t i = 0; i < s->source_count; i++)
			if (!strcmp(s->sources[i].name, node_protocols[p]->named_source))
				return true;
	}
	return false;
}

/* Refuses settings by which the node would run and send nothing. */
static int check_leaves(const struct node_settings *s, struct strbuf *why)
{
	const struct node_protocol *only = node_only_protocol(s);
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;

	if (names_leave(s) || leaves(s, "sampler", sampler_metrics, sampler_metric_count) ||
	    (s->per_process && source_leaves(s, "process")))
		return 0;
	for (size_t i = 0; i < s->source_count; i++)
		if (source_leaves(s, s->sources[i].name))
			return 0;
	for (const struct source *const *p = sources; *p && !s->source_count; p++)
		if ((*p)->open && !(*p)->on_request && !(*p)->needs_job &&
		    source_leaves(s, (*p)->name))
			return 0;
	node_sources_text(s, &names);
	strbuf_addf(why, "nothing would be sent: %s%s ", only ? only->name : "",
		    only ? "'s records have no field for" : "nothing matches");
	if (s->metrics.count)
		strbuf_addf(why, "the metrics '%s' of ", s->metrics_text);
	if (names.len)
		strbuf_addf(why, "the sources '%s'", names.buf);
	else
		strbuf_addstr(why, "the sources sampled by default");
	return -EINVAL;
}

/* Settings with one value, and where it goes; lists are owned. */
static const struct {
	enum setting_id id;
	int (*read)(const struct config *c, enum setting_id id, void *ret, struct strbuf *why);
	size_t at;
} values[] = {
#define TO(field) offsetof(struct node_settings, field)
	{SETTING_NODE_PERIOD, read_time, TO(period_ns)},
	{SETTING_NODE_BATCH, read_time, TO(batch_ns)},
	{SETTING_NODE_SPOOL_LIMIT, read_size, TO(spool_limit)},
	{SETTING_NODE_INSECURE, read_flag, TO(insecure)},
	{SETTING_NODE_CONTAINERS, read_flag, TO(containers)},
	{SETTING_NODE_PER_PROCESS, read_flag, TO(per_process)},
	{SETTING_NODE_BPF, read_flag, TO(bpf)},
	{SETTING_NODE_BUDGET, read_share, TO(budget)},
	{SETTING_NODE_CGROUP_ROOTS, read_list, TO(roots)},
	{SETTING_NODE_GROUPS, read_list, TO(groups)},
	{SETTING_NODE_PATTERNS, read_list, TO(patterns)},
	{SETTING_NODE_JOBS, read_list, TO(jobs)},
	{SETTING_NODE_ALLOW, read_list, TO(allow)},
};

/* Settings that are texts. */
static const struct {
	enum setting_id id;
	size_t at;
} texts[] = {
	{SETTING_NODE_CONNECT, TO(connect)},
	{SETTING_NODE_OUTPUT, TO(output)},
	{SETTING_NODE_PROMETHEUS, TO(prometheus)},
	{SETTING_NODE_SPOOL, TO(spool)},
	{SETTING_NODE_KEYS, TO(keys)},
	{SETTING_NODE_SERVER_KEY, TO(server_key)},
#undef TO
};

static void *place(struct node_settings *s, size_t at)
{
	return (char *)s + at;
}

static int read_texts(struct node_settings *s, const struct config *c, struct strbuf *why)
{
	const char *control = config_get(c, SETTING_NODE_CONTROL);

	s->name = host_name(c);
	if (strlen(s->name) > 255)
		return config_bad_value(c, SETTING_NODE_NAME, "a name of at most 255 bytes", why);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		*(char **)place(s, texts[i].at) = text_of(c, texts[i].id);
	for (size_t i = 0; node_protocols[i]; i++)
		s->wires[i] =
			(struct node_wire){.address = text_of(c, node_protocols[i]->address),
					   .control = text_of(c, node_protocols[i]->control),
					   .names = text_of(c, node_protocols[i]->named_metrics)};
	s->control = strcmp(control, "off") != 0 ? xstrdup(control) : NULL;
	s->metrics_text = xstrdup(config_get(c, SETTING_NODE_METRICS));
	return sampled_metrics_parse(&s->metrics, s->metrics_text, why);
}

static int read_all(struct node_settings *s, const struct config *c, struct strbuf *why)
{
	int r = read_texts(s, c, why);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(values); i++)
		r = values[i].read(c, values[i].id, place(s, values[i].at), why);
	if (r == 0)
		r = read_sources(s, c, why);
	return r == 0 ? check_leaves(s, why) : r;
}

int node_settings_read(struct node_settings *ret, const struct config *c, struct strbuf *why)
{
	*ret = (struct node_settings){0};
	int r = read_all(ret, c, why);
	if (r < 0)
		node_settings_release(ret);
	return r;
}

void node_settings_release(struct node_settings *s)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		free(*(char **)place(s, texts[i].at));
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (values[i].read == read_list)
			name_list_release(place(s, values[i].at));
	for (size_t i = 0; i < NODE_PROTOCOLS_MAX; i++) {
		free(s->wires[i].address);
		free(s->wires[i].control);
		free(s->wires[i].names);
	}
	for (size_t i = 0; i < s->source_count; i++)
		free((char *)s->sources[i].name);
	free(s->name);
	free(s->control);
	free(s->metrics_text);
	metric_filter_release(&s->metrics);
	*s = (struct node_settings){0};
}
