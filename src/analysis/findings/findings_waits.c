/* Rules about what threads waited for, and about work of the kernel; see findings.h. */
#include <math.h>
#include <string.h>

#include "analysis/findings/findings_rules.h"

/* Begins a finding about a part of core time. */
static bool begin(const struct finding_figures *f, struct draft *d, enum core_part part)
{
	if (!finding_begin(f, d, f->time.part[part], finding_lost(f, f->time.part[part])))
		return false;
	evidence_part(d, f, part);
	say(&d->command, "plimsoll where %s --over time", finding_job(f));
	return true;
}

static void end(const struct finding_figures *f, struct findings *to, struct draft *d,
		enum finding_id id)
{
	finding_add(to, id, finding_weight_of(f, d->saving), d);
}

/* ", mostly in recv from 10.0.0.5:5432 (process 4711, client)" */
static void add_partner(const struct finding_figures *f, struct draft *d, enum wait_reason reason)
{
	if (f->partner[reason] && *f->partner[reason])
		say(&d->details, ", mostly in %s", f->partner[reason]);
	if (f->partner_of[reason] && *f->partner_of[reason])
		say(&d->details, " (process %s)", f->partner_of[reason]);
	say(&d->details, ".");
	if (d->evidence_count && f->partner[reason] && !d->evidence[0].where)
		d->evidence[0].where = xstrdup(f->partner[reason]);
}

/* A lock that is no mutex: only one of its threads ran at a time. */
static void takes_turns(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double width = f->workers < f->cores ? f->workers : f->cores, busy = finding_busy(f);

	if (!finding_begin(f, &d, (width - busy) * f->duration, f->duration * (1 - busy / width)))
		return;
	say(&d.title, "threads took turns: one at a time worked");
	say(&d.details,
	    "%W threads used about the same CPU time, %N of %W cores were busy on average, and the "
	    "others waited in the same place of memory for %T of thread time, as for a "
	    "reader-writer lock or the lock of an interpreter",
	    f->workers, busy, f->cores, f->same_futex);
	add_partner(f, &d, WAIT_CONDITION);
	say(&d.advice,
	    "Hold the lock for a shorter time, or divide what it protects; if an interpreter runs "
	    "one thread at a time, use processes. More threads do not help.");
	say(&d.command, "plimsoll threads %s", finding_job(f));
	evidence(&d, "waits.condition", f->same_futex, "s", NULL);
	end(f, to, &d, FINDING_LOCK);
}

/* The same for processes. */
static void processes_take_turns(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double width = f->takers < f->cores ? f->takers : f->cores, busy = finding_busy(f);

	if (!finding_begin(f, &d, (width - busy) * f->duration, f->duration * (1 - busy / width)))
		return;
	say(&d.title, "processes took turns: one at a time had the lock");
	say(&d.details,
	    "%W processes waited %T for a semaphore that they share, and %N of %W cores were busy "
	    "on average",
	    f->takers, f->semaphore, busy, f->cores);
	add_partner(f, &d, WAIT_PROCESS);
	say(&d.advice,
	    "Hold the lock (multiprocessing.Lock, sem_wait) for a shorter time, or divide what it "
	    "protects; more processes do not help.");
	say(&d.command, "plimsoll where %s --over time", finding_job(f));
	evidence(&d, "waits.process", f->semaphore, "s", NULL);
	end(f, to, &d, FINDING_LOCK);
}

void rule_lock(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (finding_processes_take_turns(f)) {
		processes_take_turns(f, to);
		return;
	}
	if (finding_takes_turns(f)) {
		takes_turns(f, to);
		return;
	}
	if (!begin(f, &d, CORE_LOCK))
		return;
	say(&d.title, "threads waited for a lock");
	say(&d.details,
	    "for %T of core time threads had nothing to do but wait for a lock that "
	    "another one held",
	    f->time.part[CORE_LOCK]);
	add_partner(f, &d, WAIT_LOCK);
	say(&d.advice,
	    "Hold the lock for a shorter time, or divide what it protects; more threads or "
	    "cores make it worse.");
	end(f, to, &d, FINDING_LOCK);
}

void rule_timer(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!begin(f, &d, CORE_TIMER))
		return;
	d.saving = finding_beside_gpus(f, d.saving);
	say(&d.title, "it slept on purpose, until a timer woke it");
	say(&d.details,
	    "for %T of core time it slept (sleep, usleep, poll with a time-out) while nothing "
	    "else was to be done",
	    f->time.part[CORE_TIMER]);
	add_partner(f, &d, WAIT_TIMER);
	say(&d.advice, "Wait for the event itself instead of looking again and again, or sleep "
		       "shorter; more cores do not help.");
	end(f, to, &d, FINDING_TIMER);
}

void rule_network_wait(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!begin(f, &d, CORE_NETWORK))
		return;
	say(&d.title, "it waited for another host");
	say(&d.details, "for %T of core time its threads waited for data from the network",
	    f->time.part[CORE_NETWORK]);
	add_partner(f, &d, WAIT_NETWORK);
	say(&d.advice, "Ask for several things at once instead of one after another, send larger "
		       "messages, or look why the other side is slow.");
	end(f, to, &d, FINDING_WAIT_NETWORK);
}

#define WORKS 0.5 /* cores: somebody works most of the time */

/* It waited for room in a pipe while who reads from it worked: that one is what takes the time. */
static bool waits_for_room(const struct finding_figures *f)
{
	const char *text = f->partner[WAIT_PROCESS];

	return text && str_prefix(text, "write ") &&
	       (finding_wanted(f) >= WORKS || finding_busy(f) >= WORKS);
}

void rule_process_wait(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	/* those with less work wait for the one that has more */
	if (finding_has_main(f, to, FINDING_IMBALANCE) || waits_for_room(f) ||
	    finding_processes_take_turns(f) || !begin(f, &d, CORE_PROCESS))
		return;
	say(&d.title, "it waited for another process");
	say(&d.details,
	    "for %T of core time its threads waited for another process of this host (pipe, "
	    "local socket, queue, semaphore)",
	    f->time.part[CORE_PROCESS]);
	add_partner(f, &d, WAIT_PROCESS);
	say(&d.advice,
	    "Make the process that it waits for faster, or let both work at the same time "
	    "(larger buffers, fewer round trips).");
	end(f, to, &d, FINDING_WAIT_PROCESS);
}

/* ---- storage --------------------------------------------------------------------------------- */

/* What copying costs the kernel, s a byte: with the page cache about 3 GB/s. */
#define COST_COPY 0.3e-9

static double moved_read(const struct finding_figures *f)
{
	return f->stored_read > 0 ? f->stored_read : 0;
}

static double moved_written(const struct finding_figures *f)
{
	return f->stored_written > 0 ? f->stored_written : 0;
}

/* Kernel time of reads and writes that are large: they are paid by their bytes. */
static double copying(const struct finding_figures *f)
{
	double bytes =
		(f->read_bytes > 0 ? f->read_bytes : 0) + (f->write_bytes > 0 ? f->write_bytes : 0);
	double cost = bytes * COST_COPY, other = f->time.part[CORE_KERNEL];

	/* an estimate within a factor of two */
	return cost >= 0.4 * other ? other : cost;
}

/* Files that it reads again do not fit below its memory limit. */
static void thrashes(const struct finding_figures *f, struct findings *to, double lost,
		     enum core_part part)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!finding_begin(f, &d, lost, finding_lost(f, lost)))
		return;
	say(&d.title, "its memory limit made it read the same files from storage again");
	say(&d.details,
	    "%B came from storage, %B of it had been in memory before and made room for other "
	    "data below the limit of %B.",
	    moved_read(f), f->refaulted, f->memory_limit);
	say(&d.advice,
	    f->granted ? "Ask for more memory than %B, so that the files that it uses "
			 "again fit beside its own, or read them once."
		       : "Give it more memory than %B, so that the files that it uses "
			 "again fit beside its own, or read them once.",
	    f->memory_limit);
	say(&d.command, "plimsoll where %s --over time", finding_job(f));
	evidence_part(&d, f, part);
	evidence(&d, "refault_bytes", f->refaulted, "B", NULL);
	evidence(&d, "read_bytes", f->stored_read, "B", NULL);
	evidence(&d, "memory_limit", f->memory_limit, "B", NULL);
	finding_add(to, FINDING_MEMORY_LIMIT, FINDING_WARNING, &d);
}

static void storage(const struct finding_figures *f, struct findings *to, double lost)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	double read = moved_read(f), written = moved_written(f);
	bool reads = read > written || (read == written && f->read_bytes > f->write_bytes);
	bool paged = f->duration > 0 && f->major_faults >= LIMIT(FAULT_RATE) * f->duration &&
		     !(f->read_bytes >= 0.5 * read);

	if (reads && finding_thrashes(f)) {
		thrashes(f, to, lost, CORE_STORAGE);
		return;
	}
	if (!finding_begin(f, &d, lost, finding_lost(f, lost)))
		return;
	evidence_part(&d, f, CORE_STORAGE);
	evidence(&d, "read_bytes", f->stored_read, "B", NULL);
	evidence(&d, "write_bytes", f->stored_written, "B", NULL);
	evidence(&d, "majflt", f->major_faults, "count", NULL);
	say(&d.command, "plimsoll where %s --over time", finding_job(f));
	if (paged) {
		say(&d.title, "pages of its memory came from a disk");
		say(&d.details, "%W page faults per second read from a disk, %T were spent waiting",
		    f->major_faults / f->duration, f->time.part[CORE_STORAGE]);
		add_partner(f, &d, WAIT_STORAGE);
		say(&d.advice,
		    "Files that it maps come from a disk: read them once from front to end, "
		    "or copy them to the node's own disk or memory.");
		end(f, to, &d, FINDING_MAJOR_FAULTS);
		return;
	}
	say(&d.title,
	    reads ? "it waited for data from storage" : "it waited until its data were on storage");
	say(&d.details, "for %T it waited for storage; %B came from storage, %B went to it",
	    f->time.part[CORE_STORAGE], read, written);
	add_partner(f, &d, WAIT_STORAGE);
	say(&d.advice, reads ? "Copy the input to the node's own disk first, or read it once and "
			       "in large pieces."
			     : "Write to the node's own disk ($TMPDIR) and copy the result at the "
			       "end; sync (fsync) less often.");
	end(f, to, &d, reads ? FINDING_STORAGE_READ : FINDING_STORAGE_WRITE);
}

#define MOVED (10.0 * 1024 * 1024) /* bytes/s; less no disk or file server notices */

/* Nobody looked at threads, and much data moved: most likely it waited for them. */
static bool most_likely(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	/* time in which no record says that anything ran is not known either */
	double unknown = f->time.part[CORE_RESIDUE] + f->time.part[CORE_TAIL];
	double lost = finding_lost(f, unknown);
	bool reads = moved_read(f) > moved_written(f);

	if (f->looked || !(lost >= LIMIT(UNKNOWN) * f->duration) ||
	    !(moved_read(f) + moved_written(f) >= MOVED * lost) ||
	    !finding_begin(f, &d, unknown, lost))
		return false;
	if (reads && finding_thrashes(f)) {
		thrashes(f, to, unknown, CORE_RESIDUE);
		return true;
	}
	say(&d.title, reads ? "it waited, most likely for data from storage"
			    : "it waited, most likely until its data were on storage");
	say(&d.details,
	    "for %T it neither computed nor waited for a core; %B came from storage, %B "
	    "went to it.",
	    lost, moved_read(f), moved_written(f));
	say(&d.advice,
	    "Keep files that are used again on the node's own disk ($TMPDIR); to know what "
	    "it waited for, record the next one with `plimsoll run --sample 1s`.");
	finding_add_run(f, &d.command);
	evidence(&d, "read_bytes", f->stored_read, "B", NULL);
	evidence(&d, "write_bytes", f->stored_written, "B", NULL);
	evidence_part(&d, f, CORE_RESIDUE);
	end(f, to, &d, reads ? FINDING_STORAGE_READ : FINDING_STORAGE_WRITE);
	return true;
}

void rule_storage(const struct finding_figures *f, struct findings *to)
{
	double waited = f->time.part[CORE_STORAGE], copied = copying(f);

	if (most_likely(f, to))
		return;
	/* what no storage has seen went to memory, a pipe or a device */
	if (!(copied >= 0.5 * f->time.part[CORE_KERNEL]) ||
	    !(moved_read(f) + moved_written(f) >= MOVED * finding_lost(f, copied)))
		copied = 0;
	storage(f, to, waited + copied);
}

/* ---- work of the kernel ---------------------------------------------------------------------- */

/* What a small call costs the program itself, s: the C library, the shell's loop around it. */
#define COST_CALL_USER 0.7e-6

/* Begins with the time of small calls, in the kernel and around them. */
static bool begin_small(const struct finding_figures *f, struct draft *d, double calls,
			double bytes)
{
	double kernel = f->time.part[CORE_SMALL_CALLS], user = calls * COST_CALL_USER;

	if (!(bytes < SMALL_CALL * calls) || !(user > 0) || !(kernel > 0))
		user = 0;
	user = user < f->time.part[CORE_USER] ? user : f->time.part[CORE_USER];
	if (!finding_begin(f, d, kernel + user, finding_lost(f, kernel + user)))
		return false;
	evidence_part(d, f, CORE_SMALL_CALLS);
	say(&d->command, "plimsoll where %s --over time", finding_job(f));
	return true;
}

void rule_small_io(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool reads = f->reads > 0 && !(f->writes > f->reads);
	double calls = reads ? f->reads : f->writes, bytes = reads ? f->read_bytes : f->write_bytes;

	if (!begin_small(f, &d, calls, bytes))
		return;
	say(&d.title, "it %s in very small pieces", reads ? "read" : "wrote");
	say(&d.details, "%W system calls per second moved %W bytes each.", calls / f->duration,
	    calls > 0 ? bytes / calls : 0);
	say(&d.advice, "Let it use a buffer of 1 MiB (setvbuf, dd bs=1M, larger records).");
	evidence(&d, reads ? "syscr" : "syscw", calls, "count", NULL);
	evidence(&d, reads ? "rchar" : "wchar", bytes, "B", NULL);
	end(f, to, &d, FINDING_SMALL_IO);
}

void rule_page_faults(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (!begin(f, &d, CORE_FAULTS))
		return;
	say(&d.title, "the kernel was busy giving it memory, page by page");
	if (f->duration > 0 && f->minor_faults > 0)
		say(&d.details, "%W page faults per second took about %T of CPU.",
		    f->minor_faults / f->duration, f->time.part[CORE_FAULTS]);
	else
		say(&d.details, "page faults took about %T of CPU.", f->time.part[CORE_FAULTS]);
	say(&d.advice, "Keep large arrays instead of allocating them again and again "
		       "(MALLOC_TOP_PAD_, MALLOC_MMAP_THRESHOLD_), or use huge pages.");
	evidence(&d, "minflt", f->minor_faults, "count", NULL);
	end(f, to, &d, FINDING_PAGE_FAULTS);
}

#define SWITCHES 5000 /* a second; beyond, they are what the kernel does */

/* Kernel time that no data, no fault and no start of a process explains: most often the names and
 * attributes of files. Threads that wake each other, or yield to each other, do not count. */
void rule_metadata(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;
	bool sure = f->time.part[CORE_METADATA] > f->time.part[CORE_KERNEL];
	double other = f->time.part[CORE_KERNEL] - copying(f);
	double switches =
		(f->switches > 0 ? f->switches : 0) + (f->preempted > 0 ? f->preempted : 0);

	if (!sure &&
	    (other < 0.5 * f->time.part[CORE_KERNEL] || switches >= SWITCHES * f->duration))
		return;
	if (!begin(f, &d, sure ? CORE_METADATA : CORE_KERNEL))
		return;
	say(&d.title,
	    sure ? "the kernel was busy with names and attributes of files"
		 : "kernel calls that move no data took the time, as those on names of files do");
	say(&d.details,
	    "%T of CPU went to kernel calls that neither moved data nor gave memory nor "
	    "started processes.",
	    f->time.part[sure ? CORE_METADATA : CORE_KERNEL]);
	if (!sure)
		say(&d.advice, "`strace -c -f` tells which calls they are. If they are of files: ");
	say(&d.advice,
	    "%spen, stat, create and remove fewer of them: keep many small ones in one "
	    "archive or database, and files open instead of opening them again.",
	    sure ? "O" : "o");
	end(f, to, &d, FINDING_METADATA);
}
