-- What lists of jobs need to find the first page of any filter among millions of jobs, and to add up what the jobs used.
--
-- Each table that jobs are selected by has the start of its job, 0 where it is not known, so that an index has the jobs of
-- a host, tag or word in the order in which lists show them. A trigger follows the start of a streamed job.

-- the words of the name, in lower case, and the id; schema.c computes those of jobs that are in the store already
CREATE TABLE job_word (
  job BIGINT NOT NULL,
--only SQLite
  word TEXT NOT NULL,
--end
--only PostgreSQL
  word TEXT COLLATE "C" NOT NULL,
--end
  start_us BIGINT NOT NULL,
  PRIMARY KEY (job, word)
) {keyed};
CREATE INDEX job_word_start ON job_word (word, start_us, job);

ALTER TABLE job_host ADD COLUMN start_us BIGINT NOT NULL DEFAULT 0;
UPDATE job_host SET start_us = coalesce((SELECT j.start_us FROM job j WHERE j.no = job_host.job), 0);
CREATE INDEX job_host_start ON job_host (host, start_us, job);

ALTER TABLE job_tag ADD COLUMN start_us BIGINT NOT NULL DEFAULT 0;
UPDATE job_tag SET start_us = coalesce((SELECT j.start_us FROM job j WHERE j.no = job_tag.job), 0);
DROP INDEX job_tag_value;
CREATE INDEX job_tag_value ON job_tag (key, value, start_us, job);

-- granted cores times duration, and the energy of all hosts in millijoules; NULL: not known
ALTER TABLE job ADD COLUMN core_us BIGINT;
ALTER TABLE job ADD COLUMN energy_mj BIGINT;

-- the sums of all jobs, or of those of some days, come from the index alone
DROP INDEX job_start;
DROP INDEX job_user;
--only SQLite
CREATE INDEX job_start ON job (start_us, no, cpu_us, core_us, energy_mj, exitcode);
CREATE INDEX job_user ON job (username, start_us);
CREATE INDEX job_failed ON job (start_us) WHERE exitcode <> 0;
CREATE INDEX job_without_status ON job (start_us) WHERE exitcode IS NULL;
--end
--only PostgreSQL
CREATE INDEX job_start ON job (start_us, no) INCLUDE (cpu_us, core_us, energy_mj, exitcode);
CREATE INDEX job_user ON job (username, start_us, no);
CREATE INDEX job_failed ON job (start_us, no) WHERE exitcode <> 0;
CREATE INDEX job_without_status ON job (start_us, no) WHERE exitcode IS NULL;
--end
-- those that a collector streams, by their last data
CREATE INDEX job_streamed ON job (ingested_us) WHERE format = 'node';

--only SQLite
CREATE TRIGGER job_start_moves AFTER UPDATE OF start_us ON job WHEN OLD.start_us IS NOT NEW.start_us
BEGIN
  UPDATE job_host SET start_us = coalesce(NEW.start_us, 0) WHERE job = NEW.no;
  UPDATE job_tag SET start_us = coalesce(NEW.start_us, 0) WHERE job = NEW.no;
  UPDATE job_word SET start_us = coalesce(NEW.start_us, 0) WHERE job = NEW.no;
END;
--end
--only PostgreSQL
CREATE OR REPLACE FUNCTION job_start_moves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE job_host SET start_us = coalesce(NEW.start_us, 0) WHERE job = NEW.no;
  UPDATE job_tag SET start_us = coalesce(NEW.start_us, 0) WHERE job = NEW.no;
  UPDATE job_word SET start_us = coalesce(NEW.start_us, 0) WHERE job = NEW.no;
  RETURN NULL;
END
$$;
DROP TRIGGER IF EXISTS job_start_moves ON job;
CREATE TRIGGER job_start_moves AFTER UPDATE OF start_us ON job FOR EACH ROW
WHEN (OLD.start_us IS DISTINCT FROM NEW.start_us) EXECUTE FUNCTION job_start_moves();
--end
