/* Rules about storage, network, memory, and about parts of a job; see findings.h. */
#include <math.h>
#include <string.h>

#include "analysis/findings_rules.h"
#include "core/text/text.h"

/* ---- storage, network and memory ------------------------------------------------------------ */

void rule_io(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double share = f->cpu + f->io_wait > 0 ? f->io_wait / (f->cpu + f->io_wait) : NAN;
	bool waited = share >= LIMIT(IO_WAIT) && finding_felt(f, f->io_wait);

	if (!waited && !(f->io_pressure >= LIMIT(IO_PRESSURE)))
		return;
	strbuf_addstr(&d.title, "storage bounded it");
	if (waited) {
		strbuf_addstr(&d.evidence, "tasks waited ");
		text_add_duration(&d.evidence, f->io_wait);
		strbuf_addstr(&d.evidence, " for storage, beside ");
		text_add_duration(&d.evidence, f->cpu);
		strbuf_addstr(&d.evidence, " of CPU");
	} else {
		strbuf_addf(&d.evidence, "some task waited for storage %.0f %% of the time",
			    percent(f->io_pressure));
	}
	if (f->stored_read > 0 || f->stored_written > 0) {
		strbuf_addstr(&d.evidence, "; ");
		text_add_bytes(&d.evidence, f->stored_read > 0 ? f->stored_read : 0);
		strbuf_addstr(&d.evidence, " read, ");
		text_add_bytes(&d.evidence, f->stored_written > 0 ? f->stored_written : 0);
		strbuf_addstr(&d.evidence, " written");
	}
	strbuf_addstr(&d.evidence, ".");
	strbuf_addstr(&d.advice,
		      f->stored_read > f->stored_written
			      ? "Copy the input to the node's own disk first."
			      : "Write to the node's own disk ($TMPDIR) and copy the result "
				"away at the end.");
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
	strbuf_addf(&d.title, "it %s in very small pieces", reads ? "read" : "wrote");
	strbuf_addf(&d.evidence, "%.0f system calls a second moved %.0f bytes each.",
		    calls / f->duration, bytes / calls);
	strbuf_addstr(&d.advice,
		      "Let it use a buffer of 1 MiB (setvbuf, dd bs=1M, larger records).");
	finding_add(to, FINDING_IO, FINDING_NOTE, &d);
}

void rule_network(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(f->network_rate >= LIMIT(NETWORK) * f->network_speed))
		return;
	strbuf_addstr(&d.title, "the network bounded it");
	text_add_bytes(&d.evidence, f->network_rate);
	strbuf_addf(&d.evidence, "/s on average, %.0f %% of what the link can do.",
		    percent(f->network_rate / f->network_speed));
	strbuf_addstr(&d.advice, "Put ranks that talk to each other on one host, or send larger "
				 "messages less often.");
	finding_add(to, FINDING_NETWORK, FINDING_WARNING, &d);
}

void rule_memory(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool near = f->memory_used >= LIMIT(MEMORY_NEAR) * f->memory_limit;
	bool swapped = f->swap_used > 0 && f->swap_used >= LIMIT(SWAP) * f->memory_used;
	bool pressed = f->memory_pressure >= LIMIT(MEMORY_PRESSURE);
	bool faulted = f->duration >= 1 && f->major_faults >= LIMIT(FAULTS) * f->duration;

	if (finding_out_of_memory(f) || (!near && !swapped && !pressed && !faulted))
		return;
	strbuf_addstr(&d.title, near      ? "its memory was nearly full"
				: swapped ? "part of its memory was on a disk"
				: pressed ? "it waited for memory"
					  : "it read its memory from a disk");
	if (f->memory_used > 0) {
		text_add_bytes(&d.evidence, f->memory_used);
		strbuf_addstr(&d.evidence, " in use");
	}
	if (near) {
		strbuf_addstr(&d.evidence, " of ");
		text_add_bytes(&d.evidence, f->memory_limit);
		strbuf_addf(&d.evidence, " (%.0f %%)", percent(f->memory_used / f->memory_limit));
	}
	if (swapped) {
		strbuf_addstr(&d.evidence, d.evidence.len ? ", " : "");
		text_add_bytes(&d.evidence, f->swap_used);
		strbuf_addstr(&d.evidence, " swapped out");
	}
	if (pressed)
		strbuf_addf(&d.evidence, "%ssome task waited for memory %.0f %% of the time",
			    d.evidence.len ? ", " : "", percent(f->memory_pressure));
	if (faulted)
		strbuf_addf(&d.evidence, "%s%.0f page faults a second read from a disk",
			    d.evidence.len ? ", " : "", f->major_faults / f->duration);
	strbuf_addstr(&d.evidence, ".");
	if (f->granted && f->memory_limit > 0 && !(faulted && !near && !swapped && !pressed)) {
		strbuf_addstr(&d.advice, "Ask for ");
		finding_memory(&d.advice, (f->memory_used > f->memory_limit ? f->memory_used
									    : f->memory_limit) *
						  1.25);
		strbuf_addstr(&d.advice, ".");
	} else if (faulted && !near && !swapped && !pressed) {
		strbuf_addstr(&d.advice, "Files that it maps come from a disk: copy them to the "
					 "node's own disk, or read them once.");
	} else {
		strbuf_addstr(&d.advice, "Give it more memory than it had, or let it use less.");
	}
	finding_add(to, FINDING_MEMORY, FINDING_WARNING, &d);
}

/* What a job that went wrong has used is not what it needs. */
void rule_spare_memory(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double need = f->memory_most > f->memory_used ? f->memory_most : f->memory_used;

	if (!(f->granted && finding_whole(f) && f->memory_limit >= LIMIT(MEMORY_SMALL) &&
	      need > 0 && need < LIMIT(MEMORY_SPARE) * f->memory_limit))
		return;
	strbuf_addstr(&d.title, "most of its memory was not used");
	text_add_bytes(&d.evidence, need);
	strbuf_addstr(&d.evidence, " in use at most, of ");
	text_add_bytes(&d.evidence, f->memory_limit);
	strbuf_addf(&d.evidence, " (%.0f %%); files in /dev/shm are not in it.",
		    percent(need / f->memory_limit));
	strbuf_addstr(&d.advice, "Ask for ");
	finding_memory(&d.advice, need * 1.25 > need + 256 * MIB ? need * 1.25 : need + 256 * MIB);
	strbuf_addstr(&d.advice, ": it starts sooner, and others can run beside it.");
	finding_add(to, FINDING_MEMORY, FINDING_NOTE, &d);
}

/* ---- parts of it ---------------------------------------------------------------------------- */

static void uneven(struct findings *to, const char *what, double count, double mean, double most,
		   const char *name, double limit, const char *advice)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(count >= 2 && mean >= LIMIT(UNEVEN_CPU) && most >= limit * mean))
		return;
	strbuf_addf(&d.title, "its %s had unequal work", what);
	/* one of the "ranks" */
	strbuf_addf(&d.evidence, "%.*s %s used ", (int)strlen(what) - 1, what, name ? name : "?");
	text_add_duration(&d.evidence, most);
	strbuf_addstr(&d.evidence, " of CPU, ");
	text_add_duration(&d.evidence, mean);
	strbuf_addf(&d.evidence,
		    " is the mean of %.0f: the others waited up to %.0f %% of the time.", count,
		    percent(1 - mean / most));
	strbuf_addstr(&d.advice, advice);
	finding_add(to, FINDING_IMBALANCE, FINDING_WARNING, &d);
}

void rule_ranks(const struct finding_figures *f, struct findings *to)
{
	uneven(to, "ranks", f->ranks, f->rank_mean, f->rank_most, f->rank_name, LIMIT(RANKS),
	       "Divide the work again so that this rank has less, or let idle ranks take work from "
	       "it.");
}

void rule_hosts(const struct finding_figures *f, struct findings *to)
{
	uneven(to, "hosts", f->hosts, f->host_mean, f->host_most, f->host_name, LIMIT(HOSTS),
	       "Spread the ranks evenly (--ntasks-per-node), or ask for fewer hosts.");
}

void rule_short(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!(f->processes >= LIMIT(BRIEF_COUNT) && f->brief >= LIMIT(BRIEF_SHARE) * f->processes &&
	      f->processes >= LIMIT(BRIEF_RATE) * f->duration))
		return;
	finding_count(&d.title, f->brief);
	strbuf_addstr(&d.title, " very short processes");
	strbuf_addf(&d.evidence, "%.0f %% of ", percent(f->brief / f->processes));
	finding_processes(&d.evidence, f->processes);
	strbuf_addstr(&d.evidence, " lived less than 0.1 s");
	if (f->brief_cpu > 0 && f->cpu > 0)
		strbuf_addf(&d.evidence, " and used %.0f %% of the CPU",
			    percent(f->brief_cpu / f->cpu));
	strbuf_addf(&d.evidence, "; %.1f were started a second.", f->processes / f->duration);
	if (f->brief_name && *f->brief_name)
		strbuf_addf(&d.advice,
			    "Most of them run '%s': replace the loop that starts it by one call "
			    "over all items.",
			    f->brief_name);
	else
		strbuf_addstr(&d.advice,
			      "Replace loops that start programs by one call over all items.");
	finding_add(to, FINDING_SHORT, FINDING_WARNING, &d);
}

void rule_gpu(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool idle = f->gpus >= 1 && f->gpus_idle >= 1;

	if (!idle && !(f->gpus >= 1 && f->gpu_busy < LIMIT(GPU_LOW)))
		return;
	if (idle)
		strbuf_addf(&d.title, "%.0f of %.0f GPU%s had nothing to do", f->gpus_idle, f->gpus,
			    f->gpus < 2 ? "" : "s");
	else
		strbuf_addf(&d.title, "the GPU%s waited most of the time", f->gpus < 2 ? "" : "s");
	strbuf_addf(&d.evidence, "%.0f GPU%s busy %.0f %% of the time on average.", f->gpus,
		    f->gpus < 2 ? " was" : "s were", percent(f->gpu_busy));
	if (!finding_whole(f))
		strbuf_addstr(&d.advice,
			      "It did not end well: what a whole run needs is not known.");
	else if (idle && !f->granted)
		strbuf_addstr(&d.advice,
			      "Check that the program uses them (CUDA_VISIBLE_DEVICES); others "
			      "may have been given the idle ones.");
	else if (idle && f->gpus_idle < f->gpus)
		strbuf_addf(&d.advice, "Ask for --gpus=%.0f, or let the program use all of them.",
			    f->gpus - f->gpus_idle);
	else if (idle)
		strbuf_addstr(&d.advice,
			      "Ask for no GPU, or check that the program was built to use "
			      "one (CUDA_VISIBLE_DEVICES).");
	else
		strbuf_addstr(&d.advice, "Feed them faster: more processes that load data, larger "
					 "batches.");
	finding_add(to, FINDING_GPU, idle ? FINDING_WARNING : FINDING_NOTE, &d);
}

void rule_books(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double residue = f->accounting_total - f->accounting_itemised;

	if (!(f->accounting_total >= LIMIT(ACCOUNTING_CPU) &&
	      residue >= LIMIT(BOOKS) * f->accounting_total))
		return;
	strbuf_addf(&d.title, "%.0f %% of the CPU time is not itemised",
		    percent(residue / f->accounting_total));
	text_add_duration(&d.evidence, f->accounting_itemised);
	strbuf_addstr(&d.evidence, " of ");
	text_add_duration(&d.evidence, f->accounting_total);
	strbuf_addstr(&d.evidence, " of CPU belong to processes that are known.");
	strbuf_addstr(&d.advice, "Let `plimsoll check` say what is missing; static programs and "
				 "killed ones need the kernel's help (taskstats).");
	finding_add(to, FINDING_BOOKS, FINDING_NOTE, &d);
}
