-- What memories mention and tie: read off their text, so that it can be thrown away and read again. live is false
-- while the memory is superseded. In a sealed profile name, subject and object are keyed hashes.
CREATE TABLE mention (
  profile bigint NOT NULL,
  memory  bigint NOT NULL,
  name    text NOT NULL COLLATE "C",
  shown   text NOT NULL,
  type    text NOT NULL,
  live    boolean NOT NULL,
  PRIMARY KEY (profile, name, memory)
) PARTITION BY HASH (profile);
CREATE INDEX mention_live ON mention (profile, name, memory) WHERE live;
CREATE INDEX mention_memory ON mention (profile, memory);

CREATE TABLE tie (
  profile  bigint NOT NULL,
  memory   bigint NOT NULL,
  place    integer NOT NULL,
  subject  text NOT NULL COLLATE "C",
  relation text NOT NULL COLLATE "C",
  object   text NOT NULL COLLATE "C",
  since    bigint,
  until    bigint,
  live     boolean NOT NULL,
  PRIMARY KEY (profile, memory, place)
) PARTITION BY HASH (profile);
CREATE INDEX tie_subject ON tie (profile, subject, memory);
CREATE INDEX tie_object ON tie (profile, object, memory);
CREATE INDEX tie_alias ON tie (profile, memory) WHERE relation = 'same-as';

-- Up to which memory the reader of this version has read.
CREATE TABLE memory_read (
  profile bigint NOT NULL,
  version integer NOT NULL,
  upto    bigint NOT NULL,
  PRIMARY KEY (profile)
) PARTITION BY HASH (profile);

-- What somebody decided about entities, in order; data is JSON.
CREATE TABLE entity_change (
  profile bigint NOT NULL,
  n       bigint NOT NULL DEFAULT nextval('item_number'),
  id      text NOT NULL COLLATE "C",
  data    text NOT NULL,
  PRIMARY KEY (profile, id)
) PARTITION BY HASH (profile);
