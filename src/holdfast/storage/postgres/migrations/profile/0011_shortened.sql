-- Messages that lost the words of a forgotten memory, and the answers of the requests that forgot it.
ALTER TABLE message ADD COLUMN shortened boolean NOT NULL DEFAULT false;
ALTER TABLE once ADD COLUMN shortened text NOT NULL DEFAULT '[]';
