-- No version number is given twice, also after a version was removed.
ALTER TABLE memory ADD COLUMN last_version integer NOT NULL DEFAULT 0;
