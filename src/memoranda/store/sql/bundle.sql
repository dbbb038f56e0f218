-- Whole items, history and all, on their way out of a store or into one (see store/operations/bundle.py).

-- name: count_items
SELECT count(*)
FROM namespaces n
JOIN items i ON i.namespace_id = n.id
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
  AND (i.live = 1 OR CAST(:deleted AS integer) = 1) AND (i.expires_at IS NULL OR i.expires_at > :now);

-- name: weigh_items
SELECT i.id, i.live, i.expires_at,
       i.size + coalesce((SELECT sum(length(r.delta)) FROM revisions r WHERE r.item_id = i.id), 0)
FROM items i
WHERE i.namespace_id = :namespace_id AND i.id > :after
ORDER BY i.id
LIMIT :limit;

-- name: whole_item
SELECT key, kind, live, created_at, updated_at, expires_at, ttl, meta, body
FROM items
WHERE id = :id;

-- name: item_presence
SELECT i.live, i.updated_at, i.revision, head.salt, head.content_digest, past.digest, past.position
FROM namespaces n
JOIN items i ON i.namespace_id = n.id
JOIN revisions head ON head.item_id = i.id AND head.revision = i.revision
LEFT JOIN revisions past ON past.item_id = i.id AND past.revision = :revision
WHERE n.tenant = :tenant AND n.labels = :labels AND i.key = :key
  AND (i.expires_at IS NULL OR i.expires_at > :now);

-- name: position_taken
SELECT position FROM revisions WHERE namespace_id = :namespace_id AND position = :position;
