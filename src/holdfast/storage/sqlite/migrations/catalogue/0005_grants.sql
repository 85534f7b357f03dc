-- Rights of a credential in profiles beyond its scope. rights is a JSON array.
CREATE TABLE granted (
  credential TEXT NOT NULL,
  namespace  TEXT NOT NULL,
  profile    TEXT NOT NULL,
  rights     TEXT NOT NULL,
  PRIMARY KEY (credential, namespace, profile)
) WITHOUT ROWID;
CREATE INDEX granted_place ON granted (namespace, profile);
-- agent is who everything written with it counts as; reads is a JSON array of agents whose writing it may read beside
-- that agent's and what no agent wrote, NULL for everything.
ALTER TABLE credential ADD COLUMN agent TEXT;
ALTER TABLE credential ADD COLUMN reads TEXT;
