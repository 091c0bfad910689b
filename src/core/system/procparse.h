/*
 * Parsers of /proc/PID/{stat,io,schedstat,status,smaps_rollup,statm,timens_offsets}: bounded,
 * total, no libc, so that the preload library, the commands, the unit tests and the fuzzer run the
 * same code. Fields are found by name where the kernel names them and by their number in proc(5)
 * where it does not; what a kernel does not print stays absent.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Field numbers of /proc/PID/stat as proc(5) counts them. */
enum stat_field {
	STAT_PID = 1,
	STAT_STATE = 3,
	STAT_PPID = 4,
	STAT_PGRP = 5,
	STAT_SESSION = 6,
	STAT_FLAGS = 9,
	STAT_MINFLT = 10,
	STAT_CMINFLT = 11,
	STAT_MAJFLT = 12,
	STAT_CMAJFLT = 13,
	STAT_UTIME = 14,
	STAT_STIME = 15,
	STAT_CUTIME = 16,
	STAT_CSTIME = 17,
	STAT_NUM_THREADS = 20,
	STAT_STARTTIME = 22,
	STAT_RSS = 24,
	STAT_PROCESSOR = 39,
	STAT_BLKIO_TICKS = 42,
	STAT_GUEST_TIME = 43,
	STAT_MAX = 43,
};

/* In STAT_FLAGS: it has begun to exit, and gives its memory back. */
#define STAT_EXITING 0x4u

/* Ticks are 1/100 s for user space on every architecture we build for (USER_HZ). */
#define PL_TICK_US 10000u

struct proc_stat {
	uint64_t f[STAT_MAX + 1]; /* f[n] is field n; negative values wrap, comm is not kept here */
	int last;                 /* highest field that was read */
	const char *comm;         /* into the caller's buffer, not terminated */
	size_t comm_len;
};

struct proc_io {
	uint64_t v[7];    /* in the order of proc_io_names */
	unsigned present; /* bit i: v[i] was there */
};

struct proc_schedstat {
	uint64_t oncpu_ns, waiting_ns, timeslices;
};

static const char *const proc_io_names[7] = {
	"rchar", "wchar", "syscr", "syscw", "read_bytes", "write_bytes", "cancelled_write_bytes"};

/* Reads a decimal number; stops at the first other character. False when there is no digit. */
static inline bool proc_number(const char **pp, const char *end, uint64_t *ret)
{
	const char *p = *pp;
	bool negative = p < end && *p == '-';
	uint64_t v = 0;

	if (negative)
		p++;
	const char *first = p;
	for (; p < end && *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (uint64_t)(*p - '0');
	if (p == first)
		return false;
	*pp = p;
	*ret = negative ? 0 - v : v;
	return true;
}

/* The kernel prints at most this much of a command name (kernel threads have the longest). */
#define PROC_COMM_MAX 64

/* The command name is between the first '(' and the last ')': it may hold blanks and parentheses.
 * Returns false when the text is not such a line. */
static inline bool proc_parse_stat(const char *buf, size_t size, struct proc_stat *st)
{
	const char *end = buf + size, *p = buf, *close = NULL;

	st->last = 0;
	st->comm_len = 0;
	if (!proc_number(&p, end, &st->f[STAT_PID]) || end - p < 3 || p[0] != ' ' || p[1] != '(')
		return false;
	for (const char *q = p + 2; q < end && q <= p + 2 + PROC_COMM_MAX; q++)
		if (*q == ')')
			close = q;
	if (!close || end - close < 3)
		return false;
	st->comm = p + 2;
	st->comm_len = (size_t)(close - st->comm);
	st->f[2] = 0;
	st->f[STAT_STATE] = (uint64_t)(unsigned char)close[2];
	st->last = STAT_STATE;
	p = close + 3;
	while (st->last < STAT_MAX && p < end && *p == ' ') {
		const char *q = p + 1;

		if (!proc_number(&q, end, &st->f[st->last + 1]))
			break;
		/* a number that touches the end of the buffer may be cut off */
		if (q == end)
			break;
		st->last++;
		p = q;
	}
	return true;
}

static inline bool proc_name_is(const char *p, size_t n, const char *name)
{
	size_t i = 0;

	for (; i < n && name[i]; i++)
		if (p[i] != name[i])
			return false;
	return i == n && !name[i];
}

/* Three numbers separated by blanks; a number that touches the end of the buffer may be cut off. */
static inline bool proc_parse_three(const char *buf, size_t size, uint64_t v[3])
{
	const char *p = buf, *end = buf + size;

	for (int i = 0; i < 3; i++) {
		if (i && (p >= end || *p++ != ' '))
			return false;
		if (!proc_number(&p, end, &v[i]))
			return false;
	}
	return p < end;
}

static inline bool proc_parse_schedstat(const char *buf, size_t size, struct proc_schedstat *s)
{
	uint64_t v[3];

	if (!proc_parse_three(buf, size, v))
		return false;
	*s = (struct proc_schedstat){v[0], v[1], v[2]};
	return true;
}

/*
 * Reads the number behind each of up to 64 keys in one pass over lines "<key>: <number>". Keys in
 * the order of the file are found at once. Bit i of the result: keys[i] was there; the first of two
 * counts, values of others stay as they are.
 */
static inline uint64_t proc_parse_keys(const char *buf, size_t size, const char *const *keys,
				       unsigned count, uint64_t *values)
{
	const char *p = buf, *end = buf + size;
	uint64_t present = 0;
	unsigned next = 0;

	while (p < end) {
		const char *name = p;
		unsigned k = next;

		while (p < end && *p != ':' && *p != '\n')
			p++;
		for (unsigned i = 0; i < count && p < end && *p == ':'; i++, k++) {
			if (k >= count)
				k = 0;
			if (*keys[k] != *name || !proc_name_is(name, (size_t)(p - name), keys[k]))
				continue;
			const char *q = p + 1;
			uint64_t v;

			while (q < end && (*q == ' ' || *q == '\t'))
				q++;
			/* a number that touches the end of the buffer may be cut off */
			if (!(present >> k & 1) && proc_number(&q, end, &v) && q < end) {
				values[k] = v;
				present |= (uint64_t)1 << k;
			}
			next = k + 1;
			break;
		}
		while (p < end && *p++ != '\n')
			;
	}
	return present;
}

static inline void proc_parse_io(const char *buf, size_t size, struct proc_io *io)
{
	io->present = (unsigned)proc_parse_keys(buf, size, proc_io_names, 7, io->v);
}

/* The number behind "<key>:" at the start of a line of /proc/PID/status. */
static inline bool proc_parse_status(const char *buf, size_t size, const char *key, uint64_t *ret)
{
	return proc_parse_keys(buf, size, &key, 1, ret) != 0;
}

/* Pages in all, resident, and resident of files or shared memory. */
struct proc_statm {
	uint64_t size, resident, shared;
};

static inline bool proc_parse_statm(const char *buf, size_t size, struct proc_statm *s)
{
	uint64_t v[3];

	if (!proc_parse_three(buf, size, v))
		return false;
	*s = (struct proc_statm){v[0], v[1], v[2]};
	return true;
}

/* How far a clock of a time namespace ("boottime", "monotonic") is ahead of the machine's. */
static inline bool proc_parse_timens(const char *buf, size_t size, const char *name,
				     int64_t *ret_ns)
{
	const char *p = buf, *end = buf + size;

	while (p < end) {
		const char *key = name;
		uint64_t s, ns;

		while (*key && p < end && *p == *key)
			p++, key++;
		if (!*key && p < end && *p == ' ') {
			while (p < end && *p == ' ')
				p++;
			if (!proc_number(&p, end, &s))
				return false;
			while (p < end && *p == ' ')
				p++;
			if (!proc_number(&p, end, &ns))
				return false;
			*ret_ns = (int64_t)(s * 1000000000u + ns);
			return true;
		}
		while (p < end && *p++ != '\n')
			;
	}
	return false;
}

/* When a process began, by a reader whose clocks are that far ahead; 0: not known, since the kernel
 * adds them up before it counts in ticks. */
static inline uint64_t proc_start_us(const struct proc_stat *st, int64_t ahead_ns)
{
	if (st->last < STAT_STARTTIME || ahead_ns % (PL_TICK_US * 1000ll))
		return 0;
	return st->f[STAT_STARTTIME] * PL_TICK_US - (uint64_t)(ahead_ns / 1000);
}
