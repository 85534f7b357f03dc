CREATE SEQUENCE event_number;

-- The change sequence. Numbers are never used twice, so that a listener can say where it was.
CREATE TABLE event (
  profile bigint NOT NULL,
  n       bigint NOT NULL DEFAULT nextval('event_number'),
  at      bigint NOT NULL,
  type    text NOT NULL,
  data    text NOT NULL,
  PRIMARY KEY (profile, n)
) PARTITION BY HASH (profile);

-- Requests that their senders may repeat, with what the first one did.
CREATE TABLE once (
  profile  bigint NOT NULL,
  key      text NOT NULL COLLATE "C",
  at       bigint NOT NULL,
  request  text NOT NULL,
  answer   text,
  new      text NOT NULL,
  memories text NOT NULL,
  messages text NOT NULL,
  PRIMARY KEY (profile, key)
) PARTITION BY HASH (profile);

CREATE TABLE job (
  profile    bigint NOT NULL,
  n          bigint NOT NULL DEFAULT nextval('event_number'),
  id         text NOT NULL COLLATE "C",
  kind       text NOT NULL,
  created_at bigint NOT NULL,
  messages   text NOT NULL,
  PRIMARY KEY (profile, id)
) PARTITION BY HASH (profile);

-- details is JSON, compressed with zlib.
CREATE TABLE trace (
  profile    bigint NOT NULL,
  n          bigint NOT NULL DEFAULT nextval('event_number'),
  id         text NOT NULL COLLATE "C",
  at         bigint NOT NULL,
  operation  text NOT NULL,
  credential text,
  agent      text,
  session    text COLLATE "C",
  turn       text COLLATE "C",
  took       bigint NOT NULL,
  details    bytea NOT NULL,
  PRIMARY KEY (profile, n),
  UNIQUE (profile, id)
) PARTITION BY HASH (profile);
CREATE INDEX trace_turn ON trace (profile, session, turn);
