/*
 * Settings and where they come from: a flag over the environment over the user's file over
 * /etc/plimsoll.conf over the default.
 */
#ifndef PL_CORE_CONFIG_H
#define PL_CORE_CONFIG_H

#include "core/strbuf.h"

enum setting_id {
#define SETTING(symbol, ...) SETTING_##symbol,
#include "core/settings.def"
#undef SETTING
	SETTING_COUNT
};

struct setting {
	const char *name, *env, *fallback, *help;
};
extern const struct setting settings[SETTING_COUNT];

struct config {
	char *value[SETTING_COUNT];
	char *origin[SETTING_COUNT]; /* "default", "environment PLIMSOLL_X", "/etc/...:3", "flag" */
};

/* Reads everything that there is. What cannot be used is left out, and each such thing is one line
 * for a person, with file and line, in *problems: a mistake in a file stops nobody's command.
 * root: where /etc is looked for, "" normally. */
void config_load(struct config *c, const char *root, struct strbuf *problems);
/* The lines of one file, changed in place; those that say nothing are lines of *problems. */
void config_parse(struct config *c, char *text, const char *file, struct strbuf *problems);
void config_release(struct config *c);
void config_set(struct config *c, enum setting_id id, const char *value, const char *origin);
const char *config_get(const struct config *c, enum setting_id id);
/* The value with %u and %i filled in; freed by the caller. */
char *config_path(const struct config *c, enum setting_id id);
/* -1 when no setting has this name. */
int setting_by_name(const char *name);
/* The setting whose name is nearest to this one, NULL where none is near. */
const char *setting_near(const char *name);

/* The user's file: $XDG_CONFIG_HOME or ~/.config, then plimsoll/plimsoll.conf. NULL without home.
 */
char *config_user_file(void);

/* Does a colon-separated list of shell patterns match? */
bool pattern_list_matches(const char *patterns, const char *name);

#endif
