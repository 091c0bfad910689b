/*
 * Asks libchdb, ClickHouse as a library, which comes without a header: chdb_query LIBRARY QUERY
 * FORMAT, the answer on standard output. The prototypes are those that its symbols have.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct chdb_connection;
struct chdb_result;

static void *symbol(void *library, const char *name)
{
	void *s = dlsym(library, name);

	if (s)
		return s;
	fprintf(stderr, "chdb_query: no '%s' in the library\n", name);
	exit(1);
}

int main(int argc, char **argv)
{
	char name[] = "clickhouse", *arguments[] = {name, NULL};

	if (argc != 4) {
		fputs("usage: chdb_query LIBRARY QUERY FORMAT\n", stderr);
		return 2;
	}
	void *library = dlopen(argv[1], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "chdb_query: %s\n", dlerror());
		return 1;
	}
	struct chdb_connection **(*open)(int, char **) = symbol(library, "chdb_connect");
	struct chdb_result *(*query)(struct chdb_connection *, const char *, const char *) =
		symbol(library, "chdb_query");
	const char *(*error)(struct chdb_result *) = symbol(library, "chdb_result_error");
	const char *(*buffer)(struct chdb_result *) = symbol(library, "chdb_result_buffer");
	size_t (*length)(struct chdb_result *) = symbol(library, "chdb_result_length");

	struct chdb_connection **c = open(1, arguments);
	if (!c) {
		fputs("chdb_query: no connection\n", stderr);
		return 1;
	}
	struct chdb_result *r = query(*c, argv[2], argv[3]);
	if (!r || error(r)) {
		fprintf(stderr, "chdb_query: %s\n", r ? error(r) : "no answer");
		return 1;
	}
	fwrite(buffer(r), 1, length(r), stdout);
	fflush(stdout);
	/* its threads need no farewell */
	_exit(0);
}
