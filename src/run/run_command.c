/* `plimsoll run`: checks the command, runs it without recording, shows it with --dry-run. */
#include "run/run_internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/module.h"
#include "core/text/text.h"
#include "jobs/job_hosts.h"
#include "jobs/metadata.h"
#include "run/signal_relay.h"

int command_error(const char *file)
{
	const char *path = getenv("PATH");
	int error = ENOENT;

	if (strchr(file, '/'))
		return access(file, X_OK) == 0 ? 0 : errno;
	for (const char *p = path ? path : "/bin:/usr/bin"; p; p = strchr(p, ':')) {
		p += *p == ':';
		_cleanup_free_ char *at = xasprintf("%.*s%s%s", (int)strcspn(p, ":"), p,
						    strcspn(p, ":") ? "/" : "", file);

		if (access(at, X_OK) == 0)
			return 0;
		/* as in execvp(), a directory that may not be searched does not count */
		if (access(at, F_OK) == 0)
			error = EACCES;
	}
	return error;
}

int say_spawn_error(char *const *argv, int error)
{
	bool line = !argv[1] && strpbrk(argv[0], " |;&<>");

	log_error("cannot run '%s': %s%s", argv[0], strerror(error),
		  line ? "; use `sh -c 'LINE'` to run a shell command line" : "");
	return shell_error_status(error);
}

int run_bare(char **argv)
{
	log_warn("running the command without recording it");
	execvp(argv[0], argv);
	return say_spawn_error(argv, errno);
}

/* Does not allocate. The records stay in the job's directory. */
static void without_memory(void *user)
{
	const struct run_guard *g = user;
	int status;
	siginfo_t info;
	sigset_t all;

	if (!g->command)
		exit(run_bare(g->argv));
	if (g->status >= 0)
		_exit(g->status);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	for (;;) {
		if (waitpid(g->command, &status, WNOHANG) == g->command)
			_exit(shell_status(status));
		if (sigtimedwait(&all, &info, &(struct timespec){1, 0}) > 0 &&
		    info.si_signo != SIGCHLD)
			(void)kill(g->command, info.si_signo);
		if (kill(g->command, 0) < 0)
			return;
	}
}

void run_guard_memory(struct run_guard *g)
{
	at_out_of_memory(without_memory, g);
}

static int print_dry(char *const *ours, char *const *argv)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	for (; *ours; ours++) {
		size_t n = strcspn(*ours, "=");

		strbuf_addf(&line, "%.*s=", (int)n, *ours);
		text_add_shell(&line, *ours + n + 1);
		strbuf_addch(&line, ' ');
	}
	for (; *argv; argv++) {
		text_add_shell(&line, *argv);
		strbuf_addch(&line, argv[1] ? ' ' : '\n');
	}
	fwrite(line.buf, 1, line.len, stdout);
	return EXIT_OK;
}

int dry_run(struct context *ctx, const struct run_options *o, char **argv)
{
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;
	uint64_t number;

	if (parse_u64(argv[0], &number) == 0 && command_error(argv[0]))
		return usage_error(
			"run",
			"run: -n means --dry-run and takes no number; pass it to the launcher: "
			"`plimsoll run -- mpirun -n %s COMMAND`",
			argv[0]);
	_cleanup_free_ char *id = job_identify(ctx, NULL);
	_cleanup_free_ char *prefix = config_path(&ctx->config, SETTING_PREFIX);
	struct job_directory j = {.id = id ? id : (char *)"JOB"};
	_cleanup_free_ char *user = effective_user();
	const struct job_layout *l = job_layout(ctx);
	size_t n = strlen(prefix);
	while (n > 1 && prefix[n - 1] == '/')
		prefix[--n] = 0;
	_cleanup_free_ char *path =
		o->dir ? xasprintf("%s/HOST.BOOT/RUN.rec", o->dir)
		       : xasprintf("%s%s%s/%s%s%s/HOST.BOOT/RUN.rec", prefix, l->of_user ? "/" : "",
				   l->of_user ? user : "", j.id, l->records ? "/" : "",
				   l->records ? l->records : "");
	struct run_file f = {.run = (char *)"RUN", .path = path};

	char **ours = recording_environment(ctx, &j, &f, &problems);
	if (problems.len)
		log_warn("%s", problems.buf);
	int status = print_dry(ours, argv);
	if (ctx->verbosity >= 0 && !o->quiet)
		log_warn(
			"this only shows the command line; HOST.BOOT/RUN is a placeholder, so running "
			"the line records nothing; omit -n to record");
	free_strings(ours);
	return status;
}

char **merge_environment(char *const *ours)
{
	size_t n = 0, m = 0;

	while (environ[n])
		n++;
	while (ours[m])
		m++;
	char **merged = xcalloc(n + m + 1, sizeof(*merged));
	size_t k = 0;
	for (size_t i = 0; i < n; i++) {
		bool replaced = false;

		for (size_t x = 0; x < m && !replaced; x++)
			replaced = !strncmp(environ[i], ours[x], strcspn(ours[x], "=") + 1);
		if (!replaced)
			merged[k++] = xstrdup(environ[i]);
	}
	for (size_t x = 0; x < m; x++)
		merged[k++] = xstrdup(ours[x]);
	return merged;
}

void say_how_to_submit(const struct job_directory *job, enum job_origin origin)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	bool session = origin == JOB_SESSION;

	strbuf_addf(&text, "  store     not yet%s job ", session ? ": part of" : "; when");
	text_add_printable(&text, job->id, strlen(job->id));
	if (session) {
		strbuf_addstr(&text, "; `plimsoll stop; plimsoll submit` ends and stores it");
	} else {
		strbuf_addstr(&text, " is complete: plimsoll submit ");
		text_add_shell(&text, job->path);
	}
	strbuf_addch(&text, '\n');
	(void)!write(STDERR_FILENO, text.buf, text.len);
}

void say_how_ranks_are_one(void)
{
	uint64_t rank, size;

	if (!launcher_rank(env_lookup, &rank, &size) || rank || size < 2)
		return;
	_cleanup_free_ char *text = xasprintf(
		"  ranks     each of the %llu ranks is a separate job; to make them one job: plimsoll "
		"run -- mpirun -n %llu COMMAND, or run -j NAME in each\n",
		(unsigned long long)size, (unsigned long long)size);
	(void)!write(STDERR_FILENO, text, strlen(text));
}

struct run_times run_times(const struct supervise_result *res, const struct accounting *b)
{
	struct run_times t;
	int64_t offset = clock_realtime_us() - (int64_t)(clock_boottime_ns() / 1000);

	/* the offset in the records: the wall clock may have been set since */
	if (b->host_count == 1 && b->hosts[0].has_clock)
		offset = b->hosts[0].real_minus_boot_us;
	t.begin_us = (int64_t)(res->begin_ns / 1000) + offset;
	t.end_us = (int64_t)(res->over_ns / 1000) + offset;
	return t;
}

int64_t run_job_end(const struct value *meta, const struct run_times *t)
{
	const struct value *before = value_get(meta, "stop_us");

	return before && before->kind == VALUE_INT && before->integer > t->end_us ? before->integer
										  : t->end_us;
}

int run_ends_by(const struct context *ctx, const struct supervise_result *res)
{
	if (res->error)
		return 0;
	int sig = WIFSIGNALED(res->status) ? WTERMSIG(res->status) : held_signal();

	return ctx->personality->signal_is_status && sig != SIGINT && sig != SIGQUIT ? 0 : sig;
}

/* A group that the command joined, as a container's. */
static void add_joined(struct cgroup_limits *now, const struct cgroup_limits *joined)
{
	if (joined->memory && (!now->memory || joined->memory < now->memory))
		now->memory = joined->memory;
	if (joined->quota > 0 && (!(now->quota > 0) || joined->quota < now->quota)) {
		now->quota = joined->quota;
		now->throttled_us = joined->throttled_us;
		now->throttling_counted = joined->throttling_counted;
	}
	if (joined->kills_counted && (!now->kills_counted || joined->oom_kills > now->oom_kills)) {
		now->oom_kills = joined->oom_kills;
		now->kills_counted = true;
	}
}

void run_add_limits(struct value *metadata, const struct cgroup_limits *before,
		    const struct cgroup_limits *joined, const struct host_cpu *host_before)
{
	struct value *memory = value_new(VALUE_DICT), *cpu = value_new(VALUE_DICT);
	struct cgroup_limits now;

	cgroup_limits_read("", &now);
	cgroup_limits_since(before, &now);
	if (joined)
		add_joined(&now, joined);
	if (now.memory)
		value_set(memory, "limit", value_int((int64_t)now.memory));
	if (now.kills_counted)
		value_set(memory, "oom_kills", value_int((int64_t)now.oom_kills));
	if (now.refaults_counted)
		value_set(memory, "refault_bytes",
			  value_int((int64_t)now.refaults * sysconf(_SC_PAGESIZE)));
	if (now.quota > 0)
		value_set(cpu, "quota_us", value_int((int64_t)(now.quota * 1e6)));
	if (now.throttling_counted)
		value_set(cpu, "throttled_us", value_int((int64_t)now.throttled_us));
	host_cpu_add_since("", host_before, cpu);
	value_set(metadata, "memory", memory);
	value_set(metadata, "cpu", cpu);
}

/* LD_PRELOAD cannot contain a path with blanks or colons. */
int check_library(void)
{
	_cleanup_free_ char *library = preload_library();

	if (access(library, R_OK) < 0) {
		log_error("cannot read '%s': %s; install libplimsoll.so beside the program",
			  library, strerror(errno));
		return -errno;
	}
	if (strpbrk(library, ": ")) {
		log_error("cannot preload '%s': its path contains a blank or a colon; install it "
			  "elsewhere",
			  library);
		return -EINVAL;
	}
	return 0;
}
