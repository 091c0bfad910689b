/* Values with units; see unit_scale.h. */
#include "plot/unit_scale.h"

#include <math.h>
#include <string.h>

#include "plot/unit_format.h"

enum form {
	PLAIN,   /* no prefix */
	DECIMAL, /* k, M, G of 1,000 */
	BINARY,  /* Ki, Mi, Gi of 1,024 */
	SPAN,    /* ns, us, ms, s, then min and h */
};

static const struct known {
	const char *unit;
	double factor;
	const char *symbol;
	enum form form;
	bool floating; /* does not begin at 0 */
} known[] = {
	{"", 1, "", DECIMAL, false},          {"%", 1, "%", PLAIN, false},
	{"1/s", 1, "/s", DECIMAL, false},     {"512 bytes", 512, "B", BINARY, false},
	{"A", 1, "A", DECIMAL, false},        {"CPUs", 1, "CPUs", PLAIN, false},
	{"Hz", 1, "Hz", DECIMAL, true},       {"J", 1, "J", DECIMAL, false},
	{"J/s", 1, "W", DECIMAL, false},      {"KiB", 1024, "B", BINARY, false},
	{"V", 1, "V", PLAIN, true},           {"W", 1, "W", DECIMAL, false},
	{"bytes", 1, "B", BINARY, false},     {"count", 1, "", DECIMAL, false},
	{"count/s", 1, "/s", DECIMAL, false}, {"cycles", 1, "cycles", DECIMAL, false},
	{"degC", 1, "\u00b0C", PLAIN, true},  {"ns", 1e-9, "s", SPAN, false},
	{"ns/s", 1e-9, "s/s", PLAIN, false},  {"ratio", 1, "", PLAIN, false},
	{"rpm", 1, "rpm", PLAIN, true},       {"us", 1e-6, "s", SPAN, false},
	{"us/s", 1e-6, "s/s", PLAIN, false},
};

static bool find(const char *unit, size_t n, struct known *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strlen(known[i].unit) == n && !memcmp(known[i].unit, unit, n)) {
			*ret = known[i];
			return true;
		}
	return false;
}

static const char *prefix(enum form form, double size, double *factor)
{
	static const char *const decimal[] = {"", "k", "M", "G", "T", "P", "E"};
	static const char *const binary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
	double base = form == BINARY ? 1024 : 1000;
	size_t i = 0;

	while (form != PLAIN && size >= base * 0.9995 && i + 1 < ARRAY_SIZE(decimal)) {
		size /= base;
		*factor /= base;
		i++;
	}
	return form == BINARY ? binary[i] : decimal[i];
}

/* Spans of time have names instead of prefixes above a second. */
static const char *span(double size, double *factor)
{
	static const struct {
		double from, factor;
		const char *name;
	} names[] = {{7200, 1.0 / 3600, "h"},
		     {120, 1.0 / 60, "min"},
		     {0.9995, 1, "s"},
		     {0.0009995, 1e3, "ms"},
		     {0, 1e6, "us"}};
	size_t i = 0;

	while (size < names[i].from)
		i++;
	*factor *= names[i].factor;
	return names[i].name;
}

struct scale scale_of(const char *unit, double largest)
{
	size_t n = strlen(unit);
	bool rate = false;
	struct known k = {.factor = 1, .form = DECIMAL};
	_cleanup_free_ char *name = NULL;

	if (!find(unit, n, &k)) {
		rate = n > 2 && !memcmp(unit + n - 2, "/s", 2);
		if (!rate || !find(unit, n - 2, &k)) {
			rate = false;
			name = xstrndup(unit, 20);
			k.symbol = name;
		}
	}
	struct scale s = {.factor = k.factor, .from_zero = !k.floating};
	double size = (largest < 0 ? -largest : largest) * k.factor;
	if (!isfinite(size))
		size = 0;
	const char *front =
		k.form == SPAN && !rate ? span(size, &s.factor) : prefix(k.form, size, &s.factor);
	(void)snprintf(s.symbol, sizeof(s.symbol), "%s%s%s", front,
		       k.form == SPAN && !rate ? "" : k.symbol, rate ? "/s" : "");
	return s;
}

void scale_add(struct strbuf *out, const struct scale *s, double v)
{
	double shown = v * s->factor, size = shown < 0 ? -shown : shown;

	if (size >= 999.5 && size < 1e15)
		add_count(out, round_i64(shown), true);
	else if (size >= 99.95)
		strbuf_addf(out, "%.0f", shown);
	else
		strbuf_addf(out, "%.3g", size < 1e-12 ? 0.0 : shown);
}

void scale_add_value(struct strbuf *out, const char *unit, double v)
{
	if (!isfinite(v)) {
		strbuf_addstr(out, "unknown");
		return;
	}
	struct scale s = scale_of(unit, v);
	scale_add(out, &s, v);
	if (*s.symbol)
		strbuf_addf(out, "%s%s", *s.symbol == '%' || *s.symbol == '/' ? "" : " ", s.symbol);
}

double scale_step(double span, int steps)
{
	double step = 1;

	if (!(span > 0) || !isfinite(span))
		return 1;
	while (step * steps < span)
		step *= 10;
	while (step * steps >= span * 10)
		step /= 10;
	if (step * steps >= span * 5)
		return step / 5;
	return step * steps >= span * 2 ? step / 2 : step;
}
