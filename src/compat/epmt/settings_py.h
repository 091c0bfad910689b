/*
 * EPMT's settings.py: a Python module of assignments. Assignments of literals are read; nothing is
 * executed. Everything else in the file is passed over, and names that are assigned something that
 * is no literal are reported, so that nobody takes a default for what the file says. What may set
 * db_params unseen ("from x import *", exec(), globals()) makes it one of those.
 */
#pragma once

#include "core/value.h"

#define SETTINGS_FILE_MAX (1u << 20)
/* In skipped: the line of the first statement that may have set any name. */
#define SETTINGS_ANY "*"

/* settings: name -> literal; skipped: name -> line number of what could not be read. Both are made
 * by this and belong to the caller. -EBADMSG with the line for text that no Python would take. */
int settings_py_read(const char *text, size_t n, struct value **settings, struct value **skipped,
		     struct strbuf *why);
