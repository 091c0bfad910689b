-- The mean of a series is over the time from here to last_us: the first value of a mean stands for the time
-- since its source was read before. Of a counter: when it was 0. NULL: first_us.
ALTER TABLE sample_series ADD COLUMN begin_us BIGINT;
