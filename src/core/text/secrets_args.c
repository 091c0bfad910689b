/* Masks secrets in arguments, and in shell commands inside arguments; see secrets.h. */
#include <ctype.h>
#include <regex.h>
#include <string.h>
#include <strings.h>

#include "core/text/secrets.h"

#define LINES_MAX 4 /* nested shell commands */

enum place {
	NEXT = 1,     /* "-p SECRET" */
	ATTACHED = 2, /* "-pSECRET" */
	ALONE = 4,    /* an argument that is not an option */
	LAST = 8,     /* the last argument, with an option among others ("-cb") */
	EITHER = NEXT | ATTACHED,
};

/* Options of common programs with a secret value. "x*": a prefix of names. marks: the secret
 * follows the first of these characters; without one there is none. */
static const struct short_option {
	const char *program, *option;
	enum place place;
	const char *marks;
} short_options[] = {
	{"aws", "aws_secret_access_key", NEXT, NULL},
	{"aws", "aws_session_token", NEXT, NULL},
	{"7z*", "-p", ATTACHED, NULL},
	{"az", "-p", NEXT, NULL},
	{"beeline", "-p", NEXT, NULL},
	{"bcp", "-P", EITHER, NULL},
	{"curl", "--proxy-user", NEXT, ":"},
	{"curl", "--user", NEXT, ":"},
	{"curl", "-U", EITHER, ":"},
	{"curl", "-b", EITHER, "="},
	{"curl", "-u", EITHER, ":"},
	{"docker", "-p", NEXT, NULL},
	{"htpasswd", "b", LAST, NULL},
	{"ipmitool", "-P", NEXT, NULL},
	{"ldap*", "-w", EITHER, NULL},
	{"lftp", "-u", EITHER, ","},
	{"mariadb*", "-p", ATTACHED, NULL},
	{"mongo*", "-p", NEXT, NULL},
	{"mosquitto_*", "-P", EITHER, NULL},
	{"mysql*", "-p", ATTACHED, NULL},
	{"openssl", "-K", NEXT, NULL},
	{"openssl", "-k", NEXT, NULL},
	{"pdftk", "owner_pw", NEXT, NULL},
	{"pdftk", "user_pw", NEXT, NULL},
	{"podman", "-p", NEXT, NULL},
	{"rdesktop", "-p", NEXT, NULL},
	{"redis-cli", "-a", NEXT, NULL},
	{"smbclient", "-U", EITHER, "%"},
	{"snmp*", "-A", NEXT, NULL},
	{"snmp*", "-X", NEXT, NULL},
	{"sqlcmd", "-P", EITHER, NULL},
	{"sqlplus*", "", ALONE, "/"},
	{"ssh-keygen", "-N", NEXT, NULL},
	{"ssh-keygen", "-P", NEXT, NULL},
	{"sshpass", "-p", EITHER, NULL},
	{"twine", "-p", NEXT, NULL},
	{"unzip", "-P", EITHER, NULL},
	{"vault", "login", NEXT, NULL},
	{"wfreerdp", "/p:", ATTACHED, NULL},
	{"wget", "--http-user", NEXT, ":"},
	{"xfreerdp*", "/p:", ATTACHED, NULL},
	{"zip", "-P", EITHER, NULL},
};

/* Programs that run another program. */
static const char *const wrappers[] = {
	"bash",    "command", "dash",     "doas",    "env",     "exec",        "ionice",   "ksh",
	"mpiexec", "mpirun",  "nice",     "nohup",   "rsh",     "setsid",      "sh",       "srun",
	"ssh",     "stdbuf",  "strace",   "su",      "sudo",    "time",        "timeout",  "watch",
	"xargs",   "zsh",     "plimsoll", "taskset", "numactl", "singularity", "apptainer"};

struct command_line {
	char program[64];
	const char *before;
	size_t before_n;
	bool among; /* an option of a row with LAST was given */
	int lines;
};

/* The length of a word with its quotes, up to a blank or the end of a command. */
static size_t word_length(const char *p, size_t n)
{
	char quote = 0;
	size_t i = 0;

	for (; i < n; i++) {
		if (p[i] == '\\' && quote != '\'' && i + 1 < n)
			i++;
		else if (quote)
			quote = (char)(p[i] == quote ? 0 : quote);
		else if (p[i] == '\'' || p[i] == '"')
			quote = p[i];
		else if (strchr(" \t\r\n;|&()`", p[i]))
			break;
	}
	return i < n ? i : n;
}

static bool is_program(const char *pattern, const char *program)
{
	size_t n = strlen(pattern);

	return pattern[n - 1] == '*' ? !strncmp(program, pattern, n - 1)
				     : !strcmp(program, pattern);
}

static void set_program(struct command_line *w, const char *p, size_t n)
{
	_cleanup_free_ char *whole = xstrndup(p, n);

	snprintf(w->program, sizeof(w->program), "%s", path_base(whole));
	w->before = NULL;
	w->among = false;
}

static bool is_wrapper(const char *program)
{
	for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (!strcmp(wrappers[i], program))
			return true;
	return false;
}

/* "sudo mysql -pX": a program of the table after a wrapper. */
static bool is_wrapped(const char *program, const char *p, size_t n)
{
	_cleanup_free_ char *word =
		n && p[0] != '-' && is_wrapper(program) && word_length(p, n) == n ? xstrndup(p, n)
										  : NULL;

	for (size_t i = 0; word && i < ARRAY_SIZE(short_options); i++)
		if (is_program(short_options[i].program, path_base(word)))
			return true;
	return word && is_wrapper(path_base(word));
}

/* docker's "-p" may also have ports, which are no secrets. */
static bool is_port(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)p[i]) && !strchr(":./-", p[i]) &&
		    (n - i < 4 || (memcmp(p + i, "/tcp", 4) != 0 && memcmp(p + i, "/udp", 4) != 0)))
			return i && n - i <= 3;
	return n > 0;
}

static bool is_text(const char *p, size_t n, const char *text)
{
	return p && n == strlen(text) && !memcmp(p, text, n);
}

/* "-su" ends with the option of the next value. */
static bool ends_in(const char *p, size_t n, const char *option)
{
	if (!p || strlen(option) != 2 || n < 3 || n > 6 || p[0] != '-' || p[n - 1] != option[1])
		return false;
	for (size_t i = 1; i < n; i++)
		if (!isalpha((unsigned char)p[i]))
			return false;
	return true;
}

static const struct short_option *find_short(const struct command_line *w, const char *p, size_t n,
					     bool last, size_t *ret_from)
{
	for (size_t i = 0; i < ARRAY_SIZE(short_options); i++) {
		const struct short_option *o = &short_options[i];
		size_t k = strlen(o->option);
		bool ports = !strcmp(o->program, "docker") || !strcmp(o->program, "podman");

		if (!is_program(o->program, w->program))
			continue;
		*ret_from = 0;
		if (o->place & NEXT && n && !(ports && is_port(p, n)) &&
		    !(o->option[0] != '-' && p[0] == '-') &&
		    (is_text(w->before, w->before_n, o->option) ||
		     (o->marks && ends_in(w->before, w->before_n, o->option))))
			return o;
		if (o->place == ALONE && n && p[0] != '-' && p[0] != '/' && p[0] != '@')
			return o;
		if (o->place == LAST && last && w->among)
			return o;
		*ret_from = k;
		if (o->place & ATTACHED && k && n > k && !memcmp(p, o->option, k))
			return o;
	}
	return NULL;
}

static void add_behind_mark(struct strbuf *out, const char *p, size_t n, const char *marks)
{
	size_t k = 0;

	while (k < n && !(p[k] && strchr(marks, p[k])))
		k++;
	/* "user/password@database" */
	const char *at = k < n && p[k] == '/' ? memchr(p + k, '@', n - k) : NULL;
	strbuf_add(out, p, k < n ? k + 1 : n);
	if (k + 1 < n)
		strbuf_addstr(out, MASKED);
	if (at)
		strbuf_add(out, at, n - (size_t)(at - p));
}

/* An option without value, or "--password=": the next argument is its value. */
static bool announces(const char *p, size_t n)
{
	size_t skip = 0;

	while (skip < n && p[skip] == '-')
		skip++;
	/* npm's keys: "_authToken", "//registry/:_authToken" */
	const char *key = memrchr(p, ':', n);
	key = key ? key + 1 : p;
	if (key < p + n && *key == '_' && !memchr(p, '=', n) &&
	    secrets_is_option(key, (size_t)(p + n - key)))
		return true;
	n -= skip && n > skip && p[n - 1] == '=';
	return skip && skip < n && !memchr(p, '=', n) &&
	       (secrets_is_option(p + skip, n - skip) ||
		(skip == 2 && is_text(p + skip, n - skip, "pin")));
}

/* "--user name:SECRET" and "--auth name:SECRET"; for some programs it is user and group. */
static bool announces_login(const struct command_line *w, const char *p, size_t n)
{
	static const char *const groups[] = {"docker", "podman",      "nerdctl", "singularity",
					     "chroot", "systemd-run", "install", "apptainer"};

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (!strcmp(w->program, groups[i]))
			return false;
	return is_text(w->before, w->before_n, "--user") ||
			       is_text(w->before, w->before_n, "--proxy-user") ||
			       is_text(w->before, w->before_n, "--auth")
		       ? !is_port(p, n) && memchr(p, ':', n)
		       : false;
}

static void add_line(struct strbuf *out, const char *p, size_t n, const char *program, int lines);

/* Masks a word if the words before it say so; false: they do not. */
static bool add_by_words(struct strbuf *out, const struct command_line *w, const char *p, size_t n,
			 bool last)
{
	size_t from = 0;
	const struct short_option *o = find_short(w, p, n, last, &from);
	bool next = w->before && announces(w->before, w->before_n) && n && p[0] != '-' &&
		    p[0] != '<' && p[0] != '$';

	if (o) {
		strbuf_add(out, p, from);
		if (o->marks)
			add_behind_mark(out, p + from, n - from, o->marks);
		else
			strbuf_addstr(out, MASKED);
	} else if (next) {
		strbuf_addstr(out, MASKED);
	} else if (announces_login(w, p, n)) {
		add_behind_mark(out, p, n, ":");
	} else if (n > 5 && !memcmp(p, "pass:", 5)) {
		strbuf_addstr(out, "pass:" MASKED);
	} else {
		return false;
	}
	return true;
}

static void remember(struct command_line *w, const char *p, size_t n)
{
	w->before = p;
	w->before_n = n;
	w->among |= n > 1 && p[0] == '-' && p[1] != '-' && memchr(p, 'b', n);
}

/* ---- shell lines ---------------------------------------------------------------------------- */

static bool is_last_word(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && (p[i] == ' ' || p[i] == '\t'))
		i++;
	return i == n || strchr("\r\n;|&()`", p[i]);
}

/* "NAME=value" before a command. */
static bool is_assigned(const char *p, size_t n)
{
	size_t k = 0;

	while (k < n && (isalnum((unsigned char)p[k]) || p[k] == '_'))
		k++;
	return k && k < n && p[k] == '=';
}

/* Adds a word of a shell command; a quoted word may be a command itself. */
static void add_word(struct strbuf *out, struct command_line *w, const char *p, size_t n, bool last)
{
	bool quoted = n >= 2 && (p[0] == '"' || p[0] == '\'') && p[n - 1] == p[0];
	const char *inner = p + quoted;
	size_t inner_n = n - 2 * (size_t)quoted;

	if (!w->program[0] && !is_assigned(p, n)) {
		set_program(w, inner, inner_n);
		strbuf_add(out, p, n);
		return;
	}
	if (is_wrapped(w->program, inner, inner_n)) {
		set_program(w, inner, inner_n);
		strbuf_add(out, p, n);
		return;
	}
	if (quoted)
		strbuf_add(out, p, 1);
	if (!add_by_words(out, w, inner, inner_n, last)) {
		if (quoted && memchr(inner, ' ', inner_n))
			add_line(out, inner, inner_n, "", w->lines + 1);
		else
			strbuf_add(out, inner, inner_n);
	}
	if (quoted)
		strbuf_add(out, p, 1);
	remember(w, inner, inner_n);
}

static void add_line(struct strbuf *out, const char *p, size_t n, const char *program, int lines)
{
	struct command_line w = {.lines = lines};
	size_t i = 0;

	snprintf(w.program, sizeof(w.program), "%s", program);
	while (i < n && lines <= LINES_MAX) {
		size_t k = word_length(p + i, n - i);

		if (k) {
			add_word(out, &w, p + i, k, is_last_word(p + i + k, n - i - k));
			i += k;
			continue;
		}
		if (p[i] != ' ' && p[i] != '\t')
			w = (struct command_line){.lines = lines};
		strbuf_add(out, p + i++, 1);
	}
	strbuf_add(out, p + i, n - i);
}

/* ---- arguments ------------------------------------------------------------------------------ */

static bool is_line(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] && strchr(" \t\n", p[i]))
			return true;
	return false;
}

static void add_argument(struct strbuf *out, const struct command_line *w, const char *p, size_t n,
			 bool last)
{
	size_t name = 0;

	while (name < n && p[name] != '=')
		name++;
	if (add_by_words(out, w, p, n, last))
		return;
	if (n > 1 && p[0] == '-' && name + 1 < n && p[name + 1] && announces(p, name)) {
		/* the whole value */
		strbuf_add(out, p, name + 1);
		strbuf_addstr(out, MASKED);
		return;
	}
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	secrets_add_masked(&text, p, n);
	if (is_line(text.buf, text.len))
		add_line(out, text.buf, text.len, "", 0);
	else
		strbuf_add(out, text.buf, text.len);
}

void secrets_mask_arguments(struct strbuf *arguments, char separator, const char *program)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const char *end = arguments->buf + arguments->len;
	struct command_line w = {.lines = 0};
	bool first = !program;

	if (program)
		set_program(&w, program, strlen(program));
	for (const char *p = arguments->buf; p < end;) {
		const char *stop = memchr(p, separator, (size_t)(end - p));
		size_t n = stop ? (size_t)(stop - p) : (size_t)(end - p);

		if (first || is_wrapped(w.program, p, n)) {
			set_program(&w, p, n);
			strbuf_add(&out, p, n);
		} else {
			add_argument(&out, &w, p, n, p + n + 1 >= end);
			remember(&w, p, n);
		}
		first = false;
		p += n;
		if (p < end)
			strbuf_add(&out, p++, 1);
	}
	/* in joined arguments a header or connection string is several words */
	if (out.len != arguments->len || memcmp(out.buf, arguments->buf, out.len) != 0) {
		strbuf_reset(arguments);
		strbuf_add(arguments, out.buf, out.len);
	}
	if (separator == ' ')
		secrets_mask_text(arguments);
	else
		secrets_mask_expressions(arguments);
}

void secrets_mask_expressions(struct strbuf *text)
{
	const char *list = secrets_setting(SETTING_MASK_VALUES);

	while (*list) {
		list += strspn(list, " ");
		size_t n = strcspn(list, " ");
		_cleanup_free_ char *one = xstrndup(list, n);
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		const char *p = text->buf, *end = text->buf + text->len;
		regmatch_t m;
		regex_t re;

		list += n;
		if (!n || regcomp(&re, one, REG_EXTENDED) != 0)
			continue;
		/* regexec() stops at a NUL: match piece by piece */
		while (p < end) {
			if (regexec(&re, p, 1, &m, 0) == 0 && m.rm_eo > m.rm_so) {
				strbuf_add(&out, p, (size_t)m.rm_so);
				strbuf_addstr(&out, MASKED);
				p += m.rm_eo;
				continue;
			}
			size_t k = strlen(p);
			strbuf_add(&out, p, k);
			p += k;
			if (p < end)
				strbuf_add(&out, p++, 1);
		}
		regfree(&re);
		strbuf_reset(text);
		strbuf_add(text, out.buf, out.len);
	}
}
