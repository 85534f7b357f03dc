-- The change sequence. Numbers are never used twice, so that a listener can say where it was.
CREATE TABLE event (
  n    INTEGER PRIMARY KEY AUTOINCREMENT,
  at   INTEGER NOT NULL,
  type TEXT NOT NULL,
  data TEXT NOT NULL
);

-- Requests that their senders may repeat, with what the first one did.
CREATE TABLE once (
  key      TEXT PRIMARY KEY,
  at       INTEGER NOT NULL,
  request  TEXT NOT NULL,
  answer   TEXT,
  new      TEXT NOT NULL,
  memories TEXT NOT NULL,
  messages TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE job (
  n          INTEGER PRIMARY KEY,
  id         TEXT NOT NULL UNIQUE,
  kind       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  messages   TEXT NOT NULL
);

-- details is JSON, compressed with zlib.
CREATE TABLE trace (
  n          INTEGER PRIMARY KEY AUTOINCREMENT,
  id         TEXT NOT NULL UNIQUE,
  at         INTEGER NOT NULL,
  operation  TEXT NOT NULL,
  credential TEXT,
  agent      TEXT,
  session    TEXT,
  turn       TEXT,
  took       INTEGER NOT NULL,
  details    BLOB NOT NULL
);
CREATE INDEX trace_turn ON trace (session, turn);
