-- Sums by executable, by tags and over a whole job, so that questions about all jobs need not read every process. They are
-- written with the job; schema.c computes those of jobs that are in the store already. A sum is NULL where no image
-- has the metric, and rssmax is the maximum.

CREATE TABLE job_executable (
  job BIGINT NOT NULL,
  n BIGINT NOT NULL,
  exename {bytes},
  images BIGINT NOT NULL,
  processes BIGINT NOT NULL,
  cpu_us BIGINT,
  duration_us BIGINT,
  rchar BIGINT,
  wchar BIGINT,
  read_bytes BIGINT,
  write_bytes BIGINT,
  rssmax BIGINT,
  PRIMARY KEY (job, n)
) {keyed};

CREATE TABLE job_operation (
  job BIGINT NOT NULL,
  n BIGINT NOT NULL,
  tags {bytes},
  images BIGINT NOT NULL,
  processes BIGINT NOT NULL,
  cpu_us BIGINT,
  duration_us BIGINT,
  rchar BIGINT,
  wchar BIGINT,
  read_bytes BIGINT,
  write_bytes BIGINT,
  rssmax BIGINT,
  PRIMARY KEY (job, n)
) {keyed};

-- of the user, whom the job names
CREATE TABLE job_user_sum (
  job {id},
  images BIGINT NOT NULL,
  processes BIGINT NOT NULL,
  cpu_us BIGINT,
  duration_us BIGINT,
  rchar BIGINT,
  wchar BIGINT,
  read_bytes BIGINT,
  write_bytes BIGINT,
  rssmax BIGINT
);

CREATE VIEW job_executables AS
SELECT j.no AS job, j.jobid, {text x.exename} AS exename, x.images, x.processes, x.cpu_us AS cpu_time,
  x.duration_us AS duration, x.rchar, x.wchar, x.read_bytes, x.write_bytes, x.rssmax
FROM job_executable x JOIN job j ON j.no = x.job;

CREATE VIEW job_operations AS
SELECT j.no AS job, j.jobid, {text x.tags} AS tags, x.images, x.processes, x.cpu_us AS cpu_time,
  x.duration_us AS duration, x.rchar, x.wchar, x.read_bytes, x.write_bytes, x.rssmax
FROM job_operation x JOIN job j ON j.no = x.job;

-- a job that was sampled and not recorded has no images
CREATE VIEW job_users AS
SELECT j.no AS job, j.jobid, j.username AS "user", j.start_us AS start, coalesce(x.images, 0) AS images,
  coalesce(x.processes, j.processes) AS processes, coalesce(x.cpu_us, j.cpu_us) AS cpu_time,
  x.duration_us AS duration, x.rchar, x.wchar, x.read_bytes, x.write_bytes, x.rssmax
FROM job j LEFT JOIN job_user_sum x ON x.job = j.no;

-- The same columns as before. PostgreSQL leaves out outer joins whose columns a query does not use. SQLite does so only
-- without GROUP BY; but it does not compute columns that a query does not use, so that texts are subqueries there. They
-- depend on the job, so that a condition on the job comes first. Most queries name the executable: a join is faster.
--only SQLite
DROP VIEW processes;
CREATE VIEW processes AS
--end
--only PostgreSQL
CREATE OR REPLACE VIEW processes AS
--end
SELECT p.id, p.id >> 32 AS job, j.jobid,
--only SQLite
  (SELECT {text h.bytes} FROM string h WHERE h.id = j.no * 4294967296 + p.host) AS hostname,
  {text e.bytes} AS exename,
  (SELECT {text f.bytes} FROM string f WHERE f.id = j.no * 4294967296 + p.path) AS path,
  (SELECT {text a.bytes} FROM string a WHERE a.id = j.no * 4294967296 + p.args) AS args,
  (SELECT {text g.bytes} FROM string g WHERE g.id = j.no * 4294967296 + p.tags) AS tags,
--end
--only PostgreSQL
  {text h.bytes} AS hostname, {text e.bytes} AS exename, {text f.bytes} AS path, {text a.bytes} AS args,
  {text g.bytes} AS tags,
--end
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
--only SQLite
JOIN job j ON j.no = p.id >> 32
JOIN tree t ON t.id = p.id
LEFT JOIN string e ON e.id = (p.id >> 32) * 4294967296 + p.exename;
--end
--only PostgreSQL
LEFT JOIN job j ON j.no = p.id >> 32
LEFT JOIN tree t ON t.id = p.id
LEFT JOIN string h ON h.id = (p.id >> 32) * 4294967296 + p.host
LEFT JOIN string e ON e.id = (p.id >> 32) * 4294967296 + p.exename
LEFT JOIN string f ON f.id = (p.id >> 32) * 4294967296 + p.path
LEFT JOIN string a ON a.id = (p.id >> 32) * 4294967296 + p.args
LEFT JOIN string g ON g.id = (p.id >> 32) * 4294967296 + p.tags;
--end
