/* Rules about memory, network, GPUs, and what is not accounted for; see findings.h. */
#include <math.h>

#include "analysis/findings/findings_rules.h"

/* ---- memory ---------------------------------------------------------------------------------- */

void rule_memory(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	struct strbuf *e = &d.details;
	bool near = f->memory_used >= LIMIT(MEMORY_NEAR) * f->memory_limit;
	bool swapped = f->swap_used > 0 && f->swap_used >= LIMIT(SWAP) * f->memory_used;
	bool pressed = f->memory_pressure >= LIMIT(MEMORY_PRESSURE);

	for (size_t i = 0; i < to->count; i++)
		if (to->list[i].id == FINDING_MEMORY_LIMIT)
			return;
	if (finding_out_of_memory(f) || (!near && !swapped && !pressed))
		return;
	say(&d.title, near      ? "its memory was nearly full"
		      : swapped ? "part of its memory was swapped out"
				: "it waited for memory");
	if (f->memory_used > 0)
		say(e, "%B in use", f->memory_used);
	if (near)
		say(e, " of %B (%%)", f->memory_limit, f->memory_used / f->memory_limit);
	if (swapped)
		say(e, "%s%B swapped out", e->len ? ", " : "", f->swap_used);
	if (pressed)
		say(e, "%ssome task waited for memory %% of the time", e->len ? ", " : "",
		    f->memory_pressure);
	say(e, ".");
	/* a larger amount does no harm to a job that failed */
	if (f->granted && f->memory_limit > 0)
		say(&d.advice, "Ask for %M.",
		    (f->memory_used > f->memory_limit ? f->memory_used : f->memory_limit) * 1.25);
	else
		say(&d.advice, "Give it more memory, or make it use less.");
	say(&d.command, "plimsoll series %s -m process.rss --total", finding_job(f));
	evidence(&d, "memory_used", f->memory_used, "B", NULL);
	evidence(&d, "memory_limit", f->memory_limit, "B", NULL);
	evidence(&d, "swap_used", f->swap_used, "B", NULL);
	finding_add(to, FINDING_MEMORY_LIMIT, FINDING_WARNING, &d);
}

/* A program fills its memory at first, and keeps it; one that grows all the time until its end has
 * a leak, or will not fit with a longer input. */
void rule_growth(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double grown = f->memory_last - f->memory_first;

	if (!(grown >= LIMIT(GROWTH) && grown >= LIMIT(GROWTH_SHARE) * f->memory_last &&
	      f->memory_rising >= 0.7))
		return;
	say(&d.title, "its memory grew until its end");
	say(&d.details,
	    "%B after a tenth of its time, %B at the end, and it grew in between most of "
	    "the time (%B a second).",
	    f->memory_first, f->memory_last, grown / (0.9 * f->duration));
	say(&d.advice, "Look for memory that is never freed (a leak, a list that only grows): a "
		       "longer run will need more than this one.");
	say(&d.command, "plimsoll series %s -m process.rss --total", finding_job(f));
	evidence(&d, "process.rss after a tenth", f->memory_first, "B", NULL);
	evidence(&d, "process.rss at the end", f->memory_last, "B", NULL);
	finding_add(to, FINDING_MEMORY_GROWTH, FINDING_WARNING, &d);
}

void rule_memory_bandwidth(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double rate = f->cycles > 0 ? f->instructions / f->cycles : NAN;
	double misses = f->instructions > 0 ? f->misses / f->instructions : NAN;

	if (!(rate < LIMIT(INSTRUCTIONS) && misses >= LIMIT(MISSES)) ||
	    !finding_begin(f, &d, f->time.part[CORE_USER],
			   finding_lost(f, f->time.part[CORE_USER]) * (1 - rate)))
		return;
	say(&d.title, "its cores waited for memory");
	say(&d.details,
	    "%N instructions per cycle, and %N of 1,000 instructions missed the last "
	    "cache.",
	    rate, misses * 1000);
	say(&d.advice, "Use data in the order in which it lies in memory, in blocks that fit the "
		       "cache; more cores of the same socket do not help.");
	say(&d.command, "plimsoll where %s --over time", finding_job(f));
	evidence(&d, "instructions per cycle", rate, "1", NULL);
	evidence(&d, "cache misses per instruction", misses, "1", NULL);
	finding_add(to, FINDING_MEMORY_BANDWIDTH, finding_weight_of(f, d.saving), &d);
}

/* ---- network, GPUs --------------------------------------------------------------------------- */

void rule_network(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double used = f->network_rate / f->network_speed;

	if (!(used >= LIMIT(NETWORK)) ||
	    !finding_begin(f, &d, f->time.part[CORE_NETWORK], f->duration * (used < 1 ? used : 1)))
		return;
	say(&d.title, "a network link was full");
	say(&d.details, "%B/s on average, %% of what the link can do.", f->network_rate, used);
	say(&d.advice,
	    "Put ranks that talk to each other on one host, send less (compressed, or only "
	    "what changed), or use several links.");
	say(&d.command, "plimsoll series %s -m network.rx_bytes", finding_job(f));
	evidence(&d, "network rate", f->network_rate, "B/s", NULL);
	evidence(&d, "link speed", f->network_speed, "B/s", NULL);
	finding_add(to, FINDING_NETWORK_BANDWIDTH, FINDING_WARNING, &d);
}

static void advise_gpus(const struct finding_figures *f, struct strbuf *out, bool idle)
{
	if (!finding_whole(f))
		finding_add_incomplete(f, out);
	else if (idle && !finding_uses_gpus(f))
		say(out,
		    "Check that the program uses them (CUDA_VISIBLE_DEVICES); the idle ones may "
		    "belong to other jobs.");
	else if (idle && f->gpus_idle < f->gpus)
		say(out,
		    f->granted ? "Ask for --gpus=%W, or let the program use all of them."
			       : "The program used %W: let it use all of them.",
		    f->gpus - f->gpus_idle);
	else if (idle)
		say(out, f->granted
				 ? "Ask for no GPU, or check that the program was built to use one "
				   "(CUDA_VISIBLE_DEVICES)."
				 : "It opened a GPU and hardly computed on it: check that its work "
				   "is sent there, or run it without one.");
	else
		say(out, "Feed them faster: more processes that load data, larger batches.");
}

/* Nobody measured the GPU, but its threads waited for it. */
static void waited_for_gpu(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double waited = f->time.part[CORE_DEVICE];

	if (!finding_begin(f, &d, waited, finding_lost(f, waited)))
		return;
	say(&d.title, "it waited for a GPU");
	say(&d.details, "for %T of core time its threads waited for a GPU", waited);
	if (f->partner[WAIT_DEVICE] && *f->partner[WAIT_DEVICE])
		say(&d.details, ", mostly in %s", f->partner[WAIT_DEVICE]);
	say(&d.details, "; how busy that was is unknown.");
	say(&d.advice, "Only faster GPU code, or more GPUs if it can use them, make it shorter.");
	say(&d.command, "plimsoll where %s --over time", finding_job(f));
	evidence_part(&d, f, CORE_DEVICE);
	finding_add(to, FINDING_GPU_BOUND, finding_weight_of(f, d.saving), &d);
}

/* The most that could be saved: whatever the cores did while GPUs worked, they waited for them. */
static double gpu_saving(const struct finding_figures *f, bool bound)
{
	double busy = f->gpu_busy >= LIMIT(GPU_BOUND) ? 1 : f->gpu_busy;

	if (!finding_uses_gpus(f))
		return 0;
	return f->duration * (bound ? busy : 1 - f->gpu_busy);
}

void rule_gpu(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool used = finding_uses_gpus(f), idle = f->gpus_idle >= 1;
	bool bound = !idle && f->gpu_busy >= (used ? LIMIT(GPU_HALF) : LIMIT(GPU_BOUND));

	if (!(f->gpus >= 1)) {
		waited_for_gpu(f, to);
		return;
	}
	if (!idle && !bound && !(f->gpu_busy < LIMIT(GPU_LOW)))
		return;
	d.saving = gpu_saving(f, bound);
	if (idle)
		say(&d.title, "%W of %W GPU%s", f->gpus_idle, f->gpus,
		    f->gpus < 2 ? " was idle" : "s were idle");
	else
		say(&d.title,
		    bound ? "the GPU%s worked most of the time"
			  : "the GPU%s waited most of the time",
		    f->gpus < 2 ? "" : "s");
	say(&d.details, "%W GPU%s busy %% of the time on average.", f->gpus,
	    f->gpus < 2 ? " was" : "s were", f->gpu_busy);
	if (bound)
		say(&d.advice, "Only faster GPU code, or more GPUs if it can use them, make it "
			       "shorter.");
	else
		advise_gpus(f, &d.advice, idle);
	say(&d.command, "plimsoll series %s", finding_job(f));
	evidence(&d, "GPUs busy", f->gpu_busy * 100, "%", NULL);
	evidence(&d, "GPUs idle", f->gpus_idle, "count", NULL);
	if (f->time.part[CORE_DEVICE] > 0)
		evidence_part(&d, f, CORE_DEVICE);
	finding_add(to, bound ? FINDING_GPU_BOUND : FINDING_GPU_IDLE,
		    used ? FINDING_WARNING : FINDING_NOTE, &d);
}

void rule_accounting(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double residue = f->accounting_total - f->accounting_itemised;

	if (!(f->accounting_total >= LIMIT(ACCOUNTING_CPU) &&
	      residue >= LIMIT(ACCOUNTING) * f->accounting_total))
		return;
	say(&d.title, "%% of CPU time is unaccounted", residue / f->accounting_total);
	say(&d.details, "%T of %T of CPU time belong to known processes.", f->accounting_itemised,
	    f->accounting_total);
	say(&d.advice,
	    "Run `plimsoll check` to see what is missing: static and killed programs are only "
	    "recorded with the kernel's taskstats.");
	say(&d.command, "plimsoll check");
	evidence(&d, "cpu_residue", residue, "s", NULL);
	finding_add(to, FINDING_UNMEASURED, FINDING_NOTE, &d);
}
