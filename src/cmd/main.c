/*
 * The program. The name it is called by selects the personality: each row of personalities.def
 * takes the options of the tool of that name; any other name is plimsoll.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>

#include "cmd/command.h"
#include "cmd/personalities.h"
#include "context/current_job.h"
#include "core/system/privileges.h"
#include "core/text/secrets.h"
#include "run/signal_relay.h"
#include "sources/exits/cnproc.h"
#include "sources/exits/taskstats.h"

/* Output that could not be written is a failure, whatever the command returned. */
static int end_output(int status)
{
	bool failed = ferror(stdout);

	errno = 0;
	if ((fflush(stdout) == 0 && !failed) || status != EXIT_OK)
		return status;
	log_error("cannot write to standard output%s%s", errno ? ": " : "",
		  errno ? strerror(errno) : "");
	return EXIT_FAILED;
}

/* The caller may have closed descriptors 0 to 2. Fill them, so that no file that we open gets the
 * number of standard error; close-on-exec leaves them closed for programs that we execute. */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
			(void)!open("/", O_PATH | O_CLOEXEC);
}

static int start(int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;
	const char *name = path_base(argc ? argv[0] : "plimsoll");
	const struct personality *p = personality_find(name);
	struct context ctx = {.program = name, .personality = p ? p : &personality_plimsoll};

	outlive_file_limits();
	log_init(ctx.personality->name, LOG_WARN);
	config_load(&ctx.config, "", &problems);
	if (ctx.personality->problems_after_options)
		ctx.problems = problems.buf;
	else
		warn_lines(problems.buf, NULL);
	secrets_use(&ctx.config);
	job_forget_outer(&ctx);
	int status = ctx.personality->run(&ctx, argc, argv);
	status = end_output(status);
	config_release(&ctx.config);
	if (ctx.end_by) {
		fflush(NULL);
		end_by_signal(ctx.end_by);
	}
	return status;
}

/* ---- file capabilities ---------------------------------------------------------------------- */

/* Commands that listen to process events of the kernel. */
static const char listeners[] = ",check,monitor,node,run,sample,sources,";

static bool listens_as(const char *name)
{
	const struct personality *p = personality_find(name);

	return p && p->listens;
}

static bool listens(const char *word)
{
	_cleanup_free_ char *want = xasprintf(",%s,", word);

	return !strchr(word, ',') && strstr(listeners, want);
}

/*
 * A site may give the program's file CAP_NET_ADMIN (setcap), so that all jobs have exit records.
 * The caller controls everything else: settings, modules, database libraries that load plugins. So
 * we open the sockets and drop the capability before we read or load anything of the caller's.
 */
static int return_rights(int argc, char **argv)
{
	if (!privileges_borrowed())
		return 0;
	if (argc && (listens_as(path_base(argv[0])) || (argc > 1 && listens(argv[1])))) {
		cnproc_open_early();
		taskstats_open_early();
	}
	int r = privileges_return();
	if (r < 0)
		fprintf(stderr, "plimsoll: cannot drop the capabilities of the program file: %s\n",
			strerror(-r));
	return r;
}

/* ---- a stack of sufficient size ------------------------------------------------------------- */

#define STACK_LEAST ((size_t)1 << 20)
#define STACK_OWN ((size_t)4 << 20)

static struct {
	int argc;
	char **argv;
	int status;
	ucontext_t back, own;
} on_own_stack;

static void start_on_own_stack(void)
{
	on_own_stack.status = start(on_own_stack.argc, on_own_stack.argv);
}

/* The recorded command keeps the site's stack limit (ulimit -s), but it must not crash us. */
int main(int argc, char **argv)
{
	struct rlimit limit;
	void *stack = MAP_FAILED;

	fill_standard_descriptors();
	if (return_rights(argc, argv) < 0)
		return EXIT_FAILED;
	if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < STACK_LEAST)
		stack = mmap(NULL, STACK_OWN, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED || getcontext(&on_own_stack.own) < 0)
		return start(argc, argv);
	on_own_stack.argc = argc;
	on_own_stack.argv = argv;
	on_own_stack.own.uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_OWN};
	on_own_stack.own.uc_link = &on_own_stack.back;
	makecontext(&on_own_stack.own, start_on_own_stack, 0);
	(void)swapcontext(&on_own_stack.back, &on_own_stack.own);
	return on_own_stack.status;
}
