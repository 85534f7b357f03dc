-- What is laid down for every profile of a namespace that has nothing of its own. value is JSON.
CREATE TABLE laid_down (
  namespace text NOT NULL COLLATE "C",
  name      text NOT NULL COLLATE "C",
  value     text NOT NULL,
  PRIMARY KEY (namespace, name)
);
