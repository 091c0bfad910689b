/* A child without rights: what it may still do, and what happens when it wants more. */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/system/sandbox.h"

#define FILE_FD 3
#define PIPE_FD 4

static const struct sandbox_limits usual = {(uint64_t)256 << 20, 10};

/* Runs a child that has this very program as its file, and a pipe; what it writes goes to *out. */
static int in_a_child(void (*what)(void), const struct sandbox_limits *limits, struct strbuf *out)
{
	int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), ends[2], status;
	char buffer[256];

	assert_true(file >= 0 && pipe(ends) == 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		const int keep[] = {file, ends[1]};

		if (sandbox_enter(keep, 2, limits) < 0)
			_exit(SANDBOX_FAILED);
		what();
		_exit(0);
	}
	close(file);
	close(ends[1]);
	for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;)
		strbuf_add(out, buffer, (size_t)n);
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* "name errno" of each call. */
static void report(const char *name, long result)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %d\n", name, result < 0 ? errno : 0);

	(void)!write(PIPE_FD, line, (size_t)n);
}

static void try_calls(void)
{
	char first[4] = "", *const none[] = {NULL};
	struct stat st;

	report("pread", pread(FILE_FD, first, 4, 0));
	report("elf", memcmp(first, "\177ELF", 4) ? -1 : 0);
	report("open", open("/etc/passwd", O_RDONLY));
	report("create", open("/tmp/plimsoll-sandbox-was-here", O_CREAT | O_WRONLY, 0600));
	report("stat", stat("/etc/passwd", &st));
	report("unlink", unlink("/tmp/plimsoll-sandbox-was-not-here"));
	report("socket", socket(AF_INET, SOCK_STREAM, 0));
	report("fork", fork());
	report("exec", execv("/bin/true", none));
	report("kill", kill(getppid(), 0));
	report("ptrace", ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	report("prctl", prctl(PR_SET_DUMPABLE, 1));
	report("dup", dup(FILE_FD));
	void *data = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	report("memory", data == MAP_FAILED ? -1 : 0);
	void *code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	report("code", code == MAP_FAILED ? -1 : 0);
	report("made code", mprotect(data, 4096, PROT_READ | PROT_EXEC));
}

static void only_its_descriptors(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	(void)state;
	assert_int_equal(in_a_child(try_calls, &usual, &out), 0);
	assert_text(&out, "pread 0\nelf 0\nopen 1\ncreate 1\nstat 1\nunlink 1\nsocket 1\nfork 1\n"
			  "exec 1\nkill 1\nptrace 1\nprctl 1\ndup 1\nmemory 0\ncode 1\n"
			  "made code 1\n");
	assert_int_equal(access("/tmp/plimsoll-sandbox-was-here", F_OK), -1);
}

static void spin(void)
{
	for (volatile unsigned i = 0;; i++)
		;
}

static void no_end(void **state)
{
	const struct sandbox_limits second = {(uint64_t)256 << 20, 1};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, end = STRBUF_INIT;

	(void)state;
	int status = in_a_child(spin, &second, &out);
	assert_true(WIFSIGNALED(status));
	sandbox_describe_end(status, &end);
	assert_contains(end.buf, "exceeded its CPU time limit");
}

static void allocate(void)
{
	for (unsigned i = 0; i < 64; i++)
		memset(xmalloc((size_t)16 << 20), 1, (size_t)16 << 20);
}

static void no_bound(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, end = STRBUF_INIT;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	skip_because("the sanitizer needs more address space than any limit leaves");
#endif
	sandbox_describe_end(in_a_child(allocate, &usual, &out), &end);
	assert_text(&end, "it exceeded its memory limit");
}

static void fault(void)
{
	volatile char *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*page = 1;
}

static void how_it_ended(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, end = STRBUF_INIT;

	(void)state;
	sandbox_describe_end(in_a_child(fault, &usual, &out), &end);
	assert_text(&end, "signal 11, Segmentation fault");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_its_descriptors),
		cmocka_unit_test(no_end),
		cmocka_unit_test(no_bound),
		cmocka_unit_test(how_it_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
