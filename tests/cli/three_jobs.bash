# Jobs made of rows, for the tests of commands that select jobs and processes; loaded after store.bash.

# job ID < JSON: submits a job with these processes, see --spec in tests/fixtures/job.py.
job() {
  local directory
  directory=dir-$(find . -maxdepth 1 | wc -l)
  native_job "$directory" --id "$1" --spec
  plimsoll submit -q "$directory"
}

# Three jobs that differ in everything that can be filtered.
three_jobs() {
  use_store
  job alpha-1 <<'J'
{"name": "weather", "user": "alice", "start": 0, "end": 600, "tags": {"exp": "a", "run": "1"}, "annotations": {"note": {"x": [1, null]}},
 "procs": [
  {"pid": 100, "ppid": 1, "exename": "sh", "args": "-c run", "start": 0, "end": 600, "usertime": 1000000, "systemtime": 500000, "rssmax": 4000},
  {"pid": 101, "ppid": 100, "exename": "sed", "args": "s/a/b/", "start": 1, "end": 3, "usertime": 200000, "rssmax": 1000, "tags": "op:cut;n:1"},
  {"pid": 102, "ppid": 100, "exename": "sed", "args": "s/c/d/", "start": 4, "end": 5, "usertime": 100000, "rssmax": 3000, "tags": "n:2;op:cut"},
  {"pid": 103, "ppid": 100, "exename": "sed", "args": "s/c/d/", "start": 6, "end": 7, "usertime": 100000, "rssmax": 2000, "tags": "op:cut;n:2", "exitcode": 1},
  {"pid": 104, "ppid": 100, "exename": "make", "args": "all", "start": 10, "end": 110, "usertime": 300000, "rssmax": 1500},
  {"pid": 105, "ppid": 104, "exename": "cc1", "args": "x.c", "start": 11, "end": 61, "usertime": 30000000, "rssmax": 1048576, "tags": "op:compile",
   "threads": [{"tid": 205, "usertime": 10000000, "rssmax": 900, "PERF_COUNT_SW_CPU_CLOCK": 5}]},
  {"pid": 106, "ppid": 104, "exename": "ld", "args": "-o x", "start": 62, "end": 64, "systemtime": 700000, "rssmax": 9000, "hostname": "n9", "exitsignal": 1}
 ]}
J
  job beta-2 <<'J'
{"name": "ocean_100%", "user": "bob", "start": 3600, "end": 5400, "exitcode": 3, "tags": {"exp": "b", "run": "1"},
 "procs": [{"pid": 7, "ppid": 1, "exename": "ocean", "start": 3600, "end": 5400, "usertime": 900000000, "exitcode": 3, "hostname": "n2"},
  {"pid": 8, "ppid": 7, "exename": "ocean", "start": 3601, "end": 5000, "usertime": 5, "hostname": "n3"}]}
J
  job Alpha_3 <<'J'
{"name": "Weather", "user": "alice", "start": 86400, "end": 86460, "tags": {"exp": "a:b"},
 "procs": [{"pid": 9, "ppid": 1, "exename": "true", "start": 86400, "end": 86460, "usertime": 40}]}
J
}
