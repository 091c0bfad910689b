/* Called as `epmt run`: what EPMT hands to a shell, without losing the quoting of several words. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compat/epmt/epmt.h"

/* NAME=VALUE in front of a command. */
static bool is_assignment(const char *word)
{
	size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

	return n && word[n] == '=' && !(word[0] >= '0' && word[0] <= '9');
}

static bool in_path(const char *name)
{
	const char *path = getenv("PATH");

	for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
		size_t n = strcspn(p, ":");
		_cleanup_free_ char *file = xasprintf("%.*s/%s", (int)n, p, name);

		if (n && access(file, X_OK) == 0)
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}

/* A program by itself needs no shell around it, which would be one process more. */
static bool is_program(const char *word)
{
	if (strchr(word, '/'))
		return access(word, X_OK) == 0;
	return !strpbrk(word, " \t\n;&|<>()$`\\\"'*?[]#~=%!{}") && in_path(word);
}

char **epmt_shell_words(int argc, char **argv)
{
	char **words = xcalloc((size_t)argc + 4, sizeof(*words));
	size_t n = 0;

	while (argc > 1 && is_assignment(argv[0])) {
		char *equals = strchr(argv[0], '=');
		_cleanup_free_ char *name = xstrndup(argv[0], (size_t)(equals - argv[0]));

		setenv(name, equals + 1, 1);
		argc--;
		argv++;
	}
	if (argc == 1 && !is_program(argv[0])) {
		words[n++] = xstrdup("/bin/sh");
		words[n++] = xstrdup("-c");
	}
	for (int i = 0; i < argc; i++)
		words[n++] = xstrdup(argv[i]);
	return words;
}
