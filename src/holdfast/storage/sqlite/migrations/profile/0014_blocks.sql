-- Waking a profile reads these columns of every part, and not the texts beside them.
CREATE INDEX part_scan ON part (n, length, live, item);

-- The vectors of 512 adjoining parts in 8-bit steps, read off `vector`, so that it can be thrown away and read again: a
-- large profile reads them instead. A block goes with any of its vectors: what is forgotten is in no block.
CREATE TABLE vector_block (
  n     INTEGER PRIMARY KEY,
  model TEXT NOT NULL,
  data  BLOB NOT NULL
);
CREATE TRIGGER vector_added AFTER INSERT ON vector BEGIN DELETE FROM vector_block WHERE n = NEW.part / 512; END;
CREATE TRIGGER vector_changed AFTER UPDATE ON vector BEGIN
  DELETE FROM vector_block WHERE n IN (OLD.part / 512, NEW.part / 512);
END;
CREATE TRIGGER vector_deleted AFTER DELETE ON vector BEGIN DELETE FROM vector_block WHERE n = OLD.part / 512; END;
