# Jobs made of rows, for the tests of commands that select jobs and processes; loaded after store.bash.

# job ID < JSON: a job directory as EPMT leaves it, submitted. Times are seconds after 2020-09-13 12:00 UTC;
# lone surrogates in texts become single bytes.
job() {
  /usr/bin/python3 -c '
import datetime, json, os, pickle, sys
names = """tags,hostname,exename,path,args,exitcode,exitsignal,pid,generation,ppid,pgid,sid,numtids,mpinumranks,tid,mpirank,start,end,
usertime,systemtime,rssmax,minflt,majflt,inblock,outblock,vol_ctxsw,invol_ctxsw,cminflt,cmajflt,cutime,cstime,num_threads,starttime,
processor,delayacct_blkio_time,guest_time,rchar,wchar,syscr,syscw,read_bytes,write_bytes,cancelled_write_bytes,time_oncpu,time_waiting,
timeslices,rdtsc_duration,PERF_COUNT_SW_CPU_CLOCK""".replace("\n", "").split(",")
base = 1599998400
id, spec = sys.argv[1], json.load(sys.stdin)
when = lambda s: datetime.datetime.fromtimestamp(base + s, datetime.timezone.utc)
directory = "dir-%d" % len(os.listdir("."))
os.mkdir(directory)
meta = {"job_pl_id": id, "job_jobname": spec.get("name"), "job_pl_username": spec["user"], "job_tags": spec.get("tags", {}),
        "job_pl_submit_ts": when(spec["start"]), "job_pl_start_ts": when(spec["start"]), "job_el_stop_ts": when(spec["end"]),
        "job_el_exitcode": 0, "job_pl_env": {}, "job_el_env": {}, "annotations": spec.get("annotations", {})}
pickle.dump(meta, open(directory + "/job_metadata", "wb"), protocol=3)
escapes = {"\\": "\\\\", ",": "\\,", "\t": "\\t", "\n": "\\n"}
def field(v):
    return "".join(escapes.get(c, c) for c in str(v)).encode("utf-8", "surrogateescape")
out = open(directory + "/host-collated-papiex-%d-0.csv" % os.getpid(), "wb")
out.write(",".join(names).encode() + b"\n")
for p in spec["procs"]:
    row = dict.fromkeys(names, 0)
    row.update(tags="", hostname="n1", path="/bin/" + p["exename"], args="", numtids=1 + len(p.get("threads", [])), mpinumranks="",
               mpirank="", pgid=1, sid=1, num_threads=1, rdtsc_duration=1, PERF_COUNT_SW_CPU_CLOCK=7)
    row.update({k: v for k, v in p.items() if k in names})
    row["tid"] = row["pid"]
    row["start"] = int((base + p["start"]) * 1000000)
    row["end"] = int((base + p["end"]) * 1000000)
    out.write(b",".join(field(row[n]) for n in names) + b"\n")
    for t in p.get("threads", []):
        row.update(t)
        out.write(b",".join(b"" if i < 14 else field(row[n]) for i, n in enumerate(names)) + b"\n")
out.close()
print(directory)' "$1" >made
  plimsoll submit -q "$(cat made)"
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
{"name": "ocean_100%", "user": "bob", "start": 3600, "end": 5400, "tags": {"exp": "b", "run": "1"},
 "procs": [{"pid": 7, "ppid": 1, "exename": "ocean", "start": 3600, "end": 5400, "usertime": 900000000, "exitcode": 3, "hostname": "n2"},
  {"pid": 8, "ppid": 7, "exename": "ocean", "start": 3601, "end": 5000, "usertime": 5, "hostname": "n3"}]}
J
  job Alpha_3 <<'J'
{"name": "Weather", "user": "alice", "start": 86400, "end": 86460, "tags": {"exp": "a:b"},
 "procs": [{"pid": 9, "ppid": 1, "exename": "true", "start": 86400, "end": 86460, "usertime": 40}]}
J
}
