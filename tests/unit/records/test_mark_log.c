/* Mark files: what is written is read, nesting becomes regions, and damage costs only what it hit.
 */
#include "unit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/util.h"
#include "plimsoll/mark.h"
#include "records/mark_log.h"

/* A file in memory, filled slot by slot. */
struct made {
	int fd;
	struct plimsoll_mark_header h;
	uint64_t boot_ns;
};

static void make(struct made *m)
{
	*m = (struct made){.fd = memfd_create("marks", MFD_CLOEXEC), .boot_ns = 5000000000u};
	m->h = (struct plimsoll_mark_header){.magic = PLIMSOLL_MARK_MAGIC,
					     .version = 1,
					     .slot_size = 64,
					     .pid = 700,
					     .max = 4096,
					     .boot_ns = m->boot_ns,
					     .real_ns = 1000000000000000000u,
					     .rank = 3,
					     .ranks = 4,
					     .host = "node1"};
	assert_int_equal(ftruncate(m->fd, PLIMSOLL_MARK_HEADER), 0);
}

static void put(struct made *m, uint64_t ns, uint32_t tid, int kind, unsigned flags,
		const char *name)
{
	struct plimsoll_mark_slot s[4] = {{.time_ns = m->boot_ns + ns,
					   .cpu_ns = ns / 2,
					   .tid = tid,
					   .kind = (uint8_t)kind,
					   .flags = (uint8_t)flags}};
	size_t n = strnlen(name, PLIMSOLL_MARK_NAME_MAX), first = n < 40 ? n : 40;

	s[0].length = (uint8_t)n;
	s[0].slots = (uint8_t)(1 + (n - first + 63) / 64);
	memcpy(s[0].name, name, first);
	memcpy(s + 1, name + first, n - first);
	assert_int_equal(pwrite(m->fd, s, s[0].slots * sizeof(*s),
				(off_t)(PLIMSOLL_MARK_HEADER + m->h.next * sizeof(*s))),
			 s[0].slots * sizeof(*s));
	m->h.next += s[0].slots;
}

static int read_made(struct made *m, struct mark_log *l, struct mark_regions *r)
{
	assert_int_equal(pwrite(m->fd, &m->h, sizeof(m->h), 0), sizeof(m->h));
	*l = (struct mark_log){0};
	int e = mark_log_add(l, m->fd, 0, (uint64_t)lseek(m->fd, 0, SEEK_END));
	if (e == 0)
		mark_log_regions(l, r);
	return e;
}

/* "name depth state duration parent" */
static void check(const struct mark_log *l, const struct mark_regions *r, size_t i,
		  const char *want)
{
	char got[400];

	assert_true(i < r->count);
	snprintf(got, sizeof(got), "%s %d %d %lld %d", l->names[r->v[i].name], r->v[i].depth,
		 r->v[i].state,
		 r->v[i].end_ns ? (long long)(r->v[i].end_ns - r->v[i].begin_ns) : -1,
		 (int)r->v[i].parent);
	assert_string_equal(got, want);
}

static void nesting(void **state)
{
	struct made m;
	_cleanup_mark_log_ struct mark_log l;
	_cleanup_mark_regions_ struct mark_regions r = {0};

	(void)state;
	make(&m);
	put(&m, 10, 700, PLIMSOLL_BEGIN, 0, "outer");
	put(&m, 11, 701, PLIMSOLL_BEGIN, 0, "worker"); /* another thread in between */
	put(&m, 20, 700, PLIMSOLL_BEGIN, 0, "inner");
	put(&m, 25, 700, PLIMSOLL_POINT, 0, "point");
	put(&m, 30, 700, PLIMSOLL_END, 0, "");
	put(&m, 31, 701, PLIMSOLL_END, 0, "");
	put(&m, 50, 700, PLIMSOLL_END, 0, "");
	put(&m, 51, 700, PLIMSOLL_END, 0, ""); /* one too many */
	put(&m, 60, 700, PLIMSOLL_BEGIN, 0, "left open");
	assert_int_equal(read_made(&m, &l, &r), 0);
	assert_int_equal(r.count, 5);
	check(&l, &r, 0, "outer 0 0 40 -1");
	check(&l, &r, 1, "inner 1 0 10 0");
	check(&l, &r, 2, "point 2 2 0 1");
	check(&l, &r, 3, "left open 0 1 -1 -1");
	check(&l, &r, 4, "worker 0 0 20 -1");
	assert_int_equal(r.unmatched, 1);
	assert_int_equal(r.v[0].begin_ns, 1000000000000000010);
	assert_int_equal(r.v[0].cpu_ns, -1); /* the file has none */
	assert_int_equal(l.process.rank, 3);
	assert_string_equal(l.process.host, "node1");
	close(m.fd);
}

static void cpu_times(void **state)
{
	struct made m;
	_cleanup_mark_log_ struct mark_log l;
	_cleanup_mark_regions_ struct mark_regions r = {0};

	(void)state;
	make(&m);
	m.h.flags = PLIMSOLL_WITH_CPU;
	put(&m, 100, 700, PLIMSOLL_BEGIN, 0, "a");
	put(&m, 300, 700, PLIMSOLL_END, 0, "");
	put(&m, 400, 700, PLIMSOLL_BEGIN, 0, "open");
	assert_int_equal(read_made(&m, &l, &r), 0);
	assert_int_equal(r.v[0].cpu_ns, 100);
	assert_int_equal(r.v[1].cpu_ns, -1);
	close(m.fd);
}

static void phases_of_a_script(void **state)
{
	struct made m;
	_cleanup_mark_log_ struct mark_log l;
	_cleanup_mark_regions_ struct mark_regions r = {0};

	(void)state;
	make(&m);
	put(&m, 10, 700, PLIMSOLL_NEXT, PLIMSOLL_OF_SCRIPT, "one");
	put(&m, 20, 700, PLIMSOLL_NEXT, PLIMSOLL_OF_SCRIPT, "two");
	/* what the script executes marks regions in the phase, which the script ends */
	put(&m, 22, 700, PLIMSOLL_BEGIN, 0, "region");
	put(&m, 25, 700, PLIMSOLL_NEXT, PLIMSOLL_OF_SCRIPT, "three");
	put(&m, 26, 700, PLIMSOLL_END, 0, ""); /* its region has ended */
	put(&m, 30, 700, PLIMSOLL_END, PLIMSOLL_OF_SCRIPT, "");
	assert_int_equal(read_made(&m, &l, &r), 0);
	check(&l, &r, 0, "one 0 0 10 -1");
	check(&l, &r, 1, "two 0 0 5 -1");
	check(&l, &r, 2, "region 1 1 3 1");
	check(&l, &r, 3, "three 0 0 5 -1");
	assert_int_equal(r.unmatched, 1);
	close(m.fd);
}

static void hostile_names(void **state)
{
	struct made m;
	_cleanup_mark_log_ struct mark_log l;
	_cleanup_mark_regions_ struct mark_regions r = {0};
	char longest[65536];
	char euros[300] = "";

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = 0;
	for (int i = 0; i < 99; i++)
		memcpy(euros + 3 * i, "\xe2\x82\xac", 3);
	make(&m);
	put(&m, 1, 700, PLIMSOLL_POINT, 0, "a\x1b[31m\n");
	put(&m, 2, 700, PLIMSOLL_POINT, 0, "\xff\xfe");
	put(&m, 3, 700, PLIMSOLL_POINT, 0, longest);
	put(&m, 4, 700, PLIMSOLL_POINT, 0, euros); /* 232 is in the middle of one */
	put(&m, 5, 700, PLIMSOLL_POINT, 0, "login --password=hunter2 now");
	put(&m, 6, 700, PLIMSOLL_POINT, 0, "");
	assert_int_equal(read_made(&m, &l, &r), 0);
	assert_int_equal(r.count, 6);
	assert_string_equal(l.names[r.v[0].name], "a\\x1b[31m\\x0a");
	assert_string_equal(l.names[r.v[1].name], "\\xff\\xfe");
	assert_int_equal(strlen(l.names[r.v[2].name]), PLIMSOLL_MARK_NAME_MAX);
	assert_int_equal(strlen(l.names[r.v[3].name]), 231);
	assert_string_equal(l.names[r.v[4].name], "login --password=*** now");
	assert_string_equal(l.names[r.v[5].name], "");
	close(m.fd);
}

static void damage(void **state)
{
	struct made m;
	_cleanup_mark_log_ struct mark_log l;
	_cleanup_mark_regions_ struct mark_regions r = {0};

	(void)state;
	make(&m);
	put(&m, 1, 700, PLIMSOLL_BEGIN, 0, "a");
	put(&m, 2, 700, 99, 0, "no kind");
	m.h.next++; /* reserved and never written */
	put(&m, 3, 0, PLIMSOLL_BEGIN, 0, "no thread");
	put(&m, 1u << 31, 700, PLIMSOLL_BEGIN, 7, "no flags");
	put(&m, (uint64_t)-6000000000, 700, PLIMSOLL_BEGIN, 0, "before the file");
	put(&m, 9, 700, PLIMSOLL_END, 0, "");
	assert_int_equal(ftruncate(m.fd, PLIMSOLL_MARK_HEADER + (off_t)m.h.next * 64), 0);
	assert_int_equal(read_made(&m, &l, &r), 0);
	assert_int_equal(r.count, 1);
	check(&l, &r, 0, "a 0 0 8 -1");
	assert_int_equal(l.damaged, 5);
	close(m.fd);
}

static void every_length(void **state)
{
	struct made m;

	(void)state;
	make(&m);
	for (unsigned i = 0; i < 20; i++)
		put(&m, i, 700, PLIMSOLL_POINT, 0,
		    "a name of more than one slot, which needs two of them");
	off_t whole = lseek(m.fd, 0, SEEK_END);
	assert_int_equal(pwrite(m.fd, &m.h, sizeof(m.h), 0), sizeof(m.h));
	for (off_t size = 0; size <= whole; size += 32) {
		_cleanup_mark_log_ struct mark_log l = {0};
		_cleanup_mark_regions_ struct mark_regions r = {0};

		int e = mark_log_add(&l, m.fd, 0, (uint64_t)size);
		assert_int_equal(e, size < (off_t)sizeof(m.h) ? -EBADMSG : 0);
		mark_log_regions(&l, &r);
		size_t slots = size < 4096 ? 0 : (size_t)(size - 4096) / 64;
		assert_int_equal(r.count, slots / 2);
		assert_int_equal(l.damaged, e ? 0 : slots % 2 + 40 - slots);
	}
	close(m.fd);
}

static void headers_that_are_none(void **state)
{
	struct mark_file f;
	struct made m;

	(void)state;
	make(&m);
	assert_int_equal(mark_file_parse(&m.h, &f), 0);
	const struct plimsoll_mark_header good = m.h;
#define BAD(field, value)                                              \
	do {                                                           \
		m.h = good;                                            \
		m.h.field = value;                                     \
		assert_int_equal(mark_file_parse(&m.h, &f), -EBADMSG); \
	} while (0)
	BAD(magic, 0);
	BAD(version, 2);
	BAD(slot_size, 32);
	BAD(pid, 0);
	BAD(max, PLIMSOLL_MARK_LIMIT + 1);
	BAD(boot_ns, UINT64_MAX);
	BAD(real_ns, UINT64_MAX);
	m.h = good;
	memset(m.h.host, 'h', sizeof(m.h.host)); /* does not end */
	m.h.next = UINT64_MAX;
	assert_int_equal(mark_file_parse(&m.h, &f), 0);
	assert_int_equal(strlen(f.process.host), sizeof(m.h.host) - 1);
	assert_int_equal(f.slots, m.h.max);
	close(m.fd);
}

static void too_deep(void **state)
{
	struct made m;
	_cleanup_mark_log_ struct mark_log l;
	_cleanup_mark_regions_ struct mark_regions r = {0};

	(void)state;
	make(&m);
	for (unsigned i = 0; i < MARK_DEPTH_MAX + 5; i++)
		put(&m, i, 700, PLIMSOLL_BEGIN, 0, "deep");
	for (unsigned i = 0; i < MARK_DEPTH_MAX + 5; i++)
		put(&m, 5000 + i, 700, PLIMSOLL_END, 0, "");
	assert_int_equal(read_made(&m, &l, &r), 0);
	assert_int_equal(r.count, MARK_DEPTH_MAX);
	assert_int_equal(r.too_deep, 5);
	assert_int_equal(r.unmatched, 0);
	/* the outermost one ends with the last end */
	assert_int_equal(r.v[0].end_ns - r.v[0].begin_ns, 5000 + MARK_DEPTH_MAX + 4);
	close(m.fd);
}

/* Python has a file of its own beside that of compiled code: regions nest over both. */
static void two_files_of_a_process(void **state)
{
	struct made a, b;
	_cleanup_mark_log_ struct mark_log l = {0};
	_cleanup_mark_regions_ struct mark_regions r = {0};

	(void)state;
	make(&a);
	make(&b);
	put(&a, 10, 700, PLIMSOLL_BEGIN, 0, "python");
	put(&a, 40, 700, PLIMSOLL_END, 0, "");
	put(&b, 20, 700, PLIMSOLL_BEGIN, 0, "library");
	put(&b, 30, 700, PLIMSOLL_END, 0, "");
	assert_int_equal(pwrite(a.fd, &a.h, sizeof(a.h), 0), sizeof(a.h));
	assert_int_equal(pwrite(b.fd, &b.h, sizeof(b.h), 0), sizeof(b.h));
	assert_int_equal(mark_log_add(&l, a.fd, 0, 1 << 20), 0);
	assert_int_equal(mark_log_add(&l, b.fd, 0, 1 << 20), 0);
	mark_log_regions(&l, &r);
	check(&l, &r, 0, "python 0 0 30 -1");
	check(&l, &r, 1, "library 1 0 10 0");
	close(a.fd);
	close(b.fd);
}

static void masked_copy(void **state)
{
	static const char secret[] =
		"login --password=hunter2 and then more than one slot can hold";
	struct made m;
	_cleanup_mark_log_ struct mark_log l = {0};
	_cleanup_mark_regions_ struct mark_regions r = {0};
	int to = memfd_create("masked", MFD_CLOEXEC);
	char all[8192];

	(void)state;
	make(&m);
	put(&m, 1, 700, PLIMSOLL_BEGIN, 0, secret);
	put(&m, 2, 700, PLIMSOLL_POINT, 0, "plain");
	put(&m, 3, 700, PLIMSOLL_END, 0, "");
	put(&m, 4, 0, PLIMSOLL_POINT, 0, "hunter2 in a slot that is no mark");
	assert_int_equal(pwrite(m.fd, &m.h, sizeof(m.h), 0), sizeof(m.h));
	assert_int_equal(mark_file_mask(m.fd, to), 0);
	ssize_t n = pread(to, all, sizeof(all), 0);
	assert_int_equal(n, PLIMSOLL_MARK_HEADER + 5 * 64);
	assert_null(memmem(all, (size_t)n, "hunter2", 7));
	assert_int_equal(mark_log_add(&l, to, 0, (uint64_t)n), 0);
	mark_log_regions(&l, &r);
	assert_int_equal(r.count, 2);
	assert_int_equal(r.v[0].end_ns - r.v[0].begin_ns, 2);
	assert_string_equal(l.names[r.v[1].name], "plain");
	assert_int_equal(strncmp(l.names[r.v[0].name], "login --password=*** and", 24), 0);
	assert_int_equal(strlen(l.names[r.v[0].name]), sizeof(secret) - 1);
	close(to);
	close(m.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nesting),
		cmocka_unit_test(cpu_times),
		cmocka_unit_test(phases_of_a_script),
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(damage),
		cmocka_unit_test(every_length),
		cmocka_unit_test(headers_that_are_none),
		cmocka_unit_test(too_deep),
		cmocka_unit_test(two_files_of_a_process),
		cmocka_unit_test(masked_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
