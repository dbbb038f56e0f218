-- The statements behind commit(). `{for_update}` locks the row on PostgreSQL; on SQLite the transaction is the lock.

-- name: lock_namespace
SELECT id, position, items, live, digest, passages, turns,
       (SELECT string_agg(CAST(x.id AS {text_type}), ',') FROM indexes x WHERE x.tenant = :tenant) AS indexes
FROM namespaces
WHERE tenant = :tenant AND labels = :labels {for_update};

-- name: create_namespace
INSERT INTO namespaces (tenant, labels, position, items, live, digest)
VALUES (:tenant, :labels, 0, 0, 0, :digest)
ON CONFLICT (tenant, labels) DO NOTHING;

-- name: update_namespace
-- Compare and swap: a namespace that is not as it was read gets no position, which the column refuses. Under a lock it
-- always is; an optimistic writer is told that way that another came first, and all that its statement did is undone.
-- The digest notices what moves no position, an item that was forgotten; the count, one that came back as another.
UPDATE namespaces
SET position = CASE
        WHEN position = :expected_position AND items = :expected_items AND digest = :expected_digest
            AND passages = :expected_passages AND turns = :expected_turns THEN :position
    END,
    items = :items, live = :live, digest = :digest, passages = :passages, turns = :turns,
    turned_at = COALESCE(:turned_at, turned_at)
WHERE id = :id;

-- name: item_to_change
SELECT id, revision, kind, live, created_at, updated_at, expires_at, ttl, digest, meta, body, passages, index_fields
FROM items
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels) AND key = :key;

-- name: insert_item
INSERT INTO items (id, namespace_id, key, parent, revision, kind, live, size, created_at, updated_at,
                   expires_at, ttl, digest, meta, body, passages, index_fields)
VALUES (:id, :namespace_id, :key, :parent, :revision, :kind, :live, :size, :created_at, :updated_at,
        :expires_at, :ttl, :digest, :meta, :body, :passages, :index_fields);

-- name: update_item
UPDATE items
SET revision = :revision, kind = :kind, live = :live, size = :size, created_at = :created_at,
    updated_at = :updated_at, expires_at = :expires_at, ttl = :ttl, digest = :digest, meta = :meta, body = :body,
    passages = :passages, index_fields = :index_fields
WHERE id = :id;

-- name: insert_revision
INSERT INTO revisions (namespace_id, position, item_id, revision, operation, at, actor, thread_id, run_id,
                       tool_call_id, reason, origin, size, salt, content_digest, digest,
                       previous_kind, previous_meta, delta_kind, delta)
VALUES (:namespace_id, :position, :item_id, :revision, :operation, :at, :actor, :thread_id, :run_id,
        :tool_call_id, :reason, :origin, :size, :salt, :content_digest, :digest,
        :previous_kind, :previous_meta, :delta_kind, :delta);

-- name: deltas_above
SELECT revision, previous_kind, previous_meta, delta_kind, delta
FROM revisions
WHERE item_id = :item_id AND revision > :revision
ORDER BY revision
LIMIT :limit;

-- name: delete_item
DELETE FROM items WHERE id = :id;

-- name: delete_revisions
DELETE FROM revisions WHERE item_id = :item_id;

-- name: keys_in_folder
SELECT key
FROM items
WHERE namespace_id = :namespace_id AND live = 1 AND parent >= :low AND parent < :high
  AND (expires_at IS NULL OR expires_at > :now)
ORDER BY parent, key;

-- name: lock_cursor
SELECT position, lease
FROM cursors
WHERE consumer = :consumer AND tenant = :tenant AND labels = :labels {for_update};

-- name: create_cursor
INSERT INTO cursors (consumer, tenant, labels, position, lease, moved_at)
VALUES (:consumer, :tenant, :labels, :position, NULL, :moved_at)
ON CONFLICT (tenant, labels, consumer) DO NOTHING;

-- name: move_cursor
-- Compare and swap, as in update_namespace.
UPDATE cursors
SET position = CASE WHEN position = :expected AND (lease IS NULL OR lease = :lease) THEN :position END, moved_at = :moved_at
WHERE consumer = :consumer AND tenant = :tenant AND labels = :labels;

-- name: touch_item
-- Only what was read lives on: not what was written meanwhile, which has a time of its own or none, and nothing that is
-- past its time by now.
UPDATE items SET expires_at = :expires_at
WHERE id = :id AND revision = :revision AND expires_at > :now AND expires_at < :expires_at;

-- name: expired_items
SELECT i.id, n.labels, i.key
FROM items i
JOIN namespaces n ON n.id = i.namespace_id
WHERE i.expires_at <= :now AND n.tenant = :tenant
ORDER BY i.expires_at
LIMIT :limit;
