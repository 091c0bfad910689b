/* plimsoll keys: the files that say who a node or collector is, and who may call it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "transport/keyring.h"

struct keys_options {
	const char *file;
	bool json, revoked;
};

#define FILE_MAX ((size_t)16 << 20)

static int show_public(const char *key, const char *file, bool json)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	if (!json) {
		puts(key);
		return EXIT_OK;
	}
	jsonw_begin_object(&j, NULL);
	jsonw_str(&j, "public", key);
	if (file)
		jsonw_str(&j, "file", file);
	jsonw_end_object(&j);
	return jsonw_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}

/* Never over a file that is there: whoever has its public key would be locked out. */
static int write_pair(const char *path, const struct strbuf *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0) {
		log_error("cannot make '%s': %s%s", path, strerror(errno),
			  errno == EEXIST ? "; remove it first if its keys are to go" : "");
		return EXIT_FAILED;
	}
	int r = fs_write_once(fd, text->buf, text->len, 0);
	if (r == 0)
		r = fs_sync(fd);
	if (close(fd) < 0 && r == 0)
		r = -errno;
	if (r == 0)
		r = fs_sync_parent(path);
	if (r < 0) {
		log_error("cannot write '%s': %s", path, strerror(-r));
		(void)unlink(path);
	}
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int make_new(const struct keys_options *o)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	char public[41], secret[41];

	/* one that would look like an option or a comment on a line is nobody's joy */
	do
		if (link_make_keys(public, secret, &why) < 0) {
			log_error("%s", why.buf);
			return EXIT_FAILED;
		}
	while (public[0] == '-' || public[0] == '#');
	strbuf_addf(&text,
		    "# Made by plimsoll keys. The secret is for this machine alone.\n"
		    "public = \"%s\"\nsecret = \"%s\"\n",
		    public, secret);
	int status = EXIT_OK;
	if (o->file)
		status = write_pair(o->file, &text);
	else
		fputs(text.buf, stdout);
	if (status == EXIT_OK && o->file)
		status = show_public(public, o->file, o->json);
	explicit_bzero(secret, sizeof(secret));
	explicit_bzero(text.buf, text.len);
	return status;
}

static int show(const struct keys_options *o, const char *path)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct keyring k = {0};

	if (keyring_server(&k, path, &why) < 0) {
		log_error("%s", why.buf);
		return EXIT_FAILED;
	}
	int status = show_public(k.server, NULL, o->json);
	keyring_release(&k);
	return status;
}

/* The allow file with one line more. */
static int allow(const char *path, const char *key_or_path, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, text = STRBUF_INIT;
	struct keyring k = {.apart = true};
	struct stat st;
	int r = keyring_server(&k, key_or_path, &why);

	if (r == 0 && stat(path, &st) == 0)
		r = keyring_allow(&k, path, &why);
	for (size_t i = 0; r == 0 && i < k.count; i++)
		if (!strcmp(k.allowed[i], k.server) && !strcmp(k.names[i], name)) {
			keyring_release(&k);
			return EXIT_OK; /* it is there already */
		}
	if (r == 0) {
		int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);

		strbuf_addf(&text, "%s %s\n", k.server, name);
		r = fd < 0 ? -errno : fs_write_once(fd, text.buf, text.len, -1);
		if (fd >= 0 && close(fd) < 0 && r == 0)
			r = -errno;
		if (r < 0)
			strbuf_addf(&why, "cannot write '%s': %s", path, strerror(-r));
	}
	if (r < 0)
		log_error("%s", why.buf);
	keyring_release(&k);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int list_revoked(const struct keys_options *o, const struct keyring *k)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	if (o->json)
		jsonw_begin_array(&j, NULL);
	for (size_t i = 0; i < k->revoked_count; i++) {
		const struct revoked_key *r = &k->revoked[i];

		if (!o->json) {
			printf("%s %s %s\n", r->time, r->key, r->name);
			continue;
		}
		jsonw_begin_object(&j, NULL);
		jsonw_str(&j, "public", r->key);
		jsonw_str(&j, "node", r->name);
		jsonw_str(&j, "revoked", r->time);
		jsonw_end_object(&j);
	}
	if (!o->json)
		return EXIT_OK;
	jsonw_end_array(&j);
	return jsonw_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}

static int list(const struct keys_options *o, const char *path)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	struct keyring k = {.apart = true};
	int status = EXIT_OK;

	if (keyring_allow(&k, path, &why) < 0) {
		log_error("%s", why.buf);
		keyring_release(&k);
		return EXIT_FAILED;
	}
	if (o->revoked) {
		status = list_revoked(o, &k);
		keyring_release(&k);
		return status;
	}
	if (o->json)
		jsonw_begin_array(&j, NULL);
	for (size_t i = 0; i < k.count; i++) {
		if (!o->json) {
			printf("%s %s\n", k.allowed[i], k.names[i]);
			continue;
		}
		jsonw_begin_object(&j, NULL);
		jsonw_str(&j, "public", k.allowed[i]);
		jsonw_str(&j, "node", k.names[i]);
		jsonw_end_object(&j);
	}
	if (o->json) {
		jsonw_end_array(&j);
		status = jsonw_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	}
	keyring_release(&k);
	return status;
}

/* A line of an allow file that allows this key, or a key for this name? */
static bool is_of(const char *line, size_t n, const char *key, const char *name)
{
	_cleanup_free_ char *text = xstrndup(line, n);
	char *save = NULL;
	const char *first = strtok_r(text, " \t\r", &save),
		   *second = strtok_r(NULL, " \t\r", &save);

	if (!first || !key_is_good(first))
		return false;
	return key ? !strcmp(first, key) : !strcmp(second ? second : "*", name);
}

/* The text of an allow file with the lines of a key or name made into comments; how many. */
static size_t revoke_lines(const char *from, const char *key, const char *name, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf now = STRBUF_INIT;
	size_t count = 0;

	text_add_time(&now, clock_realtime_us() / 1000000 * 1000000, true);
	for (const char *p = from; *p;) {
		size_t n = strcspn(p, "\n"), blanks = strspn(p, " \t");

		blanks = blanks < n ? blanks : n;
		if (is_of(p, n, key, name)) {
			strbuf_addf(out, "# revoked %s ", now.buf);
			strbuf_add(out, p + blanks, n - blanks);
			count++;
		} else {
			strbuf_add(out, p, n);
		}
		strbuf_addch(out, '\n');
		p += n + (p[n] == '\n');
	}
	return count;
}

/* What is named is a key, a name as the file has it, or a file with a key. How many lines went, or
 * negative. */
static int revoke_in(const char *text, const char *what, struct strbuf *out, struct strbuf *why)
{
	struct keyring named = {0};
	bool key = key_is_good(what);
	size_t count = revoke_lines(text, key ? what : NULL, what, out);

	if (!count && !key && access(what, F_OK) == 0) {
		int r = keyring_server(&named, what, why);

		if (r < 0)
			return r;
		strbuf_reset(out);
		count = revoke_lines(text, named.server, NULL, out);
		keyring_release(&named);
	}
	return (int)count;
}

/* The lines of a key stay in the file as comments: so the collector can say whose it was. */
static int revoke_key(const char *path, const char *what)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, text = STRBUF_INIT, next = STRBUF_INIT;
	struct keyring k = {.apart = true};
	int r = keyring_allow(&k, path, &why); /* a list that is no good is left as it is */

	if (r == 0)
		r = fs_read(AT_FDCWD, path, FILE_MAX, &text);
	if (r == 0)
		r = revoke_in(text.buf, what, &next, &why);
	if (r == 0) {
		strbuf_addf(&why,
			    "'%s' allows nothing to '%s': `plimsoll keys list` shows the keys and "
			    "names that it has",
			    path, what);
		r = -ENOENT;
	}
	if (r > 0)
		r = fs_put_file(path, next.buf, next.len);
	if (r < 0)
		log_error("%s%s%s", why.len ? "" : path, why.len ? "" : ": ",
			  why.len ? why.buf : strerror(-r));
	keyring_release(&k);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static bool is_node_pattern(const char *name)
{
	size_t n = strlen(name);

	return n && n <= 255 && !strpbrk(name, " \t\r\n/");
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct keys_options *o = ctx->options;
	const char *what = argc ? argv[0] : "";

	if (!strcmp(what, "new") && argc == 1)
		return make_new(o);
	if (o->file)
		return usage_error("keys", "--output is for keys new");
	if (o->revoked && strcmp(what, "list") != 0)
		return usage_error("keys", "--revoked is for keys list");
	if (!strcmp(what, "revoke") && argc == 3)
		return revoke_key(argv[1], argv[2]);
	if (!strcmp(what, "show") && argc == 2)
		return show(o, argv[1]);
	if (!strcmp(what, "list") && argc == 2)
		return list(o, argv[1]);
	if (!strcmp(what, "allow") && (argc == 3 || argc == 4)) {
		const char *name = argc == 4 ? argv[3] : "*";

		if (!is_node_pattern(name))
			return usage_error("keys", "'%s' is no name of a node", name);
		return allow(argv[1], argv[2], name);
	}
	return usage_error("keys", "keys takes new, show FILE, list ALLOWED, allow ALLOWED PUBLIC "
				   "[NAME], or revoke ALLOWED PUBLIC|NAME");
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'o', "output", "FILE", "of new: write the pair there, and print its public key",
	 AT(struct keys_options, file)},
	{OPT_FLAG, 0, "revoked", NULL, "of list: the keys that were revoked, and when",
	 AT(struct keys_options, revoked)},
	ROW_JSON(struct keys_options),
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_keys = {
	.name = "keys",
	.summary = "make and list the keys of nodes and collectors",
	.arguments = "new | show FILE | list ALLOWED | allow ALLOWED PUBLIC [NAME] | "
		     "revoke ALLOWED PUBLIC|NAME",
	.description =
		"Nodes and collectors on different machines know each other by pairs of keys: each has a "
		"file with its own pair, which nobody else may read; a node is told the collector's public "
		"key, and the collector has a file of the public keys that may call.\n\n"
		"new makes a pair. With --output it goes into a new file with mode 0600, and the public key "
		"is printed. show prints the public key of such a file.\n\n"
		"allow adds a public key (or that of a file) to the file ALLOWED, which is made when it is "
		"not there. NAME is the node that may send with it, or a shell pattern of several; without "
		"one it may send for any node, which is for collectors that pass on. A key that is allowed for "
		"several names, a line each, may send for all of them. list prints what such "
		"a file allows.\n\n"
		"revoke takes a key out of such a file, with all its names, or all keys of a name, exactly "
		"as it is written there. Each line stays as a comment with the time: a collector that "
		"refuses the key says whose it was, and list --revoked prints them. A collector that runs "
		"takes the change with HUP (systemctl reload).",
	.examples =
		"  plimsoll keys new -o /etc/plimsoll/node.key\n"
		"  plimsoll keys allow /etc/plimsoll/allowed \"$(plimsoll keys show node.key)\" node17\n"
		"  plimsoll keys list /etc/plimsoll/allowed\n"
		"  plimsoll keys revoke /etc/plimsoll/allowed node17\n",
	.options = rows,
	.options_size = sizeof(struct keys_options),
	.run = run,
};
