/*
 * The columns of tables and where they come from. Those of processes are the columns of the view
 * "processes" in its order; "p", "t" and "h" are the process, its place in the tree, and a thread.
 */
#include "views/export/export_internal.h"
#include "views/output.h"
#include "views/phases.h"

#define WORDS(w) (w), ARRAY_SIZE(w)
#define PLAIN NULL, 0

/* By phase.state of the store. */
static const char *const state_words[] = {"ended", "open", "point", "unseen"};

const struct plan_column table_process_plan[] = {
	{"id", PLAN_INT, "p.id", "key of the process in its store: job * 2^32 + its number", PLAIN},
	{"job", PLAN_JOB, NULL, "number of the job in its store", PLAIN},
	{"jobid", PLAN_JOBID, NULL, "id of the job", PLAIN},
	{"hostname", PLAN_STRING, "p.host", "name of the host that the process ran on", PLAIN},
	{"exename", PLAN_STRING, "p.exename", "name of the program", PLAIN},
	{"path", PLAN_STRING, "p.path", "file that was executed", PLAIN},
	{"args", PLAN_STRING, "p.args", "arguments without the first, joined by blanks", PLAIN},
	{"tags", PLAN_STRING, "p.tags", "tags of the process", PLAIN},
	{"ended", PLAN_WORD, "p.state & 15", "how it ended: exit, signal, exec, running, unknown",
	 WORDS(ended_words)},
	{"source", PLAN_WORD, "(p.state >> 4) & 15",
	 "where the record comes from: preload, reaped, taskstats, cn_proc", WORDS(source_words)},
	{"forked", PLAN_INT, "(p.state >> 8) & 1", "1: a fork without exec", PLAIN},
	{"pid", PLAN_INT, "p.pid", NULL, PLAIN},
	{"ppid", PLAN_INT, "p.ppid", NULL, PLAIN},
	{"pgid", PLAN_INT, "p.pgid", NULL, PLAIN},
	{"sid", PLAN_INT, "p.sid", NULL, PLAIN},
	{"generation", PLAN_INT, "p.generation", NULL, PLAIN},
	{"exitcode", PLAN_INT, "p.exitcode", NULL, PLAIN},
	{"exitsignal", PLAN_INT, "p.exitsignal", NULL, PLAIN},
	{"coredump", PLAN_INT, "p.coredump", NULL, PLAIN},
	{"numtids", PLAN_INT, "p.numtids", NULL, PLAIN},
	{"numranks", PLAN_INT, "p.numranks", NULL, PLAIN},
	{"mpirank", PLAN_INT, "p.mpirank", NULL, PLAIN},
	{"start", PLAN_TIME, "p.start", "when the program began", PLAIN},
	{"end", PLAN_TIME, "p.start + p.duration", "when it ended", PLAIN},
	{"duration", PLAN_INT, "p.duration", "between the two, us", PLAIN},
	{"cpu_time", PLAN_INT, "p.usertime + p.systemtime", "CPU time, us", PLAIN},
	{"inclusive_cpu_time", PLAN_INT, "t.inclusive_cpu", "CPU time including descendants, us",
	 PLAIN},
	{"exclusive_time", PLAN_INT, "t.exclusive", "time that no child covers, us", PLAIN},
	{"parent", PLAN_INT, "t.parent", "number of the parent in the job", PLAIN},
	{"depth", PLAN_INT, "t.depth", "of the tree, 0 at its roots", PLAIN},
	{"children", PLAN_INT, "t.children", "child processes", PLAIN},
	{"descendants", PLAN_INT, "t.last - t.first", "all descendants", PLAIN},
	{"tree_first", PLAN_INT, "t.first", "its index in depth-first order", PLAIN},
	{"tree_last", PLAN_INT, "t.last", "index of its last descendant", PLAIN},
};
const size_t table_process_plan_count = ARRAY_SIZE(table_process_plan);

/* A process that had one thread has no rows of threads in the store: it is that thread. */
#define EITHER(column) "CASE WHEN h.n IS NULL THEN p." column " ELSE h." column " END"
const struct plan_column table_thread_plan[] = {
	{"process", PLAN_INT, "p.id", "key of the process in its store", PLAIN},
	{"job", PLAN_JOB, NULL, "number of the job in its store", PLAIN},
	{"jobid", PLAN_JOBID, NULL, "id of the job", PLAIN},
	{"hostname", PLAN_STRING, "p.host", "name of the host that the process ran on", PLAIN},
	{"exename", PLAN_STRING, "p.exename", "name of the program", PLAIN},
	{"pid", PLAN_INT, "p.pid", NULL, PLAIN},
	{"n", PLAN_INT, "CASE WHEN h.n IS NULL THEN 1 ELSE h.n END",
	 "number of the thread in its process, from 1", PLAIN},
	{"tid", PLAN_INT, "CASE WHEN h.n IS NULL THEN p.pid ELSE h.tid END", NULL, PLAIN},
	{"start", PLAN_TIME, EITHER("start"), "when it began", PLAIN},
	{"end", PLAN_TIME,
	 "CASE WHEN h.n IS NULL THEN p.start + p.duration ELSE h.start + h.duration END",
	 "when it ended", PLAIN},
	{"duration", PLAN_INT, EITHER("duration"), "between the two, us", PLAIN},
	{"cpu_time", PLAN_INT,
	 "CASE WHEN h.n IS NULL THEN p.usertime + p.systemtime ELSE h.usertime + h.systemtime END",
	 "CPU time, us", PLAIN},
};
const size_t table_thread_plan_count = ARRAY_SIZE(table_thread_plan);

const struct plan_column table_sample_plan[] = {
	{"job", PLAN_JOB, NULL, "number of the job in its store", PLAIN},
	{"jobid", PLAN_JOBID, NULL, "id of the job", PLAIN},
	{"host", PLAN_TEXT, NULL, "host that it was sampled on", PLAIN},
	{"metric", PLAN_TEXT, NULL, "source, a dot, and the metric", PLAIN},
	{"unit", PLAN_TEXT, NULL, "of value", PLAIN},
	{"entity_kind", PLAN_TEXT, NULL, "kind of entity: process, node, gpu ...", PLAIN},
	{"entity", PLAN_TEXT, NULL, "name of the entity", PLAIN},
	{"time", PLAN_TIME, NULL, "of the sample", PLAIN},
	{"value", PLAN_REAL, NULL, "in the unit", PLAIN},
	{"raw", PLAN_INT, NULL, "exact value as sampled", PLAIN},
};
const size_t table_sample_plan_count = ARRAY_SIZE(table_sample_plan);

const struct plan_column table_job_plan[] = {
	{"job", PLAN_JOB, NULL, "number of the job in its store", PLAIN},
	{"jobid", PLAN_JOBID, NULL, "id of the job", PLAIN},
	{"jobname", PLAN_TEXT, "jobname", "its name", PLAIN},
	{"user", PLAN_TEXT, "\"user\"", "owner", PLAIN},
	{"submit", PLAN_TIME, "submit", "when it was submitted to the batch system", PLAIN},
	{"start", PLAN_TIME, "start", "when it began", PLAIN},
	{"end", PLAN_TIME, "\"end\"", "when it ended", PLAIN},
	{"duration", PLAN_INT, "duration", "between the two, us", PLAIN},
	{"cpu_time", PLAN_INT, "cpu_time", "CPU time of all processes, us", PLAIN},
	{"exitcode", PLAN_INT, "exitcode", "its exit status", PLAIN},
	{"num_procs", PLAN_INT, "num_procs", "images; older tools call them processes", PLAIN},
	{"num_threads", PLAN_INT, "num_threads", "threads", PLAIN},
	{"peak_procs", PLAN_INT, "peak_procs", "most processes at once", PLAIN},
	{"peak_threads", PLAN_INT, "NULLIF(peak_threads, 0)", "most threads at once", PLAIN},
	{"format", PLAN_TEXT, "format", "format of the imported files", PLAIN},
	{"source", PLAN_TEXT, "source", "path of the imported files", PLAIN},
	{"ingested", PLAN_TIME, "ingested", "when it was stored", PLAIN},
	{"processes", PLAN_INT, "processes", "processes", PLAIN},
	{"images", PLAN_INT, "images", "programs executed, and forks without exec", PLAIN},
	{"cluster", PLAN_TEXT, "cluster", "of the batch system; empty: unknown", PLAIN},
};
const size_t table_job_plan_count = ARRAY_SIZE(table_job_plan);

/* Columns of the view "phases", with times to the nanosecond. */
const struct plan_column table_phase_plan[] = {
	{"id", PLAN_INT, "p.id", "key of the phase in its store: job * 2^32 + its number", PLAIN},
	{"job", PLAN_JOB, NULL, "number of the job in its store", PLAIN},
	{"jobid", PLAN_JOBID, NULL, "id of the job", PLAIN},
	{"name", PLAN_STRING, "p.name", "name of the phase", PLAIN},
	{"hostname", PLAN_STRING, "p.host", "name of the host that it was marked on", PLAIN},
	{"process", PLAN_INT, "(p.id >> 32) * 4294967296 + p.process",
	 "key of the process that marked it", PLAIN},
	{"pid", PLAN_INT, "p.pid", NULL, PLAIN},
	{"tid", PLAN_INT, "p.tid", NULL, PLAIN},
	{"mpirank", PLAN_INT, "p.rank", NULL, PLAIN},
	{"parent", PLAN_INT, "(p.id >> 32) * 4294967296 + p.parent", "key of the phase around it",
	 PLAIN},
	{"depth", PLAN_INT, "p.depth", "how many phases are around it", PLAIN},
	{"state", PLAN_WORD, "p.state",
	 "ended, open (it ended with its program), point, or unseen (nobody saw the end)",
	 WORDS(state_words)},
	{"origin", PLAN_WORD, "p.origin", "who marked it: program, script or command",
	 WORDS(phase_origins)},
	{"start", PLAN_TIME, "p.begin_ns", "when it began", PLAIN},
	{"end", PLAN_TIME, "p.begin_ns + p.duration_ns", "when it ended", PLAIN},
	{"duration", PLAN_REAL, "p.duration_ns", "between the two, us", PLAIN},
	{"cpu_time", PLAN_REAL, "p.cpu_ns", "CPU time, us", PLAIN},
};
const size_t table_phase_plan_count = ARRAY_SIZE(table_phase_plan);
