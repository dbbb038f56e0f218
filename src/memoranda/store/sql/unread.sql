-- Which scopes have turns that a consumer has not read (see store/operations/unread.py). A page of scopes is taken first
-- and looked through then, the cursor of each looked up by itself, so that a page costs what it holds however many scopes
-- there are. Turns that are counted may be forgotten by now.

-- name: unread_scopes
SELECT n.labels, n.position, n.turns, n.turned_at
FROM (
    SELECT p.*, COALESCE((
        SELECT c.position FROM cursors c
        WHERE c.tenant = :tenant AND c.labels = p.labels AND c.consumer = :consumer
    ), 0) AS position
    FROM (
        SELECT s.id, s.labels, s.turns, s.turned_at
        FROM namespaces s
        WHERE s.tenant = :tenant AND s.labels >= :low AND s.labels < :high AND s.labels > :after
          AND s.turned_at IS NOT NULL
        ORDER BY s.labels
        LIMIT :page
    ) p
) n
WHERE n.turns > n.position
  AND (
      SELECT t.id FROM turns t
      WHERE t.id > n.id * 4294967296 + n.position AND t.id < (n.id + 1) * 4294967296
      LIMIT 1
  ) IS NOT NULL
ORDER BY n.labels;

-- name: end_of_scopes
-- The last scope of that page, if there may be more.
SELECT s.labels
FROM namespaces s
WHERE s.tenant = :tenant AND s.labels >= :low AND s.labels < :high AND s.labels > :after AND s.turned_at IS NOT NULL
ORDER BY s.labels
LIMIT 1 OFFSET :page - 1;

-- name: unread_scopes_since
-- The same in the order in which they were last talked in, without those that have a job of this origin. Each is looked
-- up by itself: PostgreSQL would make a join of NOT EXISTS, each scope with all the jobs of its queue where the statistics
-- do not know of these yet.
SELECT n.labels, n.position, n.turns, n.turned_at
FROM (
    SELECT p.*, COALESCE((
        SELECT c.position FROM cursors c
        WHERE c.tenant = :tenant AND c.labels = p.labels AND c.consumer = :consumer
    ), 0) AS position
    FROM (
        SELECT s.id, s.labels, s.turns, s.turned_at
        FROM namespaces s
        WHERE s.tenant = :tenant AND s.turned_at >= :since AND s.turned_at <= :until
          AND (s.turned_at > :since OR s.labels > :after) AND s.labels >= :low AND s.labels < :high
        ORDER BY s.turned_at, s.labels
        LIMIT :page
    ) p
) n
WHERE n.turns > n.position
  AND (
      SELECT t.id FROM turns t
      WHERE t.id > n.id * 4294967296 + n.position AND t.id < (n.id + 1) * 4294967296
      LIMIT 1
  ) IS NOT NULL
  AND (
      SELECT j.number FROM jobs j
      WHERE j.tenant = :tenant AND j.queue = :consumer AND j.labels = n.labels
        AND j.origin = :origin || CASE WHEN CAST(:timed AS integer) = 1 THEN CAST(n.turned_at AS {text_type}) ELSE '' END
      LIMIT 1
  ) IS NULL
ORDER BY n.turned_at, n.labels;

-- name: end_of_scopes_since
SELECT s.turned_at, s.labels
FROM namespaces s
WHERE s.tenant = :tenant AND s.turned_at >= :since AND s.turned_at <= :until
  AND (s.turned_at > :since OR s.labels > :after) AND s.labels >= :low AND s.labels < :high
ORDER BY s.turned_at, s.labels
LIMIT 1 OFFSET :page - 1;
