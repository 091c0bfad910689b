/*
 * What nobody should read in a store, a report or an export: values of variables and options whose
 * names speak of secrets, credentials inside of addresses, and texts that have the form of a token.
 * They become "***"; the rest stays as it is. Settings mask, mask_more, mask_keep and mask_values.
 */
#ifndef PL_CORE_TEXT_SECRETS_H
#define PL_CORE_TEXT_SECRETS_H

#include "core/config.h"

#define MASKED "***"

/* The settings that count from now on; before that the defaults do. c is kept. */
void secrets_use(const struct config *c);

/* Does the value of a variable of this name stay away? */
bool secrets_is_name(const char *name);
/* Masks what has the form of a secret inside of any text. */
void secrets_mask_text(struct strbuf *text);
/* "key:value;key:value": the values of keys that speak of secrets, and what has the form of one. */
void secrets_mask_tags(struct strbuf *tags);
/* Arguments of a program, with separator between them (0, or a blank where they were joined).
 * program: its name; NULL: the first of them is it. */
void secrets_mask_arguments(struct strbuf *arguments, char separator, const char *program);
/* An address of a store or a sink, masked wherever a password could be by any reading. */
char *secrets_shown(const char *address);
/* Masks in a text what secrets_shown() masks in the address: libraries quote from what they get. */
void secrets_hide(struct strbuf *text, const char *address);

/* ---- between the files of this ---- */

/* Does an option, a parameter or a key of this name carry one? */
bool secrets_is_option(const char *name, size_t n);
void secrets_add_masked(struct strbuf *out, const char *text, size_t n);
const char *secrets_setting(enum setting_id id);
/* The site's own expressions. */
void secrets_mask_expressions(struct strbuf *text);

#endif
