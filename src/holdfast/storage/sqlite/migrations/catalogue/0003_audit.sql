-- Administrative acts: who (a credential's id, NULL for the process itself) did what to which thing.
CREATE TABLE act (
  n          INTEGER PRIMARY KEY AUTOINCREMENT,
  at         INTEGER NOT NULL,
  credential TEXT,
  what       TEXT NOT NULL,
  thing      TEXT NOT NULL
);
