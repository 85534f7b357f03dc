-- Administrative acts: who (a credential's id, NULL for the process itself) did what to which thing.
CREATE TABLE act (
  n          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at         bigint NOT NULL,
  credential text,
  what       text NOT NULL,
  thing      text NOT NULL
);
