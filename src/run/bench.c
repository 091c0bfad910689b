/*
 * Repetitions of commands; see bench.h. Each is a `run` in a child process: it sets signal handlers
 * and limits for its command, which must not stay for the next.
 */
#include "run/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "analysis/comparison/random.h"
#include "core/clock.h"
#include "core/text/text.h"
#include "run/run_internal.h"

/* Written by the handler only. */
static volatile sig_atomic_t got_signal;

static void take_signal(int sig)
{
	got_signal = sig;
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void handle_signals(struct sigaction *before)
{
	const struct sigaction take = {.sa_handler = take_signal};

	got_signal = 0;
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++) {
		(void)sigaction(ending[i], &take, &before[i]);
		/* nohup stays */
		if (before[i].sa_handler == SIG_IGN)
			(void)sigaction(ending[i], &before[i], NULL);
	}
}

static void restore_signals(const struct sigaction *before)
{
	for (size_t i = 0; i < ARRAY_SIZE(ending); i++)
		(void)sigaction(ending[i], &before[i], NULL);
}

void bench_result_release(struct bench_result *r)
{
	for (size_t i = 0; i < BENCH_COMMANDS_MAX; i++) {
		for (size_t k = 0; k < r->runs[i]; k++)
			free(r->ids[i][k]);
		free(r->ids[i]);
	}
	*r = (struct bench_result){0};
}

/* ---- one run -------------------------------------------------------------------------------- */

/* No input, so that no run takes that of the next; no output, unless it is wanted. Messages of our
 * own are still seen. */
static void redirect(const struct bench_request *q)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	(void)dup2(null, STDIN_FILENO);
	if (q->show_output)
		return;
	const int own = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	(void)dup2(null, STDOUT_FILENO);
	(void)dup2(null, STDERR_FILENO);
	if (own >= 0)
		log_copy_to(own);
}

static _Noreturn void run_in_child(struct context *ctx, const struct bench_request *q,
				   const struct bench_command *c, const char *id)
{
	const struct run_options o = {
		.name = c->name, .error = true, .quiet = true, .submit = true};
	int argc = 0;

	redirect(q);
	if (!id) {
		execvp(c->argv[0], c->argv);
		log_error("cannot run '%s': %s", c->argv[0], strerror(errno));
		_exit(shell_error_status(errno));
	}
	config_set(&ctx->config, SETTING_JOB, id, "flag --job");
	while (c->argv[argc])
		argc++;
	const int status = do_run(ctx, &o, argc, c->argv);
	fflush(NULL);
	_exit(status);
}

/* Waits for the child; passes on signals that only we got. */
static int await(pid_t child)
{
	int status = 0, told = 0;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
		if (got_signal && told != got_signal) {
			told = got_signal;
			(void)kill(child, told);
		}
	}
	return shell_status(status);
}

/* id NULL: a run to warm up, which is not recorded. The exit status, or a negative errno. */
static int run_once(struct context *ctx, const struct bench_request *q,
		    const struct bench_command *c, const char *id, const struct sigaction *before)
{
	fflush(NULL);
	const pid_t child = fork();

	if (child < 0)
		return fail_with(-errno, "cannot start a process: %s", strerror(errno));
	if (!child) {
		restore_signals(before);
		run_in_child(ctx, q, c, id);
	}
	return await(child);
}

/* ---- all runs ------------------------------------------------------------------------------- */

static void show_progress(const struct bench_request *q, size_t done, uint64_t begin_ns)
{
	const size_t all = q->rounds * q->count;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (!q->progress)
		return;
	strbuf_addf(&text, "\r\033[Krun %zu of %zu", done < all ? done + 1 : all, all);
	if (done) {
		strbuf_addstr(&text, ", about ");
		text_add_duration(&text, (double)(clock_boottime_ns() - begin_ns) / 1e9 /
						 (double)done * (double)(all - done));
		strbuf_addstr(&text, " left");
	}
	(void)!write(STDERR_FILENO, text.buf, text.len);
}

static void end_progress(const struct bench_request *q)
{
	if (q->progress)
		(void)!write(STDERR_FILENO, "\r\033[K", 4);
}

static int report_failure(const struct bench_request *q, const struct bench_command *c,
			  const char *which, size_t number, int status)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	end_progress(q);
	text_add_shell(&name, c->argv[0]);
	log_error("%s %zu of %s failed with status %d; %s--ignore-failure goes on, the runs before "
		  "it are stored",
		  which, number, name.buf, status,
		  q->show_output ? "" : "--show-output shows what it says, ");
	return -ECANCELED;
}

/* The order of the commands in one round. */
static void shuffle(struct random *r, size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		order[i] = i;
	for (size_t i = n; i > 1; i--) {
		const size_t j = random_below(r, (uint32_t)i), t = order[i - 1];

		order[i - 1] = order[j];
		order[j] = t;
	}
}

static int warm_up(struct context *ctx, const struct bench_request *q,
		   const struct sigaction *before)
{
	for (size_t i = 0; i < q->warmup && !got_signal; i++)
		for (size_t k = 0; k < q->count && !got_signal; k++) {
			const int status = run_once(ctx, q, &q->commands[k], NULL, before);

			if (status < 0)
				return status;
			if (status && !q->ignore_failure && !got_signal)
				return report_failure(q, &q->commands[k], "warm-up run", i + 1,
						      status);
		}
	return 0;
}

static int record_round(struct context *ctx, const struct bench_request *q, struct bench_result *r,
			size_t round, const size_t *order, const char *prefix,
			const struct sigaction *before, uint64_t begin_ns)
{
	for (size_t i = 0; i < q->count; i++) {
		const size_t k = order[i];
		_cleanup_free_ char *id =
			xasprintf("%s-%03zu%c", prefix, round + 1, (int)('a' + k));

		show_progress(q, round * q->count + i, begin_ns);
		const int status = run_once(ctx, q, &q->commands[k], id, before);
		if (status < 0)
			return status;
		if (got_signal)
			return 0;
		if (status && !q->ignore_failure)
			return report_failure(q, &q->commands[k], "run", round + 1, status);
		r->ids[k][r->runs[k]++] = xstrdup(id);
	}
	return 0;
}

static void make_prefix(char *to, size_t size)
{
	const time_t now = time(NULL);
	struct tm t;
	char when[32];

	localtime_r(&now, &t);
	strftime(when, sizeof(when), "%Y%m%dT%H%M%S", &t);
	snprintf(to, size, "bench-%s-%d", when, (int)getpid());
}

int bench_run(struct context *ctx, const struct bench_request *q, struct bench_result *r)
{
	struct sigaction before[ARRAY_SIZE(ending)];
	struct random random = {q->seed};
	size_t order[BENCH_COMMANDS_MAX];
	char prefix[64];

	for (size_t k = 0; k < q->count; k++) {
		const int error = command_error(q->commands[k].argv[0]);

		if (error) {
			(void)say_spawn_error(q->commands[k].argv, error);
			return -error;
		}
	}
	for (size_t k = 0; k < q->count; k++)
		r->ids[k] = xcalloc(q->rounds, sizeof(**r->ids));
	make_prefix(prefix, sizeof(prefix));
	handle_signals(before);
	int e = warm_up(ctx, q, before);
	const uint64_t begin_ns = clock_boottime_ns();
	for (size_t i = 0; i < q->rounds && e == 0 && !got_signal; i++) {
		shuffle(&random, order, q->count);
		e = record_round(ctx, q, r, i, order, prefix, before, begin_ns);
	}
	end_progress(q);
	r->signal = got_signal;
	restore_signals(before);
	return e;
}
