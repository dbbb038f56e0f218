-- Proposals (see store/operations/proposals.py). Deciding locks the proposal's row, so that exactly one reviewer does.

-- name: insert_proposal
INSERT INTO proposals (tenant, id, status, created_at, actor, thread_id, run_id, tool_call_id, reason, waits_for,
                       source, body)
VALUES (:tenant, :id, 'pending', :created_at, :actor, :thread_id, :run_id, :tool_call_id, :reason, :waits_for,
        :source, :body)
ON CONFLICT (tenant, id) DO NOTHING
RETURNING number;

-- name: insert_proposal_scope
INSERT INTO proposal_scopes (tenant, labels, number) VALUES (:tenant, :labels, :number);

-- name: proposal
SELECT id, status, created_at, actor, thread_id, run_id, tool_call_id, reason, waits_for, source, body,
       decided_at, decided_by, note
FROM proposals
WHERE tenant = :tenant AND id = :id;

-- name: lock_proposal
SELECT id, status, created_at, actor, thread_id, run_id, tool_call_id, reason, waits_for, source, body,
       decided_at, decided_by, note
FROM proposals
WHERE tenant = :tenant AND id = :id {for_update};

-- name: decide_proposal
UPDATE proposals
SET status = :status, decided_at = :decided_at, decided_by = :decided_by, note = :note
WHERE tenant = :tenant AND id = :id;

-- name: proposals_of_status
SELECT id, status, created_at, actor, thread_id, run_id, tool_call_id, reason, waits_for, source, body,
       decided_at, decided_by, note
FROM proposals
WHERE tenant = :tenant AND status = :status
ORDER BY number
LIMIT :limit;

-- name: all_proposals
SELECT id, status, created_at, actor, thread_id, run_id, tool_call_id, reason, waits_for, source, body,
       decided_at, decided_by, note
FROM proposals
WHERE tenant = :tenant
ORDER BY number
LIMIT :limit;

-- name: proposals_in_namespace
SELECT p.id, p.status, p.created_at, p.actor, p.thread_id, p.run_id, p.tool_call_id, p.reason, p.waits_for, p.source,
       p.body, p.decided_at, p.decided_by, p.note
FROM proposal_scopes s
JOIN proposals p ON p.number = s.number
WHERE s.tenant = :tenant AND s.labels = :labels AND (p.status = :status OR :status = '')
ORDER BY s.number
LIMIT :limit;

-- name: item_head
-- The state that a change of this item is made from.
SELECT CASE WHEN live = 1 THEN revision ELSE 0 END, id
FROM items
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels) AND key = :key
  AND (expires_at IS NULL OR expires_at > :now);

-- name: scope_to_preview
-- As lock_namespace, for a reader.
SELECT id, position, items, live, digest, passages, turns, NULL AS indexes
FROM namespaces
WHERE tenant = :tenant AND labels = :labels;
