-- Analyses of jobs, by name, as JSON. Those of another tool came with the metadata and are kept there, too; here they can be
-- asked for.

CREATE TABLE job_analysis (
  job BIGINT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (job, key)
) {keyed};

--only SQLite
INSERT INTO job_analysis (job, key, value)
SELECT m.job, e.key, CASE e.type WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' WHEN 'null' THEN 'null'
  WHEN 'text' THEN json_quote(e.value) ELSE CAST(e.value AS TEXT) END
FROM (SELECT job, CAST(json AS TEXT) AS json FROM job_meta) m JOIN json_each(m.json, '$.analyses') e
WHERE instr(m.json, '"analyses":{') > 0 AND json_valid(m.json) AND json_type(m.json, '$.analyses') = 'object';
--end
--only PostgreSQL
INSERT INTO job_analysis (job, key, value)
SELECT m.job, e.key, e.value::text
FROM (SELECT job, convert_from(json, 'UTF8')::json -> 'analyses' AS analyses FROM job_meta
  WHERE position('"analyses":{'::bytea in json) > 0) m
CROSS JOIN LATERAL json_each(CASE json_typeof(m.analyses) WHEN 'object' THEN m.analyses ELSE '{}' END) e;
--end

CREATE VIEW job_analyses AS
SELECT j.no AS job, j.jobid, a.key, a.value FROM job_analysis a JOIN job j ON j.no = a.job;
