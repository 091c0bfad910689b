/*
 * The output of libpapiex.so: papiex's CSV, one file "HOST-papiex-PID-INSTANCE.csv" per image in
 * the directory PAPIEX_OUTPUT. No other program makes these files, so the library writes them.
 *
 * A process keeps its records in a hidden file beside them, ".HOST-papiex-PID.DEV"; DEV is the
 * device of /proc, which distinguishes pid namespaces. It contains, in this order:
 *
 *     EXEC, HOST    of the previous image; absent for the first
 *     CLOCK         the number of images so far
 *     START         of the image
 *     THREAD, REAP  in the order of events
 *     EXEC, HOST    before it is replaced, with the I/O of writing its rows
 *
 * An image writes its rows itself, before it ends or is replaced. For an image that could not (it
 * was killed, called _exit by a raw system call, or could not load the library) the parent that
 * waits for it writes them. The file is removed with the process.
 *
 * As with papiex, nothing is recorded without PAPIEX_OPTIONS.
 */
#include "compat/epmt/libpapiex/papiex.h"

#include <errno.h>
#include <fcntl.h>

#define INSTANCE_MAX 100000

/* Set when the image starts; a fork inherits it. */
static struct {
	struct span start, base; /* whole frames, in pages of their own */
	unsigned generation;
	unsigned written; /* instance of the file that its last record created, plus one */
	bool exec;        /* which was an EXEC */
	uint64_t cycles, ns;
} saved;

/* ---- where to ------------------------------------------------------------------------------- */

static bool path_add(size_t *used, const char *s)
{
	size_t n = str_len(s);

	if (*used + n >= sizeof(guest.path))
		return false;
	__builtin_memcpy(guest.path + *used, s, n + 1);
	*used += n;
	return true;
}

/* A relative directory is relative to the working directory at the start of the image. */
bool output_choose(struct environment *env)
{
	const char *dir = env->other_output;
	size_t used = 0;

	if (!env->other_options || !read_hostname())
		return false;
	env->events = env->other_options;
	env->tags = env->other_tags;
	if (!dir || !dir[0])
		dir = "/tmp";
	if (dir[0] != '/') {
		if (sys2(__NR_getcwd, guest.path, sizeof(guest.path)) < 0)
			return false;
		used = str_len(guest.path);
		if (!path_add(&used, "/"))
			return false;
	}
	return path_add(&used, dir);
}

/* ---- making rows ---------------------------------------------------------------------------- */

static double cycles_per_us(void)
{
	uint64_t ns = clock_ns(CLOCK_BOOTTIME) - saved.ns;

	return ns ? (double)(cycle_count() - saved.cycles) * 1000 / (double)ns : 0;
}

/* The image that a file describes. */
static void story_begin(struct story *s, const struct state *st)
{
	__builtin_memset(s, 0, offsetof(struct story, out));
	rec_read(&s->start, &st->start);
	if (st->base.n)
		read_exec(&s->base, st->base, &s->thread);
	s->has_base = st->base.n != 0;
	s->frames = st->all;
	s->alive_from = st->alive_from;
	s->generation = st->generation;
}

/* Writes the rows of process pid into the first file name that is free; returns its instance, or a
 * negative errno. */
static long write_story(const struct held *h, long dir, struct story *s, int pid,
			struct own_io *own)
{
	struct name name;
	unsigned instance = 0;
	long fd;

	do
		csv_name(&name, pid, instance);
	while ((fd = sys4(__NR_openat, dir, name.s,
			  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)) == -EEXIST &&
	       ++instance < INSTANCE_MAX);
	if (fd < 0)
		return fd;
	s->out.held = h;
	s->out.fd = (int)fd;
	s->out.failed = false;
	s->out.used = s->out.bytes = s->out.writes = 0;
	s->cycles_per_us = cycles_per_us();
	rec_set(&s->end, METRIC_PID, (uint64_t)pid);
	papiex_write(s);
	sys1(__NR_close, fd);
	own->wchar += s->out.bytes;
	own->syscw += s->out.writes;
	if (s->out.failed) { /* an incomplete file would be wrong */
		remove_name(dir, &name);
		return -EIO;
	}
	return instance;
}

/* The counters at the exec of this image, as the previous image recorded them. */
static void adopt(long dir, const struct name *name, struct own_io *own)
{
	struct rec *r = map_pages(sizeof(*r));
	struct state st = {.all = read_state(dir, name, own)};
	unsigned char *p;

	if (r && st.all.n) {
		read_frames(&st, r);
		if (st.has_start)
			rec_read(r, &st.start);
		/* otherwise the file belongs to an earlier process with the same pid */
		if (st.has_start && st.exec.n && r->v[METRIC_STARTTIME] == guest.starttime_us &&
		    (p = map_pages(st.exec.n))) {
			__builtin_memcpy(p, st.exec.p, st.exec.n);
			saved.base = (struct span){p, st.exec.n};
			saved.generation = st.generation + 1;
		}
	}
	release_state(st.all);
	if (r)
		sys2(__NR_munmap, r, sizeof(*r));
}

/* ---- the records as they come --------------------------------------------------------------- */

static size_t on_start(const struct held *h, const struct iovec *iov, int count)
{
	unsigned char count_frame[PL_RECORD_HEADER + 16], payload[16];
	struct fields f = {payload, payload + sizeof(payload)};
	struct own_io own = {0};
	struct name name;
	size_t size = 0, used = 0, ignored;
	long n = 0, dir = open_dir();

	for (int i = 0; i < count; i++)
		size += iov[i].iov_len;
	unsigned char *p = dir >= 0 ? map_pages(size) : NULL;
	if (!p)
		return 0;
	for (int i = 0; i < count; used += iov[i++].iov_len)
		__builtin_memcpy(p + used, iov[i].iov_base, iov[i].iov_len);
	saved.start = (struct span){p, size};
	saved.cycles = cycle_count();
	saved.ns = clock_ns(CLOCK_BOOTTIME);
	state_name(&name, guest.pid);
	adopt(dir, &name, &own);
	remove_name(dir, &name);

	put_u64(&f, METRIC_GENERATION, saved.generation);
	make_frame(count_frame, PL_CLOCK, 0, payload, (size_t)(f.p - payload));
	struct iovec out[3] = {{(void *)saved.base.p, saved.base.n},
			       {count_frame, PL_RECORD_HEADER + (size_t)(f.p - payload)},
			       {p, size}};
	long fd = open_state(dir, &name, O_WRONLY | O_CREAT | O_EXCL, &ignored);
	if (fd >= 0) {
		n = write_held(h, fd, out, 3);
		sys1(__NR_close, fd);
	}
	sys1(__NR_close, dir);
	own_add(guest.pid, &own);
	return n > 0 ? (size_t)n : 0;
}

/* The image continues: exec or daemon() failed. */
static void void_last_word(long dir)
{
	struct name name;

	if (!saved.written)
		return;
	csv_name(&name, guest.pid, saved.written - 1);
	remove_name(dir, &name);
	saved.written = 0;
}

static void tell(const struct held *h, long dir, struct story *s, int pid, unsigned flags,
		 const struct iovec *last, struct own_io *own)
{
	bool image = pid == guest.pid;
	struct span rest = saved.start;
	struct name name;
	struct state st = {.all = {0}};

	state_name(&name, pid);
	st.all = read_state(dir, &name, own);
	read_frames(&st, &s->thread);
	if (st.exec.n) /* which failed */
		st.alive_from = st.all.n;
	st.base = image ? saved.base : (struct span){0};
	st.generation = image ? saved.generation : 0;
	if (frame_next(&rest, &st.start)) {
		story_begin(s, &st);
		rec_read_payload(&s->end, flags, last->iov_base, last->iov_len);
		s->copy = !image;
		if (image)
			void_last_word(dir);
		long instance = write_story(h, dir, s, pid, own);
		if (instance >= 0 && image)
			saved.written = (unsigned)instance + 1;
	}
	release_state(st.all);
}

/* The image, or a fork of it, writes its own rows. A fork may share the memory of its parent
 * (vfork): then nothing of ours is written except in pages that are allocated here. */
static void last_word(const struct held *h, int pid, unsigned flags, const struct iovec *last,
		      struct own_io *own)
{
	struct story *s = map_pages(sizeof(*s));
	long dir = open_dir();

	if (s && dir >= 0)
		tell(h, dir, s, pid, flags, last, own);
	if (s)
		sys2(__NR_munmap, s, sizeof(*s));
	if (dir >= 0)
		sys1(__NR_close, dir);
}

static void on_end(const struct held *h, int pid, unsigned flags, const struct iovec *iov)
{
	struct own_io own = {0};
	struct name name;

	last_word(h, pid, flags, &iov[1], &own);
	if (pid == guest.pid)
		saved.exec = false;
	long dir = open_dir();
	state_name(&name, pid);
	remove_name(dir, &name);
	if (dir >= 0)
		sys1(__NR_close, dir);
}

/* All counters are in the first piece, before the program that is executed. */
static size_t on_exec(const struct held *h, int pid, unsigned flags, struct iovec *iov, int count)
{
	unsigned char host[PL_RECORD_HEADER + 64], payload[64];
	struct fields f = {payload, payload + sizeof(payload)};
	struct own_io own = {0};

	last_word(h, pid, flags, &iov[1], &own);
	saved.exec = true;
	put_u64(&f, METRIC_OWN_RCHAR, own.rchar);
	put_u64(&f, METRIC_OWN_WCHAR, own.wchar);
	put_u64(&f, METRIC_OWN_SYSCR, own.syscr);
	put_u64(&f, METRIC_OWN_SYSCW, own.syscw);
	make_frame(host, PL_HOST, 0, payload, (size_t)(f.p - payload));
	iov[count] = (struct iovec){host, PL_RECORD_HEADER + (size_t)(f.p - payload)};
	own_add(pid, &own); /* in case it fails */
	return append_state(h, pid, iov, count + 1);
}

/* Rows of a child that could not write them itself. */
static void close_child(const struct held *h, long dir, const struct name *name, int pid,
			struct story *s, const struct iovec *reap, struct own_io *own)
{
	struct state st = {.all = read_state(dir, name, own)};

	if (!st.all.n)
		return;
	read_frames(&st, &s->thread);
	bool replaced = st.has_start && st.exec.n;
	if (replaced) {
		st.base = st.exec;
		st.generation++;
	}
	if (st.has_start) {
		story_begin(s, &st);
		/* the library was not loaded into the program that it executed: its name is the one
		 * it was called by */
		if (replaced) {
			s->frames = (struct span){0};
			s->start.text[METRIC_PATH] = s->base.text[METRIC_PATH];
			s->start.text[METRIC_ARGV] = s->base.text[METRIC_ARGV];
		}
		rec_read_payload(&s->end, 0, reap->iov_base, reap->iov_len);
		s->reaped = true;
		write_story(h, dir, s, pid, own);
	}
	remove_name(dir, name);
	release_state(st.all);
}

static void reap(const struct held *h, long dir, int pid, struct story *s, const struct iovec *last,
		 struct own_io *own)
{
	struct name name;

	rec_read_payload(&s->end, 0, last->iov_base, last->iov_len);
	uint64_t child = s->end.v[METRIC_PID];
	if (!child)
		child = find_child(s->end.v[METRIC_BEGIN], pid, &s->thread, own);
	if (!child)
		return;
	state_name(&name, (int)child);
	/* its pid may have been reused */
	if (sys2(__NR_kill, child, 0) == -ESRCH)
		close_child(h, dir, &name, (int)child, s, last, own);
}

static size_t on_reap(const struct held *h, int pid, const struct iovec *iov, int count)
{
	struct own_io own = {0};
	size_t written = append_state(h, pid, iov, count);
	struct story *s = map_pages(sizeof(*s));
	long dir = open_dir();

	if (dir >= 0 && pid == guest.pid && saved.exec)
		void_last_word(dir);
	if (dir >= 0 && s)
		reap(h, dir, pid, s, &iov[1], &own);
	own_add(pid, &own);
	if (s)
		sys2(__NR_munmap, s, sizeof(*s));
	if (dir >= 0)
		sys1(__NR_close, dir);
	return written;
}

/* The exec failed. In other cases the file of the process is gone: what was written stays until the
 * next record. */
static size_t on_resume(const struct held *h, int pid, const struct iovec *iov, int count)
{
	long dir = saved.exec ? open_dir() : -EBADF;

	if (dir < 0)
		return 0;
	void_last_word(dir);
	sys1(__NR_close, dir);
	saved.exec = false;
	return append_state(h, pid, iov, count);
}

size_t emit(const struct held *h, enum pl_record_type type, unsigned flags, struct iovec *iov,
	    int count)
{
	unsigned char header[PL_RECORD_HEADER];
	int pid = (int)sys0(__NR_getpid);

	iov[0] = (struct iovec){header, sizeof(header)};
	if (!frame(header, type, flags, iov, count))
		return 0;
	switch (type) {
	case PL_START:
		return on_start(h, iov, count);
	case PL_END:
		/* a fork cannot undo what it wrote */
		if (flags & PL_F_ROOT && pid != guest.pid)
			return 0;
		on_end(h, pid, flags, iov);
		return 0;
	case PL_EXEC:
		return on_exec(h, pid, flags, iov, count);
	case PL_REAP:
		return on_reap(h, pid, iov, count);
	case PL_RESUME:
		return pid == guest.pid ? on_resume(h, pid, iov, count) : 0;
	default:
		return append_state(h, pid, iov, count);
	}
}

size_t emit_raw(const struct held *h, const void *frames, size_t n)
{
	struct iovec iov = {(void *)frames, n};

	return append_state(h, (int)sys0(__NR_getpid), &iov, 1);
}
