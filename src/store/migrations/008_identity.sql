-- Jobs that have the same id: of another cluster, of another year, begun again. What tells them apart is the cluster and
-- when they ran; nth only counts those of an id, so that two who store a job at the same time notice it.

--only SQLite
-- the table said that ids are unique, which cannot be taken back
CREATE TABLE job_before AS SELECT * FROM job;
DROP VIEW jobs;
DROP TABLE job;
CREATE TABLE job (
  no {id},
  jobid TEXT NOT NULL,
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
  ingested_us BIGINT NOT NULL,
  processes BIGINT NOT NULL DEFAULT 0,
  cluster TEXT NOT NULL DEFAULT '',
  nth BIGINT NOT NULL DEFAULT 0,
  UNIQUE (jobid, nth)
);
INSERT INTO job (no, jobid, jobname, username, submit_us, start_us, end_us, duration_us, cpu_us, exitcode, num_procs,
  num_threads, peak_procs, peak_threads, bytes, format, source, ingested_us, processes)
SELECT no, jobid, jobname, username, submit_us, start_us, end_us, duration_us, cpu_us, exitcode, num_procs,
  num_threads, peak_procs, peak_threads, bytes, format, source, ingested_us, processes FROM job_before;
DROP TABLE job_before;
CREATE INDEX job_start ON job (start_us);
CREATE INDEX job_user ON job (username);
--end
--only PostgreSQL
ALTER TABLE job ADD COLUMN cluster TEXT NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN nth BIGINT NOT NULL DEFAULT 0;
ALTER TABLE job DROP CONSTRAINT job_jobid_key;
ALTER TABLE job ADD CONSTRAINT job_jobid_nth_key UNIQUE (jobid, nth);
--end

-- what the metadata say of the cluster: ours by the batch system, those of others by the environment
--only SQLite
UPDATE job SET cluster = coalesce((SELECT coalesce(json_extract(m.json, '$.scheduler.cluster'),
    json_extract(m.json, '$.job_pl_env.SLURM_CLUSTER_NAME'), json_extract(m.json, '$.job_pl_env.SGE_CLUSTER_NAME'))
  FROM (SELECT job, CAST(json AS TEXT) AS json FROM job_meta) m
  WHERE m.job = job.no AND (instr(m.json, '"cluster":"') > 0 OR instr(m.json, '_CLUSTER_NAME":"') > 0) AND json_valid(m.json)), '');
--end
--only PostgreSQL
UPDATE job SET cluster = coalesce(m.json #>> '{scheduler,cluster}', m.json #>> '{job_pl_env,SLURM_CLUSTER_NAME}',
  m.json #>> '{job_pl_env,SGE_CLUSTER_NAME}', '')
FROM (SELECT job AS job, replace(convert_from(json, 'UTF8'), '\u0000', '\ufffd')::json AS json FROM job_meta
  WHERE position('"cluster":"'::bytea in json) > 0 OR position('_CLUSTER_NAME":"'::bytea in json) > 0) m
WHERE m.job = job.no;
--end

--only SQLite
CREATE VIEW jobs AS
--end
--only PostgreSQL
CREATE OR REPLACE VIEW jobs AS
--end
SELECT no AS job, jobid, jobname, username AS "user", submit_us AS submit, start_us AS start,
  end_us AS "end", duration_us AS duration, cpu_us AS cpu_time, exitcode, num_procs, num_threads,
  peak_procs, peak_threads, format, source, ingested_us AS ingested, processes, num_procs AS images,
  cluster
FROM job;
