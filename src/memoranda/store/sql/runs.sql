-- Runs (see store/operations/runs.py), and what has not been read yet.

-- name: insert_run
INSERT INTO runs (tenant, id, consumer, labels, after_position, to_position, status, turns, changes, model, tokens_in,
                  tokens_out, attempts, started_at, ended_at, proposal, error, summary, job)
VALUES (:tenant, :id, :consumer, :labels, :after_position, :to_position, :status, :turns, :changes, :model, :tokens_in,
        :tokens_out, :attempts, :started_at, :ended_at, :proposal, :error, :summary, :job)
ON CONFLICT DO NOTHING
RETURNING number;

-- name: replace_run
UPDATE runs
SET status = :status, turns = :turns, changes = :changes, model = :model, tokens_in = tokens_in + :tokens_in,
    tokens_out = tokens_out + :tokens_out, attempts = attempts + :attempts, started_at = :started_at,
    ended_at = :ended_at, proposal = :proposal, error = :error, summary = :summary, job = :job
WHERE tenant = :tenant AND id = :id;

-- name: settle_run
UPDATE runs
SET status = :status, changes = :changes, undone_by = :undone_by
WHERE number = :number;

-- name: run
SELECT number, id, consumer, labels, after_position, to_position, status, turns, changes, model, tokens_in, tokens_out,
       attempts, started_at, ended_at, proposal, undone_by, error, summary, job
FROM runs
WHERE tenant = :tenant AND id = :id;

-- name: lock_run
SELECT number, id, consumer, labels, after_position, to_position, status, turns, changes, model, tokens_in, tokens_out,
       attempts, started_at, ended_at, proposal, undone_by, error, summary, job
FROM runs
WHERE tenant = :tenant AND id = :id {for_update};

-- name: lock_run_of_proposal
SELECT number, id, consumer, labels, after_position, to_position, status, turns, changes, model, tokens_in, tokens_out,
       attempts, started_at, ended_at, proposal, undone_by, error, summary, job
FROM runs
WHERE tenant = :tenant AND proposal = :proposal {for_update};

-- name: runs_newest
-- By row: few are wanted of many.
SELECT number, id, consumer, labels, after_position, to_position, status, turns, changes, model, tokens_in, tokens_out,
       attempts, started_at, ended_at, proposal, undone_by, error, summary, job
FROM runs {by_row}
WHERE tenant = :tenant AND (consumer = :consumer OR :consumer = '') AND (status = :status OR :status = '')
ORDER BY number DESC
LIMIT :limit;

-- name: runs_of_scope
SELECT number, id, consumer, labels, after_position, to_position, status, turns, changes, model, tokens_in, tokens_out,
       attempts, started_at, ended_at, proposal, undone_by, error, summary, job
FROM runs
WHERE tenant = :tenant AND labels = :labels AND (consumer = :consumer OR :consumer = '')
  AND (status = :status OR :status = '')
ORDER BY number DESC
LIMIT :limit;

-- name: ranges_covered
SELECT after_position, to_position
FROM runs
WHERE tenant = :tenant AND consumer = :consumer AND labels = :labels
ORDER BY after_position;

-- name: cursor
SELECT position FROM cursors WHERE consumer = :consumer AND tenant = :tenant AND labels = :labels;

-- name: ranges_of_scope
SELECT consumer, after_position, to_position
FROM runs
WHERE tenant = :tenant AND labels = :labels
ORDER BY consumer, after_position;

-- name: cursors_of_scope
SELECT consumer, position FROM cursors WHERE tenant = :tenant AND labels = :labels;
