/* Rules about storage, network, memory, and about parts of a job; see findings.h. */
#include <math.h>

#include "analysis/findings/findings_rules.h"

/* ---- storage, network and memory ------------------------------------------------------------ */

void rule_io(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double share = f->cpu + f->io_wait > 0 ? f->io_wait / (f->cpu + f->io_wait) : NAN;
	bool waited = share >= LIMIT(IO_WAIT) && finding_felt(f, f->io_wait);

	if (!waited && !(f->io_pressure >= LIMIT(IO_PRESSURE)))
		return;
	say(&d.title, "the job was I/O-bound");
	if (waited)
		say(&d.evidence, "tasks waited %T for storage, and used %T of CPU", f->io_wait,
		    f->cpu);
	else
		say(&d.evidence, "some task waited for storage %% of the time", f->io_pressure);
	if (f->stored_read > 0 || f->stored_written > 0)
		say(&d.evidence, "; %B read, %B written", f->stored_read > 0 ? f->stored_read : 0,
		    f->stored_written > 0 ? f->stored_written : 0);
	say(&d.evidence, ".");
	say(&d.advice,
	    f->stored_read > f->stored_written
		    ? "Copy the input to the node's own disk first."
		    : "Write to the node's own disk ($TMPDIR) and copy the result at the end.");
	finding_add(to, FINDING_IO, FINDING_WARNING, &d);
}

void rule_small_calls(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool reads = f->reads >= LIMIT(CALL_RATE) * f->duration &&
		     f->read_bytes < LIMIT(CALL_SIZE) * f->reads;
	bool writes = f->writes >= LIMIT(CALL_RATE) * f->duration &&
		      f->write_bytes < LIMIT(CALL_SIZE) * f->writes;
	double calls = reads ? f->reads : f->writes, bytes = reads ? f->read_bytes : f->write_bytes;

	if (!(f->duration >= 1) || (!reads && !writes))
		return;
	say(&d.title, "it %s in very small chunks", reads ? "read" : "wrote");
	say(&d.evidence, "%W system calls per second moved %W bytes each.", calls / f->duration,
	    bytes / calls);
	say(&d.advice, "Let it use a buffer of 1 MiB (setvbuf, dd bs=1M, larger records).");
	finding_add(to, FINDING_IO, FINDING_NOTE, &d);
}

void rule_network(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(f->network_rate >= LIMIT(NETWORK) * f->network_speed))
		return;
	say(&d.title, "the job was network-bound");
	say(&d.evidence, "%B/s on average, %% of what the link can do.", f->network_rate,
	    f->network_rate / f->network_speed);
	say(&d.advice,
	    "Put ranks that talk to each other on one host, or send larger messages less "
	    "often.");
	finding_add(to, FINDING_NETWORK, FINDING_WARNING, &d);
}

void rule_memory(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	struct strbuf *e = &d.evidence;
	bool near = f->memory_used >= LIMIT(MEMORY_NEAR) * f->memory_limit;
	bool swapped = f->swap_used > 0 && f->swap_used >= LIMIT(SWAP) * f->memory_used;
	bool pressed = f->memory_pressure >= LIMIT(MEMORY_PRESSURE);
	bool faulted = f->duration >= 1 && f->major_faults >= LIMIT(FAULTS) * f->duration;
	bool only_faulted = faulted && !near && !swapped && !pressed;

	if (finding_out_of_memory(f) || (!near && !swapped && !pressed && !faulted))
		return;
	say(&d.title, near      ? "its memory was nearly full"
		      : swapped ? "part of its memory was swapped out"
		      : pressed ? "it waited for memory"
				: "it paged memory in from a disk");
	if (f->memory_used > 0)
		say(e, "%B in use", f->memory_used);
	if (near)
		say(e, " of %B (%%)", f->memory_limit, f->memory_used / f->memory_limit);
	if (swapped)
		say(e, "%s%B swapped out", e->len ? ", " : "", f->swap_used);
	if (pressed)
		say(e, "%ssome task waited for memory %% of the time", e->len ? ", " : "",
		    f->memory_pressure);
	if (faulted)
		say(e, "%s%W page faults per second read from a disk", e->len ? ", " : "",
		    f->major_faults / f->duration);
	say(e, ".");
	if (f->granted && f->memory_limit > 0 && !only_faulted)
		say(&d.advice, "Ask for %M.",
		    (f->memory_used > f->memory_limit ? f->memory_used : f->memory_limit) * 1.25);
	else if (only_faulted)
		say(&d.advice,
		    "Files that it maps come from a disk: copy them to the node's own disk, or "
		    "read them once.");
	else
		say(&d.advice, "Give it more memory, or make it use less.");
	finding_add(to, FINDING_MEMORY, FINDING_WARNING, &d);
}

/* What a failed job used is not what it needs. */
void rule_spare_memory(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double need = f->memory_most > f->memory_used ? f->memory_most : f->memory_used;

	if (!(f->granted && finding_whole(f) && f->memory_limit >= LIMIT(MEMORY_SMALL) &&
	      need > 0 && need < LIMIT(MEMORY_SPARE) * f->memory_limit))
		return;
	say(&d.title, "most of its memory was not used");
	say(&d.evidence, "%B in use at most, of %B (%%), not counting files in /dev/shm.", need,
	    f->memory_limit, need / f->memory_limit);
	say(&d.advice, "Ask for %M: it starts sooner, and others can run beside it.",
	    need * 1.25 > need + 256 * MIB ? need * 1.25 : need + 256 * MIB);
	finding_add(to, FINDING_MEMORY, FINDING_NOTE, &d);
}

/* ---- parts of it ---------------------------------------------------------------------------- */

static void uneven(struct findings *to, const char *part, double count, double mean, double most,
		   const char *name, double limit, const char *advice)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(count >= 2 && mean >= LIMIT(UNEVEN_CPU) && most >= limit * mean))
		return;
	say(&d.title, "load imbalance between %ss", part);
	say(&d.evidence,
	    "%s %s used %T of CPU, %T is the mean of %W: the others waited up to %% of the time.",
	    part, name ? name : "?", most, mean, count, 1 - mean / most);
	say(&d.advice, advice);
	finding_add(to, FINDING_IMBALANCE, FINDING_WARNING, &d);
}

void rule_ranks(const struct finding_figures *f, struct findings *to)
{
	uneven(to, "rank", f->ranks, f->rank_mean, f->rank_most, f->rank_name, LIMIT(RANKS),
	       "Distribute the work again so that this rank has less, or let idle ranks take work from "
	       "it.");
}

void rule_hosts(const struct finding_figures *f, struct findings *to)
{
	uneven(to, "host", f->hosts, f->host_mean, f->host_most, f->host_name, LIMIT(HOSTS),
	       "Spread the ranks evenly (--ntasks-per-node), or ask for fewer hosts.");
}

void rule_short(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(f->processes >= LIMIT(BRIEF_COUNT) && f->brief >= LIMIT(BRIEF_SHARE) * f->processes &&
	      f->processes >= LIMIT(BRIEF_RATE) * f->duration))
		return;
	say(&d.title, "%C very short processes", f->brief);
	say(&d.evidence, "%% of %P lived less than 0.1 s", f->brief / f->processes, f->processes);
	if (f->brief_cpu > 0 && f->cpu > 0)
		say(&d.evidence, " and used %% of the CPU time", f->brief_cpu / f->cpu);
	strbuf_addf(&d.evidence, "; %.1f were started per second.", f->processes / f->duration);
	if (f->brief_name && *f->brief_name)
		say(&d.advice,
		    "Most of them run '%s': replace the loop that starts it by one call over all items.",
		    f->brief_name);
	else
		say(&d.advice, "Replace loops that start programs by one call over all items.");
	finding_add(to, FINDING_SHORT, FINDING_WARNING, &d);
}

void rule_gpu(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool idle = f->gpus >= 1 && f->gpus_idle >= 1;

	if (!idle && !(f->gpus >= 1 && f->gpu_busy < LIMIT(GPU_LOW)))
		return;
	if (idle)
		say(&d.title, "%W of %W GPU%s", f->gpus_idle, f->gpus,
		    f->gpus < 2 ? " was idle" : "s were idle");
	else
		say(&d.title, "the GPU%s waited most of the time", f->gpus < 2 ? "" : "s");
	say(&d.evidence, "%W GPU%s busy %% of the time on average.", f->gpus,
	    f->gpus < 2 ? " was" : "s were", f->gpu_busy);
	if (!finding_whole(f))
		finding_add_incomplete(f, &d.advice);
	else if (idle && !f->granted)
		say(&d.advice,
		    "Check that the program uses them (CUDA_VISIBLE_DEVICES); the idle ones may "
		    "belong to other jobs.");
	else if (idle && f->gpus_idle < f->gpus)
		say(&d.advice, "Ask for --gpus=%W, or let the program use all of them.",
		    f->gpus - f->gpus_idle);
	else if (idle)
		say(&d.advice, "Ask for no GPU, or check that the program was built to use one "
			       "(CUDA_VISIBLE_DEVICES).");
	else
		say(&d.advice, "Feed them faster: more processes that load data, larger batches.");
	finding_add(to, FINDING_GPU, idle ? FINDING_WARNING : FINDING_NOTE, &d);
}

void rule_accounting(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double residue = f->accounting_total - f->accounting_itemised;

	if (!(f->accounting_total >= LIMIT(ACCOUNTING_CPU) &&
	      residue >= LIMIT(ACCOUNTING) * f->accounting_total))
		return;
	say(&d.title, "%% of CPU time is unaccounted", residue / f->accounting_total);
	say(&d.evidence, "%T of %T of CPU time belong to known processes.", f->accounting_itemised,
	    f->accounting_total);
	say(&d.advice,
	    "Run `plimsoll check` to see what is missing: static and killed programs are only "
	    "recorded with the kernel's taskstats.");
	finding_add(to, FINDING_ACCOUNTING, FINDING_NOTE, &d);
}
