CREATE TABLE namespace (
  id         text PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
);

-- parts and words count what its index holds; its row is locked by whoever writes to the profile, so that changes, and
-- the events that tell of them, are in one order.
CREATE TABLE profile (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace    text NOT NULL REFERENCES namespace (id),
  name         text NOT NULL,
  created_at   bigint NOT NULL,
  rested_under text,
  parts        bigint NOT NULL DEFAULT 0,
  words        bigint NOT NULL DEFAULT 0,
  UNIQUE (namespace, name)
);
