/* Where pages of other tools are now; see moved.h. */
#include "web/handlers/moved.h"

#include <string.h>

static const struct {
	const char *pattern, *page;
} moved[] = {
#define MOVED(pattern_, page_) {pattern_, page_},
#include "web/handlers/moved_pages.def"
#undef MOVED
	{NULL, NULL},
};

static void add_encoded(struct strbuf *out, const char *s)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	for (; *s; s++)
		if (strchr(plain, *s))
			strbuf_addch(out, *s);
		else
			strbuf_addf(out, "%%%02X", (unsigned char)*s);
}

void target_add_path(const struct target *t, struct strbuf *out)
{
	for (size_t i = 0; i < t->segment_count; i++) {
		strbuf_addch(out, '/');
		add_encoded(out, t->segments[i]);
	}
}

/* Does the path match? *ret_value is what stands for "{...}". */
static bool matches(const char *pattern, const struct target *t, const char **ret_value)
{
	for (size_t i = 0; i < t->segment_count; i++) {
		size_t n = strcspn(pattern + 1, "/");

		if (*pattern != '/')
			return false;
		if (pattern[1] == '{')
			*ret_value = t->segments[i];
		else if (strlen(t->segments[i]) != n ||
			 strncmp(pattern + 1, t->segments[i], n) != 0)
			return false;
		pattern += n + 1;
	}
	return !*pattern;
}

char *moved_page(const struct target *t)
{
	for (size_t i = 0; moved[i].pattern; i++) {
		struct strbuf out = STRBUF_INIT;
		const char *value = NULL;
		size_t n = strcspn(moved[i].page, "{");

		if (!matches(moved[i].pattern, t, &value))
			continue;
		strbuf_add(&out, moved[i].page, n);
		if (moved[i].page[n] && value)
			add_encoded(&out, value);
		return strbuf_take(&out);
	}
	return NULL;
}
