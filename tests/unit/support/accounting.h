/*
 * Record files for the books, made up frame by frame, and what they add up to.
 */
#pragma once

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "records/accounting.h"

#define DEVICE 21
#define MS 1000000ull
#define RUN 999 /* pid of the supervisor */

struct file {
	int fd;
	struct record_writer w;
};

static void file_open(struct file *f)
{
	static uint64_t begun; /* each at a time of its own */

	f->fd = memfd_create("records", 0);
	f->w = (struct record_writer)RECORD_WRITER_INIT;
	record_writer_add_schema(&f->w);
	record_writer_begin(&f->w);
	record_writer_u64(&f->w, METRIC_BOOTTIME, ++begun);
	record_writer_u64(&f->w, METRIC_REALTIME, 1000000000000000);
	record_writer_u64(&f->w, METRIC_PROCDEV, DEVICE);
	record_writer_text(&f->w, METRIC_HOSTNAME, "here", 4);
	record_writer_text(&f->w, METRIC_BOOT_ID, "12345678-", 9);
	record_writer_add(&f->w, PL_HOST, 0);
}

/* One frame: pairs of metric and value, ended by metric 0; times are milliseconds since boot. A pid
 * of 0 is left out. */
static void frame(struct file *f, enum pl_record_type type, unsigned flags, uint64_t pid,
		  uint64_t ms, ...)
{
	va_list ap;

	record_writer_begin(&f->w);
	if (pid)
		record_writer_u64(&f->w, METRIC_PID, pid);
	record_writer_u64(&f->w, METRIC_BOOTTIME, ms * MS);
	va_start(ap, ms);
	bool device = false;
	for (int id; (id = va_arg(ap, int));) {
		record_writer_u64(&f->w, (enum metric_id)id, va_arg(ap, uint64_t));
		device |= id == METRIC_PROCDEV;
	}
	va_end(ap);
	if (!device)
		record_writer_u64(&f->w, METRIC_PROCDEV, DEVICE);
	if (type == PL_START)
		record_writer_text(&f->w, METRIC_PATH, "/bin/x", 6);
	record_writer_add(&f->w, type, flags);
}

#define U(x) ((uint64_t)(x))
#define START(f, pid, ppid, start_ms, ms)                                                          \
	frame(f, PL_START, 0, pid, ms, METRIC_PPID, U(ppid), METRIC_STARTTIME, U(start_ms) * 1000, \
	      0)
#define END(f, pid, start_ms, ms, code, cpu, children)                                      \
	frame(f, PL_END, 0, pid, ms, METRIC_STARTTIME, U(start_ms) * 1000, METRIC_EXITCODE, \
	      U(code), METRIC_USERTIME, U(cpu), METRIC_SYSTEMTIME, U(0), METRIC_CUTIME,     \
	      U(children), METRIC_CSTIME, U(0), METRIC_NUMTIDS, U(1), 0)
#define EXEC(f, pid, start_ms, ms, cpu)                                                      \
	frame(f, PL_EXEC, 0, pid, ms, METRIC_STARTTIME, U(start_ms) * 1000, METRIC_USERTIME, \
	      U(cpu), METRIC_SYSTEMTIME, U(0), METRIC_CUTIME, U(0), METRIC_CSTIME, U(0), 0)
#define REAP(f, pid, reaper, ms, code, cpu)                                                       \
	frame(f, PL_REAP, PL_F_RUSAGE, pid, ms, METRIC_PPID, U(reaper), METRIC_EXITCODE, U(code), \
	      METRIC_USERTIME, U(cpu), METRIC_SYSTEMTIME, U(0), 0)
#define REAP_SIGNAL(f, pid, reaper, ms, sig, cpu)                                                  \
	frame(f, PL_REAP, PL_F_RUSAGE, pid, ms, METRIC_PPID, U(reaper), METRIC_EXITSIGNAL, U(sig), \
	      METRIC_USERTIME, U(cpu), METRIC_SYSTEMTIME, U(0), 0)
#define KEXIT(f, pid, ppid, begin_ms, ms, code, execs)                                            \
	frame(f, PL_KEXIT, PL_F_CNPROC, pid, ms, METRIC_PPID, U(ppid), METRIC_BEGIN,              \
	      U(begin_ms) * MS, METRIC_EXITCODE, U(code), METRIC_EXECS, U(execs), METRIC_NUMTIDS, \
	      U(1), 0)

static void load(struct accounting *b, struct file *files, size_t n, struct accounting_sums *sums)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	accounting_init(b);
	b->keep_threads = true;
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(record_writer_flush(&files[i].w, files[i].fd), 0);
		record_writer_release(&files[i].w);
		assert_int_equal(accounting_add(b, files[i].fd, "f", "here.12345678"), 0);
	}
	assert_int_equal(accounting_load(b, &why), 0);
	accounting_sum(b, sums);
}
