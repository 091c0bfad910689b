/* Files of a job; see job_files.h. */
#include "jobs/job_files.h"

#include <string.h>

#include "core/files/fs.h"
#include "core/text/text.h"
#include "jobs/job_layout.h"
#include "jobs/metadata_file.h"

#define JOB_FILES(symbol) extern const struct job_files job_files_##symbol;
#include "jobs/job_files.def"
#undef JOB_FILES

static const struct job_files *const others[] = {
#define JOB_FILES(symbol) &job_files_##symbol,
#include "jobs/job_files.def"
#undef JOB_FILES
	NULL,
};

/* "<host>.<boot>", the directory of the runs of a host. */
static bool is_host_dir(const char *name, size_t n)
{
	if (n < 10 || name[n - 9] != '.')
		return false;
	for (size_t i = n - 8; i < n; i++)
		if (!strchr("0123456789abcdef", name[i]))
			return false;
	return true;
}

static bool is_dir_of_job(const char *name)
{
	bool known = is_host_dir(name, strlen(name));

	for (const struct job_layout *const *l = job_layouts; *l; l++)
		known |= (*l)->records && !strcmp(name, (*l)->records);
	for (const struct job_files *const *f = others; *f; f++)
		known |= (*f)->dir && !strcmp(name, (*f)->dir);
	return known;
}

static bool is_of_other(const char *base)
{
	for (const struct job_files *const *f = others; *f; f++)
		if ((*f)->is_name(base))
			return true;
	return false;
}

bool job_file_is_ours(const char *path)
{
	const char *base = path_base(path), *above = base;

	if (meta_is_name(base) || !strcmp(base, ".lock") || str_suffix(base, ".rec") ||
	    str_suffix(base, ".smp") || str_suffix(base, ".mark") || is_of_other(base))
		return true;
	if (base - path < 2 || !str_suffix(base, ".json"))
		return false;
	/* metadata of a run are beside its records */
	while (--above > path && above[-1] != '/')
		;
	return is_host_dir(above, (size_t)(base - above) - 1);
}

static char *find_foreign(int at, const char *name, const char *below)
{
	_cleanup_list_ DIR *dir = fs_open_list(at, name);
	char *found = NULL;

	if (!dir)
		return xstrdup(below); /* its content is unknown */
	for (struct dirent *e; !found && (e = readdir(dir));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		_cleanup_free_ char *path =
			xasprintf("%s%s%s", below, *below ? "/" : "", e->d_name);
		if (e->d_type == DT_DIR && is_dir_of_job(e->d_name))
			found = find_foreign(dirfd(dir), e->d_name, path);
		else if (e->d_type != DT_REG || !job_file_is_ours(path))
			found = xstrdup(path);
	}
	return found;
}

char *job_files_foreign(int at, const char *name)
{
	return find_foreign(at, name, "");
}
