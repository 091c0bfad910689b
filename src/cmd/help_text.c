/* Makes help texts and manual pages from the rows of the commands. */
#include <ctype.h>
#include <string.h>

#include "cmd/command.h"
#include "core/text/text.h"

static void add_option_name(struct strbuf *out, const struct option_row *o, bool man)
{
	const char *bold = man ? "\\fB" : "", *plain = man ? "\\fR" : "";
	const char *dash = man ? "\\-" : "-";

	if (o->letter)
		strbuf_addf(out, "%s%s%c%s, ", bold, dash, o->letter, plain);
	else if (!man)
		strbuf_addstr(out, "    ");
	strbuf_addf(out, "%s%s%s%s%s", bold, dash, dash, o->name, plain);
	if (o->arg && o->arg[0] == '[')
		strbuf_addf(out, "[=%.*s]", (int)strlen(o->arg) - 2, o->arg + 1);
	else if (o->arg)
		strbuf_addf(out, " %s", o->arg);
}

/* The help of the row, with the valid words or range. */
static void add_option_help(struct strbuf *out, const struct option_row *o)
{
	_cleanup_strbuf_ struct strbuf limits = STRBUF_INIT;

	option_add_limits(o, &limits);
	strbuf_addstr(out, o->help);
	if (limits.len)
		strbuf_addf(out, " (%s)", limits.buf);
}

/* Paragraphs are separated by blank lines. */
static void add_paragraphs(struct strbuf *out, const char *text,
			   void (*add)(struct strbuf *out, const char *paragraph))
{
	while (text && *text) {
		const char *end = strstr(text, "\n\n");
		_cleanup_free_ char *one =
			end ? xstrndup(text, (size_t)(end - text)) : xstrdup(text);

		add(out, one);
		strbuf_addch(out, '\n');
		text = end ? end + 2 : NULL;
	}
}

static void add_plain(struct strbuf *out, const char *paragraph)
{
	strbuf_addch(out, '\n');
	text_add_wrapped(out, paragraph, 0, 80);
}

/* " [JOB...]" */
static void add_operands(struct strbuf *out, const struct operands *o)
{
	if (o->usage)
		strbuf_addf(out, " %s", o->usage);
	else if (o->max)
		strbuf_addf(out, " %s%s%s%s", o->min ? "" : "[", o->name, o->max > 1 ? "..." : "",
			    o->min ? "" : "]");
}

void command_help_text(const struct command *c, struct strbuf *out)
{
	static const struct option_row help = {
		.letter = 'h', .name = "help", .help = "show this help"};

	strbuf_addf(out, "usage: plimsoll %s [options]", c->name);
	add_operands(out, &c->operands);
	strbuf_addf(out, "\n\n%c%s.\n", toupper((unsigned char)c->summary[0]), c->summary + 1);
	add_paragraphs(out, c->description, add_plain);
	add_paragraphs(out, c->operands.help, add_plain);
	strbuf_addstr(out, "\noptions:\n");
	for (const struct option_row *o = c->options; o; o = o->name ? o + 1 : NULL) {
		const struct option_row *row = o->name ? o : &help;
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT, text = STRBUF_INIT;

		add_option_name(&name, row, false);
		strbuf_addf(out, "  %-26s ", name.buf);
		if (name.len > 26)
			strbuf_addf(out, "\n%*s", 29, "");
		add_option_help(&text, row);
		text_add_wrapped(out, text.buf, 29, 80);
		strbuf_addch(out, '\n');
	}
	if (c->examples)
		strbuf_addf(out, "\nexamples:\n%s", c->examples);
}

/* ---- manual pages --------------------------------------------------------------------------- */

/* Escapes text for troff. */
static void add_troff(struct strbuf *out, const char *s)
{
	for (const char *p = s; *p; p++) {
		if (*p == '\\')
			strbuf_addstr(out, "\\e");
		else if (*p == '-')
			strbuf_addstr(out, "\\-");
		else if ((*p == '.' || *p == '\'') && (p == s || p[-1] == '\n'))
			strbuf_addf(out, "\\&%c", *p);
		else
			strbuf_addch(out, *p);
	}
}

static void add_troff_paragraph(struct strbuf *out, const char *paragraph)
{
	strbuf_addstr(out, ".PP\n");
	add_troff(out, paragraph);
}

static void add_terms(struct strbuf *out, bool (*term)(size_t i, struct help_term *ret))
{
	const char *section = "";
	struct help_term t;

	for (size_t i = 0; term && term(i, &t); i++) {
		if (strcmp(section, t.section) != 0)
			strbuf_addf(out, ".SH %s\n", t.section);
		section = t.section;
		strbuf_addstr(out, ".TP\n\\fB");
		add_troff(out, t.name);
		strbuf_addstr(out, "\\fR\n");
		add_troff(out, t.help);
		strbuf_addch(out, '\n');
	}
}

void command_man_text(const struct command *c, struct strbuf *out)
{
	strbuf_addf(out, ".TH PLIMSOLL\\-");
	for (const char *p = c->name; *p; p++)
		strbuf_addch(out, (char)toupper((unsigned char)*p));
	strbuf_addf(out, " 1 \"\" \"plimsoll %s\" \"Plimsoll manual\"\n", PL_VERSION);
	strbuf_addf(out, ".SH NAME\nplimsoll\\-%s \\- ", c->name);
	add_troff(out, c->summary);
	_cleanup_strbuf_ struct strbuf operands = STRBUF_INIT;
	add_operands(&operands, &c->operands);
	strbuf_addf(out, "\n.SH SYNOPSIS\n\\fBplimsoll %s\\fR [\\fIoptions\\fR]", c->name);
	add_troff(out, operands.buf);
	strbuf_addstr(out, "\n.SH DESCRIPTION\n");
	add_paragraphs(out, c->description, add_troff_paragraph);
	add_paragraphs(out, c->operands.help, add_troff_paragraph);
	strbuf_addstr(out, ".SH OPTIONS\n");
	for (const struct option_row *o = c->options; o && o->name; o++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		strbuf_addstr(out, ".TP\n");
		add_option_name(out, o, true);
		strbuf_addch(out, '\n');
		add_option_help(&text, o);
		add_troff(out, text.buf);
		strbuf_addch(out, '\n');
	}
	strbuf_addstr(out, ".TP\n\\fB\\-h\\fR, \\fB\\-\\-help\\fR\nshow a summary of this page\n");
	add_terms(out, c->term);
	if (c->examples) {
		strbuf_addstr(out, ".SH EXAMPLES\n.nf\n");
		add_troff(out, c->examples);
		strbuf_addstr(out, ".fi\n");
	}
	strbuf_addstr(out, ".SH SEE ALSO\n\\fBplimsoll\\fR(1), \\fBplimsoll\\-metrics\\fR(7)\n");
}

void program_help(struct strbuf *out)
{
	strbuf_addstr(
		out, "usage: plimsoll COMMAND [options] [arguments]\n\n"
		     "Records every process and thread of a job, exactly and at almost no cost.\n\n"
		     "commands:\n");
	for (const struct command *const *c = commands; *c; c++)
		strbuf_addf(out, "  %-12s %s\n", (*c)->name, (*c)->summary);
	strbuf_addstr(out,
		      "\nto start:  plimsoll run -- COMMAND      help on a command:  plimsoll help "
		      "COMMAND\n");
}
