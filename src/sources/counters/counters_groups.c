/*
 * Reads group files: lines of a keyword and words. Everything is bounded; an invalid file is
 * refused as a whole, with the number of the line. See counters_groups.h.
 */
#include "sources/counters/counters_groups.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "core/module.h"
#include "sources/sysfile.h"

#define FILE_MAX ((size_t)256 << 10)
#define INCLUDE_DEPTH_MAX 4
#define INCLUDES_MAX 16
#define NAME_MAX_SIZE 40 /* of groups, events and values */

struct reader {
	struct groups *g;
	const char *dir, *file;
	unsigned line, depth;
	unsigned *includes;  /* their number so far */
	struct group *group; /* the one being read */
	struct strbuf *why;
};

static int read_text(struct reader *r, const char *text);

static int complain(const struct reader *r, const char *fmt, ...) PL_PRINTF(2, 3);
static int complain(const struct reader *r, const char *fmt, ...)
{
	va_list ap;

	strbuf_addf(r->why, "%s.groups, line %u: ", r->file, r->line);
	va_start(ap, fmt);
	strbuf_vaddf(r->why, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* ---- words ---- */

/* The next word, ended with a NUL in place; "" at the end of the line. */
static char *next_word(char **pp)
{
	char *word = *pp + strspn(*pp, " \t");
	char *end = word + strcspn(word, " \t");

	*pp = end + strspn(end, " \t");
	*end = 0;
	return word;
}

/* The rest of a line, without surrounding blanks. */
static char *rest(char *p)
{
	p += strspn(p, " \t");
	for (size_t n = strlen(p); n && (p[n - 1] == ' ' || p[n - 1] == '\t'); n--)
		p[n - 1] = 0;
	return p;
}

static bool is_word(const char *s, const char *set)
{
	size_t n = strlen(s);

	return n && n < NAME_MAX_SIZE && strspn(s, set) == n && !(s[0] >= '0' && s[0] <= '9');
}

#define LOWER "abcdefghijklmnopqrstuvwxyz0123456789_"
#define ANY_CASE LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

static bool parse_unsigned(const char *s, unsigned *ret)
{
	bool hex = s[0] == '0' && s[1] == 'x';
	const char *digits = hex ? s + 2 : s;
	char *end;

	if (!*digits || strlen(digits) > 8 ||
	    strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789") != strlen(digits))
		return false;
	*ret = (unsigned)strtoul(digits, &end, hex ? 16 : 10);
	return true;
}

/* "85" or "5-7" */
static bool parse_range(char *s, unsigned ret[2])
{
	char *dash = strchr(s, '-');

	if (dash)
		*dash = 0;
	return parse_unsigned(s, &ret[0]) && parse_unsigned(dash ? dash + 1 : s, &ret[1]) &&
	       ret[0] <= ret[1];
}

/* ---- groups ---- */

static void release_group(struct group *g)
{
	for (size_t i = 0; i < g->event_count; i++) {
		free(g->events[i].name);
		free(g->events[i].code);
		free(g->events[i].help);
	}
	for (size_t i = 0; i < g->value_count; i++) {
		free(g->values[i].name);
		free(g->values[i].text);
		free(g->values[i].help);
	}
	free(g->name);
	free(g->help);
	*g = (struct group){0};
}

void groups_release(struct groups *g)
{
	for (size_t i = 0; i < g->group_count; i++)
		release_group(&g->groups[i]);
	for (size_t i = 0; i < g->pmu_count; i++)
		free(g->pmus[i]);
	free(g->groups);
	free(g->cpus);
	free(g->name);
	*g = (struct groups){0};
}

const struct group *groups_find(const struct groups *g, const char *name)
{
	for (size_t i = 0; i < g->group_count; i++)
		if (!strcmp(g->groups[i].name, name))
			return &g->groups[i];
	return NULL;
}

/* ---- lines ---- */

static int line_pmu(struct reader *r, char *p)
{
	if (r->depth || r->g->pmu_count)
		return r->depth ? 0 : complain(r, "more than one line 'pmu'");
	for (const char *word = next_word(&p); *word; word = next_word(&p)) {
		if (r->g->pmu_count == GROUPS_PMUS_MAX || !is_word(word, LOWER))
			return complain(r, "'%s' is not the name of a PMU, or one too many", word);
		r->g->pmus[r->g->pmu_count++] = xstrdup(word);
	}
	return 0;
}

static int line_cpu(struct reader *r, char *p)
{
	struct groups *g = r->g;
	struct cpu_range c = {.stepping = {0, UINT32_MAX}};
	const char *vendor = next_word(&p), *family = next_word(&p);
	char *model = next_word(&p), *stepping = next_word(&p);

	if (strlen(vendor) >= sizeof(c.vendor) || !parse_unsigned(family, &c.family) ||
	    !parse_range(model, c.model) || (*stepping && !parse_range(stepping, c.stepping)) || *p)
		return complain(r,
				"'cpu' needs a vendor, a family, a model or range of models, and "
				"may have a range of steppings");
	memcpy(c.vendor, vendor, strlen(vendor) + 1);
	if (r->depth)
		return 0;
	GROW(g->cpus, g->cpu_count, g->cpu_cap);
	g->cpus[g->cpu_count++] = c;
	return 0;
}

static int line_include(struct reader *r, char *p)
{
	const char *name = next_word(&p);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (*p || !is_word(name, LOWER) || r->depth == INCLUDE_DEPTH_MAX ||
	    ++*r->includes > INCLUDES_MAX)
		return complain(r, "cannot include '%s'", name);
	_cleanup_free_ char *path = xasprintf("%s/%s.groups", r->dir, name);
	int e = fs_read(AT_FDCWD, path, FILE_MAX, &text);
	if (e < 0)
		return complain(r, "cannot include '%s': %s", path, strerror(-e));
	struct reader inner = {.g = r->g,
			       .dir = r->dir,
			       .file = name,
			       .depth = r->depth + 1,
			       .includes = r->includes,
			       .why = r->why};
	r->group = NULL;
	e = read_text(&inner, text.buf);
	for (size_t i = 0; i < r->g->group_count; i++)
		r->g->groups[i].included = true;
	return e;
}

static int line_group(struct reader *r, char *p)
{
	const char *name = next_word(&p), *help = rest(p);
	struct groups *g = r->g;
	struct group *group = NULL;

	if (!is_word(name, ANY_CASE) || !*help)
		return complain(r, "'group' needs a name and an explanation");
	for (size_t i = 0; i < g->group_count; i++)
		if (!strcmp(g->groups[i].name, name))
			group = &g->groups[i];
	if (group && !group->included)
		return complain(r, "group '%s' is defined twice", name);
	if (group) {
		release_group(group);
	} else {
		if (g->group_count == GROUPS_MAX)
			return complain(r, "more than %d groups", GROUPS_MAX);
		GROW(g->groups, g->group_count, g->group_cap);
		group = &g->groups[g->group_count++];
	}
	*group = (struct group){.name = xstrdup(name), .help = xstrdup(help)};
	r->group = group;
	return 0;
}

/* A name means the same event in every group: it is counted once, and is one metric. */
static int check_same(const struct reader *r, const char *name, const char *code)
{
	for (size_t i = 0; i < r->g->group_count; i++) {
		const struct group *g = &r->g->groups[i];

		for (size_t k = 0; k < g->event_count; k++)
			if (!strcmp(g->events[k].name, name) &&
			    strcmp(g->events[k].code, code) != 0)
				return complain(r, "'%s' is another event in group '%s'", name,
						g->name);
	}
	return 0;
}

static int add_event(struct reader *r, char *p, bool system)
{
	const char *name = next_word(&p), *code = next_word(&p), *help = rest(p);
	struct group *g = r->group;

	if (!g)
		return complain(r, "an event outside of a group");
	if (!is_word(name, LOWER) || !strcmp(name, "time") || !*code || strlen(code) > 255 ||
	    !*help)
		return complain(r, "an event needs a name in lower case, a code and an "
				   "explanation");
	if (g->event_count == GROUP_EVENTS_MAX)
		return complain(r, "more than %d events in group '%s'", GROUP_EVENTS_MAX, g->name);
	for (size_t i = 0; i < g->event_count; i++)
		if (!strcmp(g->events[i].name, name))
			return complain(r, "event '%s' twice", name);
	if (g->event_count && g->system != system)
		return complain(r, "events of processes and of the machine in one group");
	if (g->value_count)
		return complain(r, "event '%s' follows the values of its group", name);
	g->system = system;
	int e = check_same(r, name, code);
	if (e == 0)
		g->events[g->event_count++] =
			(struct group_event){xstrdup(name), xstrdup(code), xstrdup(help)};
	return e;
}

static int line_event(struct reader *r, char *p)
{
	return add_event(r, p, false);
}

static int line_system(struct reader *r, char *p)
{
	return add_event(r, p, true);
}

static int find_variable(void *user, const char *name, size_t n)
{
	const struct group *g = user;

	for (size_t i = 0; i < g->event_count; i++)
		if (strlen(g->events[i].name) == n && !memcmp(g->events[i].name, name, n))
			return (int)i;
	return n == 4 && !memcmp(name, "time", 4) ? (int)g->event_count : -1;
}

static int line_value(struct reader *r, char *p)
{
	struct group *g = r->group;
	const char *name = next_word(&p), *unit = next_word(&p);
	char *help = strchr(p, ';');
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (!g || !g->event_count)
		return complain(r, "a value outside of a group, or before its events");
	if (help)
		*help++ = 0;
	if (!is_word(name, LOWER) || !help || !*rest(help))
		return complain(r, "a value needs a name in lower case, a unit, a formula, and an "
				   "explanation behind a ';'");
	if (g->value_count == GROUP_VALUES_MAX)
		return complain(r, "more than %d values in group '%s'", GROUP_VALUES_MAX, g->name);
	for (size_t i = 0; i < g->value_count; i++)
		if (!strcmp(g->values[i].name, name))
			return complain(r, "value '%s' twice", name);
	struct group_value *v = &g->values[g->value_count];
	v->unit = metric_unit_by_name(unit);
	if (!*unit || v->unit == UNIT_END)
		return complain(r, "unknown unit '%s'", unit);
	if (formula_parse(&v->formula, rest(p), find_variable, g, &why) < 0)
		return complain(r, "value '%s': %s", name, why.buf);
	v->name = xstrdup(name);
	v->text = xstrdup(rest(p));
	v->help = xstrdup(rest(help));
	g->value_count++;
	return 0;
}

static int read_line(struct reader *r, char *line)
{
	static const struct {
		const char *keyword;
		int (*read)(struct reader *r, char *p);
	} lines[] = {{"pmu", line_pmu},     {"cpu", line_cpu},     {"include", line_include},
		     {"group", line_group}, {"event", line_event}, {"system", line_system},
		     {"value", line_value}};
	char *p = line;
	const char *keyword = next_word(&p);

	if (!*keyword || *keyword == '#')
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (!strcmp(keyword, lines[i].keyword))
			return lines[i].read(r, p);
	return complain(r, "unknown keyword '%s'", keyword);
}

static int read_text(struct reader *r, const char *text)
{
	int e = 0;

	while (*text && e == 0) {
		size_t n = strcspn(text, "\n");
		_cleanup_free_ char *line = xstrndup(text, n);

		line[strcspn(line, "\r")] = 0;
		r->line++;
		e = read_line(r, line);
		text += n + (text[n] == '\n');
	}
	return e;
}

int groups_parse(struct groups *g, const char *dir, const char *name, const char *text,
		 struct strbuf *why)
{
	unsigned includes = 0;
	struct reader r = {.g = g, .dir = dir, .file = name, .includes = &includes, .why = why};

	*g = (struct groups){.name = xstrdup(name)};
	int e = read_text(&r, text);
	for (size_t i = 0; i < g->group_count && e == 0; i++)
		if (!g->groups[i].event_count) /* NOLINT(clang-analyzer-unix.Malloc): all new */
			e = complain(&r, "group '%s' has no event", g->groups[i].name);
	if (e < 0)
		groups_release(g);
	return e;
}

/* ---- files ---- */

char *groups_dir(void)
{
	_cleanup_free_ char *root = install_root();

	return xasprintf("%s/share/plimsoll/events", root);
}

int groups_load(struct groups *g, const char *dir, const char *name, struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("%s/%s.groups", dir, name);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	*g = (struct groups){0};
	int e = is_word(name, LOWER) ? fs_read(AT_FDCWD, path, FILE_MAX, &text) : -ENOENT;
	if (e == -ENOENT)
		strbuf_addf(why, "no event groups for '%s' in %s", name, dir);
	else if (e < 0)
		strbuf_addf(why, "cannot read '%s': %s", path, strerror(-e));
	if (e == 0)
		e = groups_parse(g, dir, name, text.buf, why);
	/* groups stay in memory while a job is sampled: give back the rest */
	if (e == 0 && g->group_count) {
		g->groups = xreallocarray(g->groups, g->group_count, sizeof(*g->groups));
		g->group_cap = g->group_count;
	}
	return e;
}

bool groups_match(const struct groups *g, const struct cpu_identity *cpu)
{
	for (size_t i = 0; i < g->cpu_count; i++) {
		const struct cpu_range *c = &g->cpus[i];

		if (!strcmp(c->vendor, cpu->vendor) && c->family == cpu->family &&
		    cpu->model >= c->model[0] && cpu->model <= c->model[1] &&
		    cpu->stepping >= c->stepping[0] && cpu->stepping <= c->stepping[1])
			return true;
	}
	return false;
}

int groups_list(const char *dir, char ***ret, size_t *ret_count, struct strbuf *why)
{
	struct name_list l;
	int e = name_list_read(&l, "", "%s", dir);
	size_t count = 0;

	if (e < 0)
		strbuf_addf(why, "cannot read '%s': %s", dir, strerror(-e));
	for (size_t i = 0; i < l.count; i++) {
		char *suffix = strrchr(l.names[i], '.');

		if (suffix && !strcmp(suffix, ".groups")) {
			*suffix = 0;
			l.names[count++] = l.names[i];
		} else {
			free(l.names[i]);
		}
	}
	*ret = l.names;
	*ret_count = count;
	return e;
}

void groups_free_names(char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(names[i]);
	free(names);
}

/* ---- this CPU ---- */

/* The text behind "name<blanks>: " in cpuinfo, in the first paragraph that has it. */
static const char *cpu_line(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		const char *q = p + n;

		if (strncmp(p, name, n) != 0)
			continue;
		q += strspn(q, " \t");
		if (*q == ':')
			return q + 1 + strspn(q + 1, " \t");
	}
	return NULL;
}

static bool cpu_number(const char *text, const char *name, unsigned *ret)
{
	const char *p = cpu_line(text, name);
	char word[16] = "";

	if (!p || strcspn(p, " \t\n") >= sizeof(word))
		return false;
	memcpy(word, p, strcspn(p, " \t\n"));
	return parse_unsigned(word, ret);
}

int cpu_identify(const char *root, struct cpu_identity *ret)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/cpuinfo", root);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[8192];

	*ret = (struct cpu_identity){.family = 8};
	if (fd < 0)
		return -errno;
	/* the first CPU is enough: the file of a large machine is long */
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = 0;
	const char *vendor = cpu_line(text, "vendor_id");
	bool arm = !vendor;
	if (arm)
		vendor = cpu_line(text, "CPU implementer");
	if (!vendor || strcspn(vendor, " \t\n") >= sizeof(ret->vendor))
		return -ENOENT;
	memcpy(ret->vendor, vendor, strcspn(vendor, " \t\n"));
	if (arm)
		return cpu_number(text, "CPU part", &ret->model) ? 0 : -ENOENT;
	cpu_number(text, "stepping", &ret->stepping);
	return cpu_number(text, "cpu family", &ret->family) &&
			       cpu_number(text, "model", &ret->model)
		       ? 0
		       : -ENOENT;
}

int groups_load_for(struct groups *g, const char *dir, const struct cpu_identity *cpu,
		    struct strbuf *why)
{
	size_t count;
	char **names;
	bool found = false;

	int r = groups_list(dir, &names, &count, why);
	for (size_t i = 0; i < count && !found; i++) {
		_cleanup_strbuf_ struct strbuf broken = STRBUF_INIT;

		/* an invalid file is skipped here; the check of the files reports it */
		if (groups_load(g, dir, names[i], &broken) < 0)
			continue;
		found = groups_match(g, cpu);
		if (!found)
			groups_release(g);
	}
	groups_free_names(names, count);
	return r < 0 || found ? r : groups_load(g, dir, "generic", why);
}
