/*
 * Settings; see config.h. Files have lines "name = value" and comment lines with #. A value is the
 * whole rest of the line without surrounding blanks, since tags contain ';' and ':'. (inih
 * truncates lines at 200 bytes and takes " ;" as a comment.)
 */
#include "core/config.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pwd.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/text/similar.h"

const struct setting settings[SETTING_COUNT] = {
#define SETTING(symbol, name, env, fallback, help) {name, env, fallback, help},
#include "core/settings.def"
#undef SETTING
};

#define CONFIG_FILE_MAX 65536

int setting_by_name(const char *name)
{
	for (int i = 0; i < SETTING_COUNT; i++)
		if (!strcmp(settings[i].name, name))
			return i;
	return -1;
}

void config_set(struct config *c, enum setting_id id, const char *value, const char *origin)
{
	free(c->value[id]);
	free(c->origin[id]);
	c->value[id] = xstrdup(value);
	c->origin[id] = xstrdup(origin);
}

const char *config_get(const struct config *c, enum setting_id id)
{
	return c->value[id];
}

void config_release(struct config *c)
{
	for (int i = 0; i < SETTING_COUNT; i++) {
		free(c->value[i]);
		free(c->origin[i]);
	}
	memset(c, 0, sizeof(*c));
}

static char *trim(char *s)
{
	s += strspn(s, " \t\r");
	size_t n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		s[--n] = 0;
	return s;
}

const char *setting_near(const char *name)
{
	unsigned best =
		strlen(name) < 4 ? 2 : 3; /* a word that differs in more letters is another one */
	const char *found = NULL;

	for (int i = 0; i < SETTING_COUNT; i++) {
		unsigned d = word_distance(name, settings[i].name);

		if (d < best) {
			best = d;
			found = settings[i].name;
		}
	}
	return found;
}

static void parse_line(struct config *c, char *line, const char *file, int number,
		       struct strbuf *problems)
{
	char *equals = strchr(line, '=');

	if (!equals) {
		strbuf_addf(problems, "%s:%d: expected 'name = value', ignored\n", file, number);
		return;
	}
	*equals = 0;
	const char *name = trim(line);
	int id = setting_by_name(name);
	if (id < 0) {
		const char *near = setting_near(name);

		strbuf_addf(problems, "%s:%d: unknown setting '%s', ignored; ", file, number, name);
		if (near)
			strbuf_addf(problems, "did you mean '%s'?\n", near);
		else
			strbuf_addstr(problems, "`plimsoll config` lists them\n");
		return;
	}
	_cleanup_free_ char *origin = xasprintf("%s:%d", file, number);
	config_set(c, (enum setting_id)id, trim(equals + 1), origin);
}

void config_parse(struct config *c, char *text, const char *file, struct strbuf *problems)
{
	int number = 0;

	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		number++;
		line = trim(line);
		if (*line && *line != '#')
			parse_line(c, line, file, number, problems);
	}
}

static void read_config_file(struct config *c, const char *path, struct strbuf *problems)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	/* the file may be a link */
	_cleanup_free_ char *real = realpath(path, NULL);
	int e = real ? fs_read(AT_FDCWD, real, CONFIG_FILE_MAX, &text) : -errno;
	/* a file in an unreadable directory counts as missing */
	if (e == -ENOENT || e == -ENOTDIR || (!real && e == -EACCES))
		return;
	if (e < 0)
		strbuf_addf(problems, "cannot read '%s', ignoring its settings: %s\n", path,
			    strerror(-e));
	else if (text.len && memchr(text.buf, 0, text.len))
		strbuf_addf(problems, "'%s' contains a NUL byte, ignored\n", path);
	else if (text.len)
		config_parse(c, text.buf, path, problems);
}

char *config_user_file(void)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (xdg && xdg[0] == '/')
		return xasprintf("%s/plimsoll/plimsoll.conf", xdg);
	if (home && home[0] == '/')
		return xasprintf("%s/.config/plimsoll/plimsoll.conf", home);
	return NULL;
}

/* Settings of commands, which go on with the default if a value is invalid. Daemons check theirs.
 */
static const struct {
	enum setting_id id;
	const char *words; /* the valid words, separated by blanks; NULL: a duration */
	const char *what;
} forms[] = {
	{SETTING_DRAIN, NULL, "a duration such as 200ms"},
	{SETTING_DB_WAIT, NULL, "a duration such as 60s"},
	{SETTING_KERNEL, " auto off ", "auto or off"},
	{SETTING_THREADS, " full basic off ", "full, basic or off"},
};

static bool has_form(const char *words, const char *value)
{
	_cleanup_free_ char *word = xasprintf(" %s ", value);
	uint64_t ns;

	return words ? strstr(words, word) != NULL : parse_duration_ns(value, &ns) == 0;
}

int config_bad_value(const struct config *c, enum setting_id id, const char *wants,
		     struct strbuf *why)
{
	bool option = str_prefix(c->origin[id], "flag ");

	return strbuf_fail(why, -EINVAL, "%s%s%s takes %s, not '%s'",
			   c->origin[id] + (option ? strlen("flag ") : 0), option ? "" : ": ",
			   option ? "" : settings[id].name, wants, config_get(c, id));
}

static void check_values(struct config *c, struct strbuf *problems)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		enum setting_id id = forms[i].id;
		const char *value = config_get(c, id), *fallback = settings[id].fallback;

		if (!*value || has_form(forms[i].words, value))
			continue;
		(void)config_bad_value(c, id, forms[i].what, problems);
		strbuf_addf(problems, "; ignored%s%s\n", *fallback ? ", using " : "", fallback);
		config_set(c, id, fallback, "default");
	}
}

void config_load(struct config *c, const char *root, struct strbuf *problems)
{
	_cleanup_free_ char *system = xasprintf("%s/etc/plimsoll.conf", root);
	_cleanup_free_ char *user = config_user_file();

	for (int i = 0; i < SETTING_COUNT; i++)
		config_set(c, (enum setting_id)i, settings[i].fallback, "default");
	read_config_file(c, system, problems);
	if (user)
		read_config_file(c, user, problems);
	for (int i = 0; i < SETTING_COUNT; i++) {
		const char *v = getenv(settings[i].env);

		if (v) {
			_cleanup_free_ char *origin = xasprintf("environment %s", settings[i].env);

			config_set(c, (enum setting_id)i, v, origin);
		}
	}
	check_values(c, problems);
}

char *config_path(const struct config *c, enum setting_id id)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	for (const char *p = c->value[id]; *p; p++) {
		if (p[0] == '%' && p[1] == 'i') {
			strbuf_addf(&out, "%u", (unsigned)geteuid());
			p++;
		} else if (p[0] == '%' && p[1] == 'u') {
			const struct passwd *pw = getpwuid(geteuid());

			if (pw)
				strbuf_addstr(&out, pw->pw_name);
			else
				strbuf_addf(&out, "%u", (unsigned)geteuid());
			p++;
		} else {
			strbuf_addch(&out, *p);
		}
	}
	return strbuf_take(&out);
}

static bool same_text(const char *name, const char *text, size_t n)
{
	return !n ||
	       (((unsigned char)(*name ^ *text) & ~0x20u) == 0 && !strncasecmp(name, text, n));
}

/* Like fnmatch(), but fast for a text with a star at one end or both: every environment variable is
 * compared with every pattern. */
static bool pattern_matches(const char *pattern, size_t n, const char *name)
{
	bool front = n && pattern[0] == '*', back = n > 1 && pattern[n - 1] == '*';
	size_t size = n - front - back, length = strlen(name);
	const char *text = pattern + front;

	if (strcspn(text, "*?[\\") < size) {
		_cleanup_free_ char *one = xstrndup(pattern, n);

		return fnmatch(one, name, FNM_CASEFOLD) == 0;
	}
	if (size > length || (!front && !back && size != length))
		return false;
	for (size_t at = front && !back ? length - size : 0; at <= length - size; at++) {
		if (same_text(name + at, text, size))
			return true;
		if (!front)
			break;
	}
	return false;
}

bool pattern_list_matches(const char *patterns, const char *name)
{
	while (*patterns) {
		size_t n = strcspn(patterns, ":");

		if (n && pattern_matches(patterns, n, name))
			return true;
		patterns += n + (patterns[n] == ':');
	}
	return false;
}
