-- The search index. `:first` and `:last` say which of a namespace's scopes are meant: 0 its items, 1 its turns.

-- name: insert_block
INSERT INTO blocks (scope, part, index_id, count, body)
VALUES (:scope, :part, :index_id, :count, :body);

-- name: delete_block
DELETE FROM blocks WHERE id = :id;

-- name: blocks_below
SELECT b.scope, b.part, b.id, b.index_id, b.stamp
FROM namespaces n
JOIN blocks b ON b.scope >= n.id * 2 + :first AND b.scope <= n.id * 2 + :last AND b.part < 3
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high AND n.passages > 0
ORDER BY b.scope, b.part, b.id;

-- name: blocks_of_scope
SELECT part, id, index_id, count FROM blocks WHERE scope = :scope AND part < 3 ORDER BY part, id;

-- name: block_bodies
SELECT id, body FROM blocks WHERE scope = :scope AND part = :part AND id >= :first AND id <= :last;

-- name: block_body
SELECT id, body FROM blocks WHERE id = :id;

-- name: not_indexed_below
SELECT n.labels, i.key
FROM namespaces n
JOIN items i ON i.namespace_id = n.id AND i.live = 1 AND i.passages IS NULL
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high AND n.live > 0
LIMIT :limit;

-- name: item_found
SELECT i.id, n.labels, i.key, i.revision, i.kind, i.created_at, i.updated_at, i.ttl, i.meta, i.body, i.index_fields
FROM items i
JOIN namespaces n ON n.id = i.namespace_id
WHERE i.id = :id AND n.tenant = :tenant AND i.live = 1 AND (i.expires_at IS NULL OR i.expires_at > :now);

-- name: turn_found
SELECT t.id, n.labels, t.thread_id, t.message_id, t.role, t.speaker, t.body
FROM turns t
JOIN namespaces n ON n.id = t.namespace_id
WHERE t.id = :id AND n.tenant = :tenant;

-- name: keep_passages
UPDATE items SET passages = :passages WHERE id = :id AND revision = :revision;

-- name: lock_namespace_by_id
SELECT id FROM namespaces WHERE id = :id {for_update};

-- name: past_items
SELECT id, key, revision, kind, live, meta, body, index_fields
FROM items
WHERE namespace_id = :namespace_id AND id > :after AND (expires_at IS NULL OR expires_at > :now)
ORDER BY id
LIMIT :limit;

-- name: time_of_revision
SELECT at FROM revisions WHERE item_id = :item_id AND revision = :revision;

-- name: index_room
SELECT part, sum(count), sum(length(body)) FROM blocks GROUP BY part;

-- name: indexed_room
SELECT sum(size), sum(length(passages)) FROM items WHERE live = 1;

-- name: passages_of_items
SELECT id - namespace_id * 4294967296, passages
FROM items
WHERE namespace_id = :namespace_id AND live = 1 AND passages IS NOT NULL;

-- name: passages_of_turns
SELECT id - namespace_id * 4294967296, passages
FROM turns
WHERE namespace_id = :namespace_id AND passages IS NOT NULL;

-- name: delete_blocks_of_namespace
DELETE FROM blocks WHERE scope >= :namespace_id * 2 AND scope <= :namespace_id * 2 + 1;

-- name: forget_passages_of_items
UPDATE items SET passages = NULL WHERE namespace_id = :namespace_id AND passages IS NOT NULL;

-- name: forget_passages_of_turns
UPDATE turns SET passages = NULL WHERE namespace_id = :namespace_id AND passages IS NOT NULL;

-- name: note_index_setting
INSERT INTO index_settings (tenant, name, value)
VALUES (:tenant, :name, :value)
ON CONFLICT (tenant, name) DO NOTHING;

-- name: turns_not_indexed_below
SELECT 1
FROM namespaces n
JOIN turns t ON t.namespace_id = n.id AND t.passages IS NULL
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high AND n.turns > 0
LIMIT 1;

-- name: expired_below
-- What is past its time is out of all answers, swept or not.
SELECT i.id, i.passages
FROM items i
JOIN namespaces n ON n.id = i.namespace_id
WHERE i.expires_at <= :now AND i.live = 1 AND n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
ORDER BY i.id;
