/* plimsoll users: who may use the web server, and what they may see. */
#include <errno.h>
#include <string.h>
#include <termios.h>

#include "cmd/actions.h"
#include "store/access_users.h"
#include "views/listing.h"
#include "web/access/password.h"

struct users_options {
	const char *role, *projects;
	bool json, no_password, disable, enable;
};

/* ---- passwords --------------------------------------------------------------------------------
 */

/* One line of standard input, without echo on a terminal. */
static int read_line(const char *prompt, char line[PASSWORD_BYTES_MAX + 2])
{
	struct termios before, silent;
	bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;

	if (terminal) {
		fprintf(stderr, "%s: ", prompt);
		silent = before;
		silent.c_lflag &= ~(tcflag_t)ECHO;
		(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
	}
	const char *got = fgets(line, PASSWORD_BYTES_MAX + 2, stdin);
	if (terminal) {
		(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
		fputc('\n', stderr);
	}
	if (!got)
		return -ENODATA;
	size_t n = strcspn(line, "\n");
	if (n > PASSWORD_BYTES_MAX)
		return -E2BIG;
	line[n] = 0;
	return 0;
}

static char *ask_password(void)
{
	char line[PASSWORD_BYTES_MAX + 2], again[PASSWORD_BYTES_MAX + 2];
	int r = read_line("password", line);
	char *password = NULL;

	if (r == 0 && isatty(STDIN_FILENO) &&
	    (read_line("the same again", again) < 0 || strcmp(line, again) != 0))
		log_error("the passwords differ; nothing was changed");
	else if (r == 0 && strlen(line) < PASSWORD_BYTES_MIN)
		log_error("a password has at least %d bytes; nothing was changed",
			  PASSWORD_BYTES_MIN);
	else if (r == 0)
		password = xstrdup(line);
	else
		log_error(r == -E2BIG
				  ? "the password is too long"
				  : "no password: type it, or give it as a line of standard input");
	explicit_bzero(line, sizeof(line));
	return password;
}

/* The hash of a password that is asked for; NULL: it was said why there is none. */
static char *new_hash(void)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, hash = STRBUF_INIT;
	const struct password_functions *f = password_load(&why);
	char *password = f ? ask_password() : NULL;
	bool ok = password && f->hash(password, &hash);

	if (!f)
		log_error("%s", why.buf);
	else if (password && !ok)
		log_error("the system cannot hash passwords");
	if (password)
		explicit_bzero(password, strlen(password));
	free(password);
	return ok ? strbuf_take(&hash) : NULL;
}

/* ---- changes ----------------------------------------------------------------------------------
 */

struct users {
	struct store *s;
	const struct users_options *o;
	struct access_user *user; /* NULL: there is none of this name */
	const char *name;
};

static int take_rights(struct viewer *v, const char *role, const char *projects)
{
	int number = role ? viewer_role_parse(role) : (int)v->role;

	if (number < 0)
		return fail_with(EXIT_USAGE,
				 "there is no role '%s'; use user, project, support or admin",
				 role);
	if (projects && !viewer_projects_valid(projects))
		return fail_with(EXIT_USAGE,
				 "invalid list of projects '%s'; write A,B: letters, digits and "
				 "._@+-",
				 projects);
	v->role = (enum viewer_role)number;
	if (projects)
		memcpy(v->projects, projects, strlen(projects) + 1);
	return EXIT_OK;
}

/* In one transaction with the line of the log. */
static int commit(struct users *u, int r, const char *what, const char *detail)
{
	if (r == 0)
		r = access_note(u->s, NULL, "terminal", what, detail);
	r = store_end(u->s, r);
	if (r == -EEXIST || r == -ENOENT)
		return fail_with(EXIT_FAILED,
				 r == -EEXIST ? "there is a user '%s' already"
					      : "there is no user '%s'",
				 u->name);
	return r < 0 ? fail_with(EXIT_FAILED, "%s", store_error(u->s)) : EXIT_OK;
}

static int begin(struct users *u)
{
	int r = store_begin(u->s);

	return r < 0 ? fail_with(EXIT_FAILED, "%s", store_error(u->s)) : EXIT_OK;
}

static int add(struct users *u)
{
	struct access_user new = {.viewer.role = VIEWER_USER};

	if (u->user)
		return fail_with(EXIT_FAILED, "there is a user '%s' already", u->name);
	memcpy(new.viewer.user, u->name, strlen(u->name) + 1);
	int status = take_rights(&new.viewer, u->o->role, u->o->projects);
	if (status != EXIT_OK)
		return status;
	_cleanup_free_ char *hash = u->o->no_password ? NULL : new_hash();
	if (!hash && !u->o->no_password)
		return EXIT_FAILED;
	new.hash = hash;
	status = begin(u);
	return status == EXIT_OK ? commit(u, access_user_add(u->s, &new), "user added", u->name)
				 : status;
}

static int change(struct users *u, const struct access_user *new, const char *what)
{
	int status = begin(u);

	return status == EXIT_OK ? commit(u, access_user_change(u->s, new), what, u->name) : status;
}

static int set_password(struct users *u)
{
	struct access_user new = *u->user;
	_cleanup_free_ char *hash = u->o->no_password ? NULL : new_hash();

	if (!hash && !u->o->no_password)
		return EXIT_FAILED;
	new.hash = hash;
	return change(u, &new, "password changed");
}

static int set_role(struct users *u, const char *role)
{
	struct access_user new = *u->user;
	int status = take_rights(&new.viewer, role ? role : u->o->role, u->o->projects);

	new.disabled = u->o->disable || (new.disabled && !u->o->enable);
	return status == EXIT_OK ? change(u, &new, "rights changed") : status;
}

static int remove_user(struct users *u)
{
	int status = begin(u);

	return status == EXIT_OK
		       ? commit(u, access_user_remove(u->s, u->name), "user removed", u->name)
		       : status;
}

/* ---- the list ---------------------------------------------------------------------------------
 */

static int print_json(const struct access_users *l)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_array(&j, NULL);
	for (size_t i = 0; i < l->count; i++) {
		const struct access_user *u = &l->v[i];

		json_begin_object(&j, NULL);
		json_str(&j, "user", u->viewer.user);
		json_str(&j, "role", viewer_roles[u->viewer.role]);
		json_str(&j, "projects", u->viewer.projects);
		json_bool(&j, "password", u->hash != NULL);
		json_bool(&j, "disabled", u->disabled);
		json_end_object(&j);
	}
	json_end_array(&j);
	return json_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}

static int print(const struct access_users *l, bool json)
{
	if (json)
		return print_json(l);
	for (size_t i = 0; i < l->count; i++)
		printf("%-20s %-8s %s%s%s\n", l->v[i].viewer.user,
		       viewer_roles[l->v[i].viewer.role],
		       *l->v[i].viewer.projects ? l->v[i].viewer.projects : "-",
		       l->v[i].hash ? "" : " (no password)", l->v[i].disabled ? " (disabled)" : "");
	return EXIT_OK;
}

/* ---- command ----------------------------------------------------------------------------------
 */

static int act(struct users *u, const char *action, const char *role)
{
	if (!strcmp(action, "add"))
		return add(u);
	if (!u->user)
		return fail_with(EXIT_FAILED,
				 "there is no user '%s'; `plimsoll users list` shows them",
				 u->name);
	if (!strcmp(action, "passwd"))
		return set_password(u);
	if (!strcmp(action, "role"))
		return set_role(u, role);
	return remove_user(u);
}

static int run(struct context *ctx, int argc, char **argv)
{
	static const char *const actions[] = {"list", "add", "passwd", "role", "remove"};
	_cleanup_access_users_ struct access_users list = {.v = NULL};
	_cleanup_store_ struct store *s = NULL;
	const struct users_options *o = ctx->options;
	bool lists = !strcmp(argv[0], "list");
	size_t i = 0;

	while (i < ARRAY_SIZE(actions) && strcmp(actions[i], argv[0]) != 0)
		i++;
	if (i == ARRAY_SIZE(actions) || argc > 3 || (argc == 3 && strcmp(argv[0], "role") != 0) ||
	    lists != (argc == 1))
		return usage_error("users",
				   "users: use list, add NAME, passwd NAME, role NAME ROLE or "
				   "remove NAME");
	if (!lists && !viewer_name_valid(argv[1]))
		return usage_error("users", "users: '%s' is not a name of a user", argv[1]);
	if (open_store(ctx, lists ? STORE_READ : STORE_WRITE, &s) < 0)
		return EXIT_FAILED;
	if (access_users_load(&list, s) < 0)
		return fail_with(EXIT_FAILED, "%s", store_error(s));
	if (lists)
		return print(&list, o->json);
	struct users u = {
		.s = s,
		.o = o,
		.name = argv[1],
		.user = (struct access_user *)(uintptr_t)access_users_find(&list, argv[1])};
	return act(&u, argv[0], argc == 3 ? argv[2] : NULL);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "role", "ROLE",
	 "user (default): own jobs; project: and those of the projects; "
	 "support: all jobs; admin: and all changes",
	 AT(struct users_options, role)},
	{OPT_TEXT, 0, "projects", "A,B",
	 "jobs with one of these accounts, by the batch system or the tags account and project",
	 AT(struct users_options, projects)},
	{OPT_FLAG, 0, "no-password", NULL, "the user comes in by a proxy or a Unix socket only",
	 AT(struct users_options, no_password)},
	{OPT_FLAG, 0, "disable", NULL, "with role: lock the user out",
	 AT(struct users_options, disable)},
	{OPT_FLAG, 0, "enable", NULL, "with role: let the user in again",
	 AT(struct users_options, enable)},
	ROW_JSON(struct users_options),
	ROWS_STORE,
};

const struct command command_users = {
	.name = "users",
	.summary = "manage the users of the web server",
	.operands = {"ACTION [NAME [ROLE]]", 1, 3, .hint = "use list, add, passwd, role or remove"},
	.description =
		"Manages who may use `plimsoll serve --auth users`, and which jobs they see: list, add "
		"NAME, passwd NAME, role NAME [ROLE], remove NAME. The name is that of the user's jobs. "
		"A running server heeds a change within seconds.\n\n"
		"The password is typed, or is the first line of standard input. The store has a salted "
		"hash of it. Logins and changes are in the table access_event.",
	.examples = "plimsoll users add alice --role project --projects climate\n"
		    "plimsoll users role alice support\n"
		    "plimsoll users role bob --disable\n"
		    "plimsoll users list\n",
	OPTIONS(struct users_options, rows),
	.run = run,
};
