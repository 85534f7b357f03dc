-- What somebody thinks of a memory: how often it was marked right, less how often wrong, and when it was looked at.
ALTER TABLE memory ADD COLUMN marks integer NOT NULL DEFAULT 0;
ALTER TABLE memory ADD COLUMN reviewed_at bigint;

-- What can be taken back: the ids of what a change wrote and marked.
CREATE TABLE edit (
  profile bigint NOT NULL,
  n       bigint NOT NULL DEFAULT nextval('event_number'),
  id      text NOT NULL COLLATE "C",
  at      bigint NOT NULL,
  verb    text NOT NULL,
  gone    boolean NOT NULL,
  data    text NOT NULL,
  PRIMARY KEY (profile, id)
) PARTITION BY HASH (profile);
