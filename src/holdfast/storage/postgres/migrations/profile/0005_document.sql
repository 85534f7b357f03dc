-- Documents that were read into messages: data is JSON, session the messages' own. lent is until when somebody reads it,
-- and holder which process that is.
CREATE TABLE document (
  profile    bigint NOT NULL,
  id         text NOT NULL COLLATE "C",
  session    text NOT NULL COLLATE "C",
  state      text NOT NULL,
  wait_until bigint NOT NULL DEFAULT 0,
  lent       bigint NOT NULL DEFAULT 0,
  holder     text NOT NULL DEFAULT '',
  created_at bigint NOT NULL,
  data       text NOT NULL,
  PRIMARY KEY (profile, id)
) PARTITION BY HASH (profile);
CREATE INDEX document_session ON document (profile, session);

-- What was given, byte for byte, in pieces.
CREATE TABLE original (
  profile  bigint NOT NULL,
  document text NOT NULL COLLATE "C",
  number   integer NOT NULL,
  data     bytea NOT NULL,
  PRIMARY KEY (profile, document, number)
) PARTITION BY HASH (profile);
