"""The statements that read a cache, all of them in one snapshot with the change sequence.

No statement looks up the rows of a list one by one: in a young table, which has no statistics yet, the planner may
choose an index by something else for a lookup, and read the whole profile each time.
"""

from __future__ import annotations

from holdfast.storage.postgres import rows

SEQUENCE = "SELECT changes, rewrites, parts FROM profile WHERE id = %(p)s"
PARTS = """
SELECT n, item, number, length, live, memory, asks, embed, tokens,
       CASE WHEN model = %(model)s THEN data END
  FROM part WHERE profile = %(p)s AND n > %(last)s ORDER BY n LIMIT %(limit)s
"""
ABOUT_COLUMNS = 8
"""How many columns ALL_MESSAGES and ALL_MEMORIES have between the number of an item and its row."""
_ABOUT_MESSAGE = "n, id, session, position, role, speaker, coalesce(said_at, created_at), NULL::bigint, NULL::text"
_ABOUT_MEMORY = "n, id, session, -1, NULL::text, NULL::text, coalesce(occurred_at, created_at), expires_at, key"
ALL_MESSAGES = f"SELECT {_ABOUT_MESSAGE}, {rows.MESSAGE}, {rows.STATE} FROM message WHERE profile = %(p)s"
ALL_MEMORIES = f"SELECT {_ABOUT_MEMORY}, {rows.MEMORY}, {rows.SOURCES} FROM memory WHERE profile = %(p)s"
_OF_NEW_PARTS = (
    "n = ANY(ARRAY(SELECT item FROM part WHERE profile = %(p)s AND n > %(last)s ORDER BY part.n LIMIT %(limit)s))"
)
ITEMS_OF_NEW_PARTS = f"""
SELECT {_ABOUT_MESSAGE} FROM message WHERE profile = %(p)s AND {_OF_NEW_PARTS}
UNION ALL SELECT {_ABOUT_MEMORY} FROM memory WHERE profile = %(p)s AND {_OF_NEW_PARTS}
"""
VECTORS = """
SELECT n, data FROM part WHERE profile = %(p)s AND n = ANY(%(parts)s::bigint[]) AND model = %(model)s ORDER BY n
"""
ENDED_PARTS = "SELECT n FROM part WHERE profile = %(p)s AND n = ANY(%(memories)s::bigint[]) AND NOT live"
ALL_ENDED_PARTS = """
SELECT n FROM part WHERE profile = %(p)s AND NOT live
   AND item = ANY(ARRAY(SELECT n FROM memory WHERE profile = %(p)s AND superseded_by IS NOT NULL))
"""
"""For a large profile: few of its memories are superseded."""
POSTINGS = """
SELECT word, (SELECT string_agg(int8send(part) || int4send(times), '') FROM posting
               WHERE profile = %(p)s AND posting.word = asked.word)
  FROM unnest(%(words)s::text[]) AS asked (word)
"""
FREQUENCIES = """
SELECT word, (SELECT count(*) FROM posting WHERE profile = %(p)s AND posting.word = asked.word)
  FROM unnest(%(words)s::text[]) AS asked (word)
"""
NEW_POSTINGS = """
SELECT word, part, times FROM posting WHERE profile = %(p)s AND part > %(last)s ORDER BY part
"""
"""All words: planning a condition on those that a cache knows takes longer than reading the others."""
