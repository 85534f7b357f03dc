-- No version number is given twice, also after a version was removed.
ALTER TABLE memory ADD COLUMN last_version INTEGER NOT NULL DEFAULT 0;
