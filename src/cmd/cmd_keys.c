/* plimsoll keys: the files that say who a node or collector is, and who may call it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "core/fs.h"
#include "core/jsonw.h"
#include "pipeline/keyring.h"

struct keys_options {
	const char *file;
	bool json;
};

enum { OPT_OUTPUT = 1 };

static bool set(struct context *ctx, int id, const char *value)
{
	struct keys_options *o = ctx->options;

	o->json |= id == OPTION_JSON;
	if (id == OPT_OUTPUT)
		o->file = value;
	return true;
}

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
	return usage_error("keys", "keys takes new, show FILE, list ALLOWED, or allow ALLOWED "
				   "PUBLIC [NAME]");
}

static const struct option_row rows[] = {
	{OPT_OUTPUT, 'o', "output", "FILE",
	 "of new: write the pair there, and print its public key"},
	ROW_JSON,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_keys = {
	.name = "keys",
	.summary = "make and list the keys of nodes and collectors",
	.arguments = "new | show FILE | list ALLOWED | allow ALLOWED PUBLIC [NAME]",
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
		"a file allows.",
	.examples =
		"  plimsoll keys new -o /etc/plimsoll/node.key\n"
		"  plimsoll keys allow /etc/plimsoll/allowed \"$(plimsoll keys show node.key)\" node17\n"
		"  plimsoll keys list /etc/plimsoll/allowed\n",
	.options = rows,
	.options_size = sizeof(struct keys_options),
	.set = set,
	.run = run,
};
