/* Command lines in the style of other tools; see compat_options.h. */
#include "compat/options/compat_options.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "context/context.h"
#include "core/text/text.h"

/* ---- output --------------------------------------------------------------------------------- */

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

static void print_help(const struct old_program *p)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	if (p->usage)
		p->usage(&out);
	strbuf_addstr(&out, p->about);
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

/* ---- parsing -------------------------------------------------------------------------------- */

/* Is it no option? "-" and negative numbers are values. */
static bool is_value(const char *word)
{
	return word && (word[0] != '-' || !word[1] || isdigit((unsigned char)word[1]));
}

/* 1 for true, yes and on, 0 for their opposites, -1 for other words. */
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

struct parsing {
	const struct old_program *p;
	char *user;                     /* the structure of the values */
	char **next;                    /* words that were not taken yet */
	const struct old_option *shown; /* help or version; NULL: neither was asked for */
};

static bool set(struct parsing *x, const struct old_option *r, const char *value, bool on)
{
	int64_t *number = r->number ? (int64_t *)(x->user + r->number - 1) : NULL, v = 0;

	if (r->shows)
		x->shown = r;
	if (r->flag)
		*(bool *)(x->user + r->flag - 1) = on;
	if (r->text)
		*(const char **)(x->user + r->text - 1) =
			value && !*value && r->takes == TAKES_MAYBE ? NULL : value;
	if (r->max && value && (parse_i64(value, &v) < 0 || v < r->min || v > r->max))
		return old_wrong(x->p, "--%s takes a whole number from %lld to %lld, not '%s'",
				 r->name, (long long)r->min, (long long)r->max, value);
	if (number && value)
		*number = v;
	else if (number && r->takes == TAKES_COUNT)
		++*number;
	return !r->take || r->take(x->user, r, value);
}

static bool take_flag(struct parsing *x, const struct old_option *r, const char *given)
{
	if (given && truth(given) < 0)
		return old_wrong(x->p, "--%s takes true or false, not '%s'", r->name, given);
	if (!given && truth(*x->next) >= 0)
		given = *x->next++;
	return set(x, r, NULL, !given || truth(given) == 1);
}

/* Takes the values of an option; given: what stood with it in one word. */
static bool take(struct parsing *x, const struct old_option *r, const char *given)
{
	if (r->takes == TAKES_FLAG)
		return take_flag(x, r, given);
	if (r->takes == TAKES_NONE && given)
		return old_wrong(x->p, "--%s takes no value", r->name);
	if (r->takes == TAKES_COUNT && !given && is_number(*x->next))
		given = *x->next++;
	if (given || r->takes == TAKES_NONE || r->takes == TAKES_COUNT)
		return set(x, r, given, true);
	if (!is_value(*x->next)) {
		if (r->takes == TAKES_ONE || r->takes == TAKES_MANY)
			return old_wrong(x->p, "--%s needs a value", r->name);
		return set(x, r, NULL, true);
	}
	do
		if (!set(x, r, *x->next++, true))
			return false;
	while ((r->takes == TAKES_ANY || r->takes == TAKES_MANY) && is_value(*x->next));
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
static bool take_long(struct parsing *x, const char *arg)
{
	const struct old_program *p = x->p;
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
	return take(x, found, equals ? equals + 1 : NULL);
}

/* "-s 5", "-s5", "-s=5", "-rv"; "-vvv" counts, "-v 3" and "-v3" give the number. */
static bool take_letters(struct parsing *x, const char *letters)
{
	for (; *letters; letters++) {
		const struct old_option *r = NULL;
		char *none = NULL, **next = x->next;

		for (size_t i = 0; i < x->p->count; i++)
			if (x->p->rows[i].letter == *letters)
				r = &x->p->rows[i];
		if (!r)
			return old_wrong(x->p, "there is no option -%c", *letters);
		if (r->takes == TAKES_COUNT && is_number(letters + 1))
			return take(x, r, letters + 1);
		if (r->takes != TAKES_NONE && r->takes != TAKES_FLAG && r->takes != TAKES_COUNT)
			return take(x, r, letters[1] ? letters + 1 + (letters[1] == '=') : NULL);
		if (!letters[1])
			return take(x, r, NULL);
		/* letters follow: the next word is not its value */
		x->next = &none;
		bool taken = take(x, r, NULL);
		x->next = next;
		if (!taken)
			return false;
	}
	return true;
}

int old_parse(const struct old_program *p, void *user, char **argv)
{
	struct parsing x = {.p = p, .user = user, .next = argv};

	while (*x.next && !x.shown) {
		const char *arg = *x.next++;

		if (is_value(arg)
			    ? !old_wrong(p, "unexpected argument '%s': only options are accepted",
					 arg)
			    : !(arg[1] == '-' ? take_long(&x, arg + 2) : take_letters(&x, arg + 1)))
			return EXIT_USAGE;
	}
	if (!x.shown)
		return -1;
	if (x.shown->shows == SHOWS_HELP)
		print_help(p);
	else
		printf("%s " PL_VERSION " (plimsoll)\n", p->name);
	return EXIT_OK;
}
