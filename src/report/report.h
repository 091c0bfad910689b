/*
 * Everything in the report of a job, loaded once from a store; text, JSON, HTML and PDF are four
 * ways to write it (report_text.c, report_json.c, report_html.c, report_pdf.c). Large parts are
 * folded, so that the report of a job with 65,304 processes has less than a megabyte.
 *
 * Unknown integers are UNKNOWN (views/output.h), unknown reals NAN. Texts come from users: hostile.
 */
#pragma once

#include "analysis/findings/findings.h"
#include "jobs/request.h"
#include "plot/plot.h"
#include "samples/series_math.h"
#include "views/jobs/job_show.h"
#include "views/timeline.h"
#include "views/where/where.h"

#define REPORT_FLAME_MAX 4000 /* nodes */
#define REPORT_BARS_MAX 3000  /* of the Gantt chart */
#define REPORT_GROUPS_MAX 200 /* executables, operations */
#define REPORT_SERIES_MAX 400
#define REPORT_LANES_MAX 64  /* of phases */
#define REPORT_BANDS_MAX 200 /* phases behind the series */
#define REPORT_POINTS 400    /* of a series, each with its extremes */

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
	size_t left_out; /* groups beyond REPORT_GROUPS_MAX; hosts and ranks keep the busiest and
			  * the idlest */
};

/* The process tree with equal siblings (same executable below the same path) merged, depth-first:
 * parents come before children, siblings by CPU time. cpu, rssmax (KiB, the largest) and io (bytes)
 * include all descendants; processes and wall are those of the node. */
struct flame_node {
	uint32_t parent; /* place; its own for a root */
	uint32_t name;   /* number in report.names */
	uint32_t depth;
	int64_t processes;
	int64_t cpu, wall /* sum of durations of the node's own processes */, rssmax, io;
};

/* Processes on a time axis: each is a bar in a lane below its parent's; neighbours with the same
 * executable that are too narrow to be seen are merged. */
struct report_bar {
	int64_t start, end;  /* us */
	uint32_t name, tags; /* numbers in report.names; tags 0: none */
	uint32_t lane;
	uint32_t processes; /* 1, or how many were merged */
	uint32_t pid;       /* of the first */
	int64_t cpu;
	bool failed;
};

/* A metric of the whole job, of a host, or of a device over time. Counters are rates. */
struct report_series {
	char *metric; /* "process.rss" */
	char *label;  /* "RSS, shared in each" */
	char *unit;   /* of metric_unit_name(), with "/s" for rates; but energy is "W", CPU time and
		       * percent of CPUs "CPUs", waiting for storage "tasks", pressure "%" */
	char *host;   /* NULL: all hosts together */
	char *entity; /* "gpu 0", "package-0"; NULL: the job or node as a whole */
	char *panel;  /* its group of charts: "cpu", "memory", "io", "network",
		       * "interconnect", "power", "gpu", "counters", "pressure", "other" */
	const char *same; /* what several metrics measure under different labels; NULL: the label */
	const char *together; /* how hosts or devices were combined: "sum", "mean", "largest" */
	size_t parts;         /* hosts or devices that were combined */
	bool devices;         /* parts are devices */
	bool counter;
	bool seldom;          /* a gauge that is unknown between these points */
	int64_t readings;     /* samples, of the entity that has most */
	double mean, maximum; /* mean: NAN where samples are too few */
	struct points points; /* value is the mean of the step, low and high its extremes */
};

/* Phases on a time axis: a lane for each level of each thread. */
struct report_phase_lane {
	uint32_t process, tid; /* process: place in timeline.phases */
	int64_t rank;          /* -1: none */
	uint16_t depth;
};
struct report_phase_bar {
	int64_t start_ns, end_ns;
	uint32_t name; /* place in timeline.phases */
	uint32_t lane;
	uint32_t count; /* 1, or how many were merged */
	bool open, point;
};
struct report_phases {
	struct phase_stat *stats; /* by name; timeline.phases has the names */
	size_t stat_count;
	uint8_t *colors; /* by name: 0 to 7 for the longest totals, 8 for the others */
	struct report_phase_lane *lanes;
	size_t lane_count, lane_cap, threads_left_out;
	struct report_phase_bar *bars, *bands;
	size_t bar_count, bar_cap, bars_left_out;
	size_t band_count; /* phases that divide the job, drawn behind series */
};

/* The memory of all processes together, where it was sampled. */
struct report_memory {
	double most;  /* shared pages count in each process; NAN: not sampled */
	double least; /* shared pages count once; NAN: unknown */
	bool missed;  /* one process had more than all had in any sample: they missed the peak */
	const char *unit;
};

/* A step of the job; see store/analysis/job_steps.h. Texts are printable. */
struct report_step {
	char *name, *program; /* program: "" if it is not known */
	size_t processes, failed, hosts, ranks;
	int64_t cpu, start, end; /* us; UNKNOWN */
	double memory;           /* bytes of all processes on a host at one time, at most; NAN */
	uint32_t place;          /* while sorting */
};

struct report_absence {
	char *host; /* NULL: several, or unknown */
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
	struct where where; /* its core time; host_count 0: unknown */

	bool has_records, has_series, running;
	struct report_groups executables, operations, hosts, ranks;
	struct report_step *steps; /* in the order of their begin */
	size_t step_count, step_cap;

	char **names; /* by number; 0 is "" */
	size_t name_count, name_cap;
	struct flame_node *flame;
	size_t flame_count, flame_cap;
	struct report_bar *bars;
	size_t bar_count, bar_cap;
	uint32_t lanes;
	size_t bars_left_out; /* processes in no bar */
	struct report_phases phases;

	struct report_series *series; /* by panel, metric, host (all first), entity */
	size_t series_count, series_cap;
	size_t series_left_out;

	struct report_energy *energy;
	size_t energy_count, energy_cap;
	double joules;         /* NAN: not measured */
	char **energy_unknown; /* hosts of the job without a measurement */
	size_t energy_unknown_count, energy_unknown_cap;
	double co2_g_per_kwh; /* the user's factor; NAN: none */

	/* accounting: us; UNKNOWN */
	int64_t cpu_itemised, cpu_total, cpu_residue;
	int64_t unseen;                   /* processes whose CPU time is unknown and in no total */
	int64_t cores;                    /* usable by the job; UNKNOWN */
	double cpu_share;                 /* of these cores over the duration, 0..1; NAN */
	int64_t memory_limit;             /* bytes per host; UNKNOWN */
	double memory_least, memory_most; /* bytes of a host at one time; NAN */
	double memory_files;        /* bytes of files in memory (/dev/shm) of all hosts, at most */
	bool memory_files_seen;     /* they were sampled, and are part of memory_most */
	int64_t cpu_quota_us;       /* CPU time per second that control groups allow; UNKNOWN */
	int64_t throttled_us;       /* time that the quota stopped tasks, over CPUs; UNKNOWN */
	struct job_request request; /* what the batch job asked for */
	int64_t elapsed;            /* s of the whole batch job, by its accounting; UNKNOWN */
	bool by_run;                /* runs were recorded, and not the whole batch script */
	bool timed_out;             /* its accounting says that the time limit ended it */

	char *hardware; /* JSON object by host; NULL: unknown */
	char *metadata; /* JSON object; NULL */
	struct report_absence *absences;
	size_t absence_count, absence_cap;
};

struct report_options {
	double co2_g_per_kwh; /* NAN: none */
	const char *tag;      /* operations by this tag's value only; NULL: by all tags */
};

/* Fills an empty structure; on failure store_error() has the reason. */
int report_load(struct report *r, struct store *s, int64_t job, const struct report_options *o);
void report_release(struct report *r);

/* "without n3, which had no measurement"; nothing where all hosts are included. */
void report_add_energy_unknown(const struct report *r, struct strbuf *out);
/* Is a series the same as one before it, from another source? JSON has both, people see one. */
bool report_series_repeats(const struct report *r, size_t series);

/* The key figures as lines: what the job is, and what it used. Texts may be those of the user. */
typedef void report_line(void *user, const char *name, const char *text);
void report_head_lines(const struct report *r, report_line *add, void *user);
void report_figure_lines(const struct report *r, report_line *add, void *user);
/* Adds an exit status; above 128 with the signal that it stands for. */
void report_add_exit(struct strbuf *out, int64_t status);

/* 80 columns with sparklines. brief: the lines that `run` ends with. */
void report_text(const struct report *r, bool color, bool brief, struct strbuf *out);
/* One object; see docs/reports.md. The page contains the same, without what it never draws. */
void report_json(const struct report *r, struct json_writer *j);
/* A self-contained page. 0 or a negative errno of writing. */
int report_html(const struct report *r, FILE *f);
/* A4 pages by the module "draw"; -ENOTSUP with the reason in *why where it is missing. */
int report_pdf(const struct report *r, const char *path, struct strbuf *why);
/* The same with these charts in place of the report's own; nodes: the label of their number. */
int report_pdf_with(const struct report *r, const char *nodes, const struct plot_page *charts,
		    size_t count, const char *path, struct strbuf *why);

/* Seconds; NAN: unknown. */
static inline double report_step_seconds(const struct report_step *s)
{
	return s->start != UNKNOWN && s->end != UNKNOWN ? (double)(s->end - s->start) * 1e-6
							: __builtin_nan("");
}
static inline double report_step_cpu(const struct report_step *s)
{
	return s->cpu != UNKNOWN ? (double)s->cpu * 1e-6 : __builtin_nan("");
}
/* CPU time in us: the total, else what is itemised; UNKNOWN. */
static inline int64_t report_cpu(const struct report *r)
{
	return r->cpu_total != UNKNOWN ? r->cpu_total : r->cpu_itemised;
}
/* Hosts that the batch system granted, and on which nothing was recorded although it was on others.
 */
static inline int64_t report_hosts_missing(const struct report *r)
{
	int64_t by_records = (int64_t)r->show.list.rows[0].hosts.count,
		by_samples = (int64_t)(r->hosts.count + r->hosts.left_out),
		seen = by_records > by_samples ? by_records : by_samples,
		missing = r->request.item[REQUEST_NODES] - seen;

	return seen && missing > 0 ? missing : 0;
}
struct report_memory report_memory(const struct report *r);
/* ", 69 MiB to 77 MiB in all processes together (...)", behind the largest process. */
void report_add_memory(const struct report *r, struct strbuf *out);
