/* Numbers and units; see units.h. */
#include "core/text/units.h"

#include "core/text/text.h"

#include <math.h>
#include <string.h>

void text_add_count(struct strbuf *out, int64_t v)
{
	_cleanup_strbuf_ struct strbuf plain = STRBUF_INIT;

	text_add_i64(&plain, v);
	for (size_t i = 0; i < plain.len; i++) {
		if (i > (v < 0) && (plain.len - i) % 3 == 0)
			strbuf_addch(out, ',');
		strbuf_addch(out, plain.buf[i]);
	}
}

/* ---- units ---------------------------------------------------------------------------------- */

static const struct unit_prefix binary[] = {
	{"B", 1},
	{"KiB", 1024.0},
	{"MiB", 1048576.0},
	{"GiB", 1073741824.0},
	{"TiB", 1099511627776.0},
	{"PiB", 1125899906842624.0},
	{"EiB", 1152921504606846976.0},
	{NULL, 0},
};
static const struct unit_prefix decimal[] = {
	{"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3}, {"", 1},     {"k", 1e3},
	{"M", 1e6},  {"G", 1e9},  {"T", 1e12}, {"P", 1e15}, {NULL, 0},
};
static const struct unit_prefix thousands[] = {
	{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {NULL, 0},
};
static const struct unit_prefix times[] = {
	{"ns", 1e-9}, {"us", 1e-6},  {"ms", 1e-3},   {"s", 1},
	{"min", 60},  {"h", 3600.0}, {"d", 86400.0}, {NULL, 0},
};
static const struct unit_prefix seconds[] = {
	{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"ks", 1e3}, {"Ms", 1e6}, {NULL, 0},
};
static const struct unit_prefix plain[] = {{"", 1}, {NULL, 0}};

struct known_unit {
	const char *name; /* as metric_unit_name() returns it */
	double factor;    /* to the base unit */
	const struct unit_prefix *prefixes;
	const char *base; /* behind the prefix */
	bool floating;    /* 0 means nothing: the axis begins near the values */
};
static const struct known_unit known_units[] = {
	{"bytes", 1, binary, "", false},
	{"KiB", 1024, binary, "", false},
	{"512 bytes", 512, binary, "", false},
	{"us", 1e-6, times, "", false},
	{"ns", 1e-9, times, "", false},
	{"s", 1, times, "", false},
	{"count", 1, thousands, "", false},
	{"1", 1, thousands, "", false},
	{"cycles", 1, thousands, "cycles", false},
	{"CPUs", 1, plain, "CPUs", false},
	{"%", 1, plain, "%", false},
	{"ratio", 1, plain, "", false},
	{"degC", 1, plain, "\302\260C", true},
	{"J/s", 1, decimal, "W", false},
	{"Wh", 1, decimal, "Wh", false},
	{"W", 1, decimal, "W", false},
	{"J", 1, decimal, "J", false},
	{"g", 1, decimal, "g", false},
	{"Hz", 1, decimal, "Hz", true},
	{"V", 1, decimal, "V", true},
	{"A", 1, decimal, "A", false},
	{"rpm", 1, plain, "rpm", true},
};

static const struct known_unit *find_known(const char *name, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(known_units); i++)
		if (strlen(known_units[i].name) == n && !memcmp(known_units[i].name, name, n))
			return &known_units[i];
	return NULL;
}

void unit_find(struct unit_scale *u, const char *name)
{
	name = name ? name : "";
	size_t n = strlen(name);
	const struct known_unit *k = find_known(name, n);
	bool rate = !k && n >= 2 && !strcmp(name + n - 2, "/s");

	n -= rate ? 2 : 0;
	k = rate ? find_known(name, n) : k;
	*u = (struct unit_scale){.factor = 1, .prefixes = thousands};
	if (k) {
		u->factor = k->factor;
		/* seconds per second are not shown as minutes */
		u->prefixes = rate && k->prefixes == times ? seconds : k->prefixes;
		u->floating = k->floating && !rate;
		u->clock = u->prefixes == times;
		u->binary = u->prefixes == binary;
	}
	snprintf(u->base, sizeof(u->base), "%.*s%s", k || n > 20 ? 20 : (int)n, k ? k->base : name,
		 rate ? "/s" : "");
}

const struct unit_prefix *unit_prefix_for(const struct unit_scale *u, double base_value)
{
	const struct unit_prefix *p = u->prefixes;
	double v = fabs(base_value) * (1 + 1e-9);

	if (v == 0)
		while (p->factor < 1)
			p++;
	else
		while (p[1].name && v >= p[1].factor)
			p++;
	/* people say 90 s and 90 min */
	if (u->clock && p->factor >= 60 && v < 2 * p->factor)
		p--;
	return p;
}

void unit_add_symbol(char *to, size_t size, const struct unit_scale *u, const struct unit_prefix *p)
{
	bool word = u->prefixes == thousands && u->base[0] && u->base[0] != '/';
	size_t n = strlen(to);

	if (*p->name || *u->base)
		snprintf(to + n, size - n, " %s%s%s", p->name, word && *p->name ? " " : "",
			 u->base);
}

void unit_add_value(struct strbuf *out, double value, const char *unit)
{
	unit_add_digits(out, value, unit, 3);
}

void unit_add_digits(struct strbuf *out, double value, const char *unit, int digits)
{
	char text[64];
	struct unit_scale u;

	if (!isfinite(value)) {
		strbuf_addstr(out, "-");
		return;
	}
	unit_find(&u, unit);
	value *= u.factor;
	const struct unit_prefix *p = unit_prefix_for(&u, value);
	double v = value / p->factor;
	/* 999.7 k is 1 M */
	if (p[1].name && !u.clock && fabs(v) * p->factor >= p[1].factor * 0.9995) {
		p++;
		v = value / p->factor;
	}
	if (fabs(v) >= 999.5 || v == 0)
		snprintf(text, sizeof(text), fabs(v) < 1e15 ? "%.0f" : "%.3g", v);
	else
		snprintf(text, sizeof(text), "%.*g", digits, v);
	unit_add_symbol(text, sizeof(text), &u, p);
	strbuf_addstr(out, text);
}
