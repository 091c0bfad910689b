/* Command lines of older programs; see compat_options.h. */
#include "compat/compat_options.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/text/text.h"

/* ---- telling ----------------------------------------------------------------------------------
 */

bool old_wrong(const struct old_program *p, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	if (p->usage)
		p->usage(&out);
	strbuf_addf(&out, "%s: error: ", p->name);
	text_add_printable(&out, text.buf, text.len);
	if (!p->usage)
		strbuf_addf(&out, " (%s --help lists the options)", p->name);
	strbuf_addch(&out, '\n');
	fwrite(out.buf, 1, out.len, stderr);
	return false;
}

void old_add_form(struct strbuf *out, const struct old_option *r)
{
	switch (r->takes) {
	case TAKES_NONE:
		break;
	case TAKES_ONE:
		strbuf_addf(out, " %s", r->value);
		break;
	case TAKES_MAYBE:
	case TAKES_COUNT:
		strbuf_addf(out, " [%s]", r->value);
		break;
	case TAKES_ANY:
		strbuf_addf(out, " [%s ...]", r->value);
		break;
	case TAKES_MANY:
		strbuf_addf(out, " %s ...", r->value);
		break;
	case TAKES_FLAG:
		strbuf_addstr(out, " [true|false]");
		break;
	}
}

void old_print_help(const struct old_program *p, const char *words)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	if (p->usage)
		p->usage(&out);
	strbuf_addstr(&out, words);
	for (size_t i = 0; i < p->count; i++) {
		strbuf_addstr(&out, "  ");
		if (p->rows[i].letter)
			strbuf_addf(&out, "-%c, ", p->rows[i].letter);
		strbuf_addf(&out, "--%s", p->rows[i].name);
		old_add_form(&out, &p->rows[i]);
		strbuf_addf(&out, "\n      %s\n", p->rows[i].help);
	}
	fwrite(out.buf, 1, out.len, stdout);
}

/* ---- parsing ----------------------------------------------------------------------------------
 */

/* Words that stand for themselves: not options, but "-" and negative numbers are none either. */
static bool is_value(const char *word)
{
	return word && (word[0] != '-' || !word[1] || isdigit((unsigned char)word[1]));
}

/* true, false and the like; -1: none of them. */
static int truth(const char *word)
{
	static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};

	for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(word, words[i]))
			return i % 2;
	return -1;
}

static bool is_number(const char *word)
{
	return word && *word && strspn(word, "0123456789") == strlen(word);
}

static bool take_flag(const struct old_program *p, void *user, const struct old_option *r,
		      const char *given, char ***next)
{
	if (given && truth(given) < 0)
		return old_wrong(p, "--%s takes true or false, not '%s'", r->name, given);
	if (!given && truth(**next) >= 0)
		given = *(*next)++;
	return p->set(user, r, NULL, !given || truth(given) == 1);
}

/* Takes the values of an option; given: what stood with it in one word. */
static bool take(const struct old_program *p, void *user, const struct old_option *r,
		 const char *given, char ***next)
{
	if (r->takes == TAKES_FLAG)
		return take_flag(p, user, r, given, next);
	if (r->takes == TAKES_NONE && given)
		return old_wrong(p, "--%s takes no value", r->name);
	if (r->takes == TAKES_COUNT && !given && is_number(**next))
		given = *(*next)++;
	if (given || r->takes == TAKES_NONE || r->takes == TAKES_COUNT)
		return p->set(user, r, given, true);
	if (!is_value(**next)) {
		if (r->takes == TAKES_ONE || r->takes == TAKES_MANY)
			return old_wrong(p, "--%s needs a value", r->name);
		return p->set(user, r, NULL, true);
	}
	do
		if (!p->set(user, r, *(*next)++, true))
			return false;
	while ((r->takes == TAKES_ANY || r->takes == TAKES_MANY) && is_value(**next));
	return true;
}

static bool same_name(const char *name, const char *arg, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((name[i] == '_' ? '-' : name[i]) != (arg[i] == '_' ? '-' : arg[i]))
			return false;
	return true;
}

/* "--save_dir X", "--save-dir=X", "--sav X". */
static bool take_long(const struct old_program *p, void *user, const char *arg, char ***next)
{
	const char *equals = strchr(arg, '=');
	size_t n = equals ? (size_t)(equals - arg) : strlen(arg);
	const struct old_option *found = NULL;

	for (size_t i = 0; i < p->count && n; i++) {
		const char *name = p->rows[i].name;

		if (strlen(name) < n || !same_name(name, arg, n))
			continue;
		if (!name[n]) {
			found = &p->rows[i];
			break;
		}
		if (found)
			return old_wrong(p, "--%s can be --%s or --%s", arg, found->name, name);
		found = &p->rows[i];
	}
	if (!found)
		return old_wrong(p, "there is no option --%s", arg);
	return take(p, user, found, equals ? equals + 1 : NULL, next);
}

/* "-s 5", "-s5", "-s=5", "-rv"; "-vvv" counts, "-v 3" and "-v3" say how much. */
static bool take_letters(const struct old_program *p, void *user, const char *letters, char ***next)
{
	for (; *letters; letters++) {
		const struct old_option *r = NULL;
		char *none = NULL, **nothing = &none;

		for (size_t i = 0; i < p->count; i++)
			if (p->rows[i].letter == *letters)
				r = &p->rows[i];
		if (!r)
			return old_wrong(p, "there is no option -%c", *letters);
		if (r->takes == TAKES_COUNT && is_number(letters + 1))
			return take(p, user, r, letters + 1, next);
		if (r->takes != TAKES_NONE && r->takes != TAKES_FLAG && r->takes != TAKES_COUNT)
			return take(p, user, r,
				    letters[1] ? letters + 1 + (letters[1] == '=') : NULL, next);
		if (!take(p, user, r, NULL, letters[1] ? &nothing : next))
			return false;
	}
	return true;
}

bool old_parse(const struct old_program *p, void *user, char **argv, const bool *done)
{
	for (char **next = argv; *next && !*done;) {
		const char *arg = *next++;

		if (is_value(arg))
			return old_wrong(p, "'%s' is not expected here: there are options only",
					 arg);
		if (!(arg[1] == '-' ? take_long(p, user, arg + 2, &next)
				    : take_letters(p, user, arg + 1, &next)))
			return false;
	}
	return true;
}
