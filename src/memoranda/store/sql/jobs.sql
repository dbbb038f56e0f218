-- Jobs (see store/operations/jobs.py). One transaction takes a job, so that two workers never have the same one;
-- `{skip_locked}` keeps them from waiting for each other on PostgreSQL. Whether a namespace is being worked on is looked
-- up for each job by itself: PostgreSQL would make a join of NOT EXISTS, each job with all that run.

-- name: insert_job
INSERT INTO jobs (tenant, queue, labels, origin, state, due_at, attempts, payload, created_at, ended_at)
VALUES (:tenant, :queue, :labels, :origin, :state, :due_at, 0, :payload, :now, :ended_at)
ON CONFLICT (tenant, queue, labels, origin) DO NOTHING
RETURNING number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
          created_at, started_at, ended_at;

-- name: lock_waiting_jobs
SELECT number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
       created_at, started_at, ended_at
FROM jobs
WHERE tenant = :tenant AND queue = :queue AND labels = :labels AND state = 'waiting'
ORDER BY number {for_update};

-- name: absorb_into_job
UPDATE jobs SET due_at = :due_at, attempts = attempts + :begun, payload = :payload WHERE number = :number;

-- name: end_absorbed_job
UPDATE jobs SET state = 'done', ended_at = :now WHERE number = :number;

-- name: take_over_job
UPDATE jobs
SET attempts = attempts + 1, lease = :lease, lease_until = :lease_until, worker = :worker, started_at = :now
WHERE number = (
    SELECT j.number FROM jobs j
    WHERE j.tenant = :tenant AND j.queue = :queue AND j.state = 'running' AND j.lease_until <= :now
    ORDER BY j.lease_until
    LIMIT 1 {skip_locked}
)
RETURNING number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
          created_at, started_at, ended_at;

-- name: take_next_job
UPDATE jobs
SET state = 'running', attempts = attempts + 1, lease = :lease, lease_until = :lease_until, worker = :worker,
    started_at = :now
WHERE number = (
    SELECT j.number FROM jobs j
    WHERE j.tenant = :tenant AND j.queue = :queue AND j.state = 'waiting' AND j.due_at <= :now
      AND (
          SELECT r.number FROM jobs r
          WHERE r.tenant = :tenant AND r.queue = :queue AND r.labels = j.labels AND r.state = 'running'
            AND r.labels <> ''
          LIMIT 1
      ) IS NULL
    ORDER BY j.due_at, j.number
    LIMIT 1 {skip_locked}
)
RETURNING number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
          created_at, started_at, ended_at;

-- name: take_this_job
UPDATE jobs
SET state = 'running', attempts = attempts + 1, lease = :lease, lease_until = :lease_until, worker = :worker,
    started_at = :now
WHERE number = :number AND tenant = :tenant AND queue = :queue
  AND (state = 'running' AND lease_until <= :now
       OR state = 'waiting' AND NOT EXISTS (
           SELECT 1 FROM jobs r
           WHERE r.tenant = jobs.tenant AND r.queue = jobs.queue AND r.labels = jobs.labels AND r.state = 'running'
             AND r.labels <> ''
       ))
RETURNING number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
          created_at, started_at, ended_at;

-- name: next_job_due
-- When the next one can be begun: those of a namespace that is being worked on have to wait for that.
SELECT j.due_at FROM jobs j
WHERE j.tenant = :tenant AND j.queue = :queue AND j.state = 'waiting'
  AND (
      SELECT r.number FROM jobs r
      WHERE r.tenant = :tenant AND r.queue = :queue AND r.labels = j.labels AND r.state = 'running'
        AND r.labels <> ''
      LIMIT 1
  ) IS NULL
ORDER BY j.due_at, j.number
LIMIT 1;

-- name: next_lease_end
SELECT lease_until FROM jobs
WHERE tenant = :tenant AND queue = :queue AND state = 'running'
ORDER BY lease_until
LIMIT 1;

-- name: prolong_job
UPDATE jobs SET lease_until = :lease_until
WHERE number = :number AND state = 'running' AND lease = :lease
RETURNING number;

-- name: end_job
UPDATE jobs
SET state = :state, due_at = :due_at, attempts = attempts - :uncounted, lease = NULL, lease_until = NULL,
    error = :error, ended_at = :ended_at
WHERE number = :number AND state = 'running' AND lease = :lease
RETURNING number;

-- name: lock_job
SELECT lease FROM jobs WHERE number = :number AND state = 'running' {for_update};

-- name: resume_job
UPDATE jobs
SET state = 'waiting', due_at = :now, attempts = 0, error = NULL, ended_at = NULL
WHERE tenant = :tenant AND number = :number AND state = 'parked'
RETURNING number;

-- name: end_parked_job
UPDATE jobs SET state = 'done', error = NULL, ended_at = :now
WHERE tenant = :tenant AND number = :number AND state = 'parked';

-- name: job_by_number
SELECT number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
       created_at, started_at, ended_at
FROM jobs
WHERE tenant = :tenant AND number = :number;

-- name: jobs_of_scope
SELECT number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
       created_at, started_at, ended_at
FROM jobs
WHERE tenant = :tenant AND labels = :labels AND (queue = :queue OR :queue = '') AND (state = :state OR :state = '')
ORDER BY number DESC
LIMIT :limit;

-- name: jobs_newest
-- By row: few are wanted of many.
SELECT number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
       created_at, started_at, ended_at
FROM jobs {by_row}
WHERE tenant = :tenant AND (queue = :queue OR :queue = '') AND (state = :state OR :state = '')
ORDER BY number DESC
LIMIT :limit;

-- name: jobs_waiting
-- No queue has an empty name; that it says so leads SQLite to the index of those that wait.
SELECT number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
       created_at, started_at, ended_at
FROM jobs
WHERE tenant = :tenant AND state = 'waiting' AND queue > '' AND (queue = :queue OR :queue = '')
ORDER BY number DESC
LIMIT :limit;

-- name: jobs_running
SELECT number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
       created_at, started_at, ended_at
FROM jobs
WHERE tenant = :tenant AND state = 'running' AND (queue = :queue OR :queue = '')
ORDER BY number DESC
LIMIT :limit;

-- name: jobs_parked
SELECT number, queue, labels, origin, state, due_at, attempts, lease, lease_until, worker, payload, error,
       created_at, started_at, ended_at
FROM jobs
WHERE tenant = :tenant AND state = 'parked' AND (queue = :queue OR :queue = '')
ORDER BY number DESC
LIMIT :limit;

-- name: sweep_jobs
DELETE FROM jobs
WHERE number IN (
    SELECT number FROM jobs
    WHERE tenant = :tenant AND state = 'done' AND ended_at < :before
    ORDER BY ended_at
    LIMIT :limit
)
RETURNING number;
