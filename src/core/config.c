/*
 * Settings; see config.h. The files are lines "name = value", with # comments on lines of their
 * own: a value is everything behind the '=' with blanks trimmed, since tags hold ';' and ':'.
 * (inih, the usual library, cuts lines at 200 bytes and takes " ;" for a comment.)
 */
#include "core/config.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "core/fs.h"

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

int config_parse(struct config *c, char *text, const char *file, struct strbuf *why)
{
	int number = 0;

	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		number++;
		line = trim(line);
		if (!*line || *line == '#')
			continue;
		char *equals = strchr(line, '=');
		if (!equals) {
			strbuf_addf(why, "%s:%d: not a line of the form 'name = value'", file,
				    number);
			return -EINVAL;
		}
		*equals = 0;
		int id = setting_by_name(trim(line));
		if (id < 0) {
			strbuf_addf(why,
				    "%s:%d: there is no setting '%s'; `plimsoll config` lists them",
				    file, number, trim(line));
			return -EINVAL;
		}
		_cleanup_free_ char *origin = xasprintf("%s:%d", file, number);
		config_set(c, (enum setting_id)id, trim(equals + 1), origin);
	}
	return 0;
}

static int read_config_file(struct config *c, const char *path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	/* people keep their settings elsewhere and link them here */
	_cleanup_free_ char *real = realpath(path, NULL);
	int e = real ? fs_read(AT_FDCWD, real, CONFIG_FILE_MAX, &text) : -errno;
	if (e == -ENOENT || e == -ENOTDIR || e == -EACCES)
		return 0;
	if (e < 0) {
		strbuf_addf(why, "cannot read '%s': %s", path, strerror(-e));
		return e;
	}
	if (memchr(text.buf, 0, text.len)) {
		strbuf_addf(why, "'%s' is no text file: it holds a NUL byte", path);
		return -EINVAL;
	}
	if (!text.len)
		return 0;
	return config_parse(c, text.buf, path, why);
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

int config_load(struct config *c, const char *root, struct strbuf *why)
{
	_cleanup_free_ char *system = xasprintf("%s/etc/plimsoll.conf", root);
	_cleanup_free_ char *user = config_user_file();

	for (int i = 0; i < SETTING_COUNT; i++)
		config_set(c, (enum setting_id)i, settings[i].fallback, "default");
	int r = read_config_file(c, system, why);
	if (r < 0)
		return r;
	if (user && (r = read_config_file(c, user, why)) < 0)
		return r;
	for (int i = 0; i < SETTING_COUNT; i++) {
		const char *v = getenv(settings[i].env);

		if (v) {
			_cleanup_free_ char *origin = xasprintf("environment %s", settings[i].env);

			config_set(c, (enum setting_id)i, v, origin);
		}
	}
	return 0;
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

bool pattern_list_matches(const char *patterns, const char *name)
{
	while (*patterns) {
		size_t n = strcspn(patterns, ":");
		_cleanup_free_ char *one = xstrndup(patterns, n);

		if (n && fnmatch(one, name, FNM_CASEFOLD) == 0)
			return true;
		patterns += n + (patterns[n] == ':');
	}
	return false;
}
