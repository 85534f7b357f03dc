-- Rights of a credential in profiles beyond its scope. rights is a JSON array.
CREATE TABLE granted (
  credential text NOT NULL COLLATE "C",
  namespace  text NOT NULL COLLATE "C",
  profile    text NOT NULL COLLATE "C",
  rights     text NOT NULL,
  PRIMARY KEY (credential, namespace, profile)
);
CREATE INDEX granted_place ON granted (namespace, profile);
-- agent is who everything written with it counts as; reads is a JSON array of agents whose writing it may read beside
-- that agent's and what no agent wrote, NULL for everything.
ALTER TABLE credential ADD COLUMN agent text;
ALTER TABLE credential ADD COLUMN reads text;
