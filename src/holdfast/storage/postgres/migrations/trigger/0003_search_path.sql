-- A plan that a function keeps is made again after the search path has changed, which it does with each profile of
-- another partition. With a search path of its own, a function keeps its plans.
ALTER FUNCTION advance_changes(bigint, boolean) SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION note_added_parts() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION note_added() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION note_deleted() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION note_updated_parts() SET search_path = pg_catalog, pg_temp;
ALTER FUNCTION note_updated() SET search_path = pg_catalog, pg_temp;
