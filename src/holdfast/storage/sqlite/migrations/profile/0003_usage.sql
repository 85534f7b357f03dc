-- What models cost this profile, month by month.
CREATE TABLE usage (
  month  TEXT NOT NULL,
  model  TEXT NOT NULL,
  task   TEXT NOT NULL,
  calls  INTEGER NOT NULL,
  input  INTEGER NOT NULL,
  output INTEGER NOT NULL,
  cached INTEGER NOT NULL,
  PRIMARY KEY (month, model, task)
) WITHOUT ROWID;
