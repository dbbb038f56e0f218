-- Reads. `:now` hides what has expired but was not swept yet.

-- name: get_item
-- A subselect: SQLite takes three times as long to set up the join.
SELECT id, revision, kind, created_at, updated_at, ttl, meta, body
FROM items
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels) AND key = :key
  AND live = 1 AND (expires_at IS NULL OR expires_at > :now);

-- name: find_item
SELECT id, revision, created_at, kind, live, meta, body
FROM items
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels) AND key = :key
  AND (expires_at IS NULL OR expires_at > :now);

-- name: search_items
-- Namespace by namespace and, within each, in the order of ids, both as their indexes have them: nothing is sorted.
SELECT n.labels, i.id, i.key, i.revision, i.kind, i.created_at, i.updated_at, i.ttl, i.meta, i.body
FROM namespaces n
{join_items}
    i.id >= n.id * 4294967296 AND i.id < (n.id + 1) * 4294967296
    AND (n.labels > :after_labels OR i.id > :after_id)
    AND i.live = 1 AND (i.expires_at IS NULL OR i.expires_at > :now)
{end_of_join}
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high AND n.live > 0
ORDER BY n.labels, i.id
LIMIT :limit OFFSET :offset;

-- name: namespaces_from
SELECT labels
FROM namespaces n
WHERE tenant = :tenant AND labels >= :low AND labels < :high AND live > 0
  AND EXISTS (
      SELECT 1 FROM items i
      WHERE i.namespace_id = n.id AND i.live = 1 AND (i.expires_at IS NULL OR i.expires_at > :now)
  )
ORDER BY labels
LIMIT :limit;

-- name: files_of_folder
SELECT key, size, revision, kind, created_at, updated_at
FROM items
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels)
  AND parent = :folder AND key > :after
  AND live = 1 AND (expires_at IS NULL OR expires_at > :now)
ORDER BY key
LIMIT :limit;

-- name: folders_of_folder
-- A loose index scan: one step for each folder, however much lies inside. `:depth` is where its name begins.
WITH RECURSIVE scope(id) AS (
    SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels
), walk(parent) AS (
    SELECT min(i.parent)
    FROM items i
    WHERE i.namespace_id = (SELECT id FROM scope) AND i.live = 1 AND i.parent >= :start AND i.parent < :high
      AND (i.expires_at IS NULL OR i.expires_at > :now)
    UNION ALL
    SELECT (
        SELECT min(i.parent)
        FROM items i
        WHERE i.namespace_id = (SELECT id FROM scope) AND i.live = 1 AND i.parent < :high
          AND (i.expires_at IS NULL OR i.expires_at > :now)
          AND i.parent >= substr(
              walk.parent, 1,
              CAST(:depth AS integer) + {find_text}(substr(walk.parent, CAST(:depth AS integer)), '/') - 2
          ) || '0'
    )
    FROM walk
    WHERE walk.parent IS NOT NULL
)
SELECT parent FROM walk WHERE parent IS NOT NULL LIMIT :limit;

-- name: files_below
SELECT key, size, revision, kind, created_at, updated_at, parent
FROM items
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels)
  AND (parent, key) > (:after_parent, :after_key) AND parent < :high
  AND live = 1 AND (expires_at IS NULL OR expires_at > :now)
ORDER BY parent, key
LIMIT :limit;

-- name: bodies_containing
SELECT key, parent, kind, body
FROM items
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels)
  AND (parent, key) > (:after_parent, :after_key) AND parent < :high
  AND live = 1 AND (expires_at IS NULL OR expires_at > :now)
  AND kind <> 2 AND {find_bytes}(body, :needle) > 0
ORDER BY parent, key
LIMIT :limit;

-- name: body_containing
SELECT i.key, i.parent, i.kind, i.body
FROM items i
WHERE i.namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels)
  AND i.key = :key
  AND i.live = 1 AND (i.expires_at IS NULL OR i.expires_at > :now)
  AND i.kind <> 2 AND {find_bytes}(i.body, :needle) > 0;

-- name: revisions_of_item
SELECT revision, operation, at, actor, thread_id, run_id, tool_call_id, reason, origin, size, digest, position
FROM revisions
WHERE item_id = :item_id AND revision < :before
ORDER BY revision DESC
LIMIT :limit;

-- name: revision_at
SELECT max(revision) FROM revisions WHERE item_id = :item_id AND at <= :at;

-- name: life_of_revision
SELECT (SELECT max(born.at) FROM revisions born
        WHERE born.item_id = :item_id AND born.revision <= :revision AND born.previous_kind IS NULL), at,
       EXISTS (SELECT 1 FROM revisions later
               WHERE later.item_id = :item_id AND later.revision > :revision AND later.previous_kind IS NULL)
FROM revisions
WHERE item_id = :item_id AND revision = :revision;

-- name: deltas_below
SELECT revision, previous_kind, delta_kind, delta
FROM revisions
WHERE item_id = :item_id AND revision <= :revision
ORDER BY revision DESC;

-- name: changes_after
SELECT r.feed, r.namespace_id, r.position, n.labels, i.key, r.revision, r.operation, r.at, r.actor, r.thread_id,
       r.run_id, r.tool_call_id, r.reason, r.origin, r.size, r.digest
FROM revisions r
JOIN items i ON i.id = r.item_id
JOIN namespaces n ON n.id = r.namespace_id
WHERE (r.feed, r.namespace_id, r.position) > (:feed, :namespace_id, :position)
  AND r.feed < {feed_horizon}
  AND n.tenant = :tenant
  AND (i.expires_at IS NULL OR i.expires_at > :now)
ORDER BY r.feed, r.namespace_id, r.position
LIMIT :limit;

-- name: changes_in_namespace
SELECT r.feed, r.namespace_id, r.position, n.labels, i.key, r.revision, r.operation, r.at, r.actor, r.thread_id,
       r.run_id, r.tool_call_id, r.reason, r.origin, r.size, r.digest
FROM namespaces n
JOIN revisions r ON r.namespace_id = n.id
JOIN items i ON i.id = r.item_id
WHERE n.tenant = :tenant AND n.labels = :labels AND r.position > :position
  AND (i.expires_at IS NULL OR i.expires_at > :now)
ORDER BY r.position
LIMIT :limit;

-- name: namespace_heads
SELECT id, labels, position, items, live, digest
FROM namespaces
WHERE tenant = :tenant AND labels >= :low AND labels < :high AND labels > :after
ORDER BY labels
LIMIT :limit;

-- name: namespace_head
SELECT id, position, live, digest FROM namespaces WHERE tenant = :tenant AND labels = :labels;

-- name: items_of_namespace
SELECT id, key, parent, revision, kind, live, size, created_at, updated_at, digest, meta, body
FROM items
WHERE namespace_id = :namespace_id AND id > :after
ORDER BY id
LIMIT :limit;

-- name: full_revisions
SELECT revision, position, operation, at, actor, thread_id, run_id, tool_call_id, reason, origin, size,
       salt, content_digest, digest, previous_kind, previous_meta, delta_kind, delta
FROM revisions
WHERE item_id = :item_id
ORDER BY revision;

-- name: totals
SELECT coalesce(sum(CASE WHEN EXISTS (SELECT 1 FROM items i WHERE i.namespace_id = n.id) THEN 1 ELSE 0 END), 0),
       coalesce(sum(n.live), 0), coalesce(sum(n.position), 0)
FROM namespaces n
WHERE n.tenant = :tenant;
