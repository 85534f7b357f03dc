-- What models cost this profile, month by month.
CREATE TABLE usage (
  profile bigint NOT NULL,
  month   text NOT NULL COLLATE "C",
  model   text NOT NULL COLLATE "C",
  task    text NOT NULL COLLATE "C",
  calls   bigint NOT NULL,
  input   bigint NOT NULL,
  output  bigint NOT NULL,
  cached  bigint NOT NULL,
  PRIMARY KEY (profile, month, model, task)
) PARTITION BY HASH (profile);
