/*
 * Parts that need a heavy library live in modules, lib/plimsoll/<name>.so, loaded when a command
 * asks for one: the program itself starts fast and works where the library is missing. Modules are
 * private to this build: each carries the build id and another one is refused.
 */
#ifndef PL_CORE_MODULE_H
#define PL_CORE_MODULE_H

#include "core/strbuf.h"

struct module {
	const char *build; /* PL_BUILD_ID of the tree it was built from */
	const char *name;
	const char *library;   /* the library it brings, with its version at run time */
	const void *functions; /* a const struct that the user of the module knows */
};

/* Every module defines one constant of this name. */
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

#endif
