-- Samples: curves of metrics over time. Lines between "--only ENGINE" and "--end" are for that engine.
--
-- A series is a metric of an entity. Its values lie in chunks of up to 128, one for each block of ticks
-- that the entity was seen in; the times of a block are stored once for all series of its source.
-- With n counted from 0, value n of a chunk is base + step * n + the n-th number of a JSON array, so a
-- counter that grows steadily is short, and no value depends on another; time n of a block is
-- first_us + step_us * n + the n-th number of `width` digits.

-- a value in the unit is the raw one times scale / divisor: 35 / 1000 is 0.035 where 35 * 0.001 is not
CREATE TABLE sample_metric (
  job BIGINT NOT NULL,
  n BIGINT NOT NULL,
  name TEXT NOT NULL,
  unit TEXT NOT NULL,
  kind TEXT NOT NULL,
  aggregation TEXT NOT NULL,
  scale DOUBLE PRECISION NOT NULL,
  divisor DOUBLE PRECISION NOT NULL,
  help TEXT,
  PRIMARY KEY (job, n)
) {keyed};

CREATE TABLE sample_entity (
  job BIGINT NOT NULL,
  n BIGINT NOT NULL,
  host TEXT NOT NULL,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  facts TEXT,
  PRIMARY KEY (job, n)
) {keyed};

-- increase: what a counter grew by, without the times when it went back; NULL for other kinds
CREATE TABLE sample_series (
  job BIGINT NOT NULL,
  metric BIGINT NOT NULL,
  entity BIGINT NOT NULL,
  count BIGINT NOT NULL,
  first_us BIGINT NOT NULL,
  last_us BIGINT NOT NULL,
  minimum BIGINT NOT NULL,
  maximum BIGINT NOT NULL,
  mean DOUBLE PRECISION NOT NULL,
  increase DOUBLE PRECISION,
  PRIMARY KEY (job, metric, entity)
) {keyed};

CREATE TABLE sample_tick (
  job BIGINT NOT NULL,
  n BIGINT NOT NULL,
  first_us BIGINT NOT NULL,
  step_us BIGINT NOT NULL,
  width BIGINT NOT NULL,
  count BIGINT NOT NULL,
  times TEXT NOT NULL,
  PRIMARY KEY (job, n)
) {keyed};

-- in the order in which they come; skip: ticks of the block before the first value
CREATE TABLE sample_chunk (
  job BIGINT NOT NULL,
  metric BIGINT NOT NULL,
  entity BIGINT NOT NULL,
  tick BIGINT NOT NULL,
  skip BIGINT NOT NULL,
  count BIGINT NOT NULL,
  base BIGINT NOT NULL,
  step BIGINT NOT NULL,
  data TEXT NOT NULL
);
CREATE INDEX sample_chunk_series ON sample_chunk (job, metric, entity);

CREATE TABLE sample_absence (
  job BIGINT NOT NULL,
  host TEXT NOT NULL,
  metric TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (job, host, metric)
) {keyed};

-- ---- what may be queried ---------------------------------------------------------------------------

CREATE VIEW series AS
SELECT j.no AS job, j.jobid, e.host, m.name AS metric, m.unit, m.kind, m.aggregation,
  e.kind AS entity_kind, e.name AS entity, e.facts, s.count, s.first_us AS first, s.last_us AS last,
  s.minimum * m.scale / m.divisor AS minimum, s.mean * m.scale / m.divisor AS mean,
  s.maximum * m.scale / m.divisor AS maximum,
  s.increase * m.scale / m.divisor AS increase, m.help
FROM job j
JOIN sample_metric m ON m.job = j.no
JOIN sample_series s ON s.job = m.job AND s.metric = m.n
JOIN sample_entity e ON e.job = s.job AND e.n = s.entity;

--only SQLite
CREATE VIEW samples AS
SELECT j.no AS job, j.jobid, e.host, m.name AS metric, e.kind AS entity_kind, e.name AS entity,
  t.first_us + t.step_us * (c.skip + v.key)
    + CAST(substr(t.times, (c.skip + v.key) * t.width + 1, t.width) AS INTEGER) AS time,
  (c.base + c.step * v.key + v.value) * m.scale / m.divisor AS value,
  c.base + c.step * v.key + v.value AS raw
FROM job j
JOIN sample_metric m ON m.job = j.no
JOIN sample_chunk c ON c.job = m.job AND c.metric = m.n
JOIN sample_entity e ON e.job = c.job AND e.n = c.entity
JOIN sample_tick t ON t.job = c.job AND t.n = c.tick
JOIN json_each(c.data) v
WHERE v.value IS NOT NULL;
--end
--only PostgreSQL
CREATE VIEW samples AS
SELECT j.no AS job, j.jobid, e.host, m.name AS metric, e.kind AS entity_kind, e.name AS entity,
  t.first_us + t.step_us * (c.skip + v.i - 1)
    + substr(t.times, ((c.skip + v.i - 1) * t.width + 1)::int, t.width::int)::bigint AS time,
  (c.base + c.step * (v.i - 1) + v.value) * m.scale / m.divisor AS value,
  c.base + c.step * (v.i - 1) + v.value AS raw
FROM job j
JOIN sample_metric m ON m.job = j.no
JOIN sample_chunk c ON c.job = m.job AND c.metric = m.n
JOIN sample_entity e ON e.job = c.job AND e.n = c.entity
JOIN sample_tick t ON t.job = c.job AND t.n = c.tick
CROSS JOIN LATERAL unnest(string_to_array(btrim(c.data, '[]'), ',', 'null')::bigint[])
  WITH ORDINALITY AS v(value, i)
WHERE v.value IS NOT NULL;
--end

CREATE VIEW absences AS
SELECT j.no AS job, j.jobid, a.host, a.metric, a.reason
FROM sample_absence a JOIN job j ON j.no = a.job;
