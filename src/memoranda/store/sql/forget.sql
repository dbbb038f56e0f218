-- Forgetting. `:low`, `:high`, `:terminator` and `:label` say which namespaces are meant (see store/selection.py).

-- name: namespaces_selected
SELECT id, labels, position
FROM namespaces
WHERE tenant = :tenant AND labels >= :low AND labels < :high AND labels > :after
  AND (:label = '' OR {find_text}(:terminator || labels, :label) > 0)
ORDER BY labels
LIMIT :limit;

-- name: disown_namespace
-- The row stays, without a name, as long as the database: who has read it without a lock before finds it changed.
UPDATE namespaces
SET tenant = :nobody, labels = 'p' || CAST(id AS {text_type}), position = -1, items = 0, live = 0, digest = :nothing,
    passages = 0, turns = 0, turned_at = NULL
WHERE tenant = :tenant AND labels = :labels
RETURNING id;

-- name: disowned_namespaces
SELECT id FROM namespaces WHERE tenant = :nobody AND labels >= 'p' AND labels < 'q' ORDER BY labels LIMIT :limit;

-- name: lock_disowned
SELECT id FROM namespaces WHERE id = :id AND tenant = :nobody AND labels >= 'p' AND labels < 'q' {for_update};

-- name: finish_disowned
UPDATE namespaces SET labels = 'd' || CAST(id AS {text_type}) WHERE id = :id AND tenant = :nobody;

-- name: forget_blocks
DELETE FROM blocks
WHERE id IN (SELECT b.id FROM blocks b WHERE b.scope >= :first AND b.scope <= :last LIMIT :limit)
RETURNING id;

-- name: forget_revisions
DELETE FROM revisions
WHERE namespace_id = :id
  AND position IN (SELECT r.position FROM revisions r WHERE r.namespace_id = :id ORDER BY r.position LIMIT :limit)
RETURNING position;

-- name: forget_items
DELETE FROM items
WHERE id IN (SELECT i.id FROM items i WHERE i.id >= :first AND i.id <= :last ORDER BY i.id LIMIT :limit)
RETURNING id;

-- name: forget_turns
DELETE FROM turns
WHERE id IN (SELECT t.id FROM turns t WHERE t.id >= :first AND t.id <= :last ORDER BY t.id LIMIT :limit)
RETURNING id;

-- name: forget_threads
DELETE FROM threads
WHERE namespace_id = :id
  AND thread_id IN (SELECT h.thread_id FROM threads h WHERE h.namespace_id = :id ORDER BY h.thread_id LIMIT :limit)
RETURNING namespace_id;

-- name: forget_cursors
DELETE FROM cursors
WHERE tenant = :tenant AND labels >= :low AND labels < :high
  AND (:label = '' OR {find_text}(:terminator || labels, :label) > 0)
RETURNING consumer;

-- name: forget_index_progress
-- Filling begins again; what has its vector already is passed over.
UPDATE indexes
SET progress = ''
WHERE tenant = :tenant AND progress >= :low AND progress < :high AND progress <> ''
  AND (:label = '' OR {find_text}(:terminator || progress, :label) > 0);

-- name: forget_words_progress
-- Making the words anew begins again too (see operations/rewording.py): its note is a version, a new line, and labels.
UPDATE index_settings
SET value = ''
WHERE tenant = :tenant AND name = 'words_progress'
  AND substr(value, {find_text}(value, :newline) + 1) >= :low AND substr(value, {find_text}(value, :newline) + 1) < :high
  AND (:label = '' OR {find_text}(:terminator || substr(value, {find_text}(value, :newline) + 1), :label) > 0);

-- name: proposals_selected
SELECT DISTINCT s.number
FROM proposal_scopes s
WHERE s.tenant = :tenant AND s.labels >= :low AND s.labels < :high AND s.number > :after
  AND (:label = '' OR {find_text}(:terminator || s.labels, :label) > 0)
ORDER BY s.number
LIMIT :limit;

-- name: lock_proposal_by_number
SELECT body FROM proposals WHERE number = :number {for_update};

-- name: delete_proposal
DELETE FROM proposals WHERE number = :number;

-- name: delete_proposal_scope
DELETE FROM proposal_scopes WHERE tenant = :tenant AND labels = :labels AND number = :number;

-- name: count_namespace
SELECT (SELECT count(*) FROM items i WHERE i.id >= :first_row AND i.id <= :last_row),
       (SELECT count(*) FROM revisions r WHERE r.namespace_id = :id),
       (SELECT count(*) FROM turns t WHERE t.id >= :first_row AND t.id <= :last_row),
       (SELECT count(*) FROM threads h WHERE h.namespace_id = :id),
       (SELECT count(*) FROM blocks b WHERE b.scope >= :id * 2 AND b.scope <= :id * 2 + 1);

-- name: count_cursors
SELECT count(*)
FROM cursors
WHERE tenant = :tenant AND labels >= :low AND labels < :high
  AND (:label = '' OR {find_text}(:terminator || labels, :label) > 0);

-- name: threads_concerned
-- The conversations that were recorded there, or that something there was written in, and those of a person elsewhere;
-- and whether others have a part in them: turns that stay, or that somebody else said, or something that they wrote.
WITH concerned AS (
    SELECT h.thread_id, 0 AS written
    FROM namespaces n
    JOIN threads h ON h.namespace_id = n.id
    WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
      AND (:label = '' OR {find_text}(:terminator || n.labels, :label) > 0)
    UNION
    SELECT r.thread_id, CASE WHEN :user_id <> '' AND substr(r.actor, 1, 5) = 'user:'
                                  AND r.actor <> 'user:' || :user_id THEN 1 ELSE 0 END
    FROM namespaces n
    JOIN revisions r ON r.namespace_id = n.id
    WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high AND r.thread_id IS NOT NULL
      AND (:label = '' OR {find_text}(:terminator || n.labels, :label) > 0)
    UNION
    SELECT t.thread_id, 0
    FROM turns t
    JOIN namespaces n ON n.id = t.namespace_id
    WHERE t.user_id = :user_id AND n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
), named AS (
    SELECT thread_id, max(written) AS written FROM concerned GROUP BY thread_id
)
SELECT c.thread_id,
       c.written = 1 OR EXISTS (
           SELECT 1
           FROM threads h
           JOIN namespaces n ON n.id = h.namespace_id
           JOIN turns o ON o.namespace_id = h.namespace_id AND o.thread_id = h.thread_id
           WHERE h.thread_id = c.thread_id AND n.tenant = :tenant
             AND (n.labels < :low OR n.labels >= :high
                  OR (:user_id <> '' AND o.user_id <> :user_id)
                  OR (:label <> '' AND o.user_id IS NULL AND {find_text}(:terminator || n.labels, :label) = 0)))
FROM named c
ORDER BY c.thread_id;

-- name: thread_elsewhere
SELECT 1
FROM threads h
JOIN namespaces n ON n.id = h.namespace_id
WHERE h.thread_id = :thread_id AND h.turns > 0 AND n.tenant = :tenant AND (n.labels < :low OR n.labels >= :high)
LIMIT 1;

-- name: namespaces_with_thread
SELECT n.labels
FROM namespaces n
JOIN threads h ON h.namespace_id = n.id AND h.thread_id = :thread_id
WHERE n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
ORDER BY n.labels;

-- name: namespaces_with_user
SELECT DISTINCT n.labels
FROM turns t
JOIN namespaces n ON n.id = t.namespace_id
WHERE t.user_id = :user_id AND n.tenant = :tenant AND n.labels >= :low AND n.labels < :high
ORDER BY n.labels;

-- name: turns_of_thread_to_forget
SELECT id, thread_id, passages, message_id
FROM turns
WHERE namespace_id = :namespace_id AND thread_id = :named AND id >= :first_row AND id <= :last_row
ORDER BY id
LIMIT :limit;

-- name: turns_of_user_to_forget
SELECT id, thread_id, passages, message_id
FROM turns
WHERE user_id = :named AND id >= :first_row AND id <= :last_row AND namespace_id = :namespace_id
ORDER BY id
LIMIT :limit;

-- name: delete_turns_of_thread_up_to
DELETE FROM turns
WHERE namespace_id = :namespace_id AND thread_id = :named AND id >= :first_row AND id <= :last_row;

-- name: delete_turns_of_user_up_to
DELETE FROM turns
WHERE user_id = :named AND id >= :first_row AND id <= :last_row AND namespace_id = :namespace_id;

-- name: count_thread_again
-- One without turns begins after all times and ended before them: it is in no list, and whatever comes next is its first.
UPDATE threads
SET turns = (SELECT count(*) FROM turns t WHERE t.namespace_id = :namespace_id AND t.thread_id = :thread_id),
    first_at = coalesce((SELECT min(t.at) FROM turns t
                         WHERE t.namespace_id = :namespace_id AND t.thread_id = :thread_id), 4611686018427387904),
    last_at = coalesce((SELECT max(t.at) FROM turns t
                        WHERE t.namespace_id = :namespace_id AND t.thread_id = :thread_id), -4611686018427387904)
WHERE namespace_id = :namespace_id AND thread_id = :thread_id;

-- name: delete_empty_thread
DELETE FROM threads WHERE namespace_id = :namespace_id AND thread_id = :thread_id AND turns = 0 RETURNING turns;

-- name: empty_thread
SELECT turns FROM threads WHERE namespace_id = :namespace_id AND thread_id = :thread_id AND turns = 0;

-- name: traces_of_thread
SELECT forgotten_salt, forgotten FROM threads WHERE namespace_id = :namespace_id AND thread_id = :thread_id;

-- name: leave_traces
UPDATE threads
SET forgotten_at = :now, forgotten_salt = :salt, forgotten = :traces
WHERE namespace_id = :namespace_id AND thread_id = :thread_id;

-- name: blocks_of_turns
SELECT id, part, index_id FROM blocks WHERE scope = :scope ORDER BY id;

-- name: revisions_naming
-- `:said` is part of what an origin says about the one who is meant; the caller looks closer.
SELECT r.namespace_id, r.position, n.labels, i.key, r.revision, r.actor, r.thread_id, r.origin
FROM revisions r
JOIN namespaces n ON n.id = r.namespace_id
JOIN items i ON i.id = r.item_id
WHERE n.tenant = :tenant AND (r.namespace_id, r.position) > (:after_namespace, :after_position)
  AND (r.actor = :actor OR r.actor = :user OR r.thread_id = :thread_id
       OR (:said <> '' AND r.origin IS NOT NULL AND {find_text}(r.origin, :said) > 0))
ORDER BY r.namespace_id, r.position
LIMIT :limit;

-- name: proposals_naming
SELECT id
FROM proposals
WHERE tenant = :tenant
  AND (actor = :actor OR actor = :user OR decided_by = :actor OR decided_by = :user OR thread_id = :thread_id)
ORDER BY number;
