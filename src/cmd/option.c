/* See option.h. */
#include "cmd/option.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "store/query.h"

/* ---- what a row allows ---------------------------------------------------------------------- */

const char *option_word(const struct option_row *o, size_t i)
{
	return o->words ? o->words[i].word : o->word_at ? o->word_at(i) : NULL;
}

static void add_words(const struct option_row *o, struct strbuf *out)
{
	const char *word;

	for (size_t i = 0; (word = option_word(o, i)); i++)
		strbuf_addf(out, "%s%s", !i ? "" : option_word(o, i + 1) ? ", " : " or ", word);
}

/* As a user would write it: "50ms", "1h". */
static void add_duration(struct strbuf *out, uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"d", 86400 * SECONDS},
		     {"h", 3600 * SECONDS},
		     {"m", 60 * SECONDS},
		     {"s", SECONDS},
		     {"ms", MS},
		     {"us", 1000}};

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (ns % units[i].ns == 0) {
			strbuf_addf(out, "%llu%s", (unsigned long long)(ns / units[i].ns),
				    units[i].name);
			return;
		}
	strbuf_addf(out, "%lluns", (unsigned long long)ns);
}

static void add_bound(const struct option_row *o, struct strbuf *out, uint64_t v)
{
	if (o->type == OPT_DURATION)
		add_duration(out, v);
	else
		strbuf_addf(out, "%llu", (unsigned long long)v);
}

/* A limit that only the type sets is not worth mentioning. */
static bool has_max(const struct option_row *o)
{
	return o->max && o->max < INT32_MAX * (o->type == OPT_DURATION ? SECONDS : 1);
}

static void add_range(const struct option_row *o, struct strbuf *out)
{
	if (has_max(o)) {
		strbuf_addstr(out, "from ");
		add_bound(o, out, o->min);
		strbuf_addstr(out, " to ");
		add_bound(o, out, o->max);
	} else if (o->min > 1) {
		add_bound(o, out, o->min);
		strbuf_addstr(out, " or more");
	} else if (o->min) {
		strbuf_addstr(out, "greater than 0");
	}
}

void option_add_limits(const struct option_row *o, struct strbuf *out)
{
	if (option_word(o, 0))
		add_words(o, out);
	else if (!o->takes && (o->type == OPT_DURATION || o->type == OPT_COUNT))
		add_range(o, out);
}

void option_add_takes(const struct option_row *o, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf limits = STRBUF_INIT;

	option_add_limits(o, &limits);
	const char *of = o->min > 1 && !has_max(o) ? " of " : " ";
	if (o->takes || option_word(o, 0))
		strbuf_addstr(out, o->takes ? o->takes : limits.buf);
	else if (o->type == OPT_DURATION)
		strbuf_addf(out, "a duration%s%s%ssuch as 500ms, 10s or 2h", of, limits.buf,
			    limits.len ? ", " : "");
	else if (o->type == OPT_COUNT)
		strbuf_addf(out, "a whole number%s%s", limits.len ? of : "", limits.buf);
	else if (o->type == OPT_SIZE)
		strbuf_addstr(out, "a size such as 500M or 2G");
	else if (o->type == OPT_TIME)
		strbuf_addstr(out, "a time such as '2026-11-15 04:05', -2h, now or seconds "
				   "since 1970");
}

/* ---- values --------------------------------------------------------------------------------- */

static void *member(const struct context *ctx, size_t offset)
{
	return (char *)ctx->options + offset;
}

static void put_text(const struct context *ctx, const struct option_row *o, const char *text)
{
	memcpy(member(ctx, o->place), &text, sizeof(text));
}

/* Stores a bool, an int or enum, or 64 bits. */
static void put_number(const struct context *ctx, const struct option_row *o, uint64_t v)
{
	const bool truth = v;
	const int whole = (int)v;
	const void *from = o->size == sizeof(truth)   ? (const void *)&truth
			   : o->size == sizeof(whole) ? (const void *)&whole
						      : (const void *)&v;

	memcpy(member(ctx, o->place), from, o->size);
}

static bool put_setting(struct context *ctx, const struct option_row *o, const char *value)
{
	_cleanup_free_ char *origin = xasprintf("flag --%s", o->name);

	(o->put ? o->put : config_set)(&ctx->config, o->setting, value ? value : o->text, origin);
	return true;
}

static bool put_measure(const struct context *ctx, const struct option_row *o, const char *value)
{
	uint64_t v;
	int r = o->type == OPT_DURATION ? parse_duration_ns(value, &v)
		: o->type == OPT_SIZE   ? parse_size(value, &v)
					: parse_u64(value, &v);

	if (r < 0 || v < o->min || (o->max && v > o->max))
		return false;
	put_number(ctx, o, o->unit_ns ? v / o->unit_ns : v);
	return true;
}

static bool put_time(const struct context *ctx, const struct option_row *o, const char *value)
{
	int64_t us;

	if (parse_time_us(value, clock_realtime_us(), &us) < 0)
		return false;
	put_number(ctx, o, (uint64_t)us);
	return true;
}

static bool put_choice(struct context *ctx, const struct option_row *o, const char *value)
{
	const char *word;
	size_t i = 0;

	while ((word = option_word(o, i)) && strcmp(word, value) != 0)
		i++;
	if (!word)
		return false;
	if (!o->size)
		return put_setting(ctx, o, word);
	if (o->size == sizeof(word))
		put_text(ctx, o, word);
	else
		put_number(ctx, o, (uint64_t)o->words[i].number);
	return true;
}

static bool put_item(const struct context *ctx, const struct option_row *o, const char *value,
		     struct strbuf *why)
{
	const char **list = member(ctx, o->place);
	size_t *count = member(ctx, o->beside - 1);

	if (*count == o->size / sizeof(*list)) {
		strbuf_addf(why, "at most %zu values are allowed; '%s' is one too many", *count,
			    value);
		return false;
	}
	list[(*count)++] = value;
	return true;
}

static bool has_empty_word(const char *list, char separator)
{
	const char *end = strchrnul(list, separator);

	while (end != list && *end) {
		list = end + 1;
		end = strchrnul(list, separator);
	}
	return end == list;
}

/* Cuts the words apart in place: the command line is ours. */
static bool put_list(const struct context *ctx, const struct option_row *o, char *value,
		     struct strbuf *why)
{
	if (o->separator && has_empty_word(value, o->separator))
		return false;
	for (char *next; value; value = next) {
		next = o->separator ? strchr(value, o->separator) : NULL;
		if (next)
			*next++ = 0;
		if (!put_item(ctx, o, value, why))
			return false;
	}
	return true;
}

static bool put(struct context *ctx, const struct option_row *o, const char *value,
		struct strbuf *why)
{
	switch (o->type) {
	case OPT_FLAG:
		put_number(ctx, o, true);
		return true;
	case OPT_FIXED:
		if (o->text)
			put_text(ctx, o, o->text);
		else
			put_number(ctx, o, (uint64_t)o->number);
		return true;
	case OPT_TEXT:
		put_text(ctx, o, value ? value : o->text);
		return true;
	case OPT_SETTING:
		return put_setting(ctx, o, value);
	case OPT_DURATION:
	case OPT_SIZE:
	case OPT_COUNT:
		return !value || put_measure(ctx, o, value);
	case OPT_TIME:
		return put_time(ctx, o, value);
	case OPT_CHOICE:
		return put_choice(ctx, o, value);
	case OPT_LIST:
		return put_list(ctx, o, (char *)value, why);
	case OPT_CALL:
		return o->call(ctx, value, why);
	}
	return false;
}

bool option_take(const struct option_row *o, const char *command, const char *what,
		 struct context *ctx, const char *value)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (put(ctx, o, value, &why)) {
		if (o->beside && o->type != OPT_LIST)
			*(bool *)member(ctx, o->beside - 1) = true;
		return true;
	}
	if (why.len) {
		usage_error(command, "%s: %s: %s", command, what, why.buf);
		return false;
	}
	option_add_takes(o, &why);
	usage_error(command, "%s: %s takes %s, not '%s'", command, what, why.buf, value);
	return false;
}

/* ---- settings ------------------------------------------------------------------------------- */

bool option_is_yes(const char *value)
{
	return !strcmp(value, "yes") || !strcmp(value, "true") || !strcmp(value, "1");
}

bool options_use_settings(const struct option_row *rows, const char *command, struct context *ctx)
{
	for (const struct option_row *o = rows; o->name; o++) {
		const char *value = o->setting ? config_get(&ctx->config, o->setting) : "";

		if (!o->size || !*value || ctx->given >> (o - rows) & 1 ||
		    (o->type == OPT_FLAG && !option_is_yes(value)))
			continue;
		if (!option_take(o, command, settings[o->setting].name, ctx, value))
			return false;
	}
	return true;
}

/* ---- rows of all commands ------------------------------------------------------------------- */

static bool use_verbosity(const struct context *ctx)
{
	log_init(ctx->program, ctx->verbosity < 0    ? LOG_ERROR
			       : ctx->verbosity == 0 ? LOG_WARN
			       : ctx->verbosity == 1 ? LOG_INFO
						     : LOG_DEBUG);
	return true;
}

bool option_verbose(struct context *ctx, const char *value PL_UNUSED, struct strbuf *why PL_UNUSED)
{
	ctx->verbosity++;
	return use_verbosity(ctx);
}

bool option_quiet(struct context *ctx, const char *value PL_UNUSED, struct strbuf *why PL_UNUSED)
{
	ctx->verbosity = -1;
	return use_verbosity(ctx);
}
