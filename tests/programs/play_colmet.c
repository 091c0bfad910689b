/*
 * Plays messages of colmet's nodes to the feed hdf5, an entry for each host in one:
 * play_colmet TARGET STATE LEVEL MESSAGE...
 */
#include "unit/support/sink_harness.h"

#include "compat/colmet/colmet.h"

extern const struct sink sink_hdf5;

struct playing {
	void *state;
	uint64_t number;
};

static void give_up(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s\n", what, why);
	exit(1);
}

static void take(void *user, struct batcher *b, const char *host)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, packed = STRBUF_INIT;
	struct playing *p = user;
	struct batch_name name = {.boot = 1, .number = ++p->number};
	struct sample_file f;

	snprintf(name.node, sizeof(name.node), "%s", host);
	if (batcher_take(b, &name, &packed) < 0 ||
	    batch_open(&f, packed.buf, packed.len, &why) < 0 ||
	    sink_hdf5.batch(p->state, p->number, &name, &f, &why) < 0)
		give_up("batch", why.buf);
	sample_file_close(&f);
}

static void play_messages(struct playing *p, char **files, int count)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *data = xmalloc(1 << 20);
	enum colmet_dialect dialect;

	for (int i = 0; i < count; i++) {
		_cleanup_fclose_ FILE *f = fopen(files[i], "re");
		size_t n = f ? fread(data, 1, 1 << 20, f) : 0;

		if (colmet_read(data, n, &dialect, take, p, &why) < 0)
			give_up(files[i], why.buf);
	}
	if (sink_hdf5.commit(p->state, p->number, &why) < 0)
		give_up("commit", why.buf);
}

int main(int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position = 0, level = 0;
	struct playing p = {0};

	if (argc < 5 || parse_u64(argv[3], &level) < 0)
		give_up("usage", "play_colmet TARGET STATE LEVEL MESSAGE...");
	const struct sink_options o = {.target = argv[1], .state = argv[2], .level = (int)level};
	(void)mkdir(argv[2], 0700);
	if (sink_hdf5.open(&o, &p.state, &position, &why) < 0)
		give_up(argv[1], why.buf);
	play_messages(&p, argv + 4, argc - 4);
	sink_hdf5.close(p.state);
	return 0;
}
