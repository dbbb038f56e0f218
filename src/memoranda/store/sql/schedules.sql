-- Schedules (see store/operations/schedules.py). Firing locks a schedule's row, so that each due time is fired once.

-- name: insert_schedule
INSERT INTO schedules (tenant, name, queue, kind, line, zone, minutes, labels, paused, payload, created_at, next_due)
VALUES (:tenant, :name, :queue, :kind, :line, :zone, :minutes, :labels, 0, :payload, :now, :next_due)
ON CONFLICT (tenant, name) DO NOTHING
RETURNING number;

-- name: lock_schedule
SELECT number, name, queue, kind, line, zone, minutes, labels, paused, payload, created_at, last_due, next_due, looked_to
FROM schedules
WHERE tenant = :tenant AND name = :name {for_update};

-- name: lock_due_schedule
SELECT number, name, queue, kind, line, zone, minutes, labels, paused, payload, created_at, last_due, next_due, looked_to
FROM schedules
WHERE number = :number AND next_due <= :now {skip_locked};

-- name: change_schedule
UPDATE schedules
SET queue = :queue, kind = :kind, line = :line, zone = :zone, minutes = :minutes, labels = :labels, paused = 0,
    payload = :payload, next_due = :next_due, looked_to = NULL
WHERE number = :number;

-- name: pause_schedule
UPDATE schedules SET paused = :paused, next_due = :next_due WHERE number = :number;

-- name: fired_schedule
UPDATE schedules
SET last_due = :last_due, next_due = :next_due, looked_to = :looked_to
WHERE number = :number;

-- name: looked_schedule
-- Only while nobody has changed, paused or looked again meanwhile.
UPDATE schedules
SET next_due = :next_due, looked_to = :looked_to
WHERE number = :number AND next_due = :expected;

-- name: delete_schedule
DELETE FROM schedules WHERE tenant = :tenant AND name = :name RETURNING number;

-- name: schedule
SELECT number, name, queue, kind, line, zone, minutes, labels, paused, payload, created_at, last_due, next_due, looked_to
FROM schedules
WHERE tenant = :tenant AND name = :name;

-- name: schedules
SELECT number, name, queue, kind, line, zone, minutes, labels, paused, payload, created_at, last_due, next_due, looked_to
FROM schedules
WHERE tenant = :tenant AND (queue = :queue OR :queue = '')
ORDER BY name;

-- name: due_schedules
SELECT number, kind
FROM schedules
WHERE tenant = :tenant AND queue = :queue AND next_due <= :now
ORDER BY next_due;

-- name: next_schedule_due
SELECT next_due FROM schedules
WHERE tenant = :tenant AND queue = :queue AND next_due IS NOT NULL
ORDER BY next_due
LIMIT 1;

-- name: next_turned_scope
-- When the next scope was last talked in, of those that were not idle for long enough yet.
SELECT n.turned_at
FROM namespaces n
WHERE n.tenant = :tenant AND n.turned_at > :after AND n.labels >= :low AND n.labels < :high
ORDER BY n.turned_at
LIMIT 1;

-- name: scope_turned_at
SELECT turned_at FROM namespaces WHERE tenant = :tenant AND labels = :labels;

-- name: last_change_of_scope
SELECT r.at
FROM revisions r
WHERE r.namespace_id = (SELECT n.id FROM namespaces n WHERE n.tenant = :tenant AND n.labels = :labels)
ORDER BY r.position DESC
LIMIT 1;
