/*
 * A few Python functions that read variables and join strings, for expressions in settings. Nothing
 * is executed; unknown functions are refused.
 */
#pragma once

#include "core/value.h"

/* Calls "os.environ.get", "os.path.join" and others; args: a list, named: a dict. -ENOENT: unknown
 * function, -EINVAL: wrong arguments. */
int py_call(const char *function, const struct value *args, const struct value *named,
	    struct value **ret);
bool py_is_function(const char *name);
/* Formats "{}/{0}/{name}". -EINVAL: not a string, or a field without value or with a format. */
int py_format(const struct value *text, const struct value *args, const struct value *named,
	      struct value **ret);
/* a + b, of two strings, two integers or two lists; -EINVAL otherwise. */
int py_add(const struct value *a, const struct value *b, struct value **ret);
/* a[i]; -EINVAL: there is none. */
int py_index(const struct value *v, const struct value *i, struct value **ret);
bool py_true(const struct value *v);
