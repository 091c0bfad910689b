/*
 * What goes with literals of Python: a few of its functions that only read variables and put texts
 * together. Nothing is executed; what is not in the table is refused.
 */
#ifndef PL_CORE_TEXT_PYTHON_EXPR_H
#define PL_CORE_TEXT_PYTHON_EXPR_H

#include "core/value.h"

/* "os.environ.get", "os.path.join" ...; -ENOENT when it is none of them, -EINVAL for arguments that
 * it does not take. args: a list, named: a dict. */
int py_call(const char *function, const struct value *args, const struct value *named,
	    struct value **ret);
bool py_is_function(const char *name);
/* "{}/{0}/{name}" with its values; widths and the like are refused. */
int py_format(const struct value *text, const struct value *args, const struct value *named,
	      struct value **ret);
/* a + b, of two texts, two numbers or two lists. */
int py_add(const struct value *a, const struct value *b, struct value **ret);
/* a[i] */
int py_index(const struct value *v, const struct value *i, struct value **ret);
bool py_true(const struct value *v);

#endif
