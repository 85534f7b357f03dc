-- What the profile's owner has laid down for it: retention, summaries, schemas of kinds. value is JSON.
CREATE TABLE setting (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;
