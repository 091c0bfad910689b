/*
 * Plays entries of a plan to the feed hdf5, from its own position to the end, with a commit for
 * every two, to be killed at any moment or not: play_hdf5 TARGET STATE LEVEL ENTRIES
 */
#include "unit/support/sink_harness.h"

#include <errno.h>

extern const struct sink sink_hdf5;

static const struct harness_plan plan = {.nodes = 3, .readings = 4, .jobs = 20, .processes = 2};

static void give_up(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static void play_plan(void *state, unsigned from, unsigned entries)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	for (unsigned k = from; k <= entries; k++)
		if (harness_batches(&sink_hdf5, state, &plan, k, k, NULL, &why) < 0 ||
		    ((k % 2 == 0 || k == entries) && sink_hdf5.commit(state, k, &why) < 0))
			give_up("entry", why.buf);
}

int main(int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position = 0, level = 0, entries = 0;
	void *state = NULL;

	if (argc != 5 || parse_u64(argv[3], &level) < 0 || parse_u64(argv[4], &entries) < 0)
		give_up("usage", "play_hdf5 TARGET STATE LEVEL ENTRIES");
	const struct sink_options o = {.target = argv[1], .state = argv[2], .level = (int)level};
	(void)mkdir(argv[2], 0700);
	/* whoever was killed holds the locks until his last commit is done */
	int r = -EAGAIN;
	for (int i = 0; i < 3000 && r == -EAGAIN; i++) {
		r = sink_hdf5.open(&o, &state, &position, &why);
		if (r == -EAGAIN)
			usleep(10000);
	}
	if (r < 0)
		give_up(argv[1], why.buf);
	play_plan(state, position ? (unsigned)position : 1, (unsigned)entries);
	sink_hdf5.close(state);
	return 0;
}
