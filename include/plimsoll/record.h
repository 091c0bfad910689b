/*
 * The record file: what libplimsoll.so writes and every reader reads.
 *
 * A file is a sequence of frames, each appended by one write. A frame is a 16-byte header in
 * little-endian order and a payload:
 *
 *     u32 magic   "PLR1"
 *     u16 type    enum pl_record_type
 *     u16 flags   PL_F_*
 *     u32 length  of the payload
 *     u32 crc     CRC-32C of type, flags, length and payload
 *
 * A reader that meets anything else looks for the next magic whose frame has a right checksum: a
 * torn or damaged frame costs itself only.
 *
 * The payload of every type but SCHEMA is a list of fields. A field is a varint key, metric id * 2
 * plus 1 for bytes, then either a varint value or a varint length and that many bytes. Unknown
 * fields are skipped, missing ones are absent. Metric ids are those of the SCHEMA frame, text lines
 * "id name"; without one they are the reader's own.
 *
 * Values are raw readings of the kernel at the time of the record: an image's own consumption is
 * its EXEC or END less the EXEC of the image before it in the same process. Of a process with
 * threads only the one that executes goes on: its own values are in the field "task" of the EXEC,
 * for what the kernel keeps for each thread alone. An EXEC or END is void when the same image
 * writes another frame after it (the exec failed, or daemon() did): at the latest a RESUME.
 */
#ifndef PLIMSOLL_RECORD_H
#define PLIMSOLL_RECORD_H

#include <stdint.h>

#define PL_RECORD_MAGIC 0x31524c50u /* "PLR1" */
#define PL_RECORD_HEADER 16
/* Longest payload: the kernel bounds argv at 6 MiB (3/4 of the largest stack it considers). */
#define PL_RECORD_MAX (8u << 20)
/* Mode of a record file into which somebody could not write all: a limit on the size of files, or
 * no room. It says so where nothing more can be written. */
#define PL_MODE_CUT 0700

enum pl_record_type {
	PL_SCHEMA = 1,  /* names of the metric ids */
	PL_HOST = 2,    /* where: hostname, boot_id, pidns, and the clocks' pair */
	PL_START = 3,   /* an image begins */
	PL_EXEC = 4,    /* an image is about to be replaced */
	PL_END = 5,     /* an image, or a forked copy of one, ends */
	PL_THREAD = 6,  /* a thread ended, or was alive when its process ended */
	PL_REAP = 7,    /* a parent took a child's exit status; ppid is the reaper. Without a pid
			 * it is that of system(): a child that began after the field begin */
	PL_KEXIT = 8,   /* the kernel reported an exit (taskstats, cn_proc) */
	PL_CLOCK = 9,   /* another pair of clock readings, at the end of a run */
	PL_PEEK = 10,   /* what /proc said of a process seen alive */
	PL_RESUME = 11, /* the image goes on: its EXEC or END was in vain. A forked copy that
			 * executes a program says by it what collection did in it until then */
};

#define PL_F_FORK 0x0001      /* by a forked copy that never executed a program */
#define PL_F_LAST 0x0002      /* a last snapshot: the process closed the door on us */
#define PL_F_ALIVE 0x0004     /* THREAD: still running when its process ended */
#define PL_F_FULL 0x0008      /* THREAD: has stat, io and schedstat */
#define PL_F_PENDING 0x0010   /* END: wchar and syscw include what stdout still held */
#define PL_F_RUSAGE 0x0020    /* REAP: usage is the child's including its own reaped children */
#define PL_F_TASKSTATS 0x0040 /* KEXIT: counters from taskstats */
#define PL_F_CNPROC 0x0080  /* KEXIT: status and times, PEEK: parent, from the process connector */
#define PL_F_LOSSY 0x0100   /* CLOCK: kernel events were lost during the run */
#define PL_F_COUNTED 0x0200 /* END, THREAD: carries event counters */
#define PL_F_ROOT 0x0400    /* with LAST: the process is about to enter another root */
#define PL_F_THREAD_IO \
	0x0800               /* END, EXEC: I/O of its threads alone, since it waited for children */
#define PL_F_EXECUTES 0x1000 /* RESUME: a forked copy is about to execute a program */

/* State bits of one event in the field "counters" (see src/preload/events.c); none: absent. */
#define PL_COUNTED 1
#define PL_COUNTED_SCALED 2 /* multiplexed: an estimate for the whole time */
#define PL_COUNTED_USER 4   /* user mode only */

/* Longest varint: ten bytes hold 64 bits. */
#define PL_VARINT_MAX 10

static inline unsigned char *pl_put_varint(unsigned char *p, uint64_t v)
{
	while (v >= 0x80) {
		*p++ = (unsigned char)(v | 0x80);
		v >>= 7;
	}
	*p++ = (unsigned char)v;
	return p;
}

/* Returns the byte behind the varint, or NULL when it is cut off or too long. */
static inline const unsigned char *pl_get_varint(const unsigned char *p, const unsigned char *end,
						 uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
		unsigned char c = *p++;

		v |= (uint64_t)(c & 0x7f) << shift;
		if (!(c & 0x80)) {
			if (shift == 63 && c > 1)
				return 0;
			*ret = v;
			return p;
		}
	}
	return 0;
}

static inline void pl_put_u16(unsigned char *p, uint16_t v)
{
	p[0] = (unsigned char)v;
	p[1] = (unsigned char)(v >> 8);
}

static inline void pl_put_u32(unsigned char *p, uint32_t v)
{
	pl_put_u16(p, (uint16_t)v);
	pl_put_u16(p + 2, (uint16_t)(v >> 16));
}

static inline uint16_t pl_get_u16(const unsigned char *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t pl_get_u32(const unsigned char *p)
{
	return pl_get_u16(p) | (uint32_t)pl_get_u16(p + 2) << 16;
}
static inline void pl_put_u64(unsigned char *p, uint64_t v)
{
	pl_put_u32(p, (uint32_t)v);
	pl_put_u32(p + 4, (uint32_t)(v >> 32));
}
static inline uint64_t pl_get_u64(const void *data)
{
	const unsigned char *p = (const unsigned char *)data;

	return pl_get_u32(p) | (uint64_t)pl_get_u32(p + 4) << 32;
}

#endif
