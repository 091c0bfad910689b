/* plimsoll completion: makes completion rules for shells from the rows of the commands. */
#include <string.h>

#include "cmd/command.h"
#include "core/text/text.h"

static void add_names(struct strbuf *out)
{
	for (const struct command *const *c = commands; *c; c++)
		strbuf_addf(out, "%s%s", c == commands ? "" : " ", (*c)->name);
}

static void add_options(struct strbuf *out, const struct command *c)
{
	for (const struct option_row *o = c->options; o && o->name; o++) {
		if (o->letter)
			strbuf_addf(out, "-%c ", o->letter);
		strbuf_addf(out, "--%s ", o->name);
	}
	strbuf_addstr(out, "-h --help");
}

/* The words that an option takes, separated by blanks. */
static void add_words(struct strbuf *out, const struct option_row *o)
{
	const char *word;

	for (size_t i = 0; (word = option_word(o, i)); i++)
		strbuf_addf(out, "%s%s", i ? " " : "", word);
}

/* Patterns of `case` for a command and the option before the cursor, with the words to choose from
 * between `what` and `end`. */
static void add_choices(struct strbuf *out, const struct command *c, const char *what,
			const char *end)
{
	for (const struct option_row *o = c->options; o && o->name; o++) {
		if (!option_word(o, 0))
			continue;
		strbuf_addf(out, "      \"%s --%s\"", c->name, o->name);
		if (o->letter)
			strbuf_addf(out, "|\"%s -%c\"", c->name, o->letter);
		strbuf_addf(out, ") %s", what);
		add_words(out, o);
		strbuf_addf(out, "%s ;;\n", end);
	}
}

static void bash(struct strbuf *out)
{
	/* bash passes --option=value as three words */
	strbuf_addstr(out,
		      "_plimsoll() {\n"
		      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" words=\"\"\n"
		      "  local before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
		      "  if [ \"$word\" = = ]; then word=\"\"\n"
		      "  elif [ \"$before\" = = ]; then before=\"${COMP_WORDS[COMP_CWORD-2]}\"\n"
		      "  fi\n"
		      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    words=\"");
	add_names(out);
	strbuf_addstr(out, "\"\n  else\n    case \"$word ${COMP_WORDS[1]}\" in\n");
	for (const struct command *const *c = commands; *c; c++) {
		strbuf_addf(out, "      -*\" %s\") words=\"", (*c)->name);
		add_options(out, *c);
		strbuf_addstr(out, "\" ;;\n");
	}
	strbuf_addstr(out, "    esac\n    case \"${COMP_WORDS[1]} $before\" in\n");
	for (const struct command *const *c = commands; *c; c++)
		add_choices(out, *c, "words=\"", "\"");
	strbuf_addstr(out, "    esac\n"
			   "  fi\n"
			   "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
			   "}\n"
			   "complete -o default -o bashdefault -F _plimsoll plimsoll\n");
}

static void zsh(struct strbuf *out)
{
	strbuf_addstr(out, "#compdef plimsoll\n_plimsoll() {\n  if (( CURRENT == 2 )); then\n"
			   "    local -a names=(\n");
	for (const struct command *const *c = commands; *c; c++) {
		_cleanup_free_ char *row = xasprintf("%s:%s", (*c)->name, (*c)->summary);

		strbuf_addstr(out, "      ");
		text_add_shell(out, row);
		strbuf_addch(out, '\n');
	}
	strbuf_addstr(out, "    )\n    _describe command names\n    return\n  fi\n"
			   "  local before=$words[CURRENT-1]\n"
			   "  if [[ $PREFIX == --*=* ]]; then\n"
			   "    before=${PREFIX%%=*}\n    compset -P '*='\n  fi\n"
			   "  case \"$words[2] $before\" in\n");
	for (const struct command *const *c = commands; *c; c++)
		add_choices(out, *c, "compadd -- ", "; return");
	strbuf_addstr(out, "  esac\n  case $words[2] in\n");
	for (const struct command *const *c = commands; *c; c++) {
		strbuf_addf(out, "    %s) compadd -- ", (*c)->name);
		add_options(out, *c);
		strbuf_addstr(out, " ;;\n");
	}
	strbuf_addstr(out, "  esac\n  _files\n}\ncompdef _plimsoll plimsoll\n");
}

static void fish(struct strbuf *out)
{
	for (const struct command *const *c = commands; *c; c++) {
		strbuf_addf(out, "complete -c plimsoll -n __fish_use_subcommand -a %s -d ",
			    (*c)->name);
		text_add_fish(out, (*c)->summary);
		strbuf_addch(out, '\n');
		for (const struct option_row *o = (*c)->options; o && o->name; o++) {
			strbuf_addf(out, "complete -c plimsoll -n '__fish_seen_subcommand_from %s'",
				    (*c)->name);
			if (o->letter)
				strbuf_addf(out, " -s %c", o->letter);
			strbuf_addf(out, " -l %s", o->name);
			if (option_word(o, 0)) {
				strbuf_addstr(out, " -x -a '");
				add_words(out, o);
				strbuf_addch(out, '\'');
			} else if (o->arg && o->arg[0] != '[') {
				strbuf_addstr(out, " -r");
			}
			strbuf_addstr(out, " -d ");
			text_add_fish(out, o->help);
			strbuf_addch(out, '\n');
		}
	}
}

static const struct {
	const char *name;
	void (*add)(struct strbuf *out);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static int run(struct context *ctx PL_UNUSED, int argc PL_UNUSED, char **argv)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
		if (!strcmp(argv[0], shells[i].name))
			shells[i].add(&out);
	if (!out.len)
		return usage_error("completion",
				   "completion: unknown shell '%s', expected bash, "
				   "zsh or fish",
				   argv[0]);
	fwrite(out.buf, 1, out.len, stdout);
	return EXIT_OK;
}

const struct command command_completion = {
	.name = "completion",
	.summary = "print completion rules for a shell",
	.operands = {"SHELL", 1, 1, .usage = "bash|zsh|fish", .hint = "bash, zsh or fish"},
	.description = "Prints rules that complete commands, options and the values of options.",
	.examples = "  eval \"$(plimsoll completion bash)\"\n  plimsoll completion fish | source\n",
	.options = (const struct option_row[]){ROW_END},
	.run = run,
};
