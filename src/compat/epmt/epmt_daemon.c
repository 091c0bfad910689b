/*
 * `epmt daemon`. Its letters mean other things than those of the other commands (-s, -r, -k), so it
 * reads what stands behind its name by itself.
 */
#include <getopt.h>
#include <string.h>

#include "cmd/command.h"
#include "compat/epmt/epmt.h"
#include "inbox/daemon.h"

#define NOT_RUNNING 255 /* EPMT's -1 */

enum { LONG_ONLY = 256, POST_PROCESS, NO_ANALYZE, RETIRE };

static const struct option longs[] = {
	{"start", no_argument, NULL, 's'},
	{"stop", no_argument, NULL, 'S'},
	{"foreground", no_argument, NULL, 'D'},
	{"ingest", optional_argument, NULL, 'i'},
	{"recursive", no_argument, NULL, 'r'},
	{"keep", no_argument, NULL, 'k'},
	{"move-away", no_argument, NULL, 'm'},
	{"verbose", no_argument, NULL, 'v'},
	{"post-process", no_argument, NULL, POST_PROCESS},
	{"no-analyze", no_argument, NULL, NO_ANALYZE},
	{"retire", no_argument, NULL, RETIRE},
	{NULL, 0, NULL, 0},
};

/* "-i" takes the next word unless that is an option. */
static const char *optional_word(int argc, char **argv)
{
	if (optarg)
		return optarg;
	if (optind < argc && argv[optind][0] != '-')
		return argv[optind++];
	return ".";
}

static bool parse(struct context *ctx, struct daemon_options *o, bool *ret_start, int argc,
		  char **argv)
{
	int got;

	optind = 0;
	opterr = 0;
	while ((got = getopt_long(argc, argv, "+sSDi::rkmv", longs, NULL)) != -1) {
		switch (got) {
		case 's':
			*ret_start = o->background = true;
			break;
		case 'D':
			*ret_start = true;
			break;
		case 'S':
			o->stop = true;
			break;
		case 'i':
			o->dir = optional_word(argc, argv);
			break;
		case 'r':
			o->recursive = true;
			break;
		case 'k':
			o->keep = true;
			break;
		case 'v':
			ctx->verbosity++;
			log_init("epmt", ctx->verbosity > 1 ? LOG_DEBUG : LOG_INFO);
			break;
		case RETIRE:
			o->retire_ns = DAEMON_RETIRE_AUTO;
			break;
		case 'm':          /* always so */
		case POST_PROCESS: /* a job is processed when it is stored */
			break;
		case NO_ANALYZE:
			o->no_analysis = true;
			break;
		default:
			log_error("daemon: there is no option %s; `epmt help` lists them",
				  argv[optind - 1]);
			return false;
		}
	}
	if (optind < argc)
		log_error("daemon: unexpected argument '%s'", argv[optind]);
	return optind >= argc;
}

int epmt_daemon(struct context *ctx, const struct epmt *e)
{
	struct daemon_options o = {.interval_ns = DAEMON_INTERVAL_NS};
	bool start = false;

	/* the word before the options is the command's name, as getopt wants it */
	if (e->word_count && !parse(ctx, &o, &start, e->word_count + 1, e->words - 1))
		return EXIT_FAILED;
	if (start && o.background && o.stop)
		return fail_with(EXIT_FAILED, "daemon: --start and --stop exclude each other");
	o.status = !start && !o.stop;
	if (start)
		epmt_say_store(ctx);
	int status = do_daemon(ctx, &o);
	return status == EXIT_NOT_RUNNING ? NOT_RUNNING : status;
}
