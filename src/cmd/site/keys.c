/* plimsoll keys: manages the key files of nodes and collectors. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/command.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "transport/keyring.h"
#include "views/listing.h"

struct keys_options {
	const char *file;
	bool json, revoked;
};

#define FILE_MAX ((size_t)16 << 20)

static int show_public(const char *key, const char *file, bool json)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	if (!json) {
		puts(key);
		return EXIT_OK;
	}
	json_begin_object(&j, NULL);
	json_str(&j, "public", key);
	if (file)
		json_str(&j, "file", file);
	json_end_object(&j);
	return json_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}

/* Never overwrites a file: whoever trusts its public key would be locked out. */
static int write_pair(const char *path, const struct strbuf *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return fail_with(EXIT_FAILED, "cannot create '%s': %s%s", path, strerror(errno),
				 errno == EEXIST ? "; remove it first to replace its keys" : "");
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

	/* avoid keys that look like an option or a comment */
	do
		if (link_make_keys(public, secret, &why) < 0)
			return fail_with(EXIT_FAILED, "%s", why.buf);
	while (public[0] == '-' || public[0] == '#');
	strbuf_addf(&text,
		    "# Made by plimsoll keys. The secret must stay on this machine.\n"
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

	if (keyring_server(&k, path, &why) < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	int status = show_public(k.server, NULL, o->json);
	keyring_release(&k);
	return status;
}

/* Adds a line to the allow file. */
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
			return EXIT_OK; /* already there */
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

enum { PUBLIC, NODE, REVOKED };
static const struct listing_column columns[] = {[PUBLIC] = {"public", NULL, 0},
						[NODE] = {"node", NULL, 0},
						[REVOKED] = {"revoked", NULL, 0}};

static int list(const struct keys_options *o, const char *path)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_(keyring_release) struct keyring k = {.apart = true};
	struct listing l;

	if (keyring_allow(&k, path, &why) < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	if (o->json)
		listing_begin(&l, columns, ARRAY_SIZE(columns), true);
	for (size_t i = 0; i < (o->revoked ? k.revoked_count : k.count); i++) {
		const struct revoked_key *r = o->revoked ? &k.revoked[i] : NULL;
		const char *key = r ? r->key : k.allowed[i], *name = r ? r->name : k.names[i];

		if (!o->json) {
			printf("%s%s%s %s\n", r ? r->time : "", r ? " " : "", key, name);
			continue;
		}
		listing_row(&l, 0);
		listing_str(&l, PUBLIC, key);
		listing_str(&l, NODE, name);
		if (r)
			listing_str(&l, REVOKED, r->time);
	}
	return o->json && listing_end(&l) < 0 ? EXIT_FAILED : EXIT_OK;
}

/* Does a line of an allow file allow this key, or any key for this name? */
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

/* Turns the lines of a key or name into comments; returns how many. */
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

/* Revokes a key, a name as in the file, or the key in a file. Returns the number of lines, or a
 * negative errno. */
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

/* Lines become comments, so that the collector can still name the node of a revoked key. */
static int revoke_key(const char *path, const char *what)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, text = STRBUF_INIT, next = STRBUF_INIT;
	struct keyring k = {.apart = true};
	int r = keyring_allow(&k, path, &why); /* an invalid list is left alone */

	if (r == 0)
		r = fs_read(AT_FDCWD, path, FILE_MAX, &text);
	if (r == 0)
		r = revoke_in(text.buf, what, &next, &why);
	if (r == 0) {
		strbuf_addf(
			&why,
			"'%s' contains no key or name '%s'; `plimsoll keys list` prints what it "
			"contains",
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
		return usage_error("keys", "keys: --output applies to `keys new` only");
	if (o->revoked && strcmp(what, "list") != 0)
		return usage_error("keys", "keys: --revoked applies to `keys list` only");
	if (!strcmp(what, "revoke") && argc == 3)
		return revoke_key(argv[1], argv[2]);
	if (!strcmp(what, "show") && argc == 2)
		return show(o, argv[1]);
	if (!strcmp(what, "list") && argc == 2)
		return list(o, argv[1]);
	if (!strcmp(what, "allow") && (argc == 3 || argc == 4)) {
		const char *name = argc == 4 ? argv[3] : "*";

		if (!is_node_pattern(name))
			return usage_error("keys", "invalid node name '%s'", name);
		return allow(argv[1], argv[2], name);
	}
	return usage_error("keys",
			   "keys: expected new, show FILE, list ALLOWED, allow ALLOWED PUBLIC "
			   "[NAME] or revoke ALLOWED PUBLIC|NAME");
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'o', "output", "FILE",
	 "with new: write the key pair to FILE and print the public key",
	 AT(struct keys_options, file)},
	{OPT_FLAG, 0, "revoked", NULL,
	 "with list: print the revoked keys and when they were revoked",
	 AT(struct keys_options, revoked)},
	ROW_JSON(struct keys_options),
	ROWS_COMMON,
};

const struct command command_keys = {
	.name = "keys",
	.summary = "make and manage the keys of nodes and collectors",
	.operands = {"ACTION", 0, ANY_NUMBER,
		     .usage = "new | show FILE | list ALLOWED | allow ALLOWED PUBLIC [NAME] | "
			      "revoke ALLOWED PUBLIC|NAME"},
	.description =
		"Nodes and collectors on different machines authenticate each other with key pairs. "
		"Each has a file with its own pair, which nobody else may read; a node also has the "
		"public key of the collector, and the collector a file of public keys that may "
		"connect.\n\n"
		"new makes a key pair. With --output, it is written to a new file with mode 0600 and "
		"the public key is printed. show prints the public key of such a file.\n\n"
		"allow adds a public key (or that of a file) to the file ALLOWED, which is created if "
		"needed. NAME is the node that may send with this key, or a shell pattern; without "
		"NAME, the key may send for any node, as forwarding collectors need it. A key with "
		"several names, one line each, may send for all of them. list prints the content of "
		"such a file.\n\n"
		"revoke removes a key with all its names, or all keys of a name, exactly as written in "
		"the file. Each line stays as a comment with the time: a collector that refuses the "
		"key can name its node, and list --revoked prints it. A running collector reads the "
		"file again on SIGHUP (systemctl reload).",
	.examples =
		"  plimsoll keys new -o /etc/plimsoll/node.key\n"
		"  plimsoll keys allow /etc/plimsoll/allowed \"$(plimsoll keys show node.key)\" node17\n"
		"  plimsoll keys list /etc/plimsoll/allowed\n"
		"  plimsoll keys revoke /etc/plimsoll/allowed node17\n",
	OPTIONS(struct keys_options, rows),
	.run = run,
};
