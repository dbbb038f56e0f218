-- Whole items, history and all, on their way out of a store or into one (see store/operations/bundle.py).

-- name: count_items
SELECT count(*)
FROM namespaces n
JOIN items i ON i.namespace_id = n.id
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
  AND (:label = '' OR {find_text}(:terminator || n.labels, :label) > 0)
  AND (i.live = 1 OR CAST(:deleted AS integer) = 1) AND (i.expires_at IS NULL OR i.expires_at > :now);

-- name: weigh_items
SELECT i.id, i.live, i.expires_at,
       i.size + coalesce((SELECT sum(length(r.delta)) FROM revisions r WHERE r.item_id = i.id), 0)
FROM items i
WHERE i.namespace_id = :namespace_id AND i.id > :after
ORDER BY i.id
LIMIT :limit;

-- name: whole_item
SELECT key, kind, live, created_at, updated_at, expires_at, ttl, meta, body, index_fields
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

-- name: count_turns
-- Those of the namespaces that are meant, and of a person elsewhere.
SELECT count(*)
FROM namespaces n
JOIN turns t ON t.namespace_id = n.id
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
  AND (:label = '' OR {find_text}(:terminator || n.labels, :label) > 0 OR t.user_id = :user_id);

-- name: turns_to_dump
SELECT t.id, n.labels, t.thread_id, t.message_id, t.place, t.role, t.speaker, t.user_id, t.org_id, t.agent_id, t.run_id,
       t.at, t.recorded_at, t.tools, t.other_blocks, t.size, t.body
FROM turns t
JOIN namespaces n ON n.id = t.namespace_id
WHERE t.namespace_id = :namespace_id AND (t.thread_id, t.place, t.id) > (:after_thread, :after_place, :after_id)
  AND (:user_id = '' OR t.user_id = :user_id)
ORDER BY t.thread_id, t.place, t.id
LIMIT :limit;

-- name: proposal_by_number
SELECT id, status, created_at, actor, thread_id, run_id, tool_call_id, reason, waits_for, source, body,
       decided_at, decided_by, note
FROM proposals
WHERE number = :number;
