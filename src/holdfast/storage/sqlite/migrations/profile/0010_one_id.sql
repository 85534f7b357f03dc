-- A memory keeps one id through all its versions. Until now each row had an id of its own: that becomes its `origin`, and
-- `id` that of the newest row of its chain. `ref` names one version, as `superseded_by` does from now on.
ALTER TABLE memory RENAME COLUMN id TO origin;
ALTER TABLE memory ADD COLUMN id TEXT NOT NULL DEFAULT '';

-- Of the rows that a row superseded, the one whose next version it is: one with its key, or one that somebody revised,
-- merged or split; where there are several, the one with the longest history.
CREATE TABLE version_step AS
SELECT old, new FROM (
  SELECT old.n AS old, new.n AS new, row_number() OVER (
           PARTITION BY new.n ORDER BY old.version DESC, old.kind = new.kind AND old.key IS new.key DESC, old.n
         ) AS place
    FROM memory AS old JOIN memory AS new ON new.origin = old.superseded_by
   WHERE (old.kind = new.kind AND old.key = new.key) OR new.extractor = 'user/1' OR new.extractor LIKE 'user/1:%'
) WHERE place = 1;
CREATE UNIQUE INDEX version_step_old ON version_step (old);
CREATE UNIQUE INDEX version_step_new ON version_step (new);

CREATE TABLE version_chain AS
WITH RECURSIVE chain (n, first, version) AS (
  SELECT n, n, version FROM memory WHERE n NOT IN (SELECT new FROM version_step)
  UNION ALL
  SELECT memory.n, chain.first, max(memory.version, chain.version + 1)
    FROM chain JOIN version_step ON version_step.old = chain.n JOIN memory ON memory.n = version_step.new
)
SELECT n, first, version FROM chain;
CREATE UNIQUE INDEX version_chain_n ON version_chain (n);
CREATE INDEX version_chain_first ON version_chain (first, version);

UPDATE memory SET version = chain.version, id = (
         SELECT newest.origin FROM version_chain AS last JOIN memory AS newest ON newest.n = last.n
          WHERE last.first = chain.first ORDER BY last.version DESC LIMIT 1
       )
  FROM version_chain AS chain WHERE chain.n = memory.n;
UPDATE memory SET id = origin WHERE id = '';
UPDATE memory SET superseded_by = coalesce(
         (SELECT next.id || '@' || next.version FROM memory AS next WHERE next.origin = memory.superseded_by),
         superseded_by
       ) WHERE superseded_by IS NOT NULL;
DROP TABLE version_step;
DROP TABLE version_chain;

ALTER TABLE memory ADD COLUMN ref TEXT GENERATED ALWAYS AS (id || '@' || version) VIRTUAL;
CREATE UNIQUE INDEX memory_ref ON memory (ref);
-- One current version of a memory, whatever the concurrency.
CREATE UNIQUE INDEX memory_current ON memory (id) WHERE superseded_by IS NULL;

-- Edits name versions.
UPDATE edit SET data = json_array(
  json((SELECT json_group_array(json_array(coalesce(ref, each.id), each.count)) FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS count
      FROM json_each(edit.data, '$[0]') ORDER BY key
  ) AS each LEFT JOIN memory ON memory.origin = each.id)),
  json((SELECT json_group_array(json_array(coalesce(ref, each.id), each.marks, each.at)) FROM (
    SELECT json_extract(value, '$[0]') AS id, json_extract(value, '$[1]') AS marks, json_extract(value, '$[2]') AS at
      FROM json_each(edit.data, '$[1]') ORDER BY key
  ) AS each LEFT JOIN memory ON memory.origin = each.id))
);
