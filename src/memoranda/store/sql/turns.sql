-- Conversations. Writers of one namespace queue up on its row, as those of its items do.

-- name: thread_to_extend
SELECT turns, first_at, last_at, last_place, forgotten_salt, forgotten
FROM threads
WHERE namespace_id = :namespace_id AND thread_id = :thread_id;

-- name: place_of_message
SELECT place
FROM turns
WHERE namespace_id = :namespace_id AND thread_id = :thread_id AND message_id = :message_id;

-- name: count_of_turns
SELECT turns FROM namespaces WHERE tenant = :tenant AND labels = :labels;

-- name: messages_of_thread
SELECT message_id
FROM turns
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels) AND thread_id = :thread_id;

-- name: messages_and_runs_of_thread
SELECT message_id, run_id
FROM turns
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels) AND thread_id = :thread_id;

-- name: messages_of_others
-- What is recorded of a conversation elsewhere, of other people.
SELECT t.message_id, t.user_id
FROM threads h
JOIN namespaces n ON n.id = h.namespace_id
JOIN turns t ON t.namespace_id = h.namespace_id AND t.thread_id = h.thread_id
WHERE h.thread_id = :thread_id AND n.tenant = :tenant AND n.labels <> :labels
  AND t.user_id IS NOT NULL AND t.user_id <> :user_id
ORDER BY t.id DESC;

-- name: forgotten_of_thread
SELECT forgotten_salt, forgotten
FROM threads
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels) AND thread_id = :thread_id;

-- name: first_place_later
-- The first turn behind a place that was said after a time.
SELECT place
FROM turns
WHERE namespace_id = :namespace_id AND thread_id = :thread_id AND place > :place AND at > :at
ORDER BY place
LIMIT 1;

-- name: last_place_before
SELECT place
FROM turns
WHERE namespace_id = :namespace_id AND thread_id = :thread_id AND place < :place
ORDER BY place DESC
LIMIT 1;

-- name: turns_to_move
SELECT id, place, at, speaker, role, passages, body
FROM turns
WHERE namespace_id = :namespace_id AND thread_id = :thread_id
ORDER BY place;

-- name: move_turn
UPDATE turns SET place = :place, passages = :passages WHERE id = :id;

-- name: insert_turn
INSERT INTO turns (id, namespace_id, thread_id, message_id, place, role, speaker, user_id, org_id, agent_id, run_id,
                   at, recorded_at, tools, other_blocks, size, passages, body)
VALUES (:id, :namespace_id, :thread_id, :message_id, :place, :role, :speaker, :user_id, :org_id, :agent_id, :run_id,
        :at, :recorded_at, :tools, :other_blocks, :size, :passages, :body);

-- name: put_thread
INSERT INTO threads (namespace_id, thread_id, turns, first_at, last_at, last_place, checkpoint)
VALUES (:namespace_id, :thread_id, :turns, :first_at, :last_at, :last_place, NULL)
ON CONFLICT (namespace_id, thread_id)
DO UPDATE SET turns = :turns, first_at = :first_at, last_at = :last_at, last_place = :last_place;

-- name: set_thread_checkpoint
UPDATE threads SET checkpoint = :checkpoint
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels) AND thread_id = :thread_id;

-- name: thread_checkpoint
SELECT checkpoint
FROM threads
WHERE namespace_id = (SELECT id FROM namespaces WHERE tenant = :tenant AND labels = :labels) AND thread_id = :thread_id;

-- name: turns_after
SELECT t.id, n.labels, t.thread_id, t.message_id, t.place, t.role, t.speaker, t.user_id, t.org_id, t.agent_id, t.run_id,
       t.at, t.recorded_at, t.tools, t.other_blocks, t.size, t.body
FROM namespaces n
JOIN turns t ON t.id > n.id * 4294967296 + :after AND t.id < (n.id + 1) * 4294967296
WHERE n.tenant = :tenant AND n.labels = :labels
ORDER BY t.id
LIMIT :limit;

-- name: turns_of_thread
SELECT t.id, n.labels, t.thread_id, t.message_id, t.place, t.role, t.speaker, t.user_id, t.org_id, t.agent_id, t.run_id,
       t.at, t.recorded_at, t.tools, t.other_blocks, t.size, t.body
FROM namespaces n
JOIN turns t ON t.namespace_id = n.id
WHERE n.tenant = :tenant AND n.labels = :labels AND t.thread_id = :thread_id AND t.id > n.id * 4294967296 + :after
ORDER BY t.place
LIMIT :limit;

-- name: turns_from_place
SELECT t.id, n.labels, t.thread_id, t.message_id, t.place, t.role, t.speaker, t.user_id, t.org_id, t.agent_id, t.run_id,
       t.at, t.recorded_at, t.tools, t.other_blocks, t.size, t.body
FROM namespaces n
JOIN turns t ON t.namespace_id = n.id
WHERE n.tenant = :tenant AND n.labels = :labels AND t.thread_id = :thread_id AND t.place >= :place
ORDER BY t.place
LIMIT :limit;

-- name: turns_up_to_place
SELECT t.id, n.labels, t.thread_id, t.message_id, t.place, t.role, t.speaker, t.user_id, t.org_id, t.agent_id, t.run_id,
       t.at, t.recorded_at, t.tools, t.other_blocks, t.size, t.body
FROM namespaces n
JOIN turns t ON t.namespace_id = n.id
WHERE n.tenant = :tenant AND n.labels = :labels AND t.thread_id = :thread_id AND t.place < :place
ORDER BY t.place DESC
LIMIT :limit;

-- name: turn_by_id
SELECT t.id, n.labels, t.thread_id, t.message_id, t.place, t.role, t.speaker, t.user_id, t.org_id, t.agent_id, t.run_id,
       t.at, t.recorded_at, t.tools, t.other_blocks, t.size, t.body
FROM turns t
JOIN namespaces n ON n.id = t.namespace_id
WHERE t.id = :id;

-- name: turns_of_user
SELECT t.id
FROM turns t
JOIN namespaces n ON n.id = t.namespace_id
WHERE t.user_id = :named AND n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
LIMIT :limit;

-- name: turns_of_org
SELECT t.id
FROM turns t
JOIN namespaces n ON n.id = t.namespace_id
WHERE t.org_id = :named AND n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
LIMIT :limit;

-- name: turns_of_agent
SELECT t.id
FROM turns t
JOIN namespaces n ON n.id = t.namespace_id
WHERE t.agent_id = :named AND n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
LIMIT :limit;

-- name: thread_to_show
SELECT n.labels, h.thread_id, h.turns, h.first_at, h.last_at,
       (SELECT t.body FROM turns t
        WHERE t.namespace_id = n.id AND t.thread_id = h.thread_id AND t.role = 'user'
        ORDER BY t.place LIMIT 1)
FROM namespaces n
JOIN threads h ON h.namespace_id = n.id
WHERE n.tenant = :tenant AND n.labels = :labels AND h.thread_id = :thread_id;

-- name: threads_by_time
SELECT n.labels, h.thread_id, h.turns, h.first_at, h.last_at,
       (SELECT t.body FROM turns t
        WHERE t.namespace_id = n.id AND t.thread_id = h.thread_id AND t.role = 'user'
        ORDER BY t.place LIMIT 1)
FROM namespaces n
JOIN threads h ON h.namespace_id = n.id
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
  AND h.last_at >= :since AND h.first_at < :until AND h.turns > 0
  AND (:anyone = 1 OR EXISTS (
      SELECT 1 FROM turns t
      WHERE t.namespace_id = n.id AND t.thread_id = h.thread_id
        AND (:user_id = '' OR t.user_id = :user_id) AND (:org_id = '' OR t.org_id = :org_id)
        AND (:agent_id = '' OR t.agent_id = :agent_id)
  ))
ORDER BY h.last_at DESC, n.labels, h.thread_id
LIMIT :limit;

