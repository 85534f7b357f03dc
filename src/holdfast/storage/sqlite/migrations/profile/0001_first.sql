-- Times are whole microseconds since 1970 in UTC. JSON columns hold JSON text.

CREATE TABLE message (
  n          INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  session    TEXT NOT NULL,
  position   INTEGER NOT NULL,
  role       TEXT NOT NULL,
  speaker    TEXT,
  agent      TEXT,
  content    TEXT NOT NULL,
  said_at    INTEGER,
  created_at INTEGER NOT NULL,
  metadata   TEXT NOT NULL,
  state      TEXT NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'digested', 'aside')),
  wait_until INTEGER NOT NULL DEFAULT 0,
  failures   INTEGER NOT NULL DEFAULT 0,
  failure    TEXT
);
CREATE UNIQUE INDEX message_place ON message (session, position);
CREATE INDEX message_time ON message (coalesce(said_at, created_at));
CREATE INDEX message_waiting ON message (wait_until) WHERE state = 'waiting';

CREATE TABLE memory (
  n              INTEGER PRIMARY KEY,
  id             TEXT NOT NULL UNIQUE,
  kind           TEXT NOT NULL,
  key            TEXT,
  summary        TEXT NOT NULL,
  content        TEXT NOT NULL,
  value          TEXT NOT NULL,
  metadata       TEXT NOT NULL,
  keywords       TEXT NOT NULL,
  queries        TEXT NOT NULL,
  session        TEXT,
  agent          TEXT,
  trust          TEXT NOT NULL,
  occurred_at    INTEGER,
  occurred_until INTEGER,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL,
  expires_at     INTEGER,
  version        INTEGER NOT NULL,
  superseded_by  TEXT,
  extractor      TEXT NOT NULL,
  confidence     REAL NOT NULL,
  fingerprint    TEXT NOT NULL
);
-- One current memory per key, whatever the concurrency.
CREATE UNIQUE INDEX memory_head ON memory (kind, key) WHERE superseded_by IS NULL AND key IS NOT NULL;
-- Without a key, saying the same again is the same memory.
CREATE UNIQUE INDEX memory_once ON memory (fingerprint) WHERE superseded_by IS NULL AND key IS NULL;
CREATE INDEX memory_time ON memory (coalesce(occurred_at, created_at));
CREATE INDEX memory_key ON memory (key) WHERE key IS NOT NULL;
CREATE INDEX memory_next ON memory (superseded_by) WHERE superseded_by IS NOT NULL;
CREATE INDEX memory_expiry ON memory (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE source (
  memory  INTEGER NOT NULL REFERENCES memory (n),
  place   INTEGER NOT NULL,
  message TEXT NOT NULL,
  PRIMARY KEY (memory, message)
) WITHOUT ROWID;
CREATE INDEX source_message ON source (message);

-- What the index sees of an item. item is message.n, or -memory.n; live is 0 while a memory is superseded.
CREATE TABLE part (
  n      INTEGER PRIMARY KEY,
  item   INTEGER NOT NULL,
  number INTEGER NOT NULL,
  start  INTEGER NOT NULL,
  stop   INTEGER NOT NULL,
  length INTEGER NOT NULL,
  live   INTEGER NOT NULL DEFAULT 1,
  embed  INTEGER NOT NULL,
  asks   INTEGER NOT NULL,
  words  TEXT NOT NULL,
  tokens BLOB NOT NULL
);
CREATE UNIQUE INDEX part_item ON part (item, number);

-- 16-bit steps of 1/32767, little endian: see vectors.packed.
CREATE TABLE vector (
  part  INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  data  BLOB NOT NULL
);

CREATE VIRTUAL TABLE word USING fts5 (
  words, content = 'part', content_rowid = 'n', columnsize = 0, tokenize = "ascii tokenchars ''''"
);
INSERT INTO word (word, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE word_place USING fts5vocab (word, instance);
CREATE VIRTUAL TABLE word_count USING fts5vocab (word, row);
