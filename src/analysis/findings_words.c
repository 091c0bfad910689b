/* How findings are written; see findings_rules.h. */
#include <math.h>

#include "analysis/findings_rules.h"

void draft_release(struct draft *d)
{
	strbuf_release(&d->title);
	strbuf_release(&d->evidence);
	strbuf_release(&d->advice);
}

void finding_add(struct findings *to, enum finding_kind kind, enum finding_weight weight,
		 struct draft *d)
{
	/* evidence is a sentence */
	if (d->evidence.len && d->evidence.buf[0] >= 'a' && d->evidence.buf[0] <= 'z')
		d->evidence.buf[0] = (char)(d->evidence.buf[0] - 'a' + 'A');
	GROW(to->list, to->count, to->cap);
	to->list[to->count++] =
		(struct finding){kind, weight, strbuf_take(&d->title), strbuf_take(&d->evidence),
				 strbuf_take(&d->advice)};
}

void finding_number(struct strbuf *out, double v)
{
	bool small = v > -99.5 && v < 99.5;

	strbuf_addf(out, !small || v == (double)(int64_t)v ? "%.0f" : v >= 1 ? "%.1f" : "%.2f", v);
}

void finding_count(struct strbuf *out, double v)
{
	char digits[32];
	int n = snprintf(digits, sizeof(digits), "%.0f", v >= 0 && v < 1e18 ? v : 0.0);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			strbuf_addch(out, ',');
		strbuf_addch(out, digits[i]);
	}
}

void finding_processes(struct strbuf *out, double v)
{
	finding_count(out, v);
	strbuf_addstr(out, v < 2 ? " process" : " processes");
}

void finding_memory(struct strbuf *out, double bytes)
{
	if (!(bytes < 1e18))
		strbuf_addstr(out, "more memory (--mem)");
	else if (bytes > 4 * GIB)
		strbuf_addf(out, "--mem=%lldG", (long long)((bytes + GIB - 1) / GIB));
	else
		strbuf_addf(out, "--mem=%lldM",
			    (long long)((bytes + 64 * MIB - 1) / (64 * MIB)) * 64);
}

double finding_up(double v)
{
	/* what is larger has no fraction, and what is no number no whole part */
	if (!(v > -1e15 && v < 1e15))
		return v;
	double whole = (double)(int64_t)v;

	return whole < v ? whole + 1 : whole;
}

double finding_busy(const struct finding_figures *f)
{
	return f->duration > 0 ? f->cpu / f->duration : NAN;
}

bool finding_out_of_memory(const struct finding_figures *f)
{
	return f->oom_kills >= 1 ||
	       (f->killed >= 1 && f->memory_used >= LIMIT(MEMORY_NEAR) * f->memory_limit);
}
