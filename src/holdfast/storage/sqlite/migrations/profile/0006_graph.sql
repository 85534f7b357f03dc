-- What memories mention and tie: read off their text, so that it can be thrown away and read again. live is 0 while the
-- memory is superseded.
CREATE TABLE mention (
  memory INTEGER NOT NULL,
  name   TEXT NOT NULL,
  shown  TEXT NOT NULL,
  type   TEXT NOT NULL,
  live   INTEGER NOT NULL,
  PRIMARY KEY (name, memory)
) WITHOUT ROWID;
CREATE INDEX mention_live ON mention (name) WHERE live;
CREATE INDEX mention_memory ON mention (memory);

CREATE TABLE tie (
  n        INTEGER PRIMARY KEY,
  memory   INTEGER NOT NULL,
  subject  TEXT NOT NULL,
  relation TEXT NOT NULL,
  object   TEXT NOT NULL,
  since    INTEGER,
  until    INTEGER,
  live     INTEGER NOT NULL
);
CREATE INDEX tie_memory ON tie (memory);
CREATE INDEX tie_subject ON tie (subject, memory);
CREATE INDEX tie_object ON tie (object, memory);
CREATE INDEX tie_alias ON tie (memory, live, subject, object) WHERE relation = 'same-as';

-- Up to which memory the reader of this version has read.
CREATE TABLE memory_read (
  version INTEGER NOT NULL,
  upto    INTEGER NOT NULL
);

-- What somebody decided about entities, in order; data is JSON.
CREATE TABLE entity_change (
  n    INTEGER PRIMARY KEY,
  id   TEXT NOT NULL UNIQUE,
  data TEXT NOT NULL
);
