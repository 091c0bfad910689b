/* See top.h. */
#include "monitor/top.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "core/clock.h"
#include "core/module.h"
#include "core/system/process_stat.h"
#include "core/text/text.h"
#include "inbox/daemon.h"
#include "monitor/top_command.h"
#include "run/signal_relay.h"
#include "sources/source.h"
#include "views/output.h"
#include "views/top/top_screen.h"

#define SHOWN_MAX 512
#define WAIT_NS 1000000000ull /* for a command, between checks for signals */

/* A source that is read. */
struct input {
	const struct source *source;
	struct source_context ctx;
	struct sample_set set;
	void *state;
};

struct top {
	const struct top_options *o;
	const struct top_screen *screen; /* NULL: not on a terminal */
	struct top_command command;
	struct job_processes watch;
	struct input *inputs;
	size_t input_count;
	struct topview *view;
	struct top_look look;
	struct top_frame frame;
	struct strbuf last; /* the last screen with processes, as text */
	char host[65];
	unsigned rounds;
};

static volatile sig_atomic_t stopped, passed_on;

/* The command also gets signals of the terminal; pass on those that a process sent to us. */
static void stop(int signal, siginfo_t *info, void *unused)
{
	(void)unused;
	stopped = signal;
	passed_on = info->si_code <= 0;
}

/* ---- sources -------------------------------------------------------------------------------- */

/* "" or "=OPTION" if the source was named on the command line; NULL if not. */
static const char *named(const struct top_options *o, const struct source *s)
{
	size_t n = strlen(s->name);

	for (size_t i = 0; i < o->name_count; i++)
		if (!strncmp(o->names[i], s->name, n) && (!o->names[i][n] || o->names[i][n] == '='))
			return o->names[i] + n;
	return NULL;
}

bool top_check_sources(const struct top_options *o)
{
	for (size_t i = 0; i < o->name_count; i++) {
		_cleanup_free_ char *name = xstrndup(o->names[i], strcspn(o->names[i], "="));
		const struct source *s = source_find(name);

		if (s && s->open && topview_wants(name))
			continue;
		usage_error("top", "top: cannot show source '%s'", name);
		return false;
	}
	return true;
}

static void open_input(struct top *t, const struct source *s, const char *option)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct input *in = &t->inputs[t->input_count];

	*in = (struct input){.source = s,
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

/* ---- one round ------------------------------------------------------------------------------ */

static int take_samples(struct top *t)
{
	int r = job_processes_update(&t->watch);

	if (r < 0)
		return r;
	topview_begin(t->view, clock_boottime_ns());
	topview_watch(t->view, &t->watch);
	for (size_t i = 0; i < t->input_count; i++) {
		struct input *in = &t->inputs[i];

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

/* Reads the states of the visible processes. */
static void read_states(struct top *t)
{
	int pids[SHOWN_MAX];
	size_t count = topview_shown(t->view, &t->look, pids,
				     t->look.height && t->look.height < SHOWN_MAX ? t->look.height
										  : SHOWN_MAX);

	for (size_t i = 0; i < count; i++) {
		struct process_stat stat;

		if (process_stat_read(t->o->root, pids[i], &stat))
			topview_state(t->view, pids[i], (char)stat.st.f[STAT_STATE]);
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
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	read_states(t);
	topview_json(t->view, &t->look, &j);
	json_write(&j, stdout);
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

/* ---- without a terminal --------------------------------------------------------------------- */

static int run_once(struct top *t)
{
	uint64_t next = clock_boottime_ns() + t->o->interval_ns;
	int r = take_samples(t);

	if (r == 0) {
		nap_until(t, next);
		if (!top_command_over(&t->command))
			r = take_samples(t);
	}
	if (r < 0) {
		log_error("cannot find processes: %s", strerror(-r));
		return EXIT_FAILED;
	}
	if (!t->watch.found_any) {
		log_error("no process is running: %s", t->watch.how);
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

/* Prints one line of JSON per round. */
static int run_json(struct top *t)
{
	uint64_t next = clock_boottime_ns();

	while (!stopped) {
		int r = take_samples(t);

		if (r < 0) {
			log_error("cannot find processes: %s", strerror(-r));
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

/* ---- on a terminal -------------------------------------------------------------------------- */

static void show(struct top *t)
{
	t->screen->size(&t->look.height, &t->look.width);
	top_move(&t->look, t->view, t->frame.page, 0);
	render(t);
	t->screen->draw(&t->frame);
}

/* Handles keys until the next round; false to quit. */
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
			r = take_samples(t);
		over = over || (r == 0 && is_over(t));
		if (r < 0 || over)
			break;
		show(t);
		next += t->o->interval_ns;
		/* do not catch up after a pause or a suspended machine */
		if (next < clock_boottime_ns())
			next = clock_boottime_ns() + t->o->interval_ns;
	} while (wait_for_keys(t, next));
	t->screen->close();
	if (over)
		printf("%sthe %s has ended\n", t->last.buf, t->command.pid ? "command" : "job");
	if (r < 0)
		log_error("cannot find processes: %s", strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static bool wants_screen(const struct top_options *o)
{
	return !o->once && !o->json && isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
}

/* Opens the terminal if it can be drawn on. */
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
		log_warn("%s; showing one interval only", why.buf);
}

/* ---- the view ------------------------------------------------------------------------------- */

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

static int view(struct top *t)
{
	int status;

	(void)raise_file_limit(); /* sources keep files of each process open */
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

/* Ends with the status of the command, even if the view fails. */
static int view_command(struct context *ctx, struct top *t, struct top_options *o, char **argv)
{
	outlive_readers(); /* the command goes on if nobody reads the view */
	take_signals();    /* signals are for the command from its start */
	int status = top_command_start(&t->command, argv, wants_screen(o));

	if (status)
		return status;
	o->pid = t->command.pid;
	(void)view(t);
	while (!top_command_over(&t->command)) {
		if (stopped && passed_on)
			(void)kill(t->command.pid, stopped);
		stopped = 0;
		top_command_nap(&t->command, WAIT_NS);
	}
	return top_command_finish(&t->command, ctx);
}

int do_top(struct context *ctx, struct top_options *o, char **command)
{
	struct top t = {.o = o, .last = STRBUF_INIT};

	if (command)
		return view_command(ctx, &t, o, command);
	take_signals();
	return view(&t);
}
