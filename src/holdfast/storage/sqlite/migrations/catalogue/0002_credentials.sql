-- Tokens are never kept, only their SHA-256. A scope of NULL is everywhere. rights is a JSON array.
CREATE TABLE credential (
  id         TEXT PRIMARY KEY,
  digest     BLOB NOT NULL,
  kind       TEXT NOT NULL,
  name       TEXT NOT NULL,
  rights     TEXT NOT NULL,
  namespace  TEXT,
  profile    TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER,
  used_at    INTEGER
) WITHOUT ROWID;
