-- Messages that lost the words of a forgotten memory, and the answers of the requests that forgot it.
ALTER TABLE message ADD COLUMN shortened INTEGER NOT NULL DEFAULT 0;
ALTER TABLE once ADD COLUMN shortened TEXT NOT NULL DEFAULT '[]';
