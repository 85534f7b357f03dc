-- Documents that were read into messages: data is JSON, session the messages' own. lent is until when somebody reads it.
CREATE TABLE document (
  id         TEXT PRIMARY KEY,
  session    TEXT NOT NULL,
  state      TEXT NOT NULL,
  wait_until INTEGER NOT NULL DEFAULT 0,
  lent       INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  data       TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX document_session ON document (session);

-- What was given, byte for byte, in pieces.
CREATE TABLE original (
  document TEXT NOT NULL,
  number   INTEGER NOT NULL,
  data     BLOB NOT NULL,
  PRIMARY KEY (document, number)
);
