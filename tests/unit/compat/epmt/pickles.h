/*
 * The fixtures of tests/fixtures/pickles: what Python wrote, NAME.PROTOCOL.pickle, and what our
 * reader must make of it, NAME.json. pickles_load() and pickles_free() are set up and torn down
 * with the group of tests.
 */
#pragma once

#include "unit.h"

#include <glob.h>

#include "core/files/fs.h"

#define PICKLE_MAX ((size_t)1 << 20)

static struct pickle_fixture {
	char *name;
	int protocol;
	size_t size;
	char *data;
	char *json;
} * pickles;
static size_t pickle_count;

static inline char *pickle_file(const char *path, size_t *size)
{
	struct strbuf text = STRBUF_INIT;

	if (fs_read(AT_FDCWD, path, PICKLE_MAX, &text) < 0)
		fail_msg("cannot read %s", path);
	*size = text.len;
	return strbuf_take(&text);
}

static inline struct pickle_fixture pickle_fixture(const char *path)
{
	const char *base = strrchr(path, '/') + 1, *dot = strchr(base, '.');
	_cleanup_free_ char *json = xasprintf("%.*s.json", (int)(dot - path), path);
	struct pickle_fixture f = {.name = xstrndup(base, (size_t)(dot - base)),
				   .protocol = dot[1] - '0'};
	size_t n;

	f.data = pickle_file(path, &f.size);
	f.json = pickle_file(json, &n);
	return f;
}

static inline int pickles_load(void **state)
{
	_cleanup_free_ char *all =
		xasprintf("%s/tests/fixtures/pickles/*.pickle", getenv("PL_SOURCE"));
	glob_t found;

	(void)state;
	if (glob(all, 0, NULL, &found) != 0)
		fail_msg("no %s", all);
	pickles = calloc(found.gl_pathc, sizeof(*pickles));
	assert_non_null(pickles);
	while (pickle_count < found.gl_pathc) {
		pickles[pickle_count] = pickle_fixture(found.gl_pathv[pickle_count]);
		pickle_count++;
	}
	globfree(&found);
	return 0;
}

static inline int pickles_free(void **state)
{
	(void)state;
	for (size_t i = 0; i < pickle_count; i++) {
		free(pickles[i].name);
		free(pickles[i].data);
		free(pickles[i].json);
	}
	free(pickles);
	return 0;
}
