/* The units of sacct; see sacct.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/text/secrets.h"
#include "core/text/text.h"
#include "store/import/sacct.h"
#include "store/query.h"

/* Numbers from here on are Slurm's marks for "not set" (NO_VAL64, INFINITE64). */
#define UNSET 18446744073709551000.0
#define NUMBER_MAX 9e15 /* exact in a double, and far above any machine */

static bool is_unknown(const char *text)
{
	static const char *const words[] = {
		"",        "Unknown",         "None",         "N/A", "(null)", "NaN", "INVALID",
		"Not set", "Partition_Limit", "None assigned"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcasecmp(text, words[i]))
			return true;
	return false;
}

static struct value *printable(const char *text)
{
	_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT;

	text_add_printable(&clean, text, strlen(text));
	secrets_mask_text(&clean);
	return value_strn(clean.buf, clean.len);
}

static struct value *command_line(const char *text)
{
	_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT;

	text_add_printable(&clean, text, strlen(text));
	secrets_mask_arguments(&clean, ' ', NULL);
	return value_strn(clean.buf, clean.len);
}

/* Whole numbers stay whole. */
/* To multiples of 1 / parts; values so large that they have none stay as they are. */
static double rounded(double v, double parts)
{
	return v * parts < 9e18 ? (double)(int64_t)(v * parts + 0.5) / parts : v;
}

static struct value *number(double v)
{
	if (v == floor(v))
		return value_int((int64_t)v);
	struct value *real = value_new(VALUE_REAL);
	real->real = v;
	return real;
}

/* Digits, maybe with a fraction; *p moves on behind them. No sign, no exponent. */
static bool take_number(const char **p, double *ret)
{
	const char *s = *p;
	double v = 0, unit = 1;

	if (*s < '0' || *s > '9')
		return false;
	for (; *s >= '0' && *s <= '9'; s++)
		v = v * 10 + (*s - '0');
	if (*s == '.')
		for (s++; *s >= '0' && *s <= '9'; s++)
			v += (*s - '0') * (unit /= 10);
	*p = s;
	*ret = v;
	return true;
}

/* A prefix K, M, G, T, P or E; 1 without. */
static double take_prefix(const char **p, double base)
{
	static const char prefixes[] = "KMGTPE";
	const char *at = **p ? strchr(prefixes, **p) : NULL;
	double factor = 1;

	if (!at)
		return 1;
	++*p;
	for (const char *q = prefixes; q <= at; q++)
		factor *= base;
	return factor;
}

static int take_scaled(struct value *to, const char *key, const char *text, double base,
		       const char *what, const char **ret_rest, struct strbuf *why)
{
	const char *p = text;
	double v;

	if (!take_number(&p, &v))
		return strbuf_fail(why, -EINVAL, "'%s' is not %s", text, what);
	if (v >= UNSET)
		return 0;
	v *= take_prefix(&p, base);
	if (v > NUMBER_MAX || (!ret_rest && *p))
		return strbuf_fail(why, -EINVAL, "'%s' is not %s", text, what);
	if (ret_rest)
		*ret_rest = p;
	value_set(to, key, number(rounded(v, 1000)));
	return 0;
}

static int take_size(struct value *to, const char *key, const char *text, struct strbuf *why)
{
	_cleanup_free_ char *per = xasprintf("%s_per", key);
	const char *rest = "";
	int r = take_scaled(to, key, text, 1024, "a size", &rest, why);

	if (r < 0)
		return r;
	rest += *rest == 'B';
	if (!strcmp(rest, "n") || !strcmp(rest, "c"))
		value_set(to, per, value_str(*rest == 'n' ? "node" : "cpu"));
	else if (*rest && strcmp(rest, "?") != 0)
		return strbuf_fail(why, -EINVAL, "'%s' is not a size", text);
	return 0;
}

/* [D-]HH:MM:SS[.f] or MM:SS[.f] */
static int take_duration(struct value *to, const char *key, const char *text, struct strbuf *why)
{
	const char *p = text;
	double part[4], days = 0, seconds = 0;
	size_t n = 0;

	if (!strcasecmp(text, "UNLIMITED")) {
		value_set(to, key, value_str("unlimited"));
		return 0;
	}
	while (n < 4 && take_number(&p, &part[n])) {
		n++;
		if (*p == '-' && n == 1 && !days) {
			days = part[--n];
			p++;
		} else if (*p == ':') {
			p++;
		} else {
			break;
		}
	}
	if (*p || n < 2 || n > 3 || (p > text && p[-1] == ':'))
		return strbuf_fail(why, -EINVAL, "'%s' is not a time [DAYS-]HH:MM:SS", text);
	for (size_t i = 0; i < n; i++)
		seconds = seconds * 60 + part[i];
	seconds += days * 86400;
	if (seconds > NUMBER_MAX)
		return strbuf_fail(why, -EINVAL, "'%s' is too long a time", text);
	value_set(to, key, number(rounded(seconds, 1e6)));
	return 0;
}

static int take_time(struct value *to, const char *key, const char *text, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf iso = STRBUF_INIT;
	int64_t us;

	/* words such as "now" have no meaning here */
	if (*text < '0' || *text > '9' || parse_time_us(text, 0, &us) < 0 || !text_time_valid(us))
		return strbuf_fail(why, -EINVAL, "'%s' is not a time YYYY-MM-DDTHH:MM:SS", text);
	text_add_time(&iso, us, false);
	value_set(to, key, value_str(iso.buf));
	return 0;
}

static int take_exit(struct value *to, const char *key, const char *text, struct strbuf *why)
{
	/* exit_code and exit_signal */
	_cleanup_free_ char *by = xasprintf("%.*ssignal", (int)(strlen(key) - strlen("code")), key);
	const char *colon = strchr(text, ':');
	_cleanup_free_ char *first = xstrndup(text, colon ? (size_t)(colon - text) : 0);
	uint64_t code, sign;

	if (!colon || parse_u64(first, &code) < 0 || parse_u64(colon + 1, &sign) < 0 ||
	    code > INT32_MAX || sign > INT32_MAX)
		return strbuf_fail(why, -EINVAL, "'%s' is not an exit code CODE:SIGNAL", text);
	value_set(to, key, value_int((int64_t)code));
	value_set(to, by, value_int((int64_t)sign));
	return 0;
}

static int take_state(struct value *to, const char *key, const char *text)
{
	static const char by[] = " by ";
	const char *who = strstr(text, by);
	_cleanup_free_ char *word = xstrndup(text, strcspn(text, " "));

	if (who)
		value_set(to, "cancelled_by", printable(who + strlen(by)));
	value_set(to, key, printable(word));
	return 0;
}

/* The number of GPUs is asked for most; the rest stays as it is. */
static void take_tres(struct value *to, const char *key, const char *text)
{
	static const char gpu[] = "gres/gpu=";
	_cleanup_free_ char *gpus = xasprintf("%.*s_gpus", (int)strcspn(key, "_"), key);
	const char *at = strstr(text, gpu);
	double n;

	value_set(to, key, printable(text));
	if (!at || (at > text && at[-1] != ','))
		return;
	at += strlen(gpu);
	if (take_number(&at, &n) && n < NUMBER_MAX && (!*at || *at == ','))
		value_set(to, gpus, number(n));
}

int sacct_take_value(struct value *to, const char *key, enum sacct_type type, const char *text,
		     struct strbuf *why)
{
	uint64_t n;

	if (is_unknown(text))
		return 0;
	switch (type) {
	case SACCT_TEXT:
		value_set(to, key, printable(text));
		return 0;
	case SACCT_COMMAND:
		value_set(to, key, command_line(text));
		return 0;
	case SACCT_STATE:
		return take_state(to, key, text);
	case SACCT_EXIT:
		return take_exit(to, key, text, why);
	case SACCT_TIME:
		return take_time(to, key, text, why);
	case SACCT_DURATION:
		return take_duration(to, key, text, why);
	case SACCT_MINUTES:
	case SACCT_SECONDS:
		if (!strcasecmp(text, "UNLIMITED")) {
			value_set(to, key, value_str("unlimited"));
			return 0;
		}
		if (parse_u64(text, &n) < 0 || (double)n > NUMBER_MAX / 60)
			return strbuf_fail(why, -EINVAL, "'%s' is not a number of %s", text,
					   type == SACCT_MINUTES ? "minutes" : "seconds");
		value_set(to, key, value_int((int64_t)n * (type == SACCT_MINUTES ? 60 : 1)));
		return 0;
	case SACCT_SIZE:
		return take_size(to, key, text, why);
	case SACCT_COUNT:
		return take_scaled(to, key, text, 1000, "a number", NULL, why);
	case SACCT_ENERGY:
		return take_scaled(to, key, text, 1000, "an energy in joules", NULL, why);
	case SACCT_TRES:
		take_tres(to, key, text);
		return 0;
	}
	return 0;
}
