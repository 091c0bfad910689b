/* plimsoll serve: its options; web/server.c does the work. */
#include "cmd/command.h"
#include "web/server.h"

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	return do_serve(ctx, ctx->options);
}

static const struct serve_options defaults = {
	.listen = SERVE_LISTEN, .base_path = "", .pam_service = SERVE_PAM_SERVICE};

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "listen", "ADDRESS",
	 "127.0.0.1:PORT, [::1]:PORT or unix:PATH; port 0: any that is free; default " SERVE_LISTEN,
	 AT(struct serve_options, listen)},
	{OPT_CHOICE, 0, "auth", "WAY",
	 "who comes in: token (default): only you, by the printed link; users: those of `plimsoll "
	 "users`, with a password; pam: users of this host, with their password; proxy: whom a proxy "
	 "names; peer: users of this host, over a Unix socket",
	 AT(struct serve_options, auth),
	 WORDS({"token", AUTH_TOKEN}, {"users", AUTH_USERS}, {"pam", AUTH_PAM},
	       {"proxy", AUTH_PROXY}, {"peer", AUTH_PEER})},
	{OPT_TEXT, 0, "pam-service", "NAME",
	 "with --auth pam: the service that PAM is asked for; default " SERVE_PAM_SERVICE,
	 AT(struct serve_options, pam_service)},
	{OPT_TEXT, 0, "pam-directory", "DIR",
	 "with --auth pam: the file of the service is here, for tests and chroots; default "
	 "/etc/pam.d",
	 AT(struct serve_options, pam_directory)},
	{OPT_TEXT, 0, "proxy-header", "NAME", "with --auth proxy: the header that names the user",
	 AT(struct serve_options, proxy_header)},
	{OPT_TEXT, 0, "proxy-groups", "NAME",
	 "with --auth proxy: the header with the user's groups, separated by commas; they are projects "
	 "of the user",
	 AT(struct serve_options, proxy_groups)},
	{OPT_TEXT, 0, "proxy-secret", "FILE",
	 "with --auth proxy: what the proxy sends as X-Plimsoll-Proxy-Secret",
	 AT(struct serve_options, proxy_secret)},
	{OPT_TEXT, 0, "tls-cert", "FILE", "certificates as PEM, the server's first",
	 AT(struct serve_options, tls_cert)},
	{OPT_TEXT, 0, "tls-key", "FILE", "the private key as PEM",
	 AT(struct serve_options, tls_key)},
	{OPT_FLAG, 0, "behind-proxy", NULL,
	 "a proxy with TLS is in front and sends X-Forwarded-For",
	 AT(struct serve_options, behind_proxy)},
	{OPT_TEXT, 0, "server-name", "NAME",
	 "the name of the server in addresses; default: as in --listen",
	 AT(struct serve_options, server_name)},
	{OPT_FLAG, 0, "open", NULL, "open the link with the browser of the desktop",
	 AT(struct serve_options, open)},
	{OPT_TEXT, 0, "base-path", "/PATH",
	 "the pages are below this path, for a proxy in front of the server",
	 AT(struct serve_options, base_path)},
	{OPT_FLAG, 0, "write", NULL,
	 "allow changes: annotations, tags, models, acknowledged alerts, another try of failed "
	 "submissions",
	 AT(struct serve_options, write)},
	{OPT_FLAG, 0, "link", NULL, "print a new link to your running server, and end",
	 AT(struct serve_options, link)},
	ROWS_STORE,
};

const struct command command_serve = {
	.name = "serve",
	.summary = "show all jobs of the store in a browser",
	.operands = {.hint = "name the store with --db"},
	.description =
		"Starts a web server for your own store and prints a link. The pages show the list of "
		"jobs with search and filters, and each job as its report; the API under /api/v1 gives "
		"what the commands give with --json. docs/serve.md describes both.\n\n"
		"Without --auth, the server is yours, and only this host can reach it. The link works "
		"once: it opens a session of a week in that browser, and --link prints another one. "
		"Scripts of yours find a token in plimsoll/serve.token in $XDG_RUNTIME_DIR (or else ~/.local/state), its first line, and "
		"send it as `Authorization: Bearer TOKEN`. On a Unix socket only you and root are "
		"answered. From another host, use a tunnel: ssh -L 8420:127.0.0.1:8420 HOST.\n\n"
		"With --auth, several users see their own jobs, or more by their role (see `plimsoll "
		"users`). Other hosts can reach the server with --auth users or pam, and TLS or a proxy "
		"that has it (--behind-proxy). docs/access.md describes that.\n\n"
		"Nothing can be changed without --write. SIGINT and SIGTERM end the server.",
	.examples =
		"plimsoll serve --open\n  the jobs of your store in a browser\n"
		"plimsoll serve --db /archive/jobs.db --listen 127.0.0.1:0\n"
		"  another store, on a free port\n"
		"plimsoll serve --listen 0.0.0.0:8443 --auth users --tls-cert cert.pem --tls-key key.pem\n"
		"  for the users of a site\n"
		"curl -H \"Authorization: Bearer $(head -1 $XDG_RUNTIME_DIR/plimsoll/serve.token)\" "
		"http://127.0.0.1:8420/api/v1/jobs\n  what the pages get, for a script\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
