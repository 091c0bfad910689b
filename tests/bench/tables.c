/*
 * How many values a second the formats of tables take: rows that look like processes of a large
 * job, with as many columns as the view `processes` of the store has, are made batch by batch.
 *
 *     bench-tables FORMAT CODEC ROWS FILE
 *
 * Prints values, seconds inside of the format by the clock and by CPU time, bytes of the file and
 * the largest resident set in KiB (of this program and its batches, too).
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "tables/table.h"

enum kind {
	CONSTANT, /* the same everywhere */
	COUNTER,  /* one more a row */
	NEAR,     /* close to the row's number */
	SMALL,    /* mostly 0, else a little */
	MICROS,   /* a duration, most short, some long */
	KIBS,     /* a size in whole pages */
	BYTES,    /* a number of bytes, often one of a few */
	RARE,     /* absent but for one of a hundred */
	NEVER,    /* absent */
	START,    /* times, nearly in order */
	END,      /* a little later */
	SHARE,    /* a real number */
	ONE_TEXT, /* the job's */
	HOST,     /* one of a few, in stretches */
	EXE,      /* one of some dozens, a few often */
	PATH,     /* the same with a directory */
	ARGS,     /* nearly all different */
	TAGS,     /* one of some hundred, in stretches */
};

static const struct {
	const char *name;
	enum kind kind;
} table[] = {
	{"id", COUNTER},
	{"job", CONSTANT},
	{"jobid", ONE_TEXT},
	{"hostname", HOST},
	{"exename", EXE},
	{"path", PATH},
	{"args", ARGS},
	{"tags", TAGS},
	{"ended", ONE_TEXT},
	{"source", ONE_TEXT},
	{"forked", SMALL},
	{"pid", NEAR},
	{"ppid", NEAR},
	{"pgid", NEAR},
	{"sid", NEAR},
	{"generation", SMALL},
	{"exitcode", SMALL},
	{"exitsignal", RARE},
	{"coredump", RARE},
	{"numtids", SMALL},
	{"numranks", NEVER},
	{"mpirank", NEVER},
	{"start", START},
	{"end", END},
	{"duration", MICROS},
	{"cpu_time", MICROS},
	{"inclusive_cpu_time", MICROS},
	{"exclusive_time", MICROS},
	{"parent", NEAR},
	{"depth", SMALL},
	{"children", SMALL},
	{"descendants", SMALL},
	{"tree_first", COUNTER},
	{"tree_last", NEAR},
	{"usertime", MICROS},
	{"systemtime", MICROS},
	{"rssmax", KIBS},
	{"minflt", MICROS},
	{"majflt", SMALL},
	{"inblock", BYTES},
	{"outblock", BYTES},
	{"vol_ctxsw", SMALL},
	{"invol_ctxsw", SMALL},
	{"cminflt", MICROS},
	{"cmajflt", SMALL},
	{"cutime", SMALL},
	{"cstime", SMALL},
	{"num_threads", SMALL},
	{"starttime", COUNTER},
	{"processor", SMALL},
	{"delayacct_blkio_time", SMALL},
	{"guest_time", CONSTANT},
	{"rchar", BYTES},
	{"wchar", BYTES},
	{"syscr", BYTES},
	{"syscw", SMALL},
	{"read_bytes", KIBS},
	{"write_bytes", KIBS},
	{"cancelled_write_bytes", CONSTANT},
	{"time_oncpu", MICROS},
	{"time_waiting", MICROS},
	{"timeslices", SMALL},
	{"rdtsc_duration", MICROS},
	{"cpu_share", SHARE},
};
#define COLUMNS ARRAY_SIZE(table)

static struct table_column columns[COLUMNS];
static struct table_values values[COLUMNS];
static int64_t *cells[COLUMNS];
static uint8_t *absent[COLUMNS];
static uint32_t *begin[COLUMNS];
static struct strbuf texts[COLUMNS];

static uint64_t mix(uint64_t row, uint64_t column)
{
	uint64_t x = (row + 1) * 0x9e3779b97f4a7c15u ^ (column + 1) * 0xc2b2ae3d27d4eb4fu;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ x >> 32;
}

/* Numbers of which each power of two is as likely as the next, up to so many bits. */
static int64_t spread(uint64_t x, unsigned bits)
{
	return (int64_t)((x >> 16) & ((2ull << (x % bits)) - 1));
}

static int64_t number(enum kind kind, uint64_t row, uint64_t x)
{
	switch (kind) {
	case COUNTER:
		return (int64_t)row + (1ll << 32);
	case NEAR:
		return (int64_t)(row % 4000000 + 1000 + x % 8);
	case SMALL:
		return x % 8 ? 0 : (int64_t)((x >> 8) % 20);
	case MICROS:
		return 300 + spread(x, 24);
	case KIBS:
		return 4096 * (500 + spread(x, 17));
	case BYTES:
		return x % 4 ? (int64_t)(x >> 8) % 40 * 832 : spread(x, 26);
	case START:
		return 1600000000000000000 + (int64_t)(row * 5000000 + x % 40000000) / 1000 * 1000;
	case END:
		return 1600000000000000000 + (int64_t)(row * 5000000 + x % 900000000) / 1000 * 1000;
	case RARE:
		return (int64_t)(x >> 8) % 16;
	default:
		return 17;
	}
}

static void text(enum kind kind, uint64_t number, struct strbuf *out)
{
	static const char *const names[] = {"bash", "sed", "cat", "grep", "cpp", "gcc", "as", "ld"};

	switch (kind) {
	case HOST:
		strbuf_addf(out, "node%04u.cluster", (unsigned)number);
		break;
	case EXE:
		strbuf_addf(out, "%s%u", names[number % 8], (unsigned)number / 8);
		break;
	case PATH:
		strbuf_addf(out, "/usr/local/apps/%u/bin/%s%u", (unsigned)number % 5,
			    names[number % 8], (unsigned)number / 8);
		break;
	case ARGS:
		strbuf_addf(out,
			    "-c -O2 -Wall -DPART=%u -o build/objects/part_%u.o source/part_%u.c",
			    (unsigned)number % 97, (unsigned)number, (unsigned)number);
		break;
	case TAGS:
		strbuf_addf(out, "op:compile;op_instance:%u;op_sequence:%u", (unsigned)number,
			    (unsigned)number);
		break;
	default:
		strbuf_addstr(out, "2557072");
	}
}

/* Which text a row has: its number among all of that kind. */
static uint64_t text_number(enum kind kind, uint64_t row, uint64_t x)
{
	switch (kind) {
	case HOST:
		return row / 700 % 16;
	case EXE:
	case PATH:
		return x % 2 ? x >> 8 & 3 : (x >> 8) % 60;
	case ARGS:
		return x % 5 ? row : x % 40;
	case TAGS:
		return row / 3000;
	default:
		return 0;
	}
}

static void fill_texts(size_t c, uint64_t first, size_t rows)
{
	static uint32_t seen[1 << 18];
	static uint64_t keys[TABLE_BATCH];
	uint32_t *codes = (uint32_t *)(void *)cells[c], count = 0;

	memset(seen, 0, sizeof(seen));
	strbuf_reset(&texts[c]);
	for (size_t i = 0; i < rows; i++) {
		uint64_t key = text_number(table[c].kind, first + i, mix(first + i, c));
		uint32_t at = (uint32_t)mix(key, 77) & 0x3ffff;

		while (seen[at] && keys[seen[at] - 1] != key)
			at = (at + 1) & 0x3ffff;
		if (!seen[at]) {
			keys[count] = key;
			text(table[c].kind, key, &texts[c]);
			begin[c][++count] = (uint32_t)texts[c].len;
			seen[at] = count;
		}
		codes[i] = seen[at] - 1;
	}
	values[c].codes = codes;
	values[c].texts =
		(struct table_texts){.count = count, .begin = begin[c], .bytes = texts[c].buf};
}

static void fill(size_t c, uint64_t first, size_t rows)
{
	enum kind kind = table[c].kind;

	values[c] = (struct table_values){.ints = cells[c]};
	if (columns[c].type == TABLE_TEXT) {
		fill_texts(c, first, rows);
		return;
	}
	for (size_t i = 0; i < rows; i++) {
		uint64_t x = mix(first + i, c);
		bool none = kind == NEVER || (kind == RARE && x % 100);
		double share = (double)(x % 10000) / 10000;

		absent[c][i] = none;
		values[c].absent_count += none;
		if (kind == SHARE)
			memcpy(&cells[c][i], &share, sizeof(share));
		else
			cells[c][i] = none ? 0 : number(kind, first + i, x);
	}
	values[c].absent = absent[c];
}

static void prepare(void)
{
	for (size_t c = 0; c < COLUMNS; c++) {
		enum kind k = table[c].kind;

		columns[c].name = table[c].name;
		columns[c].type = k >= ONE_TEXT            ? TABLE_TEXT
				  : k == SHARE             ? TABLE_REAL
				  : k == START || k == END ? TABLE_TIME
							   : TABLE_INT;
		cells[c] = xcalloc(TABLE_BATCH, sizeof(int64_t));
		absent[c] = xcalloc(TABLE_BATCH, 1);
		begin[c] = k >= ONE_TEXT ? xcalloc(TABLE_BATCH + 1, sizeof(uint32_t)) : NULL;
		texts[c] = (struct strbuf)STRBUF_INIT;
	}
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int die(const struct strbuf *why)
{
	fprintf(stderr, "bench-tables: %s\n", why->buf);
	return 1;
}

int main(int argc, char **argv)
{
	const struct table_format *f = argc == 5 ? table_format_by_name(argv[1]) : NULL;
	struct strbuf why = STRBUF_INIT;
	double wall = 0, cpu = 0;
	struct table_file *file;
	struct rusage u;
	struct stat st;
	uint64_t rows;

	if (!f || parse_u64(argv[3], &rows) < 0) {
		fputs("usage: bench-tables FORMAT CODEC ROWS FILE\n", stderr);
		return 2;
	}
	prepare();
	const struct table_options o = {.table = "processes", .codec = argv[2]};
	if (table_open(&file, f, argv[4], columns, COLUMNS, &o, &why) < 0)
		return die(&why);
	for (uint64_t at = 0; at <= rows; at += TABLE_BATCH) {
		struct table_batch b = {.columns = values};
		bool last = at + TABLE_BATCH > rows;
		int r = 0;

		b.rows = last ? rows - at : TABLE_BATCH;
		for (size_t c = 0; c < COLUMNS && b.rows; c++)
			fill(c, at, b.rows);
		double begin_wall = seconds(CLOCK_MONOTONIC);
		double begin_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
		if (b.rows)
			r = table_write(file, &b, &why);
		if (r == 0 && last)
			r = table_close(file, &why);
		wall += seconds(CLOCK_MONOTONIC) - begin_wall;
		cpu += seconds(CLOCK_PROCESS_CPUTIME_ID) - begin_cpu;
		if (r < 0)
			return die(&why);
	}
	if (stat(argv[4], &st) < 0 || getrusage(RUSAGE_SELF, &u) < 0)
		return 1;
	printf("%llu %.3f %.3f %lld %ld\n", (unsigned long long)(rows * COLUMNS), wall, cpu,
	       (long long)st.st_size, u.ru_maxrss);
	return 0;
}
