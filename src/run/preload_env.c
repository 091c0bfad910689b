/* The environment of a recorded command, and the list of exporters. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/module.h"
#include "core/system/procparse.h"
#include "jobs/scheduler.h"
#include "jobs/tags.h"
#include "run/run.h"
#include "sources/counters/events.h"

#define EXPORTER(symbol) extern const struct exporter exporter_##symbol;
#include "run/exporters.def"
#undef EXPORTER

const struct exporter *const exporters[] = {
#define EXPORTER(symbol) &exporter_##symbol,
#include "run/exporters.def"
#undef EXPORTER
	NULL,
};

void free_strings(char **list)
{
	for (char **s = list; s && *s; s++)
		free(*s);
	free(list);
}

/* Our own seccomp filters (a container's), which the library may ignore. */
static uint64_t own_filters(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t n = 0;

	if (fs_read(AT_FDCWD, "/proc/self/status", 65536, &text) == 0)
		(void)proc_parse_status(text.buf, text.len, "Seccomp_filters", &n);
	return n;
}

char *preload_list(const char *library, bool with)
{
	const char *old = getenv("LD_PRELOAD");
	_cleanup_strbuf_ struct strbuf list = STRBUF_INIT;

	if (with)
		strbuf_addstr(&list, library);
	for (const char *p = old; p && *p;) {
		size_t n = strcspn(p, ": ");

		if (n && !(n == strlen(library) && !memcmp(p, library, n)))
			strbuf_addf(&list, "%s%.*s", list.len ? ":" : "", (int)n, p);
		p += n;
		p += strspn(p, ": ");
	}
	return strbuf_take(&list);
}

struct list {
	char **items;
	size_t count, cap;
};

static void add(void *list, const char *name, const char *value)
{
	struct list *l = list;

	GROW(l->items, l->count + 1, l->cap);
	l->items[l->count++] = xasprintf("%s=%s", name, value);
	l->items[l->count] = NULL;
}

/* Warns about tags of the form KEY=VALUE: a word without a colon is a key. */
static void warn_of_tags(const char *tags, struct strbuf *problems)
{
	_cleanup_value_ struct value *dict = tags_parse(tags, NULL);

	for (size_t i = 0; i < value_pairs(dict); i++) {
		const char *key = value_key(dict, i)->str.data;
		_cleanup_free_ char *meant = tags_suggestion(key);

		if (meant && !strcmp(value_at(dict, i)->str.data, "1"))
			strbuf_addf(problems, "tags: '%s' is a key without a value: write '%s'\n",
				    key, meant);
	}
}

/* The configured events, else those of a variable of another tool. */
static const char *events_wanted(const struct config *c)
{
	const char *wanted = config_get(c, SETTING_EVENTS);

	for (const struct exporter *const *e = exporters; *e && !*wanted; e++)
		if (getenv((*e)->events))
			wanted = getenv((*e)->events);
	return wanted;
}

char **recording_environment(struct context *ctx, const struct job_directory *j,
			     const struct run_file *r, struct strbuf *problems)
{
	_cleanup_free_ char *library = preload_library();
	_cleanup_free_ char *preload = preload_list(library, true);
	_cleanup_strbuf_ struct strbuf events = STRBUF_INIT;
	const struct config *c = &ctx->config;
	const char *wanted = events_wanted(c);
	uint64_t filters = own_filters();
	struct list l = {0};
	char number[72];

	events_resolve_list(wanted, &events, problems);
	add(&l, "PLIMSOLL_OUTPUT", r->path);
	add(&l, "PLIMSOLL_JOB", j->id);
	if (j->path)
		add(&l, "PLIMSOLL_JOBDIR", j->path);
	add(&l, "PLIMSOLL_RUN", r->run);
	_cleanup_free_ char *here = scheduler_context(env_lookup);
	_cleanup_free_ char *context = xasprintf("%s %s", j->id, here);
	add(&l, "PLIMSOLL_CONTEXT", context);
	warn_of_tags(config_get(c, SETTING_TAGS), problems);
	if (*config_get(c, SETTING_TAGS))
		add(&l, "PLIMSOLL_TAGS", config_get(c, SETTING_TAGS));
	if (*config_get(c, SETTING_THREADS))
		add(&l, "PLIMSOLL_THREADS", config_get(c, SETTING_THREADS));
	/* set even if empty: it overrides other variables, whose events may be invalid */
	if (*wanted)
		add(&l, "PLIMSOLL_EVENTS", events.buf);
	if (filters) {
		snprintf(number, sizeof(number), "%llu", (unsigned long long)filters);
		add(&l, "PLIMSOLL_SECCOMP", number);
	}
	uint64_t device, ns, boot = 0;
	int64_t real = 0;
	if (own_pid_namespace(&device, &ns)) {
		clock_pair(&boot, &real);
		snprintf(number, sizeof(number), "%llu:%llu:%lld", (unsigned long long)device,
			 (unsigned long long)ns, (long long)(real - (int64_t)boot));
		add(&l, "PLIMSOLL_PIDNS", number);
	}
	for (const struct exporter *const *e = exporters; *e; e++)
		(*e)->environment(ctx, j, add, &l);
	add(&l, "LD_PRELOAD", preload);
	return l.items;
}

int export_job(struct context *ctx, const struct job_directory *j)
{
	int status = 0;

	for (const struct exporter *const *e = exporters; *e; e++) {
		int r = (*e)->write(ctx, j);

		status = r < 0 ? r : status;
	}
	return status;
}
