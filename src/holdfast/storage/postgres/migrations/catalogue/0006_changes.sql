-- The change sequence of a profile, for the caches of processes. Triggers advance it, so that no writer can forget to.
-- changes counts the statements that changed its messages, memories, parts or words; rewrites counts those that did more
-- to what was there than to give it a vector or to supersede it; last_part is the highest number that a part ever had.
ALTER TABLE profile ADD COLUMN changes bigint NOT NULL DEFAULT 0;
ALTER TABLE profile ADD COLUMN rewrites bigint NOT NULL DEFAULT 0;
ALTER TABLE profile ADD COLUMN last_part bigint NOT NULL DEFAULT 0;
