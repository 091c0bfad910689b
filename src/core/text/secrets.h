/*
 * Masks secrets in stores, reports and exports: values of variables and options with names of
 * secrets, credentials in URLs, and strings in the form of a token. They become "***". Settings:
 * mask, mask_more, mask_keep and mask_values.
 */
#pragma once

#include "core/config.h"

#define MASKED "***"

/* Uses these settings from now on instead of the defaults. c must stay valid. */
void secrets_use(const struct config *c);

/* Is the value of a variable of this name masked? */
bool secrets_is_name(const char *name);
/* Masks everything in a text that looks like a secret. */
void secrets_mask_text(struct strbuf *text);
/* Masks secrets in tags, "key:value;key:value". */
void secrets_mask_tags(struct strbuf *tags);
/* Masks secrets in arguments, separated by 0, or by blanks if they were joined. program: its name;
 * NULL: the first argument is the program. */
void secrets_mask_arguments(struct strbuf *arguments, char separator, const char *program);
/* The URL of a store or sink with everything masked that may be a password; freed by the caller. */
char *secrets_shown(const char *address);
/* Masks in a text what secrets_shown() masks in the URL: libraries quote it in errors. */
void secrets_hide(struct strbuf *text, const char *address);

/* ---- shared by the files of this module ---- */

/* Does an option, parameter or key of this name have a secret value? */
bool secrets_is_option(const char *name, size_t n);
void secrets_add_masked(struct strbuf *out, const char *text, size_t n);
const char *secrets_setting(enum setting_id id);
/* Masks matches of the setting mask_values. */
void secrets_mask_expressions(struct strbuf *text);
