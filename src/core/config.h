/*
 * Settings and their origin. Order of precedence: option, environment, user's file,
 * /etc/plimsoll.conf, default.
 */
#pragma once

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

/* Reads all settings. Ignores invalid ones and adds one line for each, with file and line number,
 * to *problems. root: prefix of /etc, normally "". */
void config_load(struct config *c, const char *root, struct strbuf *problems);
/* Reads the lines of one file and changes text. Adds invalid lines to *problems. */
void config_parse(struct config *c, char *text, const char *file, struct strbuf *problems);
void config_release(struct config *c);
void config_set(struct config *c, enum setting_id id, const char *value, const char *origin);
/* -EINVAL, with "FILE:LINE: node_bpf takes yes or no, not 'perhaps'" or the name of the option. */
int config_bad_value(const struct config *c, enum setting_id id, const char *wants,
		     struct strbuf *why);
const char *config_get(const struct config *c, enum setting_id id);
/* The value with %u (user) and %i (uid) replaced; freed by the caller. */
char *config_path(const struct config *c, enum setting_id id);
/* -1: there is no such setting. */
int setting_by_name(const char *name);
/* The setting with the most similar name; NULL: none is similar. */
const char *setting_near(const char *name);

/* The user's file: plimsoll/plimsoll.conf in $XDG_CONFIG_HOME or ~/.config; NULL without a home
 * directory.
 */
char *config_user_file(void);

/* Does one of the shell patterns, separated by colons, match? */
bool pattern_list_matches(const char *patterns, const char *name);
