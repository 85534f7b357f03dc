-- What is laid down for every profile of a namespace that has nothing of its own. value is JSON.
CREATE TABLE setting (
  namespace TEXT NOT NULL,
  name      TEXT NOT NULL,
  value     TEXT NOT NULL,
  PRIMARY KEY (namespace, name)
) WITHOUT ROWID;
