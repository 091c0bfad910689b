/* In which units people read values; see plot_unit.h. */
#include "plot/plot_unit.h"

#include <math.h>
#include <string.h>

static const struct plot_prefix binary[] = {
	{"B", 1},
	{"KiB", 1024.0},
	{"MiB", 1048576.0},
	{"GiB", 1073741824.0},
	{"TiB", 1099511627776.0},
	{"PiB", 1125899906842624.0},
	{"EiB", 1152921504606846976.0},
	{NULL, 0},
};
static const struct plot_prefix decimal[] = {
	{"n", 1e-9}, {"u", 1e-6}, {"m", 1e-3}, {"", 1},     {"k", 1e3},
	{"M", 1e6},  {"G", 1e9},  {"T", 1e12}, {"P", 1e15}, {NULL, 0},
};
static const struct plot_prefix thousands[] = {
	{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {NULL, 0},
};
static const struct plot_prefix times[] = {
	{"ns", 1e-9}, {"us", 1e-6},  {"ms", 1e-3},   {"s", 1},
	{"min", 60},  {"h", 3600.0}, {"d", 86400.0}, {NULL, 0},
};
static const struct plot_prefix seconds[] = {
	{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"ks", 1e3}, {"Ms", 1e6}, {NULL, 0},
};
static const struct plot_prefix plain[] = {{"", 1}, {NULL, 0}};

/* How values of a unit are written. */
struct writing {
	const char *unit; /* as metric_unit_name() says */
	double factor;    /* to the base unit */
	const struct plot_prefix *prefixes;
	const char *base; /* behind the prefix */
	bool floating;    /* 0 says nothing: the axis begins where the values do */
};
static const struct writing writings[] = {
	{"bytes", 1, binary, "", false},
	{"KiB", 1024, binary, "", false},
	{"512 bytes", 512, binary, "", false},
	{"us", 1e-6, times, "", false},
	{"ns", 1e-9, times, "", false},
	{"s", 1, times, "", false},
	{"count", 1, thousands, "", false},
	{"1", 1, thousands, "", false},
	{"cycles", 1, thousands, "cycles", false},
	{"%", 1, plain, "%", false},
	{"ratio", 1, plain, "", false},
	{"degC", 1, plain, "\302\260C", true},
	{"Wh", 1, decimal, "Wh", false},
	{"W", 1, decimal, "W", false},
	{"J", 1, decimal, "J", false},
	{"Hz", 1, decimal, "Hz", true},
	{"V", 1, decimal, "V", true},
	{"A", 1, decimal, "A", false},
	{"rpm", 1, plain, "rpm", true},
};

void plot_unit_find(struct plot_unit *u, const char *name)
{
	name = name ? name : "";
	size_t n = strlen(name);
	bool rate = n >= 2 && !strcmp(name + n - 2, "/s");
	size_t own = rate ? n - 2 : n;

	*u = (struct plot_unit){.factor = 1, .prefixes = thousands};
	for (size_t i = 0; i < ARRAY_SIZE(writings); i++) {
		const struct writing *w = &writings[i];

		if (strlen(w->unit) != own || memcmp(w->unit, name, own) != 0)
			continue;
		u->factor = w->factor;
		/* a second a second is no time of day */
		u->prefixes = rate && w->prefixes == times ? seconds : w->prefixes;
		u->floating = w->floating && !rate;
		u->clock = u->prefixes == times;
		u->binary = u->prefixes == binary;
		snprintf(u->base, sizeof(u->base), "%s%s", w->base, rate ? "/s" : "");
		return;
	}
	snprintf(u->base, sizeof(u->base), "%.*s%s", own < 20 ? (int)own : 20, name,
		 rate ? "/s" : "");
}

const struct plot_prefix *plot_unit_prefix(const struct plot_unit *u, double base_value)
{
	const struct plot_prefix *p = u->prefixes;
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

void plot_unit_add(char *to, size_t size, const struct plot_unit *u, const struct plot_prefix *p)
{
	bool word = u->prefixes == thousands && u->base[0] && u->base[0] != '/';
	size_t n = strlen(to);

	if (*p->name || *u->base)
		snprintf(to + n, size - n, " %s%s%s", p->name, word && *p->name ? " " : "",
			 u->base);
}

void plot_add_value(struct strbuf *out, double value, const char *unit)
{
	char text[64];
	struct plot_unit u;

	if (!isfinite(value)) {
		strbuf_addstr(out, "-");
		return;
	}
	plot_unit_find(&u, unit);
	value *= u.factor;
	const struct plot_prefix *p = plot_unit_prefix(&u, value);
	double v = value / p->factor;
	/* 999.7 of one is 1 of the next */
	if (p[1].name && !u.clock && fabs(v) * p->factor >= p[1].factor * 0.9995) {
		p++;
		v = value / p->factor;
	}
	if (fabs(v) >= 999.5 || v == 0)
		snprintf(text, sizeof(text), fabs(v) < 1e15 ? "%.0f" : "%.3g", v);
	else
		snprintf(text, sizeof(text), "%.3g", v);
	plot_unit_add(text, sizeof(text), &u, p);
	strbuf_addstr(out, text);
}
