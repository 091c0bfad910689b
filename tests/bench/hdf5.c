/*
 * How many records a second the feed hdf5 stores: messages of colmet's nodes become entries of a
 * log beforehand, then they are unpacked and handed over as the collector does it, with commits
 * when the feed asks for one.
 *
 *     bench-hdf5 DIRECTORY JOBS ROUNDS RECORDS LEVEL [ENTRIES]
 *
 * JOBS jobs get ROUNDS records of taskstats_default each, RECORDS of them in a message; ENTRIES: a
 * commit after so many, too. Prints records a second by the clock and by CPU time, with and without
 * the first commit, which makes the tables, then bytes of the file and resident memory that came
 * with the feed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "compat/colmet/colmet.h"
#include "sinks/sink.h"

extern const struct sink sink_hdf5;

static struct strbuf *packed;
static size_t count, cap;

static void die(const char *what)
{
	fprintf(stderr, "bench-hdf5: %s\n", what);
	exit(1);
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long resident_kb(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

static void take(void *user, struct batcher *b, const char *host)
{
	struct batch_name name = {.boot = 1, .number = count + 1};

	(void)user;
	snprintf(name.node, sizeof(name.node), "%s", host);
	GROW(packed, count, cap);
	packed[count] = (struct strbuf)STRBUF_INIT;
	if (batcher_take(b, &name, &packed[count++]) < 0)
		die("a batch cannot be packed");
}

static void make_entries(unsigned jobs, unsigned rounds, unsigned records)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, message = STRBUF_INIT;
	struct fixed_row *r = xcalloc(1, sizeof(*r));
	enum colmet_dialect dialect;

	r->table = colmet_backend("taskstats_default", strlen("taskstats_default"));
	for (unsigned t = 0; t < rounds; t++)
		for (unsigned j = 0; j < jobs;) {
			strbuf_reset(&message);
			snprintf(r->host, sizeof(r->host), "node%u", j / records);
			for (unsigned k = 0; k < records && j < jobs; k++, j++) {
				r->job = 1000 + j;
				r->time_s = 1800000000 + t;
				for (unsigned i = 0; i < r->table->field_count; i++)
					r->values[i].i = i % 3 ? (int64_t)t * 1000 * i + j * 17 +
									 t * 2654435761u % 97
							       : 0;
				colmet_pack(r, &message);
			}
			if (colmet_read(message.buf, message.len, &dialect, take, NULL, &why) < 0)
				die(why.buf);
		}
	free(r);
}

int main(int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t n[5] = {0}, position;
	void *state = NULL;

	if (argc < 6)
		die("DIRECTORY JOBS ROUNDS RECORDS LEVEL [ENTRIES]");
	for (int i = 2; i < argc && i < 7; i++)
		if (parse_u64(argv[i], &n[i - 2]) < 0)
			die(argv[i]);
	make_entries((unsigned)n[0], (unsigned)n[1], (unsigned)n[2]);
	_cleanup_free_ char *target = xasprintf("%s/bench.hdf5", argv[1]);
	_cleanup_free_ char *journal = xasprintf("%s/state", argv[1]);
	(void)mkdir(journal, 0700);
	const struct sink_options o = {.target = target, .state = journal, .level = (int)n[3]};
	long before = resident_kb();
	double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (sink_hdf5.open(&o, &state, &position, &why) < 0)
		die(why.buf);
	double first_wall = wall, first_cpu = cpu;
	size_t first = 0;
	for (size_t k = 0; k < count; k++) {
		struct batch_name name;
		struct sample_file f;

		if (batch_peek(packed[k].buf, packed[k].len, &name, &why) < 0 ||
		    batch_open(&f, packed[k].buf, packed[k].len, &why) < 0)
			die(why.buf);
		int r = sink_hdf5.batch(state, k + 1, &name, &f, &why);
		sample_file_close(&f);
		if (r == 1 || k + 1 == count || (n[4] && (k + 1) % n[4] == 0)) {
			r = sink_hdf5.commit(state, k + 1, &why);
			if (!first) {
				first = k + 1;
				first_wall = seconds(CLOCK_MONOTONIC);
				first_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
			}
		}
		if (r < 0)
			die(why.buf);
	}
	double end = seconds(CLOCK_MONOTONIC), end_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	sink_hdf5.close(state);
	double all = (double)n[0] * (double)n[1];
	double rest = all * (double)(count - first) / (double)count;
	struct stat st = {0};
	(void)stat(target, &st);
	printf("%.0f/s, %.0f/s of CPU; without the first commit %.0f/s, %.0f/s of CPU; "
	       "%.1f MB, %.0f MB resident\n",
	       all / (end - wall), all / (end_cpu - cpu), rest / (end - first_wall),
	       rest / (end_cpu - first_cpu), (double)st.st_size / 1e6,
	       (double)(resident_kb() - before) / 1e3);
	return 0;
}
