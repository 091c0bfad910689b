-- Who may see what: the accounts of jobs, the users of the web server, and what happened to them. Viewers that see some
-- jobs only never see the users, and statements do not see their hashes.

-- the account or project that the batch system charges, by the metadata; PostgreSQL has no text with a zero byte
CREATE TABLE IF NOT EXISTS job_account (
  job {id},
  account TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS job_account_name ON job_account (account, job);
--only SQLite
INSERT INTO job_account (job, account)
SELECT job, CAST(account AS TEXT) FROM (
  SELECT m.job AS job, coalesce(json_extract(m.json, '$.scheduler.account'), json_extract(m.json, '$.scheduler.project')) AS account
  FROM (SELECT job, replace(CAST(json AS TEXT), '\u0000', '\ufffd') AS json FROM job_meta) m
  WHERE (instr(m.json, '"account":') > 0 OR instr(m.json, '"project":') > 0) AND json_valid(m.json)) a
WHERE account <> ''
ON CONFLICT (job) DO NOTHING;
--end
--only PostgreSQL
INSERT INTO job_account (job, account)
SELECT job, account FROM (
  SELECT m.job AS job, coalesce(m.json #>> '{scheduler,account}', m.json #>> '{scheduler,project}') AS account
  FROM (SELECT job AS job, replace(convert_from(json, 'UTF8'), '\u0000', '\ufffd')::json AS json FROM job_meta
    WHERE position('"account":'::bytea in json) > 0 OR position('"project":'::bytea in json) > 0) m) a
WHERE account <> ''
ON CONFLICT (job) DO NOTHING;
--end

-- hash: as crypt(3) makes it; NULL: comes in by a proxy or a Unix socket only
CREATE TABLE IF NOT EXISTS access_user (
  name TEXT NOT NULL PRIMARY KEY,
  hash TEXT,
  role TEXT NOT NULL,
  projects TEXT NOT NULL DEFAULT '',
  disabled BIGINT NOT NULL DEFAULT 0,
  changed_us BIGINT NOT NULL
) {keyed};

-- logins, and changes: by whom, from where, what
CREATE TABLE IF NOT EXISTS access_event (
  time_us BIGINT NOT NULL,
  name TEXT,
  address TEXT,
  what TEXT NOT NULL,
  detail TEXT
);
CREATE INDEX IF NOT EXISTS access_event_time ON access_event (time_us);
