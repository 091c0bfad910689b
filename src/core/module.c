/* Loading of modules; see module.h. */
#include "core/module.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

const struct module_row module_table[] = {
	{"archive", "reads and writes tar archives, compressed or not"},
	{"distribution", "tests whether values have a normal or a uniform distribution"},
	{"draw", "draws charts as images and reports as PDF"},
	{"endpoint", "HTTP server for Prometheus"},
	{"gzip", "compresses extracted files and ORC tables"},
	{"hdf5", "reads and writes HDF5 files"},
	{"http", "HTTP requests of sinks"},
	{"lz4", "compresses Arrow tables"},
	{"multivariate", "principal components and detectors of outliers by several metrics"},
	{"pam", "passwords of this host, for `plimsoll serve --auth pam`"},
	{"pfm", "names of hardware events"},
	{"postgres", "job store on a PostgreSQL server"},
	{"snappy", "compresses Prometheus remote write requests and Parquet tables"},
	{"sqlite", "job store in a SQLite file"},
	{"sqlite_table", "exports tables to SQLite files"},
	{"table", "formats tables to the width of the terminal"},
	{"top", "live view of a job on the terminal"},
	{"password", "passwords of users of `plimsoll serve`"},
	{"web", "web server of `plimsoll serve`, with its pages"},
	{"zmq", "messages between nodes, collectors and operators"},
	{"zstd", "compresses batches of samples and tables"},
	{NULL, NULL},
};

#ifdef __SANITIZE_ADDRESS__
/* Font libraries never free their caches, which is no leak. */
/* NOLINTBEGIN(bugprone-reserved-identifier) */
#define SEEN __attribute__((visibility("default")))
SEEN const char *__lsan_default_suppressions(void);
SEEN const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libfontconfig\nleak:libpango\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}
/* NOLINTEND(bugprone-reserved-identifier) */
#endif

char *install_root(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	if (n <= 0)
		return xstrdup("/usr");
	path[n] = 0;
	for (int i = 0; i < 2; i++) {
		char *slash = strrchr(path, '/');

		if (slash)
			*slash = 0;
	}
	return xstrdup(path);
}

char *preload_library(void)
{
	_cleanup_free_ char *root = install_root();

	return xasprintf("%s/lib/libplimsoll.so", root);
}

static const struct module *load(const char *name, struct strbuf *why)
{
	static struct {
		const char *name;
		const struct module *module;
	} loaded[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(loaded) && loaded[i].name; i++)
		if (!strcmp(loaded[i].name, name))
			return loaded[i].module;
	_cleanup_free_ char *root = install_root();
	_cleanup_free_ char *path = xasprintf("%s/lib/plimsoll/%s.so", root, name);
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		strbuf_addf(why, "cannot load module '%s': %s", name, dlerror());
		return NULL;
	}
	const struct module *m = dlsym(handle, "plimsoll_module");
	if (!m || strcmp(m->build, PL_BUILD_ID) != 0) {
		strbuf_addf(why,
			    "module '%s' is from another build (%s, this is %s); install both from "
			    "the same source",
			    path, m ? m->build : "unknown", PL_BUILD_ID);
		dlclose(handle);
		return NULL;
	}
	if (i < ARRAY_SIZE(loaded)) {
		loaded[i].name = m->name;
		loaded[i].module = m;
	}
	return m;
}

const struct module *module_load(const char *name, struct strbuf *why)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	const struct module *m = load(name, why);
	pthread_mutex_unlock(&lock);
	return m;
}
