/*
 * Loads the module "hdf5", and converts files in a child process. The child writes a job into a
 * file that both have open, sends the job's id, and waits until the parent has taken it.
 */
#include "tables/hdf5/hdf5_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "core/module.h"
#include "core/system/sandbox.h"
#include "core/system/socket_message.h"
#include "tables/hdf5/hdf5_jobs.h"

#define TEXT_MAX 65536u
#define MEMORY ((rlim_t)4 << 30)

const struct hdf5_functions *hdf5_module(struct strbuf *why)
{
	const struct module *m = module_load("hdf5", why);

	return m ? m->functions : NULL;
}

bool hdf5_is_file(const char *path)
{
	static const char magic[] = "\x89HDF\r\n\x1a\n";
	struct stat st;
	char first[8];

	/* opening a pipe would make us its reader for a moment, and its writer fail afterwards */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && pread(fd, first, sizeof(first), 0) == sizeof(first) &&
	       !memcmp(first, magic, sizeof(first));
}

/* A message of the child: a job and its warnings, or the end and its error. */
struct message {
	int32_t result; /* of the end; 1: a job */
	uint32_t job_size, text_size;
};

/* ---- the child ---- */

static bool send_result(int fd, int result, const char *job, const char *text)
{
	struct message m = {result, (uint32_t)strlen(job), (uint32_t)strnlen(text, TEXT_MAX)};

	return send_all(fd, &m, sizeof(m)) && send_all(fd, job, m.job_size) &&
	       send_all(fd, text, m.text_size);
}

static int send_job(void *user, const char *job, const char *warnings)
{
	int fd = *(int *)user;
	char taken;

	return send_result(fd, 1, job, warnings) && receive_all(fd, &taken, 1) ? 0 : -EPIPE;
}

static void be_child(const char *path, int fd, int out)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct rlimit none = {0, 0};
	struct stat st = {0};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setrlimit(RLIMIT_CORE, &none);
	/* more than a valid file of this size can need */
	(void)stat(path, &st);
	const rlim_t seconds = 120 + (rlim_t)(st.st_size >> 20);
	(void)setrlimit(RLIMIT_CPU, &(struct rlimit){seconds, seconds});
#if !defined(__SANITIZE_ADDRESS__)
	(void)setrlimit(RLIMIT_AS, &(struct rlimit){MEMORY, MEMORY});
#endif
	int r = hdf5_jobs_write(path, fd, send_job, &out, &why);
	(void)send_result(out, r < 0 ? r : 0, "", why.buf);
	_exit(0);
}

/* ---- the parent ---- */

/* A separate descriptor for the file, with its own position. */
static int open_again(int fd)
{
	_cleanup_free_ char *path = xasprintf("/proc/self/fd/%d", fd);

	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Takes jobs until the child sends its result, which goes to *ret_end. */
static int take_jobs(int from, int fd, hdf5_job_taker take, void *user, int *ret_end,
		     struct strbuf *why)
{
	_cleanup_free_ char *text = xmalloc(TEXT_MAX + 1);
	char job[HDF5_JOB_MAX + 1];
	struct message m;
	int count = 0;

	while (receive_all(from, &m, sizeof(m)) && m.job_size < sizeof(job) &&
	       m.text_size <= TEXT_MAX && receive_all(from, job, m.job_size) &&
	       receive_all(from, text, m.text_size)) {
		job[m.job_size] = text[m.text_size] = 0;
		if (m.result != 1) {
			if (m.result < 0)
				strbuf_addstr(why, text);
			*ret_end = m.result;
			return count;
		}
		int again = open_again(fd);
		int r = again < 0 ? -errno : take(user, job, again, text);
		if (r < 0)
			return r;
		count++;
		if (!send_all(from, "", 1))
			break;
	}
	*ret_end = -EPROTO;
	return count;
}

int hdf5_jobs(const char *path, hdf5_job_taker take, void *user, struct strbuf *why)
{
	_cleanup_close_ int fd = fs_scratch_file();
	int pair[2], end = 0, status = 0;

	/* reports a missing module here, not in the child */
	if (!hdf5_module(why))
		return -ENOSYS;
	if (fd < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return strbuf_fail(why, -ENOSPC, "cannot create a temporary file in $TMPDIR: %s",
				   strerror(fd < 0 ? -fd : errno));
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		be_child(path, fd, pair[1]);
	}
	close(pair[1]);
	int r = pid < 0 ? -errno : take_jobs(pair[0], fd, take, user, &end, why);
	close(pair[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r >= 0 && end == -EPROTO) {
		sandbox_say_reader_died(path, "HDF5", status, why);
		return -EBADMSG;
	}
	if (pid < 0)
		strbuf_addf(why, "cannot start a process to read it: %s", strerror(-r));
	return r >= 0 && end < 0 ? end : r;
}
