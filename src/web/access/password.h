/* Functions of module "password": hashes of passwords, by crypt(3). */
#pragma once

#include "core/strbuf.h"

#define PASSWORD_BYTES_MAX 512
#define PASSWORD_BYTES_MIN 8

struct password_functions {
	/* A hash with a new salt by the method that the library prefers; false: it has none. */
	bool (*hash)(const char *password, struct strbuf *out);
	/* Takes about as long whether it matches or not. */
	bool (*matches)(const char *password, const char *hash);
};

/* Loads the module; NULL with the reason. */
const struct password_functions *password_load(struct strbuf *why);
