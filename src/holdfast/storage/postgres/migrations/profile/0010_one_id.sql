-- A memory keeps one id through all its versions. Until now each row had an id of its own: that becomes its `origin`, and
-- `id` that of the newest row of its chain. `ref` names one version, as `superseded_by` does from now on.
ALTER TABLE memory RENAME COLUMN id TO origin;
ALTER TABLE memory ADD COLUMN id text COLLATE "C" NOT NULL DEFAULT '';

-- The owner reads and writes every profile's rows here, one profile after the other; at the end nobody does.
ALTER TABLE memory NO FORCE ROW LEVEL SECURITY;
ALTER TABLE edit NO FORCE ROW LEVEL SECURITY;
DO $$
DECLARE
  p bigint;
BEGIN
  FOR p IN SELECT profile.id FROM profile LOOP
    -- Of the rows that a row superseded, the one whose next version it is: one with its key, or one that somebody
    -- revised, merged or split; where there are several, the one with the longest history.
    WITH RECURSIVE ranked AS (
      SELECT old.n AS old, new.n AS new, row_number() OVER (
               PARTITION BY new.n
               ORDER BY old.version DESC, (old.kind = new.kind AND old.key IS NOT DISTINCT FROM new.key) DESC, old.n
             ) AS place
        FROM memory AS old JOIN memory AS new ON new.profile = p AND new.origin = old.superseded_by
       WHERE old.profile = p AND ((old.kind = new.kind AND old.key = new.key) OR new.extractor = 'user/1'
             OR new.extractor LIKE 'user/1:%')
    ), step AS (
      SELECT old, new FROM ranked WHERE place = 1
    ), chain (n, first, version) AS (
      SELECT n, n, version FROM memory
       WHERE profile = p AND NOT EXISTS (SELECT 1 FROM step WHERE step.new = memory.n)
      UNION ALL
      SELECT memory.n, chain.first, greatest(memory.version, chain.version + 1)
        FROM chain JOIN step ON step.old = chain.n JOIN memory ON memory.profile = p AND memory.n = step.new
    ), newest AS (
      SELECT DISTINCT ON (chain.first) chain.first, memory.origin
        FROM chain JOIN memory ON memory.profile = p AND memory.n = chain.n
       ORDER BY chain.first, chain.version DESC
    )
    UPDATE memory SET version = chain.version, id = newest.origin
      FROM chain JOIN newest ON newest.first = chain.first
     WHERE memory.profile = p AND memory.n = chain.n;
    UPDATE memory SET id = origin WHERE profile = p AND id = '';
    UPDATE memory SET superseded_by = next.id || '@' || next.version::text
      FROM memory AS next
     WHERE memory.profile = p AND next.profile = p AND next.origin = memory.superseded_by;
    UPDATE edit SET data = jsonb_build_array(
      (SELECT coalesce(jsonb_agg(
                jsonb_build_array(coalesce(memory.id || '@' || memory.version::text, each.named ->> 0), each.named -> 1)
                ORDER BY each.place), '[]')
         FROM jsonb_array_elements(edit.data::jsonb -> 0) WITH ORDINALITY AS each (named, place)
         LEFT JOIN memory ON memory.profile = p AND memory.origin = each.named ->> 0),
      (SELECT coalesce(jsonb_agg(
                jsonb_build_array(coalesce(memory.id || '@' || memory.version::text, each.named ->> 0), each.named -> 1, each.named -> 2)
                ORDER BY each.place), '[]')
         FROM jsonb_array_elements(edit.data::jsonb -> 1) WITH ORDINALITY AS each (named, place)
         LEFT JOIN memory ON memory.profile = p AND memory.origin = each.named ->> 0)
    )::text WHERE profile = p;
  END LOOP;
END $$;
ALTER TABLE memory FORCE ROW LEVEL SECURITY;
ALTER TABLE edit FORCE ROW LEVEL SECURITY;

ALTER TABLE memory ADD COLUMN ref text COLLATE "C" GENERATED ALWAYS AS (id || '@' || version::text) STORED;
CREATE UNIQUE INDEX memory_ref ON memory (profile, ref);
-- One current version of a memory, whatever the concurrency.
CREATE UNIQUE INDEX memory_current ON memory (profile, id) WHERE superseded_by IS NULL;
