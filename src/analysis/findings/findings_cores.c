/* Rules about cores: who had them, and why they had nothing to run; see findings.h. How many
 * threads exist says little: what counts is how many ran or were ready to run. */
#include <math.h>
#include <string.h>

#include "analysis/findings/findings_rules.h"

static void show_where(const struct finding_figures *f, struct draft *d)
{
	say(&d->command, "plimsoll where %s --over time", finding_job(f));
}

static double busy_time(const struct finding_figures *f)
{
	return core_time_family(&f->time, CORE_BUSY_FAMILY) +
	       core_time_family(&f->time, CORE_KERNEL_FAMILY);
}

/* ---- no core for threads that are ready ----------------------------------------------------- */

void rule_quota(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double saving = f->duration * f->throttled / (f->throttled + (f->cpu > 0 ? f->cpu : 0));

	if (!(f->throttled > 0 && f->throttled >= LIMIT(THROTTLED) * f->duration))
		return;
	if (!finding_begin(f, &d, f->time.part[CORE_QUOTA], saving))
		return;
	say(&d.title, "a CPU quota stopped it");
	say(&d.details, "its threads were stopped for %T", f->throttled);
	if (f->quota > 0)
		say(&d.details, " by a quota of %N cores", f->quota);
	say(&d.details, ", and ran for %T.", f->cpu);
	say(&d.advice, "Raise the CPU quota of its control group or container");
	if (finding_wanted(f) > 0)
		say(&d.advice, ": %N cores were wanted on average", finding_wanted(f));
	say(&d.advice, "; more threads do not help.");
	show_where(f, &d);
	evidence(&d, "cgroup.cpu_throttled_time", f->throttled, "s", NULL);
	evidence(&d, "quota", f->quota, "cores", NULL);
	finding_add(to, FINDING_CPU_QUOTA, finding_weight_of(f, d.saving), &d);
}

void rule_neighbour(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double lost = f->time.part[CORE_NEIGHBOUR];

	/* with a core of its own, a ready thread would wait for its turn */
	if (finding_takes_turns(f) || finding_processes_take_turns(f) ||
	    !finding_begin(f, &d, lost, finding_lost(f, lost)))
		return;
	say(&d.title, "other programs took cores that it needed");
	say(&d.details,
	    "its threads were ready to run for %T while others had the cores, and ran for "
	    "%T.",
	    lost + f->time.excess_others, f->cpu);
	say(&d.advice, f->granted ? "Ask for cores of its own (--exclusive), or another node."
				  : "Run it when the machine is free, or on cores of its own.");
	show_where(f, &d);
	evidence_part(&d, f, CORE_NEIGHBOUR);
	evidence(&d, "process.time_waiting", f->cpu_wait, "s", NULL);
	finding_add(to, FINDING_NEIGHBOUR, finding_weight_of(f, d.saving), &d);
}

#define WAKE_UP 0.3e-3 /* s for each switch of a thread; slices of shared cores are longer */

/* Threads that are bound to too few cores keep these busy: a whole number of them. Who is woken
 * again and again, as by a lock, does not. What samples saw needs no such guess. */
static bool fills_cores(const struct finding_figures *f)
{
	double busy = busy_time(f) / f->duration, cores = floor(busy + 0.15);

	return f->looked || (cores >= 1 && busy <= cores + 0.05);
}

void rule_affinity(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double lost = f->time.part[CORE_AFFINITY];

	/* with a core of its own, a ready thread would wait for its turn; and one that wakes up
	 * needs a moment to get to a core that is free */
	if (finding_takes_turns(f) || finding_processes_take_turns(f) ||
	    lost < WAKE_UP * f->switches || !fills_cores(f) ||
	    !finding_begin(f, &d, lost, finding_lost(f, lost)))
		return;
	say(&d.title, "threads shared cores while other cores were free");
	say(&d.details,
	    "its threads were ready to run for %T while cores that nobody used were "
	    "free: they are bound to the same few.",
	    lost);
	say(&d.advice, "Check the binding: taskset, numactl, --cpu-bind of srun, --bind-to of "
		       "mpirun, OMP_PROC_BIND and OMP_PLACES.");
	show_where(f, &d);
	evidence_part(&d, f, CORE_AFFINITY);
	evidence(&d, "process.time_waiting", f->cpu_wait, "s", NULL);
	finding_add(to, FINDING_AFFINITY, finding_weight_of(f, d.saving), &d);
}

void rule_oversubscribed(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double own = f->time.excess_own + f->time.part[CORE_OVERSUBSCRIBED];
	double wanted = f->duration > 0 ? (busy_time(f) + own) / f->duration : NAN;
	double each = (double)(int64_t)(f->cores / finding_tasks(f));

	if (!(wanted >= LIMIT(DEMAND) * f->cores) || finding_has_main(f, to, FINDING_CPU_QUOTA) ||
	    !finding_begin(f, &d, f->time.part[CORE_OVERSUBSCRIBED],
			   f->duration * (1 - f->cores / wanted)))
		return;
	say(&d.title, "too many busy threads for its cores");
	say(&d.details,
	    "%N threads ran or were ready to run on average, on %N core%s; they waited "
	    "%T for each other.",
	    wanted, f->cores, f->cores <= 1 ? "" : "s", own);
	if (f->granted && finding_whole(f)) {
		say(&d.advice, "Ask for %W cores", finding_up(wanted));
		finding_cores(&d.advice, f, finding_up(wanted));
	} else {
		say(&d.advice, "Use a machine with more cores");
	}
	say(&d.advice, ", or start fewer threads or processes (OMP_NUM_THREADS=%W, make -j%W).",
	    each >= 1 ? each : 1, each >= 1 ? each : 1);
	show_where(f, &d);
	evidence(&d, "wanted", wanted, "cores", NULL);
	evidence(&d, "granted", f->cores, "cores", NULL);
	evidence(&d, "process.time_waiting", f->cpu_wait, "s", NULL);
	finding_add(to, FINDING_OVERSUBSCRIBED, finding_weight_of(f, d.saving), &d);
}

/* ---- parts that differ ---------------------------------------------------------------------- */

struct compared {
	double count, mean, most;
	const char *what, *name, *advice;
};

static const char *const advice_rank =
	"Distribute the work again so that this rank has less, or let idle ranks take work from it.";

static struct compared most_uneven(const struct finding_figures *f)
{
	struct compared list[] = {
		{f->ranks, f->rank_mean, f->rank_most, "rank", f->rank_name, advice_rank},
		{f->hosts, f->host_mean, f->host_most, "host", f->host_name,
		 "Spread the ranks evenly (--ntasks-per-node), or ask for fewer hosts."},
		{f->peers, f->peer_mean, f->peer_most, "process", f->peer_name,
		 "Divide the work into more and smaller pieces, and let each process take the next "
		 "piece when it is free."},
		{f->sharing, f->sharing_mean, f->sharing_most, "thread", f->peer_name,
		 "Divide the work into smaller pieces that threads take when they are free (OpenMP: "
		 "schedule(dynamic))."},
	};
	struct compared best = {0};

	for (size_t i = 0; i < ARRAY_SIZE(list); i++)
		if (list[i].count >= 2 && list[i].most >= LIMIT(UNEVEN) * list[i].mean &&
		    list[i].most >= LIMIT(UNEVEN_CPU) &&
		    list[i].most - list[i].mean > best.most - best.mean)
			best = list[i];
	return best;
}

void rule_imbalance(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	struct compared c = most_uneven(f);
	const double *part = f->time.part;
	/* Some wait for the others in a pipe, a socket or a semaphore. Who waits for a lock does
	 * not count: a lock that one of them gets more often makes them differ. */
	double idle = core_time_family(&f->time, CORE_IDLE_FAMILY) + part[CORE_CHILD] +
		      part[CORE_PROCESS] + part[CORE_NETWORK];
	double lost = (c.most - c.mean) * c.count;

	double saving = c.most - c.mean;
	/* cores that were busy all the time lost nothing; how many there are may be unknown */
	lost = lost < idle || isnan(f->cores) ? lost : idle;
	saving = f->cores > 1 && saving > idle / (f->cores - 1) ? idle / (f->cores - 1) : saving;
	/* all of its work, divided evenly among its cores, takes this long at least */
	if (f->cores >= 1 && saving > f->duration - f->cpu / f->cores)
		saving = f->duration - f->cpu / f->cores;
	if (!(c.count >= 2) || finding_processes_take_turns(f) ||
	    !finding_begin(f, &d, lost, saving))
		return;
	say(&d.title, "load imbalance between %s%s", c.what,
	    !strcmp(c.what, "process") ? "es" : "s");
	if (!strcmp(c.what, "rank"))
		finding_add_step(&d.title, f->rank_step);
	say(&d.details, "the busiest of %W %s%s", c.count, c.what,
	    !strcmp(c.what, "process") ? "es" : "s");
	if (c.name && *c.name)
		say(&d.details, " (%s)", c.name);
	say(&d.details,
	    " used %T of CPU, %T is the mean: the others had nothing to do up to %% of "
	    "the time.",
	    c.most, c.mean, 1 - (c.mean * c.count - c.most) / (c.count - 1) / c.most);
	say(&d.advice, "%s", c.advice);
	say(&d.command, "plimsoll procs %s", finding_job(f));
	evidence(&d, "cpu_time of the busiest", c.most, "s", c.name);
	evidence(&d, "cpu_time, mean", c.mean, "s", NULL);
	evidence_part(&d, f, CORE_IMBALANCE);
	finding_add(to, FINDING_IMBALANCE, finding_weight_of(f, d.saving), &d);
}

bool finding_has_main(const struct finding_figures *f, const struct findings *to,
		      enum finding_id id)
{
	for (size_t i = 0; i < to->count; i++)
		if (to->list[i].id == id && to->list[i].saving >= LIMIT(MAIN) * f->duration)
			return true;
	return false;
}

/* ---- programs in turn ----------------------------------------------------------------------- */

void rule_short(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double saving = f->brief_time < f->duration ? f->brief_time : f->duration;
	/* of many at one time, and of those that nobody waits for, only their work counts */
	double work = finding_lost(f, busy_time(f));

	saving = work >= 0 && saving > work ? work : saving;
	if (!(f->processes >= LIMIT(BRIEF_RATE) * f->duration &&
	      f->brief >= LIMIT(BRIEF_SHARE) * f->processes) ||
	    !finding_begin(f, &d, f->time.part[CORE_FORK], saving))
		return;
	say(&d.title, "very many very short processes");
	say(&d.details, "%C of %P lived less than 0.1 s, %W were started per second", f->brief,
	    f->processes, f->processes / f->duration);
	if (f->brief_name && *f->brief_name)
		say(&d.details, ", most of them '%s'", f->brief_name);
	say(&d.details, ".");
	say(&d.advice, "Replace the loop that starts them by one call over all items (xargs, one "
		       "script instead of many small programs).");
	say(&d.command, "plimsoll tree %s", finding_job(f));
	evidence(&d, "processes below 0.1 s", f->brief, "count", f->brief_name);
	evidence(&d, "process starts", f->processes / f->duration, "1/s", NULL);
	evidence_part(&d, f, CORE_FORK);
	finding_add(to, FINDING_SHORT_PROCESSES, finding_weight_of(f, d.saving), &d);
}

void rule_chain(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double idle = f->time.part[CORE_CHILD] + f->time.part[CORE_SERIAL];
	double width = f->chain < f->cores ? f->chain : f->cores;
	double saving = finding_lost(f, busy_time(f)) * (1 - 1 / width);

	if (!(f->chain >= LIMIT(CHAIN) && f->chain_time >= 0.6 * f->duration && f->cores >= 1.5) ||
	    !(idle >= LIMIT(IDLE) * core_time_total(&f->time)) ||
	    finding_has_main(f, to, FINDING_SHORT_PROCESSES) || !finding_begin(f, &d, idle, saving))
		return;
	say(&d.title, "programs ran one after another while other cores had nothing to run");
	say(&d.details, "%W programs ran in turn for %T while their parent waited for each.",
	    f->chain, f->chain_time);
	say(&d.advice,
	    "Run those that do not need each other's results at the same time (& and "
	    "wait, xargs -P %W, make -j%W), or as an array of jobs.",
	    f->cores, f->cores);
	say(&d.command, "plimsoll tree %s", finding_job(f));
	evidence(&d, "programs in turn", f->chain, "count", NULL);
	evidence_part(&d, f, CORE_CHILD);
	finding_add(to, FINDING_WAIT_CHILD, finding_weight_of(f, d.saving), &d);
}

/* ---- one thread ------------------------------------------------------------------------------ */

/* Cores with which it would have run as fast, for each rank as many as the busiest one needs; NAN
 * where the peak is unknown. */
static double enough_cores(const struct finding_figures *f)
{
	double tasks = finding_tasks(f), most = f->cpu_peak > 0 ? f->cpu_peak * 0.98 : NAN;
	double ready = finding_wanted(f);

	if (f->rank_most > 0 && f->duration > 0 && f->rank_most / f->duration * tasks > most)
		most = f->rank_most / f->duration * tasks;
	most = ready > most ? ready : most;
	/* more cores than threads have no use */
	if (f->threads_peak >= 1 && !(most < f->threads_peak))
		most = f->threads_peak;
	most = finding_up(most / tasks) * tasks;
	return most < tasks ? tasks : most;
}

static void advise_fewer(const struct finding_figures *f, struct strbuf *out)
{
	double enough = enough_cores(f);

	if (!finding_whole(f))
		finding_add_incomplete(f, out);
	else if (!f->granted)
		say(out,
		    "If its work can be divided, divide it among more threads or processes; or "
		    "run several such commands side by side, where memory allows.");
	else if (isnan(enough))
		say(out, "How many cores it needs at its busiest is unknown: record one with "
			 "`plimsoll run --sample 1s` before asking for fewer.");
	else if (enough < f->cores) {
		say(out,
		    "Divide its work among more threads or processes; as it is, ask for %W "
		    "core%s",
		    enough, enough < 2 ? "" : "s");
		finding_cores(out, f, enough);
		say(out, " instead of %W.", f->cores);
	} else
		say(out, "Divide its work among more threads or processes: it used all cores at "
			 "times.");
}

static void serial_phase(const struct finding_figures *f, struct findings *to, double saving)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!finding_begin(f, &d, f->time.part[CORE_SERIAL], saving))
		return;
	say(&d.title, "phases in which only one thread worked");
	say(&d.details,
	    "for %T of %T one core was busy and the others had nothing to run; for %T "
	    "most cores were busy.",
	    f->alone, f->duration, f->parallel);
	say(&d.advice, f->granted
			       ? "Make the serial part parallel, or run it as a separate job with "
				 "one core."
			       : "Make the serial part parallel, or shorten it: more cores do not "
				 "help it.");
	show_where(f, &d);
	evidence(&d, "time with one core busy", f->alone, "s", NULL);
	evidence(&d, "time with most cores busy", f->parallel, "s", NULL);
	evidence_part(&d, f, CORE_SERIAL);
	finding_add(to, FINDING_SERIAL_PHASE, finding_weight_of(f, d.saving), &d);
}

void rule_serial(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double idle = f->time.part[CORE_SERIAL] + f->time.part[CORE_CHILD];
	double busy = f->duration > 0 ? busy_time(f) / f->duration : NAN;
	double width = busy > 1 ? busy : 1;
	double lost = finding_lost(f, busy_time(f));
	double saving = finding_beside_gpus(f, lost * (1 - width / f->cores));

	/* threads that take turns are not helped by more of them */
	if (!(f->cores >= 1.5) || finding_has_main(f, to, FINDING_IMBALANCE) ||
	    finding_has_main(f, to, FINDING_LOCK))
		return;
	if (f->parallel >= LIMIT(PARALLEL) * f->duration &&
	    f->alone >= LIMIT(NOTABLE) * f->duration) {
		serial_phase(f, to, finding_beside_gpus(f, f->alone * (1 - 1 / f->cores)));
		return;
	}
	if (!(idle >= LIMIT(IDLE) * core_time_total(&f->time)) ||
	    !(lost >= LIMIT(UNKNOWN) * f->duration) || !finding_begin(f, &d, idle, saving))
		return;
	say(&d.title,
	    busy > 1.2 ? "some of its cores had nothing to run" : "one thread at a time worked");
	finding_add_busy(f, &d.details);
	if (f->cpu_peak > 0)
		say(&d.details, ", at most %N", f->cpu_peak);
	finding_add_top(f, &d.details);
	say(&d.details, ".");
	advise_fewer(f, &d.advice);
	show_where(f, &d);
	evidence(&d, "cores busy", busy, "cores", f->top_name);
	evidence(&d, "granted", f->cores, "cores", NULL);
	evidence_part(&d, f, CORE_SERIAL);
	finding_add(to, FINDING_SERIAL, finding_weight_of(f, d.saving), &d);
}

/* It runs, and hardly in the program itself. */
static void work_of_kernel(const struct finding_figures *f, struct findings *to, struct draft *d,
			   double kernel)
{
	double total = core_time_total(&f->time);

	say(&d->title, "work of the kernel for it took %% of the core time", kernel / total);
	finding_add_busy(f, &d->details);
	finding_add_top(f, &d->details);
	say(&d->details, ", %T of it in the program itself and %T in system calls and page faults.",
	    f->time.part[CORE_USER], kernel);
	say(&d->advice, "Fewer or larger system calls make it shorter: `strace -c -f` counts them, "
			"`perf top` shows what the kernel does.");
	show_where(f, d);
	evidence_part(d, f, CORE_KERNEL);
	evidence(d, "cores busy", finding_busy(f), "cores", NULL);
	finding_add(to, FINDING_COMPUTE, FINDING_NOTE, d);
}

void rule_compute(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double work = busy_time(f), lost = finding_lost(f, work);
	double saving = finding_beside_gpus(f, lost);

	for (size_t i = 0; i < to->count; i++)
		if (to->list[i].id == FINDING_SERIAL || to->list[i].id == FINDING_SERIAL_PHASE)
			return;
	/* nobody looked at what its other threads waited for: it may be what bounds it */
	if (!f->looked && f->time.part[CORE_RESIDUE] >= LIMIT(UNLOOKED) * core_time_total(&f->time))
		return;
	if (!(lost >= LIMIT(UNKNOWN) * f->duration) || !finding_begin(f, &d, work, saving))
		return;
	bool nearly_all = !to->count && d.share >= 1 - LIMIT(IDLE);
	double kernel = core_time_family(&f->time, CORE_KERNEL_FAMILY);
	if (kernel >= 2 * f->time.part[CORE_USER]) {
		work_of_kernel(f, to, &d, kernel);
		return;
	}
	say(&d.title,
	    nearly_all ? "computing took %% of the core time, nothing else stands out"
		       : "computing took %% of the core time",
	    d.share);
	finding_add_busy(f, &d.details);
	finding_add_top(f, &d.details);
	say(&d.details, ".");
	if (f->ranks >= 2 && f->rank_most < LIMIT(UNEVEN) * f->rank_mean)
		say(&d.details, " Ranks that wait for messages in a loop look busy, too: that they "
				"all used the same CPU time does not tell them apart.");
	if (f->top_name && *f->top_name)
		say(&d.advice,
		    "%saster code makes it shorter: look at %s (compiler flags, "
		    "libraries, algorithm).",
		    nearly_all ? "Only f" : "F", f->top_name);
	else
		say(&d.advice,
		    "Only faster code, or more cores if it can use them, make it shorter.");
	if (isnan(f->cycles))
		say(&d.advice, " Whether its cores wait for memory is known with hardware counters "
			       "(`plimsoll check` says whether they can be read).");
	show_where(f, &d);
	evidence_part(&d, f, CORE_USER);
	evidence(&d, "cores busy", finding_busy(f), "cores", NULL);
	finding_add(to, FINDING_COMPUTE, FINDING_NOTE, &d);
}

/* ---- not known ------------------------------------------------------------------------------- */

static void too_little(const struct finding_figures *f, struct draft *d)
{
	if (f->duration < LIMIT(MOMENT) && !isnan(f->cpu)) {
		say(&d->title, "too short for a verdict");
		say(&d->details, "It took %T, %T of CPU.", f->duration, f->cpu);
		say(&d->advice, "Such a short run shows nothing that needs a change.");
		return;
	}
	say(&d->title, "too little is known for a verdict");
	if (f->running) {
		say(&d->details, "It runs: what its processes used is known when they end.");
		say(&d->advice, "Look again later, or at its end.");
		return;
	}
	if (f->unseen >= 1)
		say(&d->details,
		    "CPU time and memory of %P are unknown: a signal ended them, or "
		    "their end was not recorded yet.",
		    f->unseen);
	else if (isnan(f->cpu))
		say(&d->details, "No CPU time was recorded or sampled.");
	else if (!f->looked && f->time.part[CORE_RESIDUE] > 0)
		say(&d->details,
		    "It computed for %T of core time, and nobody looked at what its threads "
		    "waited for in %T.",
		    busy_time(f), f->time.part[CORE_RESIDUE]);
	else
		say(&d->details, "Its duration is unknown, or nothing took a large part of it.");
	say(&d->advice, f->unseen >= 1 ? "Start the next one with `plimsoll run`, which sees every "
					 "process end."
				       : "Record the next one with `plimsoll run --sample 1s`.");
	finding_add_run(f, &d->command);
}

static void unknown_events(const struct finding_figures *f, struct draft *d)
{
	say(&d->title, "it waited for events of unknown origin");
	say(&d->details, "for %T it waited in poll, select or epoll, or for a signal.",
	    f->time.part[CORE_POLL]);
	say(&d->advice,
	    "`plimsoll procs %s` shows which processes used no CPU; look at what they are "
	    "connected to.",
	    finding_job(f));
	say(&d->command, "plimsoll procs %s", finding_job(f));
}

static void not_looked(const struct finding_figures *f, struct draft *d, double saving)
{
	say(&d->title,
	    f->looked ? "part of it was not sampled" : "it waited, and nobody looked for what");
	if (f->looked)
		say(&d->details, "for %T of core time nobody looked at what its threads did",
		    f->time.part[CORE_RESIDUE]);
	else
		say(&d->details, "for %T of %T it neither computed nor waited for a core or a disk",
		    saving, f->duration);
	if (f->end_known)
		say(&d->details, ": %s", f->cut_off);
	say(&d->details, ".");
	if (f->hosts_missing >= 1)
		finding_add_incomplete(f, &d->advice);
	else
		say(&d->advice,
		    f->looked ? "Record the next one as a whole with `plimsoll run --sample 1s`."
			      : "Record the next one with `plimsoll run --sample 1s`: it "
				"looks at what threads wait for.");
	finding_add_run(f, &d->command);
}

void rule_unmeasured(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double unknown = f->time.part[CORE_RESIDUE] + f->time.part[CORE_POLL];
	double saving = finding_lost(f, unknown);

	if (!to->count && !(saving >= LIMIT(UNKNOWN) * f->duration)) {
		too_little(f, &d);
		finding_add(to, FINDING_UNMEASURED, FINDING_NOTE, &d);
		return;
	}
	if (!(saving >= LIMIT(UNKNOWN) * f->duration) || !finding_begin(f, &d, unknown, saving))
		return;
	/* what most likely took this time is named already */
	if (!f->looked && (finding_has_main(f, to, FINDING_MEMORY_LIMIT) ||
			   finding_has_main(f, to, FINDING_STORAGE_READ) ||
			   finding_has_main(f, to, FINDING_STORAGE_WRITE)))
		return;
	if (f->time.part[CORE_POLL] >= f->time.part[CORE_RESIDUE])
		unknown_events(f, &d);
	else
		not_looked(f, &d, saving);
	evidence(&d, "residue", f->time.part[CORE_RESIDUE], "s", NULL);
	evidence(&d, "wait-event", f->time.part[CORE_POLL], "s", NULL);
	finding_add(to, FINDING_UNMEASURED, FINDING_WARNING, &d);
}
