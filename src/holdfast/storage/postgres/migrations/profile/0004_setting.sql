-- What the profile's owner has laid down for it: retention, summaries, schemas of kinds. value is JSON.
CREATE TABLE setting (
  profile bigint NOT NULL,
  name    text NOT NULL COLLATE "C",
  value   text NOT NULL,
  PRIMARY KEY (profile, name)
) PARTITION BY HASH (profile);
