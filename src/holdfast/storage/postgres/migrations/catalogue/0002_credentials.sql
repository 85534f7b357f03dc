-- Tokens are never kept, only their SHA-256. A scope of NULL is everywhere. rights is a JSON array.
CREATE TABLE credential (
  id         text PRIMARY KEY,
  digest     bytea NOT NULL,
  kind       text NOT NULL,
  name       text NOT NULL,
  rights     text NOT NULL,
  namespace  text,
  profile    text,
  created_at bigint NOT NULL,
  expires_at bigint,
  revoked_at bigint,
  used_at    bigint
);
