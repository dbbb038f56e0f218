-- Which items a query is confined to.

-- name: items_between_folders
SELECT i.id, i.key
FROM namespaces n
JOIN items i ON i.namespace_id = n.id AND i.live = 1 AND i.parent >= :first AND i.parent < :last
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high AND n.passages > 0
  AND (i.expires_at IS NULL OR i.expires_at > :now);

-- name: items_of_key
SELECT i.id, i.key
FROM namespaces n
JOIN items i ON i.namespace_id = n.id AND i.key = :key AND i.live = 1
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high AND n.passages > 0
  AND (i.expires_at IS NULL OR i.expires_at > :now);
