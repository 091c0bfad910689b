-- Processes and images. A process that executes programs one after the other is one process and
-- several images; a row of the table process is an image, and num_procs counts those.

ALTER TABLE job ADD COLUMN processes BIGINT NOT NULL DEFAULT 0;

-- every image but the last one of its process ended by executing the next
UPDATE job SET processes = num_procs - (SELECT count(*) FROM process p
  WHERE p.id > job.no * 4294967296 AND p.id < (job.no + 1) * 4294967296 AND p.state & 15 = 2);

--only SQLite
DROP VIEW jobs;
CREATE VIEW jobs AS
--end
--only PostgreSQL
CREATE OR REPLACE VIEW jobs AS
--end
SELECT no AS job, jobid, jobname, username AS "user", submit_us AS submit, start_us AS start,
  end_us AS "end", duration_us AS duration, cpu_us AS cpu_time, exitcode, num_procs, num_threads,
  peak_procs, peak_threads, format, source, ingested_us AS ingested, processes, num_procs AS images
FROM job;
