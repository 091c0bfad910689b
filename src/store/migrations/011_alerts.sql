-- Outliers that an analysis found, for somebody to look at: one row per job and model, with '' for jobs that were compared
-- with each other. json is a list of the flagged values; features, their names, tells a new finding from a known one.

CREATE TABLE IF NOT EXISTS job_alert (
  job BIGINT NOT NULL,
  model TEXT NOT NULL,
  found_us BIGINT NOT NULL,
  outliers BIGINT NOT NULL,
  features TEXT NOT NULL,
  json TEXT NOT NULL,
  acknowledged_us BIGINT,
  acknowledged_by TEXT,
  note TEXT,
  PRIMARY KEY (job, model)
) {keyed};

DROP VIEW IF EXISTS alerts;
CREATE VIEW alerts AS
SELECT j.no AS job, j.jobid, j.jobname, j.username AS "user", j.start_us AS start, nullif(a.model, '') AS model,
  a.found_us AS found, a.outliers, a.features, a.json AS detail, a.acknowledged_us AS acknowledged,
  a.acknowledged_by, a.note
FROM job_alert a JOIN job j ON j.no = a.job;
