/* Sums over threads; see thread_counters.h. */
#include "sources/process/thread_counters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* More threads of a process are ignored. */
#define THREADS_MAX 65536

struct thread_counters_thread {
	int tid, fd;
	bool listed, known; /* known: was read at least once */
	uint64_t value[THREAD_COUNTERS_VALUES];
};

void threadpace_begin(struct threadpace *p)
{
	p->pass++;
	p->last_total = p->total;
	p->total = 0;
}

bool threadpace_due(struct threadpace *p, int pid, uint64_t threads)
{
	unsigned period = 1 + (unsigned)(p->last_total / THREAD_COUNTERS_BUDGET);

	p->total += threads < THREADS_MAX ? (size_t)threads : THREADS_MAX;
	return (p->pass + (unsigned)pid) % period == 0;
}

/* Marks a thread as alive; adds a new one. They are mostly listed in the same order. */
static void take_tid(void *user, int tid)
{
	struct thread_counters *t = user;

	for (size_t n = 0; n < t->old; n++) {
		size_t i = (t->hint + n) % t->old;

		if (t->list[i].tid == tid) {
			t->list[i].listed = true;
			t->hint = i + 1;
			return;
		}
	}
	if (t->count >= THREADS_MAX)
		return;
	GROW(t->list, t->count, t->cap);
	t->list[t->count++] = (struct thread_counters_thread){.tid = tid, .fd = -1, .listed = true};
}

static void keep_ended(struct thread_counters *t, const struct thread_counters_thread *thread)
{
	for (size_t i = 0; i < THREAD_COUNTERS_VALUES && thread->known; i++)
		t->ended[i] += thread->value[i];
}

/* A value that fell belongs to another thread with the same id. */
static void take_values(struct thread_counters *t, struct thread_counters_thread *thread,
			const uint64_t v[THREAD_COUNTERS_VALUES])
{
	for (size_t i = 0; i < THREAD_COUNTERS_VALUES; i++)
		if (thread->known && v[i] < thread->value[i]) {
			keep_ended(t, thread);
			break;
		}
	memcpy(thread->value, v, sizeof(thread->value));
	thread->known = true;
}

static void read_thread(struct thread_counters *t, struct procdir *d, int pid,
			struct thread_counters_thread *thread, const struct thread_counters_file *f)
{
	char name[40], buf[4096];
	uint64_t v[THREAD_COUNTERS_VALUES] = {0};
	bool had = thread->fd >= 0;

	if (!had)
		snprintf(name, sizeof(name), "task/%d/%s", thread->tid, f->name);
	bool keep = f->keep && d->kept < d->limit / 2;
	ssize_t n = procdir_read(d, &thread->fd, pid, had ? "" : name, keep, buf, sizeof(buf));
	if (n < 0 && had) {
		/* ended, and its id is listed again: the next reading takes the new thread */
		keep_ended(t, thread);
		memset(thread->value, 0, sizeof(thread->value));
		thread->known = false;
	}
	if (n > 0 && f->parse(buf, (size_t)n, v))
		take_values(t, thread, v);
}

int thread_counters_read(struct thread_counters *t, struct procdir *d, int pid,
			 const struct thread_counters_file *f)
{
	size_t left = 0;

	for (size_t i = 0; i < t->count; i++)
		t->list[i].listed = false;
	t->old = t->count;
	t->hint = 0;
	int r = procdir_numbers(d, pid, "task", take_tid, t);
	if (r < 0)
		return r;
	memset(t->total, 0, sizeof(t->total));
	for (size_t i = 0; i < t->count; i++) {
		struct thread_counters_thread *thread = &t->list[i];

		if (!thread->listed) {
			keep_ended(t, thread);
			procdir_forget(d, &thread->fd);
			continue;
		}
		read_thread(t, d, pid, thread, f);
		for (size_t k = 0; k < THREAD_COUNTERS_VALUES; k++)
			t->total[k] += thread->value[k];
		t->list[left++] = *thread;
	}
	t->count = left;
	for (size_t k = 0; k < THREAD_COUNTERS_VALUES; k++)
		t->total[k] += t->ended[k];
	return 0;
}

void thread_counters_release(struct thread_counters *t, struct procdir *d)
{
	for (size_t i = 0; i < t->count; i++)
		procdir_forget(d, &t->list[i].fd);
	free(t->list);
	*t = (struct thread_counters){0};
}
