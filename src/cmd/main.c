/*
 * The program. Its name decides how it behaves: each of personalities.def takes the options of the
 * tool of that name; called as anything else it is plimsoll.
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

/* What could not be written is no success, whatever the command says. */
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

/* Who starts us may have closed them. What we open next would get their numbers, and be written to
 * as standard error; a program that we execute finds them closed as they were. */
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

/* ---- rights of the program's file
 * ----------------------------------------------------------------
 */

/* Commands that listen to the kernel's events. */
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
 * A site may give the program's file CAP_NET_ADMIN (setcap), so that everybody's jobs have exit
 * records. Everything else that we do is for whom called us to choose: settings, modules, databases
 * whose libraries load what they are told to. So the sockets are opened before anything of the
 * caller's is read or loaded, and the right is gone then.
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
		fprintf(stderr, "plimsoll: cannot give up the rights of its file: %s\n",
			strerror(-r));
	return r;
}

/* ---- a stack that suffices ----------------------------------------------------------------------
 */

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

/* A site's limit on stacks (ulimit -s) holds for the command as it is, but must not end us. */
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
