-- Forgetting what was to be done, and what came of it (see store/operations/forget_work.py).

-- name: forget_jobs
DELETE FROM jobs
WHERE number IN (
    SELECT j.number FROM jobs j
    WHERE j.tenant = :tenant AND j.labels >= :low AND j.labels < :high AND j.labels <> ''
      AND (:label = '' OR {find_text}(:terminator || j.labels, :label) > 0)
    ORDER BY j.number
    LIMIT :limit
)
RETURNING number;

-- name: forget_runs
DELETE FROM runs
WHERE number IN (
    SELECT r.number FROM runs r
    WHERE r.tenant = :tenant AND r.labels >= :low AND r.labels < :high
      AND (:label = '' OR {find_text}(:terminator || r.labels, :label) > 0)
    ORDER BY r.number
    LIMIT :limit
)
RETURNING number;

-- name: forget_schedules
-- Those for everything are about nobody; those for a prefix name whom it names.
DELETE FROM schedules
WHERE tenant = :tenant AND labels >= :low AND labels < :high AND labels <> ''
  AND (:label = '' OR {find_text}(:terminator || labels, :label) > 0)
RETURNING number;

-- name: count_work
SELECT (SELECT count(*) FROM jobs j
        WHERE j.tenant = :tenant AND j.labels >= :low AND j.labels < :high AND j.labels <> ''
          AND (:label = '' OR {find_text}(:terminator || j.labels, :label) > 0)),
       (SELECT count(*) FROM runs r
        WHERE r.tenant = :tenant AND r.labels >= :low AND r.labels < :high
          AND (:label = '' OR {find_text}(:terminator || r.labels, :label) > 0)),
       (SELECT count(*) FROM schedules s
        WHERE s.tenant = :tenant AND s.labels >= :low AND s.labels < :high AND s.labels <> ''
          AND (:label = '' OR {find_text}(:terminator || s.labels, :label) > 0));

-- name: jobs_for_prefixes
SELECT number, payload FROM jobs
WHERE tenant = :tenant AND labels = '' AND number > :after AND payload <> '{}'
ORDER BY number
LIMIT :limit;

-- name: delete_job
DELETE FROM jobs WHERE number = :number;

-- name: runs_naming
-- `:said` is part of what a change says about the namespace that is meant; the caller looks closer.
SELECT number, changes FROM runs
WHERE tenant = :tenant AND number > :after AND {find_text}(changes, :said) > 0
ORDER BY number
LIMIT :limit {for_update};

-- name: forget_undoer
UPDATE runs SET undone_by = '' WHERE tenant = :tenant AND undone_by = :actor RETURNING number;

-- name: reduce_run
UPDATE runs SET changes = :changes, summary = NULL, error = NULL WHERE number = :number;

-- name: runs_over
SELECT number, after_position, to_position, changes, summary, error FROM runs
WHERE tenant = :tenant AND labels = :labels AND to_position >= :first AND after_position < :last
{for_update};

-- name: begin_jobs_again
UPDATE jobs
SET state = 'waiting', due_at = :now, attempts = attempts - 1, lease = NULL, lease_until = NULL
WHERE tenant = :tenant AND labels = :labels AND state = 'running';

-- name: forget_errors_of_jobs
UPDATE jobs SET error = NULL WHERE tenant = :tenant AND labels = :labels AND error IS NOT NULL RETURNING number;

-- name: proposal_gone
UPDATE runs SET status = 'rejected', summary = NULL
WHERE tenant = :tenant AND status = 'proposed'
  AND proposal = (SELECT p.id FROM proposals p WHERE p.number = :number);
