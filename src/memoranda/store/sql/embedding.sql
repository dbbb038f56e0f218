-- The embedders' indexes: who they are, what waits for them, and how they are filled, served and dropped.

-- name: open_index_settings
-- The row that those wait for each other on who register or drop an index.
INSERT INTO index_settings (tenant, name, value)
VALUES (:tenant, 'indexes', '')
ON CONFLICT (tenant, name) DO NOTHING;

-- name: lock_index_settings
SELECT value FROM index_settings WHERE tenant = :tenant AND name = 'indexes' {for_update};

-- name: indexes_of_tenant
SELECT id, name, dims, probe, similarity_floor, state, progress, lease_until
FROM indexes
WHERE tenant = :tenant
ORDER BY id;

-- name: insert_index
INSERT INTO indexes (tenant, name, dims, probe, similarity_floor, state, progress, created_at, lease, lease_until)
VALUES (:tenant, :name, :dims, :probe, :similarity_floor, 'building', '', :now, NULL, :lease_until)
RETURNING id;

-- name: index_is_there
SELECT state FROM indexes WHERE id = :id;

-- name: attend_index
UPDATE indexes SET lease_until = :lease_until WHERE id = :id;

-- name: advance_index
-- Not by the name of a namespace that was forgotten since.
UPDATE indexes
SET progress = :progress
WHERE id = :id AND tenant = :tenant AND state = 'building'
  AND EXISTS (SELECT 1 FROM namespaces n WHERE n.id = :namespace_id AND n.tenant = :tenant AND n.labels = :progress);

-- name: serve_index
UPDATE indexes SET state = 'serving' WHERE id = :id;

-- name: delete_index
DELETE FROM indexes WHERE id = :id;

-- name: ownerless_blocks
SELECT id FROM blocks WHERE part >= 2 AND index_id NOT IN (SELECT x.id FROM indexes x) LIMIT :limit;

-- name: namespaces_to_fill
SELECT id, labels, passages
FROM namespaces
WHERE tenant = :tenant AND labels > :after AND passages > 0
ORDER BY labels
LIMIT :limit;

-- name: blocks_to_fill
SELECT part, id, stamp
FROM blocks
WHERE scope = :scope AND part < 3 AND index_id IN (0, :index_id)
ORDER BY part, id;

-- name: give_out_passage
-- A number that is lost on purpose: a writer that has read the namespace without a lock, and does not know of a new
-- index yet, begins again.
UPDATE namespaces SET passages = passages + 1 WHERE id = :id RETURNING passages;

-- name: waiting_of_scope
SELECT id, body FROM blocks WHERE scope = :scope AND part = 3 AND index_id = :index_id;

-- name: waiting_blocks
SELECT id, scope, count FROM blocks WHERE index_id = :index_id AND part = 3 ORDER BY id LIMIT :limit;

-- name: waiting_body
SELECT scope, body FROM blocks WHERE id = :id AND part = 3;

-- name: take_waiting
DELETE FROM blocks WHERE id = :id AND part = 3 RETURNING id;

-- name: passages_of_item
SELECT passages FROM items WHERE id = :id AND live = 1;

-- name: passages_of_turn
SELECT passages FROM turns WHERE id = :id;

-- name: index_counts
SELECT b.part, b.index_id, CAST(sum(b.count) AS {bigint})
FROM namespaces n
JOIN blocks b ON b.scope >= n.id * 2 AND b.scope <= n.id * 2 + 1
WHERE n.tenant = :tenant
GROUP BY b.part, b.index_id;

-- name: items_not_indexed
SELECT count(*)
FROM namespaces n
JOIN items i ON i.namespace_id = n.id AND i.live = 1 AND i.passages IS NULL
WHERE n.tenant = :tenant;

-- name: turn_to_embed
SELECT t.role, t.speaker, t.at, t.body
FROM turns t
JOIN namespaces n ON n.id = t.namespace_id
WHERE t.id = :id AND n.tenant = :tenant;

-- name: index_setting
SELECT value FROM index_settings WHERE tenant = :tenant AND name = :setting;

-- name: set_index_setting
INSERT INTO index_settings (tenant, name, value)
VALUES (:tenant, :name, :value)
ON CONFLICT (tenant, name) DO UPDATE SET value = :value;

-- name: keys_to_cut
SELECT key
FROM items
WHERE namespace_id = :namespace_id AND live = 1 AND passages IS NOT NULL AND key > :after
ORDER BY key
LIMIT :limit;

-- name: conversations_to_index
SELECT n.labels
FROM namespaces n
JOIN turns t ON t.namespace_id = n.id AND t.passages IS NULL
WHERE n.tenant = :tenant
LIMIT 1;

-- name: turns_to_index
SELECT id, thread_id, place, at, role, speaker, body
FROM turns
WHERE namespace_id = :namespace_id AND passages IS NULL
ORDER BY id
LIMIT :limit;

-- name: keep_turn_passages
UPDATE turns SET passages = :passages WHERE id = :id;

-- name: turns_not_indexed
SELECT count(*)
FROM namespaces n
JOIN turns t ON t.namespace_id = n.id AND t.passages IS NULL
WHERE n.tenant = :tenant;

