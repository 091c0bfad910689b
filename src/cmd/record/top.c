/*
 * plimsoll top: a job as it runs, on a terminal. One thread looks for processes, reads the sources
 * that the view shows, and draws; sources that may block are read only when they are named.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "cmd/command.h"
#include "cmd/record/top_command.h"
#include "cmd/record/top_screen.h"
#include "core/clock.h"
#include "core/files/fs.h"
#include "core/module.h"
#include "core/system/procparse.h"
#include "core/text/text.h"
#include "plot/unit_format.h"
#include "run/signal_relay.h"
#include "sources/source.h"
#include "views/top/top_view.h"

#define NAMES_MAX 32
#define SHOWN_MAX 512
#define WAIT_NS 1000000000ull /* for a command, between two looks for signals */

struct top_options {
	bool json, once, all_users;
	const char *root, *job, *cgroup;
	const char *names[NAMES_MAX]; /* sources, NAME or NAME=OPTION */
	size_t name_count;
	int pid; /* 0: none */
	uint64_t interval_ns;
};

/* A source that is read. */
struct import {
	const struct source *source;
	struct source_context ctx;
	struct sample_set set;
	void *state;
};

struct top {
	const struct top_options *o;
	const struct top_screen *screen; /* NULL: no terminal */
	struct top_command command;
	struct job_processes watch;
	struct import *inputs;
	size_t input_count;
	struct topview *view;
	struct top_look look;
	struct top_frame frame;
	struct strbuf last; /* the last frame that had processes, as text */
	char *title, host[65];
	unsigned rounds;
};

static volatile sig_atomic_t stopped, passed_on;

/* What a terminal sends the command has, too; what somebody sends us is for it. */
static void stop(int signal, siginfo_t *info, void *unused)
{
	(void)unused;
	stopped = signal;
	passed_on = info->si_code <= 0;
}

/* ---- options ----------------------------------------------------------------------------------
 */

/* A number is a process when there is one, else a job. */
static void take_argument(struct top_options *o, const char *word)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/%s/stat", o->root, word);
	int pid;

	if (parse_pid(word, &pid) == 0 && access(path, F_OK) == 0)
		o->pid = pid;
	else
		o->job = word;
}

/* ---- sources ----------------------------------------------------------------------------------
 */

/* What was said of a source on the command line; NULL: nothing. */
static const char *named(const struct top_options *o, const struct source *s)
{
	size_t n = strlen(s->name);

	for (size_t i = 0; i < o->name_count; i++)
		if (!strncmp(o->names[i], s->name, n) && (!o->names[i][n] || o->names[i][n] == '='))
			return o->names[i] + n;
	return NULL;
}

static bool check_names(const struct top_options *o)
{
	for (size_t i = 0; i < o->name_count; i++) {
		_cleanup_free_ char *name = xstrndup(o->names[i], strcspn(o->names[i], "="));
		const struct source *s = source_find(name);

		if (s && s->open && topview_wants(name))
			continue;
		usage_error("top", "top shows nothing of a source '%s'", name);
		return false;
	}
	return true;
}

static void open_input(struct top *t, const struct source *s, const char *option)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct import *in = &t->inputs[t->input_count];

	*in = (struct import){.source = s,
			      .ctx = {.root = t->o->root,
				      .watch = &t->watch,
				      .option = option && *option == '=' ? option + 1 : NULL}};
	sample_init(&in->set, s->metrics, s->metric_count);
	if (s->open(&in->ctx, &in->set, &in->state, &why) == 0) {
		t->input_count++;
		return;
	}
	if (option)
		log_warn("source %s: %s", s->name, why.buf);
	sample_release(&in->set);
}

static void open_inputs(struct top *t)
{
	size_t count = 0;

	while (sources[count])
		count++;
	t->inputs = xcalloc(count, sizeof(*t->inputs));
	for (size_t i = 0; i < count; i++) {
		const struct source *s = sources[i];
		const char *option = named(t->o, s);

		if (s->open && topview_wants(s->name) && (option || (!s->slow && !s->on_request)))
			open_input(t, s, option);
	}
}

static void close_inputs(struct top *t)
{
	for (size_t i = 0; i < t->input_count; i++) {
		if (t->inputs[i].source->close)
			t->inputs[i].source->close(t->inputs[i].state);
		sample_release(&t->inputs[i].set);
	}
	free(t->inputs);
}

/* ---- a round ----------------------------------------------------------------------------------
 */

static int round_of_readings(struct top *t)
{
	int r = job_processes_update(&t->watch);

	if (r < 0)
		return r;
	topview_begin(t->view, clock_boottime_ns());
	topview_watch(t->view, &t->watch);
	for (size_t i = 0; i < t->input_count; i++) {
		struct import *in = &t->inputs[i];

		if (in->source->every > 1 && t->rounds % in->source->every)
			continue;
		sample_begin(&in->set);
		if (in->source->read(in->state, &in->set) == 0)
			topview_take(t->view, in->source->name, &in->set);
	}
	topview_end(t->view);
	t->rounds++;
	t->look.title = t->watch.how;
	return 0;
}

/* The states of those that will be seen. */
static void read_states(struct top *t)
{
	int pids[SHOWN_MAX];
	size_t count = topview_shown(t->view, &t->look, pids,
				     t->look.height && t->look.height < SHOWN_MAX ? t->look.height
										  : SHOWN_MAX);

	for (size_t i = 0; i < count; i++) {
		_cleanup_free_ char *path = xasprintf("%s/proc/%d/stat", t->o->root, pids[i]);
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		struct proc_stat st;

		if (fs_read(AT_FDCWD, path, 4096, &text) == 0 &&
		    proc_parse_stat(text.buf, text.len, &st) && st.last >= STAT_STATE)
			topview_state(t->view, pids[i], (char)st.f[STAT_STATE]);
	}
}

static void render(struct top *t)
{
	read_states(t);
	top_frame_release(&t->frame);
	topview_render(t->view, &t->look, &t->frame);
	if (!t->watch.count || t->look.help)
		return;
	strbuf_reset(&t->last);
	for (size_t i = 0; i < t->frame.count; i++)
		if (t->frame.lines[i].style != TOP_NOTE)
			strbuf_addf(&t->last, "%s\n", t->frame.lines[i].text);
}

static void print_json(struct top *t)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	read_states(t);
	topview_json(t->view, &t->look, &j);
	jsonw_write(&j, stdout);
	fflush(stdout);
}

static bool is_over(struct top *t)
{
	return t->command.pid ? top_command_over(&t->command) : job_processes_over(&t->watch);
}

static void nap_until(struct top *t, uint64_t time_ns)
{
	for (uint64_t now; !stopped && !top_command_over(&t->command);) {
		now = clock_boottime_ns();
		if (now >= time_ns)
			return;
		top_command_nap(&t->command, time_ns - now);
	}
}

/* ---- without a terminal ------------------------------------------------------------------------
 */

static int run_once(struct top *t)
{
	uint64_t next = clock_boottime_ns() + t->o->interval_ns;
	int r = round_of_readings(t);

	if (r == 0) {
		nap_until(t, next);
		if (!top_command_over(&t->command))
			r = round_of_readings(t);
	}
	if (r < 0) {
		log_error("cannot look for processes: %s", strerror(-r));
		return EXIT_FAILED;
	}
	if (!t->watch.found_any) {
		log_error("nothing is running: %s", t->watch.how);
		return EXIT_FAILED;
	}
	if (t->o->json) {
		print_json(t);
	} else {
		render(t);
		for (size_t i = 0; i < t->frame.count; i++)
			printf("%s\n", t->frame.lines[i].text);
	}
	return output_error(stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}

/* A line of JSON a round. */
static int run_json(struct top *t)
{
	uint64_t next = clock_boottime_ns();

	while (!stopped) {
		int r = round_of_readings(t);

		if (r < 0) {
			log_error("cannot look for processes: %s", strerror(-r));
			return EXIT_FAILED;
		}
		if (is_over(t))
			break;
		print_json(t);
		if (output_error(stdout) < 0)
			return EXIT_FAILED;
		next += t->o->interval_ns;
		nap_until(t, next);
	}
	return EXIT_OK;
}

/* ---- on a terminal ------------------------------------------------------------------------------
 */

static void show(struct top *t)
{
	t->screen->size(&t->look.height, &t->look.width);
	top_move(&t->look, t->view, t->frame.page, 0);
	render(t);
	t->screen->draw(&t->frame);
}

/* Until the next round: keys. False to quit. */
static bool wait_for_keys(struct top *t, uint64_t until_ns)
{
	for (;;) {
		uint64_t now = clock_boottime_ns();

		if (stopped)
			return false;
		if (now >= until_ns || top_command_over(&t->command))
			return true;
		uint64_t left = (until_ns - now) / 1000000 + 1, most = t->command.pid ? 100 : 1000;
		int key = t->screen->key((int)(left > most ? most : left));
		if (key == TOP_KEY_NONE)
			continue;
		if (!top_handle(&t->look, t->view, t->frame.page, key))
			return false;
		show(t);
	}
}

static int run_screen(struct top *t)
{
	uint64_t next = clock_boottime_ns();
	bool over = false;
	int r = 0;

	t->look.keys = true;
	do {
		over = top_command_over(&t->command);
		if (!t->look.paused && !over)
			r = round_of_readings(t);
		over = over || (r == 0 && is_over(t));
		if (r < 0 || over)
			break;
		show(t);
		next += t->o->interval_ns;
		/* after a pause or a sleep of the machine there is nothing to catch up with */
		if (next < clock_boottime_ns())
			next = clock_boottime_ns() + t->o->interval_ns;
	} while (wait_for_keys(t, next));
	t->screen->close();
	if (over)
		printf("%sthe %s has ended\n", t->last.buf, t->command.pid ? "command" : "job");
	if (r < 0)
		log_error("cannot look for processes: %s", strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static bool wants_screen(const struct top_options *o)
{
	return !o->once && !o->json && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
}

/* The terminal, when there is one that can be drawn on. */
static void find_screen(struct top *t)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (!wants_screen(t->o))
		return;
	const struct module *m = module_load("top", &why);
	const struct top_screen *s = m ? m->functions : NULL;
	if (s && s->open(color_on(stdout), &why) == 0)
		t->screen = s;
	else
		log_warn("%s; here is one look at it", why.buf);
}

/* ---- the command -------------------------------------------------------------------------------
 */

static void raise_limits(void)
{
	struct rlimit files;

	/* descriptors are kept for each process */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
}

static int open_watch(struct top *t)
{
	const struct top_options *o = t->o;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct job_processes_options wo = {.kind = o->pid      ? JOB_PROCESSES_PIDS
						   : o->cgroup ? JOB_PROCESSES_CGROUP
						   : o->job    ? JOB_PROCESSES_JOB
							       : JOB_PROCESSES_NONE,
					   .root = o->root,
					   .pids = &o->pid,
					   .pid_count = 1,
					   .cgroup = o->cgroup,
					   .job = o->job,
					   .all_users = o->all_users || o->pid};
	int r = job_processes_open(&t->watch, &wo, &why);

	if (r < 0)
		log_error("%s", why.len ? why.buf : strerror(-r));
	return r;
}

static void take_signals(void)
{
	struct sigaction sa = {.sa_sigaction = stop, .sa_flags = SA_SIGINFO};

	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
}

static int look(struct top *t)
{
	int status;

	raise_limits();
	if (open_watch(t) < 0)
		return EXIT_FAILED;
	(void)gethostname(t->host, sizeof(t->host) - 1);
	t->host[strcspn(t->host, ".")] = 0;
	size_t width = terminal_width(stdout);
	t->look = (struct top_look){
		.width = width ? width : 80, .utf8 = text_is_utf8(), .host = t->host};
	t->view = topview_new();
	open_inputs(t);
	find_screen(t);
	if (t->screen)
		status = run_screen(t);
	else if (t->o->json && !t->o->once)
		status = run_json(t);
	else
		status = run_once(t);
	close_inputs(t);
	top_frame_release(&t->frame);
	topview_free(t->view);
	strbuf_release(&t->last);
	job_processes_close(&t->watch);
	return status;
}

/* Its status is ours, however much of it could be seen. */
static int look_at_command(struct context *ctx, struct top *t, struct top_options *o, char **argv)
{
	outlive_readers(); /* of the view: the command goes on */
	take_signals();    /* from its first moment on they are for the command */
	int status = top_command_start(&t->command, argv, wants_screen(o));

	if (status)
		return status;
	o->pid = t->command.pid;
	(void)look(t);
	while (!top_command_over(&t->command)) {
		if (stopped && passed_on)
			(void)kill(t->command.pid, stopped);
		stopped = 0;
		top_command_nap(&t->command, WAIT_NS);
	}
	return top_command_finish(&t->command, ctx);
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct top_options *o = ctx->options;
	struct top t = {.o = o, .last = STRBUF_INIT};
	int words = argc - ctx->behind;

	if (words > 1)
		return usage_error("top",
				   "top takes one job or process; a command comes behind --");
	if (words)
		take_argument(o, argv[0]);
	if ((o->pid != 0) + (o->job != NULL) + (o->cgroup != NULL) +
		    (ctx->behind && *o->root ? 2 : ctx->behind > 0) >
	    1)
		return usage_error("top", "top takes one of a job, a process, a control group and "
					  "a command of this machine");
	if (!check_names(o))
		return EXIT_USAGE;
	if (ctx->behind)
		return look_at_command(ctx, &t, o, argv + words);
	take_signals();
	return look(&t);
}

static const struct option_row rows[] = {
	{OPT_DURATION, 'i', "interval", "TIME", "time between two readings; 2s",
	 AT(struct top_options, interval_ns), RANGE(50 * MS, 3600 * SECONDS)},
	{OPT_FLAG, 0, "once", NULL, "print what one interval shows, and end",
	 AT(struct top_options, once)},
	{OPT_COUNT, 'p', "pid", "PID", "this process and its descendants",
	 AT(struct top_options, pid), RANGE(1, INT32_MAX), .takes = "a process id"},
	{OPT_TEXT, 'j', "job", "ID", "this job of the batch system", AT(struct top_options, job)},
	{OPT_TEXT, 0, "cgroup", "PATH", "the processes of this control group",
	 AT(struct top_options, cgroup)},
	{OPT_FLAG, 'a', "all-users", NULL, "processes of other users, too",
	 AT(struct top_options, all_users)},
	{OPT_LIST, 's', "source", "NAME[=OPTION]",
	 "read this source, too: nvidia, amdgpu, infiniband, which may take their time",
	 LIST(struct top_options, names, name_count)},
	{OPT_TEXT, 0, "root", "DIR", "read a recorded tree instead of this machine",
	 AT(struct top_options, root)},
	ROW_JSON(struct top_options),
	ROW_END,
};

const struct command command_top = {
	.name = "top",
	.summary = "show a job on this host as it runs",
	.arguments = "[JOB|PID | -- COMMAND [ARGUMENT...]]",
	.description =
		"Shows what a job does on this host: its processes with their share of CPU, memory "
		"and transfers, and curves of the whole, until the job ends. JOB is a job of the batch system: \"4711\", or "
		"\"4711.2\" for one step of Slurm's; a number is a process when there is one with it. Without an argument it is the job that we are in; outside of "
		"any batch system the processes of this session, or when there are none those of "
		"this user.\n\n"
		"Behind -- there may be a command: it is started, shown until it ends, and its exit status is "
		"that of top. While the view has the terminal the command reads nothing, and what it prints "
		"comes at its end; q leaves the view and waits for it. Elsewhere its standard output goes to "
		"standard error, beside the view.\n\n"
		"Keys: c, m and i sort by CPU, memory and input/output, arrows and page keys move "
		"in the table, p pauses, ? explains, q quits. READ/s is what comes from storage, "
		"WRITE/s what is queued for it; a file that is deleted soon never gets there. A dash is a value that is not known.\n\n"
		"Where the output is no terminal, and with --once, one view is printed after one "
		"interval. --json prints a line for each interval, with --once a single one.",
	.examples = "  plimsoll top 4711\n"
		    "  plimsoll top -- ./model --steps 100\n"
		    "  plimsoll top --pid $(pgrep -n model) -i 500ms\n"
		    "  plimsoll top --once --json 4711 | jq .now\n",
	.options = rows,
	.defaults = &(const struct top_options){.root = "", .interval_ns = 2000000000ull},
	.options_size = sizeof(struct top_options),
	.run = run,
};
