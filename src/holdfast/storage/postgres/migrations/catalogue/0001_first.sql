CREATE TABLE namespace (
  id         text PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);

-- parts and words count what its index holds; its row is locked by whoever writes to the profile, so that changes, and
-- the events that tell of them, are in one order. key, under the master key, opens what is sealed; NULL when nothing is.
-- near_index names the model whose vectors have an index of their own.
CREATE TABLE profile (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace    text NOT NULL REFERENCES namespace (id),
  name         text NOT NULL,
  created_at   bigint NOT NULL,
  rested_under text,
  parts        bigint NOT NULL DEFAULT 0,
  words        bigint NOT NULL DEFAULT 0,
  key          bytea,
  near_index   text,
  UNIQUE (namespace, name)
);
CREATE INDEX profile_rested ON profile (rested_under);

-- Processes that are at work, and which profiles each of them sees to. What belongs to a process that was not seen for a
-- while is taken over.
CREATE TABLE process (
  id      text PRIMARY KEY,
  seen_at timestamptz NOT NULL
);
CREATE TABLE work (
  profile bigint NOT NULL REFERENCES profile (id) ON DELETE CASCADE,
  process text NOT NULL,
  PRIMARY KEY (profile, process)
);
CREATE INDEX work_process ON work (process);

-- How often a credential asked in a window; losing it in a crash is no harm.
CREATE UNLOGGED TABLE rate (
  credential text NOT NULL,
  starts     bigint NOT NULL,
  hits       bigint NOT NULL,
  PRIMARY KEY (credential, starts)
);

-- What every process must agree on.
CREATE TABLE agreed (
  name  text PRIMARY KEY,
  value bytea NOT NULL
);
