/* Inputs that could not be stored, in the directory of the setting failed_dir, with their reasons.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files/fs.h"
#include "core/text/times.h"
#include "web/handlers/handlers.h"
#include "web/answers/run_command.h"

#define REASON ".reason"
#define REASON_MAX ((size_t)16384)
#define INPUTS_MAX 1000

/* The configured directory, freed by the caller; NULL: the answer is an error. */
static char *directory(const struct web_request *q, struct web_answer *a, int *ret_fd)
{
	_cleanup_free_ char *path = config_path(web_config(q->server), SETTING_FAILED_DIR);

	if (!*path) {
		web_fail(a, 404, "set failed_dir in plimsoll.conf, for the daemon and the server",
			 "the directory of failed submissions is not known");
		return NULL;
	}
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd >= 0)
		return xstrdup(path);
	web_fail(a, errno == ENOENT ? 404 : 503, NULL, "cannot open '%s': %s", path,
		 strerror(errno));
	return NULL;
}

static void add_input(struct json_writer *j, int dir, const char *name, const struct stat *st)
{
	_cleanup_free_ char *file = xasprintf("%s" REASON, name);
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT, when = STRBUF_INIT;

	text_add_time(&when, (int64_t)st->st_mtim.tv_sec * 1000000, true);
	json_begin_object(j, NULL);
	json_str(j, "name", name);
	json_text(j, "changed", when.buf, when.len);
	if (S_ISREG(st->st_mode))
		json_i64(j, "bytes", st->st_size);
	else
		json_none(j, "bytes");
	if (fs_read(dir, file, REASON_MAX, &reason) >= 0)
		json_text(j, "reason", reason.buf, strcspn(reason.buf, "\n"));
	else
		json_none(j, "reason");
	json_end_object(j);
}

void web_inbox(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *path = directory(q, a, &fd);
	_cleanup_list_ DIR *list = path ? fs_open_list(fd, ".") : NULL;
	const struct dirent *e;
	size_t count = 0;

	if (!path)
		return;
	json_begin_object(&j, NULL);
	json_str(&j, "directory", path);
	json_begin_array(&j, "failed");
	while (list && count < INPUTS_MAX && (e = readdir(list))) {
		struct stat st;

		if (e->d_name[0] == '.' || str_suffix(e->d_name, REASON) ||
		    fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		add_input(&j, fd, e->d_name, &st);
		count++;
	}
	json_end_array(&j);
	json_end_object(&j);
	a->not_kept = true;
	web_take_json(a, &j);
}

/* Submits one of them again; it is removed once it is stored. */
void web_inbox_retry(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	_cleanup_command_line_ struct command_line l = {.count = 0};
	_cleanup_command_end_ struct command_end e = COMMAND_END_INIT;
	const char *name = web_param(q, "name");
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *dir = directory(q, a, &fd);
	struct stat st;

	if (!dir)
		return;
	if (!fs_is_name(name) || *name == '.' || fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    S_ISLNK(st.st_mode)) {
		web_fail(a, 404, NULL, "there is no '%s' in '%s'", name, dir);
		return;
	}
	/* a FIFO would hold the command for as long as it may run */
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
		web_fail(a, 400, "remove it", "'%s' is neither a file nor a directory", name);
		return;
	}
	_cleanup_free_ char *input = xasprintf("%s/%s", dir, name);
	_cleanup_free_ char *reason = xasprintf("%s" REASON, name);
	command_line_of(&l, q, q->route->command, NULL);
	command_line_add(&l, input);
	if (command_failed(a, web_spawn(q, &l, -1, &e), &e))
		return;
	(void)unlinkat(fd, reason, 0);
	web_done(a, &e);
}
