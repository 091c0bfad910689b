/* Names of colmet's metrics, as its Rust version and its tool have them, and ours for the same. */
#include <string.h>

#include "cmd/node.h"

static const struct {
	const char *theirs, *ours;
} names[] = {
	{"nr_periods", "jobs.nr_periods"},
};

void node_metrics_from_colmet(const char *list, struct strbuf *out)
{
	_cleanup_free_ char *own = xstrdup(list);
	char *rest = own;

	for (char *word; (word = strsep(&rest, ", \t\n"));) {
		size_t n = strcspn(word, ":");
		const char *name = NULL;

		if (!*word)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(names); i++)
			if (strlen(names[i].theirs) == n && !strncmp(names[i].theirs, word, n))
				name = names[i].ours;
		if (out->len)
			strbuf_addch(out, ' ');
		if (name)
			strbuf_addf(out, "%s%s", name, word + n);
		else
			strbuf_addstr(out, word);
	}
}
