/* Python functions; see python_expr.h. */
#include "core/text/python_expr.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

static const struct value *argument(const struct value *args, size_t i)
{
	return i < args->list.count ? args->list.items[i] : NULL;
}

static const char *text_argument(const struct value *args, size_t i)
{
	const struct value *v = argument(args, i);

	return v && v->kind == VALUE_STR && strlen(v->str.data) == v->str.size ? v->str.data : NULL;
}

/* ---- functions ------------------------------------------------------------------------------ */

static int call_getenv(const struct value *args, const struct value *named, struct value **ret)
{
	const char *name = text_argument(args, 0);
	struct value *other =
		args->list.count > 1 ? args->list.items[1] : value_get(named, "default");

	if (!name || args->list.count > 2)
		return -EINVAL;
	const char *v = getenv(name);
	*ret = v ? value_str(v) : other ? value_ref(other) : value_new(VALUE_NONE);
	return 0;
}

static int call_join(const struct value *args, const struct value *named, struct value **ret)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	(void)named;
	for (size_t i = 0; i < args->list.count; i++) {
		const char *part = text_argument(args, i);

		if (!part)
			return -EINVAL;
		if (*part == '/')
			strbuf_reset(&out);
		else if (out.len && out.buf[out.len - 1] != '/')
			strbuf_addch(&out, '/');
		strbuf_addstr(&out, part);
	}
	*ret = value_strn(out.buf, out.len);
	return args->list.count ? 0 : -EINVAL;
}

/* "~" and "~/..."; homes of other users are left unchanged. */
static int call_expanduser(const struct value *args, const struct value *named, struct value **ret)
{
	const char *path = text_argument(args, 0), *home = getenv("HOME");

	(void)named;
	if (!path || args->list.count != 1)
		return -EINVAL;
	_cleanup_free_ char *text = path[0] == '~' && (!path[1] || path[1] == '/') && home
					    ? xasprintf("%s%s", home, path + 1)
					    : xstrdup(path);
	*ret = value_str(text);
	return 0;
}

/* $NAME and ${NAME}; unset variables are left unchanged. */
static int call_expandvars(const struct value *args, const struct value *named, struct value **ret)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
	const char *p = text_argument(args, 0);
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	(void)named;
	if (!p || args->list.count != 1)
		return -EINVAL;
	while (*p) {
		bool brace = p[0] == '$' && p[1] == '{';
		size_t n = *p == '$' ? strspn(p + 1 + brace, letters) : 0;
		_cleanup_free_ char *name = n ? xstrndup(p + 1 + brace, n) : NULL;
		const char *v = name && (!brace || p[2 + n] == '}') ? getenv(name) : NULL;
		size_t whole = v ? 1 + n + (brace ? 2 : 0) : 1;

		if (v)
			strbuf_addstr(&out, v);
		else
			strbuf_addch(&out, *p);
		p += whole;
	}
	*ret = value_strn(out.buf, out.len);
	return 0;
}

static int call_getuser(const struct value *args, const struct value *named, struct value **ret)
{
	static const char *const names[] = {"LOGNAME", "USER", "LNAME", "USERNAME"};
	const char *user = NULL;

	(void)named;
	for (size_t i = 0; i < ARRAY_SIZE(names) && !(user && *user); i++)
		user = getenv(names[i]);
	const struct passwd *pw = user && *user ? NULL : getpwuid(getuid());
	if (pw)
		user = pw->pw_name;
	if (args->list.count || !user || !*user)
		return -EINVAL;
	*ret = value_str(user);
	return 0;
}

static int call_hostname(const struct value *args, const struct value *named, struct value **ret)
{
	char host[256] = "";

	(void)named;
	if (args->list.count || gethostname(host, sizeof(host) - 1) < 0)
		return -EINVAL;
	*ret = value_str(host);
	return 0;
}

static int call_str(const struct value *args, const struct value *named, struct value **ret)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	(void)named;
	if (args->list.count != 1)
		return -EINVAL;
	value_to_python(args->list.items[0], &out, false);
	*ret = value_strn(out.buf, out.len);
	return 0;
}

static int call_dict(const struct value *args, const struct value *named, struct value **ret)
{
	if (args->list.count)
		return -EINVAL;
	*ret = value_new(VALUE_DICT);
	for (size_t i = 0; i < value_pairs(named); i++)
		value_set(*ret, value_key(named, i)->str.data, value_ref(value_at(named, i)));
	return 0;
}

static const struct {
	const char *name;
	int (*call)(const struct value *args, const struct value *named, struct value **ret);
} functions[] = {
	{"dict", call_dict},
	{"environ.get", call_getenv},
	{"getenv", call_getenv},
	{"getpass.getuser", call_getuser},
	{"getuser", call_getuser},
	{"os.environ.get", call_getenv},
	{"os.getenv", call_getenv},
	{"os.path.expanduser", call_expanduser},
	{"os.path.expandvars", call_expandvars},
	{"os.path.join", call_join},
	{"path.expanduser", call_expanduser},
	{"path.expandvars", call_expandvars},
	{"path.join", call_join},
	{"socket.gethostname", call_hostname},
	{"str", call_str},
};

bool py_is_function(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (!strcmp(functions[i].name, name))
			return true;
	return false;
}

int py_call(const char *function, const struct value *args, const struct value *named,
	    struct value **ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (!strcmp(functions[i].name, function))
			return functions[i].call(args, named, ret);
	return -ENOENT;
}

/* ---- texts and values ----------------------------------------------------------------------- */

/* The value of a field in braces: the next one, by number, or by name. */
static const struct value *field(const char *name, size_t n, const struct value *args,
				 const struct value *named, size_t *next)
{
	_cleanup_free_ char *text = xstrndup(name, n);
	uint64_t number;

	if (!n)
		return argument(args, (*next)++);
	if (parse_u64(text, &number) == 0)
		return number < args->list.count ? args->list.items[number] : NULL;
	return value_get(named, text);
}

int py_format(const struct value *text, const struct value *args, const struct value *named,
	      struct value **ret)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	size_t next = 0;

	if (text->kind != VALUE_STR)
		return -EINVAL;
	const char *p = text->str.data, *end = p + text->str.size;
	while (p < end) {
		if ((*p == '{' || *p == '}') && p + 1 < end && p[1] == *p) {
			strbuf_addch(&out, *p);
			p += 2;
		} else if (*p == '}') {
			return -EINVAL;
		} else if (*p != '{') {
			strbuf_addch(&out, *p++);
		} else {
			const char *close = memchr(p, '}', (size_t)(end - p));
			const struct value *v =
				close ? field(p + 1, (size_t)(close - p - 1), args, named, &next)
				      : NULL;

			if (!v)
				return -EINVAL;
			value_to_python(v, &out, false);
			p = close + 1;
		}
	}
	*ret = value_strn(out.buf, out.len);
	return 0;
}

int py_add(const struct value *a, const struct value *b, struct value **ret)
{
	if (a->kind == VALUE_STR && b->kind == VALUE_STR) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

		strbuf_add(&out, a->str.data, a->str.size);
		strbuf_add(&out, b->str.data, b->str.size);
		*ret = value_strn(out.buf, out.len);
		return 0;
	}
	if (a->kind == VALUE_LIST && b->kind == VALUE_LIST) {
		*ret = value_new(VALUE_LIST);
		for (size_t i = 0; i < a->list.count; i++)
			value_append(*ret, value_ref(a->list.items[i]));
		for (size_t i = 0; i < b->list.count; i++)
			value_append(*ret, value_ref(b->list.items[i]));
		return 0;
	}
	int64_t sum;
	if (a->kind != VALUE_INT || b->kind != VALUE_INT ||
	    __builtin_add_overflow(a->integer, b->integer, &sum))
		return -EINVAL;
	*ret = value_int(sum);
	return 0;
}

int py_index(const struct value *v, const struct value *i, struct value **ret)
{
	struct value *found = NULL;

	if (v->kind == VALUE_DICT && i->kind == VALUE_STR)
		found = value_get(v, i->str.data);
	else if (v->kind == VALUE_LIST && i->kind == VALUE_INT && i->integer >= 0 &&
		 (uint64_t)i->integer < v->list.count)
		found = v->list.items[i->integer];
	if (!found)
		return -EINVAL;
	*ret = value_ref(found);
	return 0;
}

bool py_true(const struct value *v)
{
	switch (v->kind) {
	case VALUE_NONE:
		return false;
	case VALUE_BOOL:
		return v->boolean;
	case VALUE_INT:
		return v->integer != 0;
	case VALUE_STR:
		return v->str.size != 0;
	case VALUE_LIST:
	case VALUE_DICT:
		return v->list.count != 0;
	default:
		return true;
	}
}
