CREATE TABLE namespace (
  id         TEXT PRIMARY KEY,
  name       TEXT NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);

-- file is a random name, never the profile's; key is the file's own encryption key. rested_under is the embedding model
-- under which no work was left, NULL while there may be some.
CREATE TABLE profile (
  namespace  TEXT NOT NULL REFERENCES namespace (id),
  name       TEXT NOT NULL,
  file       TEXT NOT NULL UNIQUE,
  key        BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  rested_under TEXT,
  PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
