-- SQLite files have a witness of their log from this version on. A database checks its own log: only the number is kept.
SELECT 1;
