/* The summary of a run; see summary.h. */
#include "views/summary.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/text/secrets.h"
#include "core/text/text.h"
#include "views/output.h"
#include "views/sheet.h"

#define WIDTH 80
#define LABEL 12 /* columns */
#define TOP 6

/* ---- warnings ------------------------------------------------------------------------------- */

static void warn(struct run_summary *s, const char *fmt, ...) PL_PRINTF(2, 3);
static void warn(struct run_summary *s, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	value_append(s->warnings, value_strn(text.buf, text.len));
}

static unsigned long long ull(uint64_t v)
{
	return v;
}

/* Names the first few processes whose end is unknown. */
static void name_missing(const struct accounting *b, struct strbuf *out)
{
	int n = 0;

	for (size_t i = 0; i < b->process_count && n < 5; i++) {
		const struct process *p = &b->processes[i];

		if (p->merged || image_ended(b, &b->images[p->last]) != ENDED_UNKNOWN)
			continue;
		const struct image *last = &b->images[p->last];
		strbuf_addf(out, "%s%s[%d]", n++ ? ", " : "",
			    last->exe != NO_INDEX ? path_base(b->exes[last->exe]) : "?",
			    (int)process_pid(p));
	}
}

/* Smaller differences come from rounding and from process exit. */
static bool matters(const struct run_summary *s, uint64_t us)
{
	return us > s->cpu_total_us / 50 + 20000;
}

/* Warns where the CPU time of processes and the total differ. */
static void warn_difference(struct run_summary *s, const struct accounting *b)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t known = s->sums.itemised_us + s->sums.unseen_tail_us;
	uint64_t excess = known > s->cpu_total_us ? known - s->cpu_total_us : 0;
	uint64_t lack = known < s->cpu_total_us ? s->cpu_total_us - known : 0;

	if (matters(s, b->unwaited_us)) {
		text_add_duration(&text, (double)b->unwaited_us / 1e6);
		warn(s, "children that nobody waited for used %s of CPU time (SIGCHLD ignored)",
		     text.buf);
		strbuf_reset(&text);
	}
	text_add_duration(&text, (double)(excess ? excess : lack) / 1e6);
	if (matters(s, excess > b->unwaited_us ? excess - b->unwaited_us : 0))
		warn(s,
		     "the processes used %s more CPU time than the total, for an unknown reason: some "
		     "of it may be counted twice",
		     text.buf);
	if (!matters(s, lack))
		return;
	if (b->unclaimed_us >= lack / 2)
		warn(s,
		     "%s of CPU time belongs to no known process: it was used by children of static or "
		     "killed programs, which write no records; run as root to get them from the kernel "
		     "(taskstats)",
		     text.buf);
	else
		warn(s, "%s of CPU time belongs to no known process%s", text.buf,
		     s->unwritten ? ": a record could not be written" : ", for an unknown reason");
}

void summary_add_warnings(struct run_summary *s, const struct accounting *b)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;

	if (s->sums.missing) {
		name_missing(b, &names);
		warn(s, "the end of %llu process%s is unknown: %s%s", ull(s->sums.missing),
		     plural(s->sums.missing, "", "es"), names.buf,
		     s->sums.missing > 5 ? " ..." : "");
	}
	if (s->sums.lossy)
		warn(s,
		     "the kernel dropped process events while the machine was busy: counts are lower "
		     "bounds");
	if (s->sums.silent)
		warn(s,
		     "%llu program%s installed a seccomp filter that stops recording: counters end "
		     "there",
		     ull(s->sums.silent), plural(s->sums.silent, "", "s"));
	if (s->sums.other_root)
		warn(s,
		     "%llu process%s entered another root (chroot, bwrap, a container) without "
		     "libplimsoll.so: processes inside are known only from their parents",
		     ull(s->sums.other_root), plural(s->sums.other_root, "", "es"));
	for (size_t i = 0; i < b->file_count; i++) {
		const struct record_file_damage *d = &b->files[i].rec.damage;

		if (d->bytes)
			warn(s,
			     "%s: skipped %llu damaged bytes in %u place%s, the first at offset %llu",
			     b->files[i].name, ull(d->bytes), d->places, plural(d->places, "", "s"),
			     ull(d->first_offset));
	}
	for (size_t i = 0; i < b->host_count; i++)
		if (b->hosts[i].clock_step_us > 1000000 || b->hosts[i].clock_step_us < -1000000)
			warn(s,
			     "the clock of %s was set by %.1f s during the run; durations are correct",
			     b->hosts[i].name, (double)b->hosts[i].clock_step_us / 1e6);
	if (s->cpu_total_known)
		warn_difference(s, b);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

void summary_json(const struct run_summary *s, struct json_writer *j)
{
	json_begin_object(j, NULL);
	json_str(j, "jobid", s->jobid);
	json_str(j, "dir", s->dir);
	json_u64(j, "processes", s->sums.processes);
	json_u64(j, "images", s->sums.images);
	json_u64(j, "threads", s->sums.threads);
	json_u64(j, "programs", s->sums.programs);
	json_u64(j, "forks", s->sums.copies);
	json_u64(j, "missing", s->sums.missing);
	json_u64(j, "running", s->running);
	json_u64(j, "failed", s->sums.failed);
	json_u64(j, "signalled", s->sums.signalled);
	json_u64(j, "without_end", s->sums.no_end);
	json_u64(j, "other_root", s->sums.other_root);
	json_begin_object(j, "sources");
	json_u64(j, "preload", s->sums.by_preload);
	json_u64(j, "reaped", s->sums.by_reaper);
	json_u64(j, "taskstats", s->sums.by_taskstats);
	json_u64(j, "cn_proc", s->sums.by_cnproc);
	json_end_object(j);
	json_u64(j, "cpu_itemised", s->sums.itemised_us);
	if (s->cpu_total_known)
		json_u64(j, "cpu_total", s->cpu_total_us);
	else
		json_none(j, "cpu_total");
	json_u64(j, "cpu_exit_tail", s->sums.tail_us);
	json_u64(j, "cpu_exit_tail_unseen", s->sums.unseen_tail_us);
	if (s->cgroup_cpu_us)
		json_u64(j, "cpu_cgroup", s->cgroup_cpu_us);
	json_u64(j, "cpu_supervisor", s->own_cpu_us);
	json_u64(j, "wall", s->wall_us);
	json_i64(j, "exitcode", s->exitcode);
	json_begin_array(j, "warnings");
	for (size_t i = 0; i < s->warnings->list.count; i++)
		json_text(j, NULL, s->warnings->list.items[i]->str.data,
			  s->warnings->list.items[i]->str.size);
	json_end_array(j);
	json_end_object(j);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void line_command(const struct sheet *p, const struct run_summary *s)
{
	_cleanup_strbuf_ struct strbuf words = STRBUF_INIT, command = STRBUF_INIT;
	_cleanup_strbuf_ struct strbuf end = STRBUF_INIT;

	/* others may read the file of a batch job's standard error */
	for (char *const *a = s->argv; a && *a; a++)
		strbuf_add(&words, *a, strlen(*a) + 1);
	secrets_mask_arguments(&words, 0, NULL);
	for (const char *a = words.buf; a < words.buf + words.len; a += strlen(a) + 1) {
		_cleanup_strbuf_ struct strbuf word = STRBUF_INIT;

		text_add_shell(&word, a);
		if (command.len)
			strbuf_addch(&command, ' ');
		text_add_printable(&command, word.buf, word.len);
	}
	if (WIFSIGNALED(s->status))
		strbuf_addf(&end, "killed by signal %d (%s)", WTERMSIG(s->status),
			    strsignal(WTERMSIG(s->status)));
	else
		strbuf_addf(&end, "exit %d", s->exitcode);
	strbuf_addstr(&end, " after ");
	text_add_duration(&end, (double)s->wall_us / 1e6);
	size_t room = WIDTH > end.len + 14 ? WIDTH - end.len - 14 : 20;
	size_t cut = command.len;
	if (text_width(command.buf, command.len) > room) {
		cut = 0;
		for (size_t w = 0; w + 1 < room && cut < command.len; w++)
			cut += utf8_sequence(command.buf + cut, command.len - cut);
	}
	sheet_paint(p, "1", "plimsoll: ");
	strbuf_add(p->out, command.buf, cut);
	strbuf_addstr(p->out, cut < command.len ? "…: " : ": ");
	sheet_paint(p, s->exitcode ? "1;31" : "32", end.buf);
	strbuf_addch(p->out, '\n');
}

/* ", 3 forks"; nothing for 0. */
static void add_part(struct strbuf *out, uint64_t n, const char *one, const char *many)
{
	if (!n)
		return;
	strbuf_addstr(out, ", ");
	add_counted(out, (int64_t)n, one, many, true);
}

static void line_processes(const struct sheet *p, const struct run_summary *s)
{
	struct strbuf *o = p->out;

	sheet_label(p, "processes");
	add_processes(o, (int64_t)s->sums.processes, (int64_t)s->sums.images, true);
	strbuf_addstr(o, ": ");
	add_counted(o, (int64_t)s->sums.programs, "program", "programs", true);
	add_part(o, s->sums.copies, "fork without exec", "forks without exec");
	if (s->sums.threads > s->sums.processes)
		add_part(o, s->sums.threads, "thread", "threads");
	strbuf_addch(o, '\n');
	if (!s->sums.failed && !s->sums.signalled && !s->running)
		return;
	sheet_label(p, "exits");
	text_add_count(o, (int64_t)(s->sums.exited - s->sums.failed));
	strbuf_addstr(o, " succeeded");
	add_part(o, s->sums.failed, "failed", "failed");
	add_part(o, s->sums.signalled, "by a signal", "by a signal");
	add_part(o, s->running, "still running", "still running");
	strbuf_addch(o, '\n');
}

static double percent(double part, double of)
{
	return of > 0 ? 100 * part / of : 100;
}

static void line_cpu(const struct sheet *p, const struct run_summary *s)
{
	struct strbuf *o = p->out;
	double itemised = (double)s->sums.itemised_us;
	double total = s->cpu_total_known ? (double)s->cpu_total_us : itemised;

	sheet_label(p, "CPU");
	text_add_duration(o, total / 1e6);
	if (s->wall_us)
		strbuf_addf(o, ", %.2f of %lld %s busy", total / (double)s->wall_us,
			    (long long)s->cpus, plural(s->cpus, "CPU", "CPUs"));
	strbuf_addch(o, '\n');
	sheet_label(p, "accounted");
	if (s->cpu_total_known)
		strbuf_addf(o, "%.1f %% of CPU time", percent(itemised, total));
	else
		strbuf_addstr(o, "share unknown while processes run");
	if (s->sums.tail_us && itemised > 0)
		strbuf_addf(o, " (%.1f %% during process exit)",
			    percent((double)s->sums.tail_us, itemised));
	if (total > 0 && (double)s->sums.unseen_tail_us > total / 100)
		strbuf_addf(
			o,
			", %.1f %% during the exit of children that their parents did not record",
			percent((double)s->sums.unseen_tail_us, total));
	if (s->sums.missing)
		add_part(o, s->sums.missing, "end unknown", "ends unknown");
	else
		strbuf_addstr(o, s->running ? ", all other ends known" : ", every end known");
	strbuf_addch(o, '\n');
}

/* ---- busiest programs ----------------------------------------------------------------------- */

struct program {
	const char *name; /* NULL: programs that left none */
	uint64_t count, cpu_us;
	uint64_t known; /* of those, how many have a CPU time */
	uint32_t rssmax_kib;
};

static int busier(const void *a, const void *b)
{
	const struct program *x = a, *y = b;

	if (x->cpu_us != y->cpu_us)
		return x->cpu_us > y->cpu_us ? -1 : 1;
	return x->count > y->count ? -1 : x->count < y->count;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct program *)a)->name, ((const struct program *)b)->name);
}

/* Files of the same name are one program. */
static void join_namesakes(struct program *all, size_t n)
{
	qsort(all, n, sizeof(*all), by_name);
	for (size_t i = 1; i < n; i++) {
		struct program *to = &all[i], *from = &all[i - 1];

		if (strcmp(from->name, to->name) != 0)
			continue;
		to->count += from->count;
		to->cpu_us += from->cpu_us;
		to->known += from->known;
		if (from->rssmax_kib > to->rssmax_kib)
			to->rssmax_kib = from->rssmax_kib;
		from->count = from->cpu_us = 0;
	}
}

static size_t name_of(const struct accounting *b, const struct image *img)
{
	uint32_t name = img->name != NO_NAME ? img->name : img->exe;

	return name == NO_INDEX ? b->exe_count : name;
}

static struct program *sum_programs(const struct accounting *b)
{
	struct program *all = xcalloc(b->exe_count + 1, sizeof(*all));

	for (size_t i = 0; i < b->exe_count; i++)
		all[i].name = path_base(b->exes[i]);
	for (size_t i = 0; i < b->process_count; i++) {
		const struct process *p = &b->processes[i];
		uint64_t before = 0, total;

		if (p->merged)
			continue;
		bool known = process_cpu_us(b, p, &total);
		for (uint32_t k = p->first; k != NO_INDEX; k = b->images[k].next) {
			const struct image *img = &b->images[k];
			struct program *to = &all[name_of(b, img)];
			uint64_t upto =
				img->next == NO_INDEX ? (known ? total : img->cpu_us) : img->cpu_us;

			to->count++;
			to->known += known || img->end != NO_OFFSET;
			to->cpu_us += upto > before ? upto - before : 0;
			uint32_t rss = img->rssmax_kib         ? img->rssmax_kib
				       : img->next == NO_INDEX ? p->rssmax_kib
							       : 0;
			if (rss > to->rssmax_kib)
				to->rssmax_kib = rss;
			before = upto > before ? upto : before;
		}
	}
	join_namesakes(all, b->exe_count);
	qsort(all, b->exe_count + 1, sizeof(*all), busier);
	return all;
}

static void lines_programs(const struct sheet *p, const struct run_summary *s,
			   const struct accounting *b)
{
	_cleanup_free_ struct program *all = sum_programs(b);
	double total = (double)s->sums.itemised_us;
	size_t shown = 0;

	for (size_t i = 0; i <= b->exe_count && shown < TOP && all[i].count; i++, shown++) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT, cpu = STRBUF_INIT,
					       rss = STRBUF_INIT;
		const char *base = all[i].name ? all[i].name : "(no name)";

		text_add_printable(&name, base, strlen(base) < 24 ? strlen(base) : 24);
		if (all[i].known)
			text_add_duration(&cpu, (double)all[i].cpu_us / 1e6);
		else
			strbuf_addstr(&cpu, "unknown");
		if (all[i].rssmax_kib)
			text_add_bytes(&rss, (double)all[i].rssmax_kib * 1024);
		sheet_label(p, shown ? "" : "busiest");
		strbuf_addf(p->out, "%-24s %8llu x %12s %5.1f %% %10s\n", name.buf,
			    ull(all[i].count), cpu.buf,
			    total > 0 ? 100 * (double)all[i].cpu_us / total : 0.0, rss.buf);
	}
}

void summary_text(const struct run_summary *s, const struct accounting *b, struct strbuf *out,
		  bool color)
{
	const struct sheet p = {out, color, LABEL, WIDTH};

	line_command(&p, s);
	line_processes(&p, s);
	line_cpu(&p, s);
	lines_programs(&p, s, b);
	for (size_t i = 0; i < s->warnings->list.count; i++) {
		sheet_label(&p, "warning");
		text_add_printable(out, s->warnings->list.items[i]->str.data,
				   s->warnings->list.items[i]->str.size);
		strbuf_addch(out, '\n');
	}
	sheet_label(&p, "records");
	strbuf_addf(out, "%s\n", s->dir);
}
