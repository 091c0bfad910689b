/* Module "password": hashes of passwords by libcrypt, with the method of this system: yescrypt, or
 * SHA-512 where the library is older. */
#include <crypt.h>
#include <errno.h>
#include <string.h>

#include "core/module.h"
#include "web/access/password.h"

#define SHA512_ROUNDS 500000

static bool make_salt(char ret[CRYPT_GENSALT_OUTPUT_SIZE])
{
	if (crypt_gensalt_rn("$y$", 0, NULL, 0, ret, CRYPT_GENSALT_OUTPUT_SIZE))
		return true;
	return crypt_gensalt_rn("$6$", SHA512_ROUNDS, NULL, 0, ret, CRYPT_GENSALT_OUTPUT_SIZE) !=
	       NULL;
}

static bool hash(const char *password, struct strbuf *out)
{
	char salt[CRYPT_GENSALT_OUTPUT_SIZE];
	struct crypt_data *d = xcalloc(1, sizeof(*d));
	const char *text = make_salt(salt) ? crypt_rn(password, salt, d, sizeof(*d)) : NULL;

	if (text)
		strbuf_addstr(out, text);
	explicit_bzero(d, sizeof(*d));
	free(d);
	return text != NULL;
}

static bool same(const char *a, const char *b)
{
	size_t n = strlen(a);
	unsigned char differ = n != strlen(b);

	for (size_t i = 0; i < n && !differ; i++)
		differ |= (unsigned char)(a[i] != b[i]);
	return !differ;
}

/* The hashes are compared, of which nobody can choose one: where they differ tells nothing. */
static bool matches(const char *password, const char *wanted)
{
	struct crypt_data *d = xcalloc(1, sizeof(*d));
	const char *text = crypt_rn(password, wanted, d, sizeof(*d));
	bool ok = text && *text != '*' && same(text, wanted);

	explicit_bzero(d, sizeof(*d));
	free(d);
	return ok;
}

static const struct password_functions functions = {hash, matches};

PL_MODULE("password", "libcrypt", &functions);
