-- What somebody thinks of a memory: how often it was marked right, less how often wrong, and when it was looked at.
ALTER TABLE memory ADD COLUMN marks INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memory ADD COLUMN reviewed_at INTEGER;

-- What can be taken back: the ids of what a change wrote and marked.
CREATE TABLE edit (
  n    INTEGER PRIMARY KEY,
  id   TEXT NOT NULL UNIQUE,
  at   INTEGER NOT NULL,
  verb TEXT NOT NULL,
  gone INTEGER NOT NULL,
  data TEXT NOT NULL
);
