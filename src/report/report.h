/*
 * Everything that a report says of a job, loaded once from a store; text, JSON, HTML and PDF are
 * four ways to write the same structure (report_text.c, report_json.c, report_html.c,
 * report_pdf.c). What is large is folded here, so that a job of 65,304 processes has a report below
 * a megabyte.
 *
 * Unknown integers are UNKNOWN (plot/unit_format.h), unknown reals NAN. Texts are bytes of the
 * user's: hostile.
 */
#ifndef PL_REPORT_REPORT_H
#define PL_REPORT_REPORT_H

#include "analysis/findings.h"
#include "plot/plot.h"
#include "samples/series_math.h"
#include "views/job_show.h"
#include "views/timeline.h"

#define REPORT_FLAME_MAX 4000 /* nodes */
#define REPORT_BARS_MAX 3000  /* of the Gantt chart */
#define REPORT_GROUPS_MAX 200 /* executables, operations */
#define REPORT_CURVES_MAX 400
#define REPORT_POINTS 400 /* of a curve, each with its extremes */

/* Processes with something in common: an executable, a set of tags, a host, a rank. */
struct report_group {
	char *name;
	char *host; /* of a rank; else NULL */
	int64_t images, failed;
	int64_t cpu, wall;     /* us; wall: time during which at least one of them ran */
	int64_t duration;      /* us, sum */
	int64_t rssmax;        /* KiB, the largest */
	int64_t read, written; /* bytes: rchar and wchar */
	int64_t start, end;    /* us */
};
struct report_groups {
	struct report_group *list; /* by CPU, the largest first; ranks by number, hosts by name */
	size_t count, cap;
	size_t left_out; /* groups beyond REPORT_GROUPS_MAX; of hosts and ranks the busiest and the
			  * idlest stay */
};

/* The process tree with equal siblings (same executable below the same path) put together, in the
 * order of a walk: a node's parent is before it, siblings are by CPU. cpu, rssmax (KiB, the
 * largest) and io (bytes) include all below; processes and wall are the node's own. */
struct flame_node {
	uint32_t parent; /* place; its own for a root */
	uint32_t name;   /* number in report.names */
	uint32_t depth;
	int64_t processes;
	int64_t cpu, wall /* sum of durations of the node's own processes */, rssmax, io;
};

/* Processes on a time axis: each a bar in a lane below its parent's, neighbours with the same
 * executable in a lane that are too narrow to be seen put together. */
struct report_bar {
	int64_t start, end;  /* us */
	uint32_t name, tags; /* numbers in report.names; tags 0: none */
	uint32_t lane;
	uint32_t processes; /* 1, or how many were put together */
	uint32_t pid;       /* of the first */
	int64_t cpu;
	bool failed;
};

/* A curve: a metric of the whole job, of a host, or of a device. Counters are rates. */
struct report_curve {
	char *metric; /* "process.rss" */
	char *label;  /* "RSS, shared in each" */
	char *unit;   /* as metric_unit_name() says; a rate has "/s" behind it, but energy is "W",
		       * CPU time and
		       * per cent of CPUs "CPUs", waiting for storage "tasks", and pressure "%" */
	char *host;   /* NULL: all hosts together */
	char *entity; /* "gpu 0", "package-0"; NULL: the job or node as a whole */
	char *panel;  /* which chart it belongs into: "cpu", "memory", "io", "network",
		       * "interconnect", "power", "gpu", "counters", "pressure", "other" */
	const char *same; /* what several metrics measure, whatever their labels; NULL: the label */
	const char *together; /* how hosts or devices became one: "sum", "mean", "largest" */
	size_t parts;         /* hosts or devices that it is made of */
	bool devices;         /* parts are devices */
	bool counter;
	bool seldom; /* a level that was read only at these points: between them it is not known */
	int64_t readings;     /* of the series that has most */
	double mean, maximum; /* mean: NAN where a few readings do not tell */
	struct curve points;  /* value is the mean of the step, low and high its extremes */
};

/* The memory of all processes at one time, where it was sampled. */
struct report_memory {
	double most;  /* pages that processes share count in each of them; NAN: not sampled */
	double least; /* they count once; NAN: not known */
	bool missed;  /* one process had more than samples ever saw of all: they missed the peak */
	const char *unit;
};

struct report_absence {
	char *host; /* NULL: several, or not told */
	char *metric, *reason;
	size_t count; /* of metrics that are absent for the same reason */
};

struct report_energy {
	char *host, *domain; /* "node0", "package-0" */
	double joules;
};

struct report {
	int64_t job; /* number in the store */
	struct jobshow show;
	struct timeline timeline; /* concurrency; count 0: no records */
	struct findings findings;

	bool has_records, has_curves, running;
	struct report_groups executables, operations, hosts, ranks;

	char **names; /* by number; 0 is "" */
	size_t name_count, name_cap;
	struct flame_node *flame;
	size_t flame_count, flame_cap;
	struct report_bar *bars;
	size_t bar_count, bar_cap;
	uint32_t lanes;
	size_t bars_left_out; /* processes in no bar */

	struct report_curve *curves; /* by panel, metric, host (all first), entity */
	size_t curve_count, curve_cap;
	size_t curves_left_out;

	struct report_energy *energy;
	size_t energy_count, energy_cap;
	double joules;         /* NAN: not measured */
	char **energy_unknown; /* hosts of the job that are not in it */
	size_t energy_unknown_count, energy_unknown_cap;
	double co2_g_per_kwh; /* the user's factor; NAN: none */

	/* books: us; UNKNOWN where not known */
	int64_t cpu_itemised, cpu_total, cpu_residue;
	int64_t unseen;       /* processes whose CPU time is not known and in no total */
	int64_t cores;        /* that the job could use; UNKNOWN */
	double cpu_share;     /* of those cores over the duration, 0..1; NAN */
	int64_t memory_limit; /* bytes on a host; UNKNOWN */

	char *hardware; /* JSON object by host; NULL: not known */
	char *metadata; /* JSON object; NULL */
	struct report_absence *absences;
	size_t absence_count, absence_cap;
};

struct report_options {
	double co2_g_per_kwh; /* NAN: none */
	const char *tag;      /* operations by this tag's value only; NULL: by all tags */
};

/* Fills an empty structure; store_error() has the sentence where it failed. */
int report_load(struct report *r, struct store *s, int64_t job, const struct report_options *o);
void report_release(struct report *r);

/* "without n3, of which none was measured"; nothing where all hosts are in the energy. */
void report_add_energy_unknown(const struct report *r, struct strbuf *out);
/* Is a curve the same as one before it, from another source? The JSON has both, people see one. */
bool report_curve_repeats(const struct report *r, size_t curve);

/* 80 columns with sparklines. brief: the lines that `run` ends with. */
void report_text(const struct report *r, bool color, bool brief, struct strbuf *out);
/* One object; documented in docs/reports.md; the page has the same, less what it never draws. */
void report_json(const struct report *r, struct jsonw *j);
/* A page that needs nothing else. 0 or a negative errno of writing. */
int report_html(const struct report *r, FILE *f);
/* Pages of A4, by the module "draw". -ENOTSUP with the reason in *why where it is missing. */
int report_pdf(const struct report *r, const char *path, struct strbuf *why);
int report_pdf_bytes(const struct report *r, struct strbuf *out, struct strbuf *why);
/* The same with these charts in the place of the report's own. */
int report_pdf_with(const struct report *r, const struct plot_page *charts, size_t count,
		    const char *path, struct strbuf *why);

struct report_memory report_memory(const struct report *r);
/* ", 69 MiB to 77 MiB in all at one time (...)", behind what is said of the largest process. */
void report_add_memory(const struct report *r, struct strbuf *out);

#endif
