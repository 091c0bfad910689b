/*
 * Code that needs a heavy library lives in a module, lib/plimsoll/<name>.so, which a command loads
 * when it needs it: the program starts fast and works where the library is missing. A module with
 * another build id is refused.
 */
#pragma once

#include "core/strbuf.h"

struct module {
	const char *build; /* PL_BUILD_ID of the tree it was built from */
	const char *name;
	const char *library;   /* the library that it uses */
	const void *functions; /* a const struct; its type depends on the module */
};

/* Every module ends with this: its name, its library, and the functions that it offers. */
#define PL_MODULE(name_, library_, functions_)                                         \
	__attribute__((visibility("default"))) const struct module plimsoll_module = { \
		.build = PL_BUILD_ID,                                                  \
		.name = (name_),                                                       \
		.library = (library_),                                                 \
		.functions = (functions_),                                             \
	}
extern const struct module plimsoll_module;

struct module_row {
	const char *name, *help;
};
extern const struct module_row module_table[]; /* ends with a NULL name */

/* Loads a module once; NULL with the reason in *why. */
const struct module *module_load(const char *name, struct strbuf *why);

/* Where the installed or built tree is: the directory above bin/. Freed by the caller. */
char *install_root(void);
/* Path of libplimsoll.so in that tree; freed by the caller. */
char *preload_library(void);
