-- Samples that come while their jobs run, from a collector.

-- the first and the last value of a series: what a counter grew by goes on from one to the other where
-- a series comes in pieces; NULL for one that came whole
ALTER TABLE sample_series ADD COLUMN first_value BIGINT;
ALTER TABLE sample_series ADD COLUMN last_value BIGINT;

-- how far a collector's log is in the store, written together with what came from it
CREATE TABLE sample_stream (
  name TEXT NOT NULL PRIMARY KEY,
  position BIGINT NOT NULL,
  time_us BIGINT NOT NULL
) {keyed};
