/*
 * Exit records by job; see exits.h. In a round the thread receives some records, then all events of
 * the process connector up to that moment, and only then attributes the records: a fork is reported
 * before the end of the process, so every ended process is known by its parent. Without the
 * connector groups are scanned instead, and processes too short for that have no job.
 */
#include "sources/exits/exits.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>

#include "core/clock.h"
#include "core/system/thread.h"
#include "sources/exits/exits_internal.h"

#define BUFFER_BYTES (16u << 20)
/* Records per round: limits delay and memory. */
#define ROUND_RECORDS 512
/* Under load, events of this time are handled together: fork, exec and exit of a short process
 * cause one wake-up. */
#define BATCH_NS 4000000ull
#define BUSY_NS 40000000ull
#define SYNC_NS 1000000000ull
/* In a storm of processes we compete with them for the CPU. */
#define NICENESS (-10)

/* ---- the lock ------------------------------------------------------------------------------- */

/* Whoever waits for the lock holds the gate, so that the thread cannot take it again at once. */
void exits_lock(struct exits *e)
{
	if (e->owner == pthread_self()) {
		e->depth++;
		return;
	}
	pthread_mutex_lock(&e->gate);
	pthread_mutex_lock(&e->lock);
	pthread_mutex_unlock(&e->gate);
	e->owner = pthread_self();
}

void exits_unlock(struct exits *e)
{
	if (e->depth) {
		e->depth--;
		return;
	}
	e->owner = 0;
	pthread_mutex_unlock(&e->lock);
}

/* ---- receiving ------------------------------------------------------------------------------ */

static void keep(void *user, const struct task_exit *x)
{
	struct exits *e = user;

	GROW(e->records, e->record_count, e->record_cap);
	e->records[e->record_count++] = *x;
}

/* True: there is more. */
static bool take_round(struct exits *e)
{
	uint64_t before = e->losses.taskstats + e->losses.cnproc;

	e->record_count = 0;
	int got = taskstats_receive(&e->taskstats, keep, e, ROUND_RECORDS, &e->losses.taskstats);
	e->now_ns = clock_boottime_ns();
	int more = e->cnproc.fd < 0 ? 0
				    : cnproc_receive(&e->cnproc, exits_on_event, e, e->now_ns,
						     &e->losses.cnproc);
	exits_read_bpf(e, got >= ROUND_RECORDS);
	for (size_t i = 0; i < e->record_count; i++)
		exits_account(e, &e->records[i]);
	exits_remove_ended(e);
	e->lost |= e->losses.taskstats + e->losses.cnproc > before;
	if (e->lost)
		exits_rescan(e);
	return got >= ROUND_RECORDS || more > 0;
}

void exits_sync(struct exits *e)
{
	uint64_t end = clock_boottime_ns() + SYNC_NS;

	exits_lock(e);
	while (take_round(e) && clock_boottime_ns() < end)
		;
	exits_unlock(e);
}

static void nap(uint64_t ns)
{
	struct timespec ts = {0, (long)ns};

	nanosleep(&ts, NULL);
}

static int timeout_ms(uint64_t next_ns, uint64_t now_ns, bool lost)
{
	uint64_t longest = lost ? 100 : 1000;

	if (next_ns <= now_ns)
		return 0;
	uint64_t ms = (next_ns - now_ns) / 1000000 + 1;
	return (int)(ms < longest ? ms : longest);
}

static void *serve(void *user)
{
	struct exits *e = user;
	struct pollfd fds[] = {
		{e->wake, POLLIN, 0}, {e->taskstats.fd, POLLIN, 0}, {e->cnproc.fd, POLLIN, 0}};
	uint64_t last_ns = 0;
	eventfd_t woken;
	int wait_ms = 0;

	(void)setpriority(PRIO_PROCESS, 0, NICENESS); /* of this thread alone, on Linux */
	for (;;) {
		int n = poll(fds, ARRAY_SIZE(fds), wait_ms);

		if (n < 0 && errno != EINTR)
			break;
		if (n > 0 && fds[0].revents)
			(void)eventfd_read(e->wake, &woken);
		if (e->quit)
			break;
		if (n > 0 && clock_boottime_ns() - last_ns < BUSY_NS)
			nap(BATCH_NS);
		exits_lock(e);
		bool more = take_round(e);
		uint64_t next = exits_scan_due(e);
		last_ns = clock_boottime_ns();
		wait_ms = more ? 0 : timeout_ms(next, last_ns, e->lost);
		if (more)
			last_ns = 0;
		exits_unlock(e);
	}
	return NULL;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

uint32_t exits_slot_of(const struct exits *e, uint64_t number)
{
	for (size_t i = 0; i < e->slot_count; i++)
		if (e->slots[i].number == number)
			return (uint32_t)i;
	return SLOT_NONE;
}

uint32_t exits_slot_for(struct exits *e, const struct job *job)
{
	uint32_t slot = exits_slot_of(e, job->number);

	if (slot != SLOT_NONE)
		return slot;
	slot = exits_slot_of(e, 0);
	if (slot == SLOT_NONE) {
		GROW(e->slots, e->slot_count, e->slot_cap);
		slot = (uint32_t)e->slot_count++;
	}
	e->slots[slot] = (struct exits_slot){.number = job->number};
	if (job->version2) {
		e->version2 = e->groups_changed = true;
		e->slots[slot].groups[0] = job->inodes[CGROUP_JOBS_MEMBERS];
		if (job->inodes[CGROUP_JOBS_CPUACCT] != job->inodes[CGROUP_JOBS_MEMBERS])
			e->slots[slot].groups[1] = job->inodes[CGROUP_JOBS_CPUACCT];
	}
	return slot;
}

void exits_adopt(struct exits *e, const struct job *job)
{
	exits_lock(e);
	uint32_t slot = exits_slot_for(e, job);
	e->now_ns = clock_boottime_ns();
	/* they may belong to this job */
	memset(e->asked, 0, sizeof(e->asked));
	exits_scan(e, slot);
	exits_unlock(e);
	/* the thread may sleep too long for a new job */
	(void)eventfd_write(e->wake, 1);
}

static bool is_of_slot(void *slot, void *entry)
{
	return ((const struct known *)entry)->slot == *(const uint32_t *)slot;
}

void exits_drop(struct exits *e, uint64_t job_number)
{
	exits_lock(e);
	uint32_t slot = job_number ? exits_slot_of(e, job_number) : SLOT_NONE;
	if (slot != SLOT_NONE) {
		process_table_remove_if(&e->known, is_of_slot, &slot);
		e->slots[slot] = (struct exits_slot){.number = 0};
	}
	e->groups_changed = true;
	if (e->reports) /* another job may get the slot */
		memset(e->reports, 0, REPORTS_SIZE * sizeof(*e->reports));
	exits_unlock(e);
}

bool exits_of(struct exits *e, uint64_t job_number, struct exit_sums *ret)
{
	exits_lock(e);
	uint32_t slot = job_number ? exits_slot_of(e, job_number) : SLOT_NONE;
	*ret = (struct exit_sums){0};
	if (slot != SLOT_NONE)
		*ret = e->slots[slot].sums;
	exits_unlock(e);
	return slot != SLOT_NONE;
}

void exits_unattributed(struct exits *e, struct exit_sums *ret)
{
	exits_lock(e);
	*ret = e->nobody;
	exits_unlock(e);
}

void exits_losses(struct exits *e, struct exits_losses *ret)
{
	const struct known *k;

	exits_lock(e);
	*ret = e->losses;
	PROCESS_TABLE_EACH(&e->known, k)
		ret->alive += !k->ending;
	ret->lineage = e->cnproc.fd >= 0;
	ret->bpf = e->bpf != NULL;
	exits_unlock(e);
}

/* ---- opening -------------------------------------------------------------------------------- */

static void release(struct exits *e)
{
	taskstats_close(&e->taskstats);
	cnproc_close(&e->cnproc);
	close_fd(&e->wake);
	process_table_release(&e->known);
	exits_bpf_close(e->bpf);
	free(e->reports);
	hash_map_release(&e->groups);
	free(e->slots);
	free(e->records);
	free(e->endings);
	free(e->ended);
	pthread_mutex_destroy(&e->gate);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

/* Opens both sockets. The connector is useful, but not required. */
static int open_sockets(struct exits *e, size_t buffer, struct strbuf *why)
{
	if (!taskstats_ids_match())
		return strbuf_fail(why, -ENOTSUP,
				   "process ids here are not those of the host: in a container?");
	int r = taskstats_by_thread(&e->by_thread, why);
	if (r == 0)
		r = taskstats_open_sized(&e->taskstats, buffer, why);
	if (r < 0)
		return r;
	(void)(e->by_thread ? cnproc_open(&e->cnproc, NULL)
			    : cnproc_open_begins(&e->cnproc, buffer, NULL));
	return 0;
}

int exits_open(struct exits **ret, const struct exits_options *o, struct strbuf *why)
{
	struct exits *e = xcalloc(1, sizeof(*e));

	e->jobs = o->jobs;
	e->bpf = o->bpf;
	e->groups_changed = true;
	e->known.entry_size = sizeof(struct known);
	if (e->bpf)
		e->reports = xcalloc(REPORTS_SIZE, sizeof(*e->reports));
	e->taskstats.fd = e->cnproc.fd = -1;
	e->now_ns = clock_boottime_ns();
	pthread_mutex_init(&e->gate, NULL);
	pthread_mutex_init(&e->lock, NULL);
	e->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = e->wake < 0 ? -errno : open_sockets(e, o->buffer ? o->buffer : BUFFER_BYTES, why);
	if (r == 0) {
		r = thread_start(&e->thread, 256 * 1024, serve, e);
		if (r < 0)
			strbuf_addf(why, "cannot start the thread for exit records: %s",
				    strerror(-r));
	}
	if (r < 0) {
		release(e);
		return r;
	}
	*ret = e;
	return 0;
}

void exits_close(struct exits *e)
{
	if (!e)
		return;
	e->quit = true;
	(void)eventfd_write(e->wake, 1);
	pthread_join(e->thread, NULL);
	release(e);
}
