-- Phases: regions that programs and scripts marked by name. A row has the key job << 32 | n, as a process has. host and name
-- are numbers of strings, process is the number of the image; log tells the processes that marked something apart, so that
-- marks that come again replace themselves. Times are nanoseconds, since regions may be short.

CREATE TABLE IF NOT EXISTS phase (
  id {id},
  log BIGINT NOT NULL,
  host BIGINT,
  process BIGINT,
  pid BIGINT NOT NULL,
  tid BIGINT NOT NULL,
  rank BIGINT,
  name BIGINT NOT NULL,
  parent BIGINT,
  depth BIGINT NOT NULL,
  state BIGINT NOT NULL,
  origin BIGINT NOT NULL,
  begin_ns BIGINT NOT NULL,
  duration_ns BIGINT,
  cpu_ns BIGINT
);

DROP VIEW IF EXISTS phases;
CREATE VIEW phases AS
SELECT p.id, p.id >> 32 AS job, j.jobid, {text n.bytes} AS name, {text h.bytes} AS hostname,
  (p.id >> 32) * 4294967296 + p.process AS process, p.pid, p.tid, p.rank AS mpirank,
  (p.id >> 32) * 4294967296 + p.parent AS parent, p.depth,
  CASE p.state WHEN 0 THEN 'ended' WHEN 1 THEN 'open' WHEN 2 THEN 'point' ELSE 'unseen' END AS state,
  CASE p.origin WHEN 0 THEN 'program' WHEN 1 THEN 'script' ELSE 'command' END AS origin,
  p.begin_ns / 1000 AS start, (p.begin_ns + p.duration_ns) / 1000 AS "end",
  p.duration_ns / 1000 AS duration, p.duration_ns, p.cpu_ns / 1000 AS cpu_time
FROM phase p JOIN job j ON j.no = p.id >> 32
JOIN string n ON n.id = (p.id >> 32) * 4294967296 + p.name
LEFT JOIN string h ON h.id = (p.id >> 32) * 4294967296 + p.host;
