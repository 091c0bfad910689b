/*
 * Runs a fuzz target without a fuzzer: over every file that is named or lies in a directory that is
 * named, then over a few hundred changes of each. The changes come from a fixed seed, so a failure
 * happens again; they end after about a second, so that this is a test like any other.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

#define CHANGES 300 /* of each file */
#define SECONDS 1.0 /* for all of them */
#define GROWTH 64   /* bytes that a change may add */
#define FILE_MAX (1 << 20)
#define FILES_MAX 4096

struct import {
	uint8_t *data;
	size_t size;
};

static struct import inputs[FILES_MAX];
static size_t input_count;

static void die(const char *what, const char *name)
{
	fprintf(stderr, "%s '%s'\n", what, name);
	exit(1);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void add_file(const char *path, size_t size)
{
	if (input_count >= FILES_MAX || size > FILE_MAX)
		die("too much:", path);
	struct import *in = &inputs[input_count++];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	in->data = malloc(size ? size : 1);
	if (fd < 0 || !in->data)
		die("cannot open", path);
	ssize_t n = read(fd, in->data, size);
	if (n < 0)
		die("cannot read", path);
	in->size = (size_t)n;
	close(fd);
}

static void add_path(const char *path);

static void add_entry(const char *dir, const char *name)
{
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		die("too long:", name);
	add_path(path);
}

static void add_path(const char *path)
{
	struct dirent **entries;
	struct stat st;

	if (stat(path, &st) < 0)
		die("there is no", path);
	if (!S_ISDIR(st.st_mode)) {
		add_file(path, (size_t)st.st_size);
		return;
	}
	/* in the order of their names: the seed of the changes depends on it */
	int n = scandir(path, &entries, NULL, alphasort);
	if (n < 0)
		die("cannot read", path);
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.')
			add_entry(path, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* xorshift64*: the same numbers everywhere. */
static uint64_t random_state = 0x706c696d736f6c6cull;

static size_t below(size_t limit)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return limit ? (size_t)((random_state * 0x2545f4914f6cdd1dull >> 16) % limit) : 0;
}

/* One change in place; buf has room for GROWTH more bytes. Returns the new size. */
static size_t change(uint8_t *buf, size_t n)
{
	static const uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '\n',
					'0',  '-',  '"',  '\\', '(',  ')'};
	size_t at = below(n), length = 1 + below(n - at < 16 ? n - at : 16);

	switch (n ? below(7) : 5) {
	case 0: /* a bit */
		buf[at] ^= (uint8_t)(1u << below(8));
		return n;
	case 1: /* a byte */
		buf[at] = (uint8_t)below(256);
		return n;
	case 2: /* a byte that often matters */
		buf[at] = edges[below(sizeof(edges))];
		return n;
	case 3: /* something is gone */
		length = length < n - at ? length : n - at;
		memmove(buf + at, buf + at + length, n - at - length);
		return n - length;
	case 4: /* something is there twice */
		length = length < n - at ? length : n - at;
		memmove(buf + at + length, buf + at, n - at);
		return n + length;
	case 5: /* something new */
		memmove(buf + at + 1, buf + at, n - at);
		buf[at] = (uint8_t)below(256);
		return n + 1;
	default: /* cut off */
		return below(n + 1);
	}
}

/* In memory that ends where the input ends, so that a sanitizer sees one read too many. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);

	if (!exact)
		abort();
	if (size)
		memcpy(exact, data, size);
	(void)LLVMFuzzerTestOneInput(exact, size);
	free(exact);
}

static void run_changed(const struct import *in)
{
	uint8_t *buf = malloc(in->size + GROWTH);
	size_t n = in->size, times = 1 + below(3);

	if (!buf)
		abort();
	if (n)
		memcpy(buf, in->data, n);
	for (size_t i = 0; i < times; i++)
		n = change(buf, n);
	/* the rest of another input behind the beginning of this one */
	if (below(8) == 0) {
		const struct import *other = &inputs[below(input_count)];
		size_t from = below(other->size), more = other->size - from;

		more = more < in->size + GROWTH - n ? more : in->size + GROWTH - n;
		if (more)
			memcpy(buf + n, other->data + from, more);
		n += more;
	}
	run(buf, n);
	free(buf);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	size_t changed = 0;

	for (int i = 1; i < argc; i++)
		add_path(argv[i]);
	if (!input_count) {
		fprintf(stderr, "no inputs\n");
		return 1;
	}
	for (size_t i = 0; i < input_count; i++)
		run(inputs[i].data, inputs[i].size);
	double end = now() + SECONDS;
	for (int round = 0; round < CHANGES && now() < end; round++)
		for (size_t i = 0; i < input_count && now() < end; i++, changed++)
			run_changed(&inputs[i]);
	printf("%zu inputs and %zu changes of them\n", input_count, changed);
	for (size_t i = 0; i < input_count; i++)
		free(inputs[i].data);
	return 0;
}
