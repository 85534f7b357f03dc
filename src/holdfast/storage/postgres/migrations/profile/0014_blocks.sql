-- SQLite files have blocks of vectors from this version on. A database compares vectors itself: only the number is kept.
SELECT 1;
