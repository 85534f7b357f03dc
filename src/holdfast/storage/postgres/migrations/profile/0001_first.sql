-- Times are whole microseconds since 1970 in UTC. Every table has its profile first in every key; `holdfast.profile`
-- names the profile a transaction is in, and without it no row is seen. Partitions are made by schema.py.

CREATE SEQUENCE item_number;

-- holder is the process that a waiting message was lent to last.
CREATE TABLE message (
  profile    bigint NOT NULL,
  n          bigint NOT NULL DEFAULT nextval('item_number'),
  id         text NOT NULL COLLATE "C",
  session    text NOT NULL COLLATE "C",
  position   bigint NOT NULL,
  role       text NOT NULL COLLATE "C",
  speaker    text COLLATE "C",
  agent      text COLLATE "C",
  content    text NOT NULL,
  said_at    bigint,
  created_at bigint NOT NULL,
  metadata   jsonb NOT NULL,
  state      text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'digested', 'aside')),
  wait_until bigint NOT NULL DEFAULT 0,
  holder     text COLLATE "C",
  failures   integer NOT NULL DEFAULT 0,
  failure    text,
  PRIMARY KEY (profile, n),
  UNIQUE (profile, id),
  UNIQUE (profile, session, position)
) PARTITION BY HASH (profile);
CREATE INDEX message_time ON message (profile, coalesce(said_at, created_at));
CREATE INDEX message_waiting ON message (profile, n, wait_until) WHERE state = 'waiting';

CREATE TABLE memory (
  profile        bigint NOT NULL,
  n              bigint NOT NULL DEFAULT nextval('item_number'),
  id             text NOT NULL COLLATE "C",
  kind           text NOT NULL COLLATE "C",
  key            text COLLATE "C",
  summary        text NOT NULL,
  content        text NOT NULL,
  value          text NOT NULL,
  metadata       jsonb NOT NULL,
  keywords       text NOT NULL,
  queries        text NOT NULL,
  session        text COLLATE "C",
  agent          text COLLATE "C",
  trust          text NOT NULL COLLATE "C",
  occurred_at    bigint,
  occurred_until bigint,
  created_at     bigint NOT NULL,
  updated_at     bigint NOT NULL,
  expires_at     bigint,
  version        integer NOT NULL,
  superseded_by  text COLLATE "C",
  extractor      text NOT NULL,
  confidence     double precision NOT NULL,
  fingerprint    text NOT NULL COLLATE "C",
  PRIMARY KEY (profile, n),
  UNIQUE (profile, id)
) PARTITION BY HASH (profile);
-- One current memory per key, whatever the concurrency.
CREATE UNIQUE INDEX memory_head ON memory (profile, kind, key) WHERE superseded_by IS NULL AND key IS NOT NULL;
-- Without a key, saying the same again is the same memory.
CREATE UNIQUE INDEX memory_once ON memory (profile, fingerprint) WHERE superseded_by IS NULL AND key IS NULL;
CREATE INDEX memory_time ON memory (profile, coalesce(occurred_at, created_at));
CREATE INDEX memory_key ON memory (profile, key) WHERE key IS NOT NULL;
CREATE INDEX memory_next ON memory (profile, superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memory_expiry ON memory (profile, expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE source (
  profile bigint NOT NULL,
  memory  bigint NOT NULL,
  place   integer NOT NULL,
  message text NOT NULL COLLATE "C",
  PRIMARY KEY (profile, memory, message)
) PARTITION BY HASH (profile);
CREATE INDEX source_message ON source (profile, message);

-- What the index sees of an item. item is message.n or memory.n, which are never the same; live is false while a memory
-- is superseded. model, near and data are its vector, NULL until it has one: near is for the database's own scan, data
-- is exact, in 16-bit steps of 1/32767 (see vectors.packed).
CREATE TABLE part (
  profile bigint NOT NULL,
  n       bigint NOT NULL DEFAULT nextval('item_number'),
  item    bigint NOT NULL,
  memory  boolean NOT NULL,
  number  integer NOT NULL,
  start   integer NOT NULL,
  stop    integer NOT NULL,
  length  integer NOT NULL,
  live    boolean NOT NULL DEFAULT true,
  embed   boolean NOT NULL,
  asks    boolean NOT NULL,
  tokens  bytea NOT NULL,
  model   text COLLATE "C",
  near    halfvec,
  data    bytea,
  PRIMARY KEY (profile, n),
  UNIQUE (profile, item, number)
) PARTITION BY HASH (profile);
CREATE INDEX part_model ON part (profile, model, memory, n) WHERE embed;

-- The application's own tokens: how often a word occurs in a part, how long that part is, and whether it is a memory's.
CREATE TABLE posting (
  profile bigint NOT NULL,
  word    text NOT NULL COLLATE "C",
  part    bigint NOT NULL,
  times   integer NOT NULL,
  length  integer NOT NULL,
  memory  boolean NOT NULL,
  PRIMARY KEY (profile, word, memory, part) INCLUDE (times, length)
) PARTITION BY HASH (profile);
CREATE INDEX posting_part ON posting (profile, part);
