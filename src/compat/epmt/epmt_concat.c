/* Called as `epmt concat`: papiex's CSV files of one host put together, as `stage` does by itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compat/epmt/epmt.h"
#include "compat/epmt/papiex/collate.h"
#include "core/files/fs.h"

#define FILE_MAX ((size_t)1 << 30)

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* HOST-collated-papiex-JOBID-0.csv, with the id of the directory that the first file is in. */
static char *output_name(const char *first)
{
	_cleanup_free_ char *host = papiex_host_of(path_base(first));
	_cleanup_free_ char *full = realpath(first, NULL);
	char *slash = full ? strrchr(full, '/') : NULL;

	if (!slash || !strstr(path_base(first), "-papiex-"))
		return NULL;
	*slash = 0;
	return xasprintf("%s-collated-papiex-%s-0.csv", host, path_base(full));
}

/* Out of the way, under a name that was free. */
static void put_aside(const struct epmt *e, const char *file)
{
	if (!e->error_dir || !*e->error_dir)
		return;
	_cleanup_free_ char *to = xasprintf("%s/%s.error", e->error_dir, path_base(file));
	if (mkdir(e->error_dir, 0755) < 0 && errno != EEXIST)
		log_warn("cannot create '%s': %s; '%s' stays", e->error_dir, strerror(errno), file);
	else if (link(file, to) < 0 || unlink(file) < 0)
		log_warn("cannot move '%s' to '%s': %s", file, to, strerror(errno));
}

static int add_all(const struct epmt *e, struct collation *c, char **files, size_t n)
{
	size_t good = 0;

	for (size_t i = 0; i < n; i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
		int r = fs_read(AT_FDCWD, files[i], FILE_MAX, &text);

		if (r == 0)
			r = collation_add(c, text.buf, text.len, &why);
		if (r == 0) {
			good++;
			continue;
		}
		log_error("'%s': %s", files[i], why.len ? why.buf : strerror(-r));
		if (e->error)
			return r;
		put_aside(e, files[i]);
	}
	return good ? 0 : -ENODATA;
}

static int write_output(const struct collation *c, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_close_ int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int r = fd < 0 ? -errno : 0;

	if (r == 0) {
		collation_write(c, &text);
		r = fs_write_once(fd, text.buf, text.len, 0);
		if (r < 0)
			(void)unlink(name);
	}
	if (r < 0)
		log_error("cannot write '%s': %s", name, strerror(-r));
	return r;
}

static int concat(const struct epmt *e, char **files, size_t n)
{
	struct collation c = COLLATION_INIT;
	_cleanup_free_ char *own = NULL;

	if (!n) {
		log_warn("'%s' has no CSV files", e->words[0]);
		return EXIT_OK;
	}
	qsort(files, n, sizeof(*files), by_name);
	for (size_t i = 0; i < n; i++)
		if (strstr(path_base(files[i]), "collated"))
			return fail_with(EXIT_FAILED, "'%s' is collated already", files[i]);
	if (!e->output && !(own = output_name(files[0])))
		return fail_with(EXIT_FAILED, "cannot make a name from '%s'; use -o", files[0]);
	int r = add_all(e, &c, files, n);
	if (r == 0)
		r = write_output(&c, e->output ? e->output : own);
	collation_release(&c);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int is_csv(const struct dirent *d)
{
	return str_suffix(d->d_name, ".csv");
}

int epmt_concat(struct context *ctx, const struct epmt *e)
{
	struct stat st;

	(void)ctx;
	if (!e->word_count) {
		log_error("concat needs files or a directory");
		return EXIT_USAGE;
	}
	if (stat(e->words[0], &st) < 0)
		return fail_with(EXIT_FAILED, "there is no '%s'", e->words[0]);
	if (e->word_count > 1 || !S_ISDIR(st.st_mode))
		return concat(e, e->words, (size_t)e->word_count);
	struct dirent **entries = NULL;
	int n = scandir(e->words[0], &entries, is_csv, NULL);
	if (n < 0)
		return fail_with(EXIT_FAILED, "cannot read '%s': %s", e->words[0], strerror(errno));
	char **files = xcalloc((size_t)n + 1, sizeof(*files));
	for (int i = 0; i < n; i++) {
		files[i] = xasprintf("%s/%s", e->words[0], entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	int status = concat(e, files, (size_t)n);
	free_strings(files);
	return status;
}
