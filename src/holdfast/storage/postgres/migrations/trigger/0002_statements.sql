-- online
-- Citus runs no triggers on distributed tables, so no profile is cached there.
SELECT public.watch_changes('{schema}.message') WHERE '{schema}' <> 'public';
SELECT public.watch_changes('{schema}.memory') WHERE '{schema}' <> 'public';
SELECT public.watch_changes('{schema}.source') WHERE '{schema}' <> 'public';
SELECT public.watch_changes('{schema}.part') WHERE '{schema}' <> 'public';
SELECT public.watch_changes('{schema}.posting') WHERE '{schema}' <> 'public';
SELECT public.watch_changes(inhparent) FROM pg_inherits WHERE inhparent = 'public.message'::regclass LIMIT 1;
SELECT public.watch_changes(inhparent) FROM pg_inherits WHERE inhparent = 'public.memory'::regclass LIMIT 1;
SELECT public.watch_changes(inhparent) FROM pg_inherits WHERE inhparent = 'public.source'::regclass LIMIT 1;
SELECT public.watch_changes(inhparent) FROM pg_inherits WHERE inhparent = 'public.part'::regclass LIMIT 1;
SELECT public.watch_changes(inhparent) FROM pg_inherits WHERE inhparent = 'public.posting'::regclass LIMIT 1;
