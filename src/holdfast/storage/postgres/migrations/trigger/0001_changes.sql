-- Functions that advance the change sequence of a profile (catalogue/0006) after each statement. They lock the profile's
-- row until the end of the transaction, so that changes are committed in the order of their numbers.

-- After a rewrite, processes are told at once to drop what they hold of the profile, also if nobody asks them again.
CREATE FUNCTION advance_changes(changed bigint, rewritten boolean) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE public.profile SET changes = changes + 1, rewrites = rewrites + rewritten::integer WHERE id = changed;
  IF rewritten THEN
    PERFORM pg_notify('holdfast', 'rewritten ' || changed);
  END IF;
END $$;

-- A cache reads the parts that come after those it has. One with a lower number was numbered before another transaction
-- added its own, or takes the place of a deleted one: it counts as a rewrite.
CREATE FUNCTION note_added_parts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  added record;
  before bigint;
BEGIN
  FOR added IN SELECT profile, min(n) AS first, max(n) AS last FROM new_rows GROUP BY profile LOOP
    SELECT last_part INTO before FROM public.profile WHERE id = added.profile FOR UPDATE;
    PERFORM public.advance_changes(added.profile, added.first <= before);
    UPDATE public.profile SET last_part = greatest(before, added.last) WHERE id = added.profile;
  END LOOP;
  RETURN NULL;
END $$;

CREATE FUNCTION note_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.advance_changes(profile, false) FROM (SELECT DISTINCT profile FROM new_rows) AS added;
  RETURN NULL;
END $$;

CREATE FUNCTION note_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM public.advance_changes(profile, true) FROM (SELECT DISTINCT profile FROM old_rows) AS deleted;
  RETURN NULL;
END $$;

CREATE FUNCTION note_updated_parts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  rewritten boolean := EXISTS (
    SELECT profile, n, item, memory, number, length, asks, tokens FROM old_rows
    EXCEPT SELECT profile, n, item, memory, number, length, asks, tokens FROM new_rows
  ) OR EXISTS (
    SELECT profile, n, model, data FROM old_rows WHERE data IS NOT NULL
    EXCEPT SELECT profile, n, model, data FROM new_rows
  ) OR EXISTS (
    SELECT profile, n FROM old_rows WHERE NOT live EXCEPT SELECT profile, n FROM new_rows WHERE NOT live
  );
BEGIN
  PERFORM public.advance_changes(profile, rewritten)
     FROM (SELECT profile FROM old_rows UNION SELECT profile FROM new_rows) AS updated;
  RETURN NULL;
END $$;

-- The first argument names columns that no cache has: leases, which are taken without the lock of the profile. The second
-- one names those whose change rewrites nothing.
CREATE FUNCTION note_updated() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  ignored text[] := TG_ARGV[0]::text[];
  rewritten boolean;
BEGIN
  IF EXISTS (
    SELECT to_jsonb(old_rows) - ignored FROM old_rows EXCEPT SELECT to_jsonb(new_rows) - ignored FROM new_rows
  ) THEN
    ignored := ignored || TG_ARGV[1]::text[];
    rewritten := EXISTS (
      SELECT to_jsonb(old_rows) - ignored FROM old_rows EXCEPT SELECT to_jsonb(new_rows) - ignored FROM new_rows
    );
    PERFORM public.advance_changes(profile, rewritten)
       FROM (SELECT profile FROM old_rows UNION SELECT profile FROM new_rows) AS updated;
  END IF;
  RETURN NULL;
END $$;

-- Creates the triggers of one table or partition; a statement fires those of the table that it names. It gives up if it
-- does not get the lock at once, because writers would queue behind it.
CREATE FUNCTION watch_changes(place regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  kind text := (SELECT relname FROM pg_class WHERE oid = place);
  added text := CASE kind WHEN 'part' THEN 'note_added_parts()' ELSE 'note_added()' END;
  updated text := CASE kind
    WHEN 'part' THEN 'note_updated_parts()'
    WHEN 'message' THEN 'note_updated(''{wait_until,holder,failure}'', ''{state,failures}'')'
    WHEN 'memory' THEN 'note_updated(''{}'', ''{superseded_by,marks,reviewed_at,last_version}'')'
    ELSE 'note_updated(''{}'', ''{}'')'
  END;
BEGIN
  PERFORM set_config('lock_timeout', '2s', true);
  EXECUTE format('CREATE OR REPLACE TRIGGER note_added AFTER INSERT ON %s '
                 'REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION public.%s', place, added);
  EXECUTE format('CREATE OR REPLACE TRIGGER note_updated AFTER UPDATE ON %s '
                 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows '
                 'FOR EACH STATEMENT EXECUTE FUNCTION public.%s', place, updated);
  EXECUTE format('CREATE OR REPLACE TRIGGER note_deleted AFTER DELETE ON %s '
                 'REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION public.note_deleted()', place);
END $$;
