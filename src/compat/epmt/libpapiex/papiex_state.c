/*
 * The hidden files in which processes under libpapiex.so keep their records; see papiex_output.c.
 */
#include "compat/epmt/libpapiex/papiex.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define STATE_MAX (64u << 20)

static char *add_text(char *p, const char *s)
{
	while (*s)
		*p++ = *s++;
	*p = 0;
	return p;
}

static char *add_number(char *p, uint64_t v)
{
	return p + format_path(p, 21, "", v, "");
}

void state_name(struct name *name, int pid)
{
	char *p = add_text(add_text(add_text(name->s, "."), guest.hostname), "-papiex-");

	add_number(add_text(add_number(p, (uint64_t)pid), "."), guest.procdev);
}

void csv_name(struct name *name, int pid, unsigned instance)
{
	char *p = add_text(add_text(name->s, guest.hostname), "-papiex-");

	p = add_number(add_text(add_number(p, (uint64_t)pid), "-"), instance);
	add_text(p, ".csv");
}

long open_dir(void)
{
	return sys4(__NR_openat, AT_FDCWD, guest.path, O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
}

void remove_name(long dir, const struct name *name)
{
	sys3(__NR_unlinkat, dir, name->s, 0);
}

long open_state(long dir, const struct name *name, long flags, size_t *ret_size)
{
	struct stat st;
	long fd =
		sys4(__NR_openat, dir, name->s, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);

	if (fd < 0)
		return fd;
	if (sys2(__NR_fstat, fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_uid == (uid_t)sys0(__NR_geteuid)) {
		*ret_size = (size_t)st.st_size;
		return fd;
	}
	sys1(__NR_close, fd);
	return -EPERM;
}

struct span read_state(long dir, const struct name *name, struct own_io *own)
{
	struct span state = {0};
	size_t size = 0, used = 0;
	long n;

	long fd = open_state(dir, name, O_RDONLY, &size);
	if (fd < 0)
		return state;
	unsigned char *pages = size && size <= STATE_MAX ? map_pages(size) : NULL;
	while (pages && used < size && (n = sys3(__NR_read, fd, pages + used, size - used)) > 0) {
		used += (size_t)n;
		own->rchar += (uint64_t)n;
		own->syscr++;
	}
	sys1(__NR_close, fd);
	if (pages && used < size)
		sys2(__NR_munmap, pages, size);
	else
		state = (struct span){pages, size};
	return state;
}

void release_state(struct span pages)
{
	if (pages.n)
		sys2(__NR_munmap, pages.p, pages.n);
}

size_t append_state(const struct held *h, int pid, const struct iovec *iov, int count)
{
	struct name name;
	size_t size;
	long n = 0, dir = open_dir();

	if (dir < 0)
		return 0;
	state_name(&name, pid);
	long fd = open_state(dir, &name, O_WRONLY | O_APPEND | (pid != guest.pid ? O_CREAT : 0),
			     &size);
	if (fd >= 0) {
		n = write_held(h, fd, iov, count);
		sys1(__NR_close, fd);
	}
	sys1(__NR_close, dir);
	return n > 0 ? (size_t)n : 0;
}

/* ---- what a process's file says ------------------------------------------------------------- */

void read_frames(struct state *st, struct rec *scratch)
{
	struct span rest = st->all;
	struct frame_at f;

	while (frame_next(&rest, &f)) {
		struct span *exec = st->has_start ? &st->exec : &st->base;

		if (f.type == PL_EXEC) {
			st->alive_from = exec->n ? (size_t)(exec->p - st->all.p) : 0;
			*exec = f.whole;
		} else if (f.type == PL_HOST && exec->n && f.whole.p == exec->p + exec->n) {
			exec->n += f.whole.n;
		} else if (f.type == PL_CLOCK) {
			rec_read(scratch, &f);
			st->generation = (unsigned)scratch->v[METRIC_GENERATION];
		} else if (f.type == PL_START) {
			st->start = f;
			st->has_start = true;
		} else if (exec->n && (f.type != PL_THREAD || f.flags & PL_F_ALIVE)) {
			st->alive_from = (size_t)(exec->p - st->all.p);
			exec->n = 0;
		}
	}
}

void read_exec(struct rec *r, struct span frames, struct rec *scratch)
{
	static const unsigned char own[] = {METRIC_OWN_RCHAR, METRIC_OWN_WCHAR, METRIC_OWN_SYSCR,
					    METRIC_OWN_SYSCW};
	struct frame_at f;

	if (!frame_next(&frames, &f))
		return;
	rec_read(r, &f);
	if (!frame_next(&frames, &f))
		return;
	rec_read(scratch, &f);
	for (size_t i = 0; i < sizeof(own); i++)
		r->v[own[i]] += scratch->v[own[i]];
	r->size += f.whole.n;
}

/* ---- finding one ---------------------------------------------------------------------------- */

/* Is this the file of a child of this process that started since then? */
static bool is_childs(long dir, const struct name *name, uint64_t since, int parent, struct rec *r,
		      struct own_io *own)
{
	struct state st = {.all = read_state(dir, name, own)};

	read_frames(&st, r);
	if (st.has_start)
		rec_read(r, &st.start);
	bool is = st.has_start && r->v[METRIC_PPID] == (uint64_t)parent &&
		  r->v[METRIC_BOOTTIME] >= since;
	release_state(st.all);
	return is;
}

uint64_t find_child(uint64_t since, int parent, struct rec *r, struct own_io *own)
{
	_Alignas(struct dir_entry) char buf[1024];
	struct name name, probe;
	uint64_t found = 0, pid;
	long n, dir = sys4(__NR_openat, AT_FDCWD, guest.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			   0);

	char *number = add_text(add_text(add_text(name.s, "."), guest.hostname), "-papiex-");
	size_t prefix = (size_t)(number - name.s);
	while (dir >= 0 && !found && (n = sys3(__NR_getdents64, dir, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n && !found;) {
			const struct dir_entry *e = (const struct dir_entry *)(buf + at);
			const char *p = e->name + prefix;

			at += e->size;
			if (!starts_with(e->name, name.s) || !proc_number(&p, p + 12, &pid))
				continue;
			state_name(&probe, (int)pid);
			if (sys2(__NR_kill, pid, 0) == -ESRCH &&
			    is_childs(dir, &probe, since, parent, r, own))
				found = pid;
		}
	if (dir >= 0)
		sys1(__NR_close, dir);
	return found;
}
