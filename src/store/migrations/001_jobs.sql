-- The first schema. Words in braces differ between the engines, see migrations.c:
--   {id}        type of a key that is a number by itself
--   {bytes}     bytes of any value
--   {keyed}     behind a table whose rows lie in the order of their key
--   {text X}    bytes X as text, for people and for LIKE
--
-- A process, string and tree row has the key job << 32 | n, so that the rows of one job lie together,
-- and a string is named by its n alone.

-- the last number that a job got; never used twice
CREATE TABLE job_number (last BIGINT NOT NULL);
INSERT INTO job_number VALUES (0);

CREATE TABLE job (
  no {id},
  jobid TEXT NOT NULL UNIQUE,
  jobname TEXT,
  username TEXT,
  submit_us BIGINT,
  start_us BIGINT,
  end_us BIGINT,
  duration_us BIGINT,
  cpu_us BIGINT NOT NULL,
  exitcode BIGINT,
  num_procs BIGINT NOT NULL,
  num_threads BIGINT NOT NULL,
  peak_procs BIGINT NOT NULL,
  peak_threads BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  format TEXT NOT NULL,
  source TEXT,
  ingested_us BIGINT NOT NULL
);
CREATE INDEX job_start ON job (start_us);
CREATE INDEX job_user ON job (username);

-- the metadata as JSON, apart from the job: they are large, and seldom asked for
CREATE TABLE job_meta (
  job {id},
  json {bytes} NOT NULL
);

CREATE TABLE job_tag (
  job BIGINT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (job, key)
) {keyed};
CREATE INDEX job_tag_value ON job_tag (key, value);

CREATE TABLE job_annotation (
  job BIGINT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (job, key)
) {keyed};

CREATE TABLE job_host (
  job BIGINT NOT NULL,
  host TEXT NOT NULL,
  num_procs BIGINT NOT NULL,
  PRIMARY KEY (job, host)
) {keyed};

CREATE TABLE job_sum (
  job BIGINT NOT NULL,
  metric TEXT NOT NULL,
  sum BIGINT NOT NULL,
  max BIGINT NOT NULL,
  PRIMARY KEY (job, metric)
) {keyed};

CREATE TABLE job_warning (
  job BIGINT NOT NULL,
  n BIGINT NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (job, n)
) {keyed};

CREATE TABLE job_proc_tag (
  job BIGINT NOT NULL,
  tags BIGINT NOT NULL,
  num_procs BIGINT NOT NULL,
  PRIMARY KEY (job, tags)
) {keyed};

CREATE TABLE job_profile (
  job BIGINT NOT NULL,
  n BIGINT NOT NULL,
  time_us BIGINT NOT NULL,
  processes BIGINT NOT NULL,
  threads BIGINT NOT NULL,
  PRIMARY KEY (job, n)
) {keyed};

CREATE TABLE string (
  id {id},
  bytes {bytes} NOT NULL
);

CREATE TABLE process (
  id {id},
  host BIGINT,
  exename BIGINT,
  path BIGINT,
  args BIGINT,
  argv BIGINT,
  tags BIGINT,
  state BIGINT NOT NULL,
  pid BIGINT,
  ppid BIGINT,
  pgid BIGINT,
  sid BIGINT,
  generation BIGINT,
  exitcode BIGINT,
  exitsignal BIGINT,
  coredump BIGINT,
  numtids BIGINT,
  numranks BIGINT,
  mpirank BIGINT,
  start BIGINT,
  duration BIGINT,
  usertime BIGINT,
  systemtime BIGINT,
  rssmax BIGINT,
  minflt BIGINT,
  majflt BIGINT,
  inblock BIGINT,
  outblock BIGINT,
  vol_ctxsw BIGINT,
  invol_ctxsw BIGINT,
  cminflt BIGINT,
  cmajflt BIGINT,
  cutime BIGINT,
  cstime BIGINT,
  num_threads BIGINT,
  starttime BIGINT,
  processor BIGINT,
  delayacct_blkio_time BIGINT,
  guest_time BIGINT,
  rchar BIGINT,
  wchar BIGINT,
  syscr BIGINT,
  syscw BIGINT,
  read_bytes BIGINT,
  write_bytes BIGINT,
  cancelled_write_bytes BIGINT,
  time_oncpu BIGINT,
  time_waiting BIGINT,
  timeslices BIGINT,
  rdtsc_duration BIGINT,
  threads_basic BIGINT
);

CREATE TABLE tree (
  id {id},
  parent BIGINT,
  first BIGINT NOT NULL,
  last BIGINT NOT NULL,
  depth BIGINT NOT NULL,
  children BIGINT NOT NULL,
  inclusive_cpu BIGINT NOT NULL,
  exclusive BIGINT
);

CREATE TABLE thread (
  process BIGINT NOT NULL,
  n BIGINT NOT NULL,
  tid BIGINT,
  start BIGINT,
  duration BIGINT,
  usertime BIGINT,
  systemtime BIGINT,
  rssmax BIGINT,
  minflt BIGINT,
  majflt BIGINT,
  inblock BIGINT,
  outblock BIGINT,
  vol_ctxsw BIGINT,
  invol_ctxsw BIGINT,
  starttime BIGINT,
  processor BIGINT,
  delayacct_blkio_time BIGINT,
  guest_time BIGINT,
  rchar BIGINT,
  wchar BIGINT,
  syscr BIGINT,
  syscw BIGINT,
  read_bytes BIGINT,
  write_bytes BIGINT,
  cancelled_write_bytes BIGINT,
  time_oncpu BIGINT,
  time_waiting BIGINT,
  timeslices BIGINT,
  rdtsc_duration BIGINT,
  PRIMARY KEY (process, n)
) {keyed};

-- thread 0 is the process as a whole; permille is NULL for a count that was not scaled
CREATE TABLE event (
  process BIGINT NOT NULL,
  thread BIGINT NOT NULL,
  name BIGINT NOT NULL,
  value BIGINT NOT NULL,
  permille BIGINT,
  PRIMARY KEY (process, thread, name)
) {keyed};

-- ---- what may be queried: these views stay the same when the tables change ------------------------

CREATE VIEW jobs AS
SELECT no AS job, jobid, jobname, username AS "user", submit_us AS submit, start_us AS start,
  end_us AS "end", duration_us AS duration, cpu_us AS cpu_time, exitcode, num_procs, num_threads,
  peak_procs, peak_threads, format, source, ingested_us AS ingested
FROM job;

CREATE VIEW job_tags AS
SELECT j.no AS job, j.jobid, t.key, t.value FROM job_tag t JOIN job j ON j.no = t.job;

CREATE VIEW job_annotations AS
SELECT j.no AS job, j.jobid, a.key, a.value FROM job_annotation a JOIN job j ON j.no = a.job;

CREATE VIEW job_hosts AS
SELECT j.no AS job, j.jobid, h.host, h.num_procs FROM job_host h JOIN job j ON j.no = h.job;

CREATE VIEW job_sums AS
SELECT j.no AS job, j.jobid, s.metric, s.sum, s.max FROM job_sum s JOIN job j ON j.no = s.job;

CREATE VIEW job_warnings AS
SELECT j.no AS job, j.jobid, w.n, w.text FROM job_warning w JOIN job j ON j.no = w.job;

CREATE VIEW job_proc_tags AS
SELECT j.no AS job, j.jobid, {text s.bytes} AS tags, t.num_procs
FROM job_proc_tag t JOIN job j ON j.no = t.job JOIN string s ON s.id = t.job * 4294967296 + t.tags;

CREATE VIEW job_profiles AS
SELECT j.no AS job, j.jobid, p.time_us AS time, p.processes, p.threads
FROM job_profile p JOIN job j ON j.no = p.job;

CREATE VIEW processes AS
SELECT p.id, p.id >> 32 AS job, j.jobid, {text h.bytes} AS hostname, {text e.bytes} AS exename,
  {text f.bytes} AS path, {text a.bytes} AS args, {text g.bytes} AS tags,
  CASE p.state & 15 WHEN 0 THEN 'exit' WHEN 1 THEN 'signal' WHEN 2 THEN 'exec' WHEN 3 THEN 'running'
    ELSE 'unknown' END AS ended,
  CASE (p.state >> 4) & 15 WHEN 0 THEN 'preload' WHEN 1 THEN 'reaped' WHEN 2 THEN 'taskstats'
    ELSE 'cn_proc' END AS source,
  (p.state >> 8) & 1 AS forked,
  p.pid, p.ppid, p.pgid, p.sid, p.generation, p.exitcode, p.exitsignal, p.coredump, p.numtids,
  p.numranks, p.mpirank, p.start, p.start + p.duration AS "end", p.duration,
  p.usertime + p.systemtime AS cpu_time, t.inclusive_cpu AS inclusive_cpu_time,
  t.exclusive AS exclusive_time, t.parent, t.depth, t.children, t.last - t.first AS descendants,
  t.first AS tree_first, t.last AS tree_last,
  p.usertime, p.systemtime, p.rssmax, p.minflt, p.majflt, p.inblock, p.outblock, p.vol_ctxsw,
  p.invol_ctxsw, p.cminflt, p.cmajflt, p.cutime, p.cstime, p.num_threads, p.starttime, p.processor,
  p.delayacct_blkio_time, p.guest_time, p.rchar, p.wchar, p.syscr, p.syscw, p.read_bytes,
  p.write_bytes, p.cancelled_write_bytes, p.time_oncpu, p.time_waiting, p.timeslices,
  p.rdtsc_duration, p.threads_basic
FROM process p
JOIN job j ON j.no = p.id >> 32
JOIN tree t ON t.id = p.id
LEFT JOIN string h ON h.id = (p.id >> 32) * 4294967296 + p.host
LEFT JOIN string e ON e.id = (p.id >> 32) * 4294967296 + p.exename
LEFT JOIN string f ON f.id = (p.id >> 32) * 4294967296 + p.path
LEFT JOIN string a ON a.id = (p.id >> 32) * 4294967296 + p.args
LEFT JOIN string g ON g.id = (p.id >> 32) * 4294967296 + p.tags;

CREATE VIEW threads AS
SELECT t.process, t.process >> 32 AS job, j.jobid, p.pid, t.n, t.tid, t.start,
  t.start + t.duration AS "end", t.duration, t.usertime + t.systemtime AS cpu_time, t.usertime,
  t.systemtime, t.rssmax, t.minflt, t.majflt, t.inblock, t.outblock, t.vol_ctxsw, t.invol_ctxsw,
  t.starttime, t.processor, t.delayacct_blkio_time, t.guest_time, t.rchar, t.wchar, t.syscr, t.syscw,
  t.read_bytes, t.write_bytes, t.cancelled_write_bytes, t.time_oncpu, t.time_waiting, t.timeslices,
  t.rdtsc_duration
FROM thread t JOIN job j ON j.no = t.process >> 32 JOIN process p ON p.id = t.process;

CREATE VIEW events AS
SELECT v.process, v.process >> 32 AS job, j.jobid, v.thread, {text s.bytes} AS event, v.value,
  v.permille
FROM event v JOIN job j ON j.no = v.process >> 32
JOIN string s ON s.id = (v.process >> 32) * 4294967296 + v.name;
